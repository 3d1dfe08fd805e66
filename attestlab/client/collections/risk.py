"""`lab.signals`, `lab.cases`, `lab.challenges` and `lab.lists`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import tzinfo
from typing import TYPE_CHECKING
from uuid import UUID

from attestlab.client import arguments
from attestlab.client.analysis.records import Records
from attestlab.client.arguments import File, When
from attestlab.client.collections.base import Collection, DatasetCollection
from attestlab.client.collections.bulk_signals import record_signals
from attestlab.client.handles.risk import (
    BulkHandle,
    CaseHandle,
    ChallengeHandle,
    DriftHandle,
    EntityHandle,
    GraphHandle,
    ListEntryHandle,
    LoginHandle,
    NormalizedHandle,
    RiskSettingsHandle,
    RiskSimulationHandle,
    ScanHandle,
    SignalHandle,
    SourceHandle,
    VelocityHandle,
    get_entity,
    get_graph,
    read_entity,
    resolve_case,
)
from attestlab.client.progress import show_progress
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import ValidationFailed

if TYPE_CHECKING:
    from attestlab.client.collections.signal_rows import Signals


class SignalCollection(DatasetCollection[SignalHandle]):
    """The tenant's risk signals, newest first."""

    noun = "a signal"
    path = "/v1/risk/signals"
    dataset = "signals"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, SignalHandle)

    def add(
        self,
        source: str,
        signal_type: str,
        score: float,
        entity: object,
        entity_id: str | None = None,
        *,
        details: Mapping[str, object] | None = None,
        occurred_at: When | None = None,
    ) -> SignalHandle:
        """Record a signal about an entity, with a score from 0 to 100.

        >>> signal = lab.signals.add("gateway", "behavior", 41, "user:u-1", details={"page": "/me"})
        >>> signal.score, signal.entity_id
        (41.0, 'u-1')
        """
        body = _compose(entity, entity_id, occurred_at, source=source, signal_type=signal_type, score=score)
        return self._parse(
            self._client.post(
                self.path, body | ({"details": arguments.read_mapping(details, name="details")} if details else {})
            )
        )

    def add_many(
        self, signals: Signals, *, backfill: bool = False, strict: bool = False, tz: str | tzinfo | None = None
    ) -> BulkHandle:
        """Record many signals, ten thousand in a request; a row that is no signal does not hold back the others.

        Args:
            signals: dicts like the body of `POST /v1/risk/signals`, of which a generator is read as it is sent; a
                frame of pandas, Polars or Arrow; or the path of a CSV or Parquet file. Columns are the members:
                `source`, `signal_type`, `score`, `entity_type`, `entity_id`, and optionally `score_scale`,
                `occurred_at` and `details` (an object, or its JSON text).
            backfill: True for the past: no events, and nothing is escalated. The same call within a day continues one
                that was interrupted, and records no signal twice; another order of the signals is another call.
            strict: True to send nothing if a row is no signal; all rows are in memory then.
            tz: the zone of times without a UTC offset, such as `Europe/Zurich`; a time that occurs twice when clocks
                are set back is the first one. Without `tz`, such rows are rejected.

        Returns:
            How many rows were accepted, rejected and not sent; `rejected` names row and field, also as a frame.

        Raises:
            ValidationFailed: `signals` has no rows of this form, or with `strict` a row is no signal.
            Unavailable: the service broke off; a note counts the rows that were sent before.

        >>> seen = {"source": "gateway", "signal_type": "behavior"}
        >>> address = {"entity_type": "ip", "entity_id": "192.0.2.1"}
        >>> lab.signals.add_many({**seen, **address, "score": score} for score in (12, 17))
        Bulk(2 accepted, 0 rejected, 0 not sent)
        """
        return record_signals(self._client, signals, backfill=backfill, strict=strict, tz=tz)

    def record_event(
        self,
        event_type: str,
        entity: object,
        entity_id: str | None = None,
        *,
        data: Mapping[str, object] | None = None,
        occurred_at: When | None = None,
    ) -> NormalizedHandle:
        """Record a raw event, which becomes a signal by the tenant's mapping.

        >>> lab.signals.record_event("login.failed.repeated", "user:u-1").normalized
        True
        """
        body = _compose(entity, entity_id, occurred_at, event_type=event_type)
        body |= {"data": arguments.read_mapping(data, name="data")} if data else {}
        return NormalizedHandle.parse(self._client, self._client.post("/v1/risk/events", body))

    def record_velocity(
        self, action: str, entity: object, entity_id: str | None = None, *, occurred_at: When | None = None
    ) -> VelocityHandle:
        """Record that an entity did something, and score how often it did.

        >>> round(lab.signals.record_velocity("upload", "user:u-4").score)
        12
        """
        body = _compose(entity, entity_id, occurred_at, action=action)
        return VelocityHandle.parse(self._client, self._client.post("/v1/risk/velocity/record", body))

    def evaluate_login(
        self, subject_id: str, outcome: str, *, occurred_at: When | None = None, **circumstances: str
    ) -> LoginHandle:
        """Score a login; `outcome` is `success` or `failure`.

        Args:
            circumstances: `ip`, `device_id`, `country`, `user_agent`, as far as they are known.

        >>> lab.signals.evaluate_login("u-1", "failure", ip="192.0.2.1", country="GB").level
        'normal'
        """
        at = arguments.read_time(occurred_at, name="occurred_at")
        body = {"subject_id": subject_id, "outcome": outcome, **circumstances} | ({"occurred_at": at} if at else {})
        return LoginHandle.parse(self._client, self._client.post("/v1/risk/ato/evaluate", body))

    def scan(
        self,
        subject_ref: str,
        media: File | None = None,
        *,
        content_type: str | None = None,
        indicators: Mapping[str, float | bool] | None = None,
    ) -> ScanHandle:
        """Scan a picture or film for the marks of generators; this file is sent to the service.

        Args:
            subject_ref: the id of the document that it belongs to.
            media: a path, its bytes, or an open binary file.
            indicators: what your own detectors found.

        >>> lab.signals.scan("upload-1", indicators={"face_swap": 0.2}).verdict
        'clean'
        """
        body: dict[str, object] = {"subject_ref": subject_ref, "content_type": content_type, "indicators": indicators}
        if media is not None:
            body["content_b64url"] = b64url_encode(arguments.load_file(media))
        body = {name: value for name, value in body.items() if value is not None}
        return ScanHandle.parse(self._client, self._client.post("/v1/risk/deepfake/scan", body))

    def entity(self, entity: object, entity_id: str | None = None) -> EntityHandle:
        """Return what is known about an entity.

        >>> lab.signals.entity("user:user-00225").cases[0].max_score
        99.625
        """
        return get_entity(self._client, *read_entity(entity, entity_id))

    def graph(self, entity: object, entity_id: str | None = None, *, depth: int | None = None) -> GraphHandle:
        """Return the entities around one, up to `depth` links away, and the rings that they form.

        >>> graph = lab.signals.graph("device:device-73d1efba", depth=1)
        >>> [len(ring.users) for ring in graph.rings]
        [24]
        """
        return get_graph(self._client, *read_entity(entity, entity_id), depth)

    def drift(self, *, since: When | None = None, until: When | None = None) -> DriftHandle:
        """Compare the scores of a window, by default the last seven days, with those before.

        >>> drift = lab.signals.drift(since="2026-10-26", until="2026-11-02")
        >>> drift.items.df()[["source", "level"]].head(3)
            source    level
        0  session   stable
        1  gateway   stable
        2   device  too_few
        """
        window = {"from": arguments.read_time(since, name="since"), "to": arguments.read_time(until, name="until")}
        return DriftHandle.parse(self._client, self._client.get("/v1/risk/drift", window))

    def sources(self) -> Records[SourceHandle]:
        """List the sources of signals, and which of them fell silent.

        >>> [each.source for each in lab.signals.sources() if each.count > 20_000]
        ['gateway', 'session']
        """
        found = (SourceHandle.parse(self._client, each) for each in self._client.iterate("/v1/risk/sources"))
        return Records(found, SourceHandle)

    def settings(self) -> RiskSettingsHandle:
        """Return the tenant's settings of risk: the score from which a signal is escalated.

        >>> lab.signals.settings().escalation_threshold
        80.0
        """
        return RiskSettingsHandle.parse(self._client, self._client.get("/v1/risk/settings"))

    def simulate(
        self,
        rules: Iterable[Mapping[str, object]],
        *,
        since: When | None = None,
        until: When | None = None,
        threshold: Mapping[str, object] | tuple[str, str] | None = None,
        points: int = 100,
    ) -> RiskSimulationHandle:
        """Replay escalation rules over past signals, and compare them with the outcomes of cases.

        Args:
            rules: each `{"id": ..., "when": condition}`; conditions are those of policies.
            threshold: `(rule_id, attribute)` of the number that the curve varies.

        >>> high = {"attr": "signal.score", "op": "gte", "value": 95}
        >>> report = lab.signals.simulate([{"id": "high", "when": high}], since="2026-10-26")
        >>> report.rules.df()[["rule_id", "escalated"]]
          rule_id  escalated
        0    high        105
        """
        given = [
            arguments.read_mapping(rule, name=f"rules[{number}]")
            for number, rule in enumerate(arguments.iterate(rules, name="rules", of="dicts"))
        ]
        body: dict[str, object] = {"rules": given, "points": points}
        body |= {"from": arguments.read_time(since, name="since"), "to": arguments.read_time(until, name="until")}
        if threshold is not None:
            body["threshold"] = _read_threshold(threshold)
        with show_progress("Simulating the rules"):
            return RiskSimulationHandle.parse(self._client, self._client.post("/v1/risk/simulate", body, is_read=True))


class CaseCollection(DatasetCollection[CaseHandle]):
    """The tenant's cases, newest first."""

    noun = "a case"
    path = "/v1/risk/cases"
    dataset = "cases"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, CaseHandle)

    def resolve(self, case: UUID | str | CaseHandle, outcome: str, note: str | None = None) -> CaseHandle:
        """Resolve a case as `fraud`, `legitimate` or `inconclusive`.

        >>> case = next(lab.cases.list(status="open"))
        >>> lab.cases.resolve(case, "legitimate", "a new phone").outcome
        'legitimate'
        """
        return resolve_case(self._client, arguments.read_id(case, self.noun), outcome, note)


class ChallengeCollection(DatasetCollection[ChallengeHandle]):
    """The decisions to challenge a subject, newest first."""

    noun = "a challenge"
    path = "/v1/risk/challenges"
    dataset = "challenges"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, ChallengeHandle)

    def create(
        self, subject_id: str, reason: str, *, subject_type: str = "user", risk_score: int | None = None
    ) -> ChallengeHandle:
        """Decide that a subject must prove who it is.

        >>> lab.challenges.create("u-1", "24 failed logins from one device").challenge_required
        True
        """
        body: dict[str, object] = {"subject_id": subject_id, "subject_type": subject_type, "reason": reason}
        body |= {} if risk_score is None else {"risk_score": risk_score}
        return self._parse(self._client.post("/v1/risk/challenge", body))

    def _find(self, which: object) -> ChallengeHandle:
        wanted = arguments.read_id(getattr(which, "decision_id", which), self.noun)
        found = next((each for each in self if each.decision_id == wanted), None)
        if found is None:
            raise ValidationFailed(f"There is no challenge {wanted}. `lab.challenges` lists them.")
        return found


class ListCollection(Collection[ListEntryHandle]):
    """The entities on the allow and the deny list, newest first."""

    noun = "a list entry"
    path = "/v1/risk/lists"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, ListEntryHandle)

    def add(
        self,
        list_name: str,
        entity: object,
        entity_id: str | None = None,
        *,
        reason: str,
        expires_at: When | None = None,
    ) -> ListEntryHandle:
        """Put an entity on the `allow` or the `deny` list.

        >>> entry = lab.lists.add("deny", "device:pc-0", reason="lost", expires_at="2026-12-01")
        >>> entry.list, entry.expires_at.isoformat()
        ('deny', '2026-12-01T00:00:00+00:00')
        """
        body = _compose(entity, entity_id, None, list=list_name, reason=reason)
        end = arguments.read_time(expires_at, name="expires_at")
        return self._parse(self._client.post(self.path, body | ({"expires_at": end} if end else {})))

    def remove(self, entry: UUID | str | ListEntryHandle) -> None:
        """Take an entity off its list.

        >>> entry = lab.lists.add("allow", "ip:192.0.2.7", reason="our own monitoring")
        >>> lab.lists.remove(entry)
        >>> "192.0.2.7" in [each.entity_id for each in lab.lists]
        False
        """
        self._client.delete(path_of("v1", "risk", "lists", arguments.read_id(entry, self.noun)))

    def _find(self, which: object) -> ListEntryHandle:
        wanted = arguments.read_id(which, self.noun)
        found = next((each for each in self if each.id == wanted), None)
        if found is None:
            raise ValidationFailed(f"There is no list entry {wanted}. `lab.lists` lists them.")
        return found


def _read_threshold(threshold: object) -> dict[str, object]:
    if isinstance(threshold, Mapping):
        return arguments.read_mapping(threshold, name="threshold")
    if not isinstance(threshold, tuple) or len(threshold) != 2:
        raise ValidationFailed(f"{arguments.show(threshold)} is no threshold. Pass ('rule', 'attribute').")
    return {"rule_id": threshold[0], "attribute": threshold[1]}


def _compose(entity: object, entity_id: str | None, occurred_at: When | None, **fields: object) -> dict[str, object]:
    kind, own = read_entity(entity, entity_id)
    at = arguments.read_time(occurred_at, name="occurred_at")
    return {**fields, "entity_type": kind, "entity_id": own, **({"occurred_at": at} if at else {})}
