"""`lab.signals`: signals, raw events and their mapping, scores, the graph, and what-ifs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import tzinfo
from typing import TYPE_CHECKING, Unpack

from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.analysis.records import Records
from attestlab.client.arguments import File, When
from attestlab.client.collections.bulk_signals import record_signals
from attestlab.client.collections.filters import SignalFilterArgs
from attestlab.client.collections.logins import LoginVerbs
from attestlab.client.collections.raw_events import RawEventVerbs
from attestlab.client.collections.signal_plots import PlotVerbs
from attestlab.client.collections.thresholds import read_threshold
from attestlab.client.exploring import LiveView, explore
from attestlab.client.handles.risk import (
    BulkHandle,
    EntityHandle,
    GraphHandle,
    RiskSettingsHandle,
    ScanHandle,
    SignalHandle,
    SourceHandle,
    VelocityHandle,
    compose_facts,
    get_entity,
    get_graph,
    read_entity,
)
from attestlab.client.handles.risk_reports import DriftHandle, RiskSimulationHandle
from attestlab.client.own_examples import name_in_examples
from attestlab.client.progress import show_progress
from attestlab.client.service_client import ServiceClient
from attestlab.core.encoding import b64url_encode
from attestlab.risk.signals.shapes import SignalsQuery

if TYPE_CHECKING:
    from attestlab.client.collections.signal_rows import BulkRows


@name_in_examples("signals")
class SignalCollection(LoginVerbs, RawEventVerbs, PlotVerbs):
    """The tenant's risk signals, newest first."""

    noun = "a signal"
    path = "/v1/risk/signals"
    query = SignalsQuery
    dataset = "signals"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, SignalHandle)

    def list(self, *, limit: int | None = None, **filters: Unpack[SignalFilterArgs]) -> Listing[SignalHandle]:
        """List the signals that match all filters, newest first.

        Args:
            limit: how many at most; all by default.
            filters: such as `min_score=80` (0 to 100, inclusive), `since="2026-11-01"`, the time of occurrence;
                `lab.signals.filters` has all. None is no filter.

        Returns:
            The signals with scores from 0 to 100, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value; the message names the limit.

        >>> found = [each.score for each in lab.signals.list(source="media", min_score=80, limit=3)]
        >>> min(found) >= 80
        True
        """
        return self._list(limit, filters)

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

        Args:
            source: the system that scored, 1 to 64 characters of a-z, 0-9 and _.
            signal_type: the kind of the signal, in the same form.
            score: from 0 to 100.
            entity: `"user:u-1"`, an object about one, or a type with `entity_id` after it: user, device, ip, document,
                session, issuer or attestation.
            entity_id: the id, where `entity` is a type.
            details: further facts, at most 8 KiB as JSON.
            occurred_at: by default now; never in the future.

        Returns:
            The signal; `case_id` is the case that it opened or joined, `warnings` say what is probably a mistake.

        Raises:
            ValidationFailed: an argument is not acceptable; the message names the limit.

        >>> signal = lab.signals.add("gateway", "behavior", 41, "user:u-1", details={"page": "/me"})
        >>> signal.score, signal.entity_id
        (41.0, 'u-1')
        """
        body = compose_facts(entity, entity_id, occurred_at, source=source, signal_type=signal_type, score=score)
        body |= {"details": arguments.read_mapping(details, name="details")} if details else {}
        return self._parse(self._client.post(self.path, body))

    def add_many(
        self, signals: BulkRows, *, backfill: bool = False, strict: bool = False, tz: str | tzinfo | None = None
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

    def record_velocity(
        self, action: str, entity: object, entity_id: str | None = None, *, occurred_at: When | None = None
    ) -> VelocityHandle:
        """Record that an entity did something, and score how often it did.

        Args:
            action: what it did, 1 to 64 characters of a-z, 0-9 and _; each action is counted on its own.
            entity: as for `add`, with `entity_id` where it is a type.
            occurred_at: by default now; never in the future, nor so old that its windows are over.

        Returns:
            The score from 0 to 100, its factors, and the counts by window (1m, 5m, 1h, 24h).

        Raises:
            ValidationFailed: an argument is not acceptable; the message names the limit.

        >>> round(lab.signals.record_velocity("upload", "user:u-4").score)
        12
        """
        body = compose_facts(entity, entity_id, occurred_at, action=action)
        return VelocityHandle.parse(self._client, self._client.post("/v1/risk/velocity/record", body))

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
            content_type: of the media; by default found from its first bytes.

        Returns:
            The score from 0 to 100, its factors, and a verdict: clean, suspect (from 40) or likely (from 75).

        Raises:
            ValidationFailed: there is neither media nor indicator, or an indicator is no number from 0 to 1 or boolean.
            PayloadTooLarge: the file has over 39,321,600 bytes.

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

        Args:
            entity: as for `add`, with `entity_id` where it is a type.

        Returns:
            Its newest signals and cases, its entries on lists, and counts by action and window (1m, 5m, 1h, 24h).

        Raises:
            NotFound: it has no signal, case or entry on a list; `graph` also finds what signals of others mention.

        >>> lab.signals.entity("user:user-00225").cases[0].max_score
        92.875
        """
        return get_entity(self._client, *read_entity(entity, entity_id))

    def graph(self, entity: object, entity_id: str | None = None, *, depth: int | None = None) -> GraphHandle:
        """Return the entities around one, up to `depth` links away, and the rings that they form.

        Args:
            entity: as for `add`, with `entity_id` where it is a type.
            depth: 1 to 3 links.

        Raises:
            NotFound: the tenant knows nothing about it.
            ValidationFailed: `depth` is another number.

        >>> graph = lab.signals.graph("device:device-73d1efba", depth=1)
        >>> [len(ring.users) for ring in graph.rings]
        [24]
        """
        return get_graph(self._client, *read_entity(entity, entity_id), depth)

    def drift(self, *, since: When | None = None, until: When | None = None) -> DriftHandle:
        """Compare the scores of a window, by default the last seven days, with those before.

        Args:
            since: the begin of the window, by default seven days before its end.
            until: its end, by default now.

        Returns:
            The population stability index (`psi`) of each source and type, the strongest first, with counts by tens of
            the score; it is None with fewer than 500 signals.

        Raises:
            ValidationFailed: the window is empty or too long.

        >>> drift = lab.signals.drift(since="2026-10-26", until="2026-11-02")
        >>> drift.items.df()[["source", "level"]].head(2)
            source   level
        0  session  stable
        1  gateway  stable
        """
        window = arguments.read_period(since, until)
        return DriftHandle.parse(self._client, self._client.get("/v1/risk/drift", window))

    def explore(self, **state: object) -> LiveView:
        """Show the page of risk signals in a cell: what is clicked in it is data for the next cell.

        Args:
            state: what the page shows at first, such as `days=7` (`Lab.explore`).

        Returns:
            The view: its `state`, `rows`, `sql`, `python`, `set`, `save` and panes, as `Lab.explore` explains.

        Raises:
            MissingExtra: a package of the extra `notebook` is not installed.
            ValidationFailed: the page has no such parameter or value; the message names those that it has.

        >>> lab.signals.explore(days=7, source="login")
        lab.explore("risk", window="7d", source="login")
        """
        return explore(self._client, "risk", state)

    def sources(self) -> Records[SourceHandle]:
        """List the sources of signals, and which of them fell silent.

        Returns:
            The sources by name, each with the number of its signals and its usual gap in seconds.

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

    def change_settings(self, *, escalation_threshold: float) -> RiskSettingsHandle:
        """Change the tenant's settings of risk; signals that are recorded already stay as they are.

        Args:
            escalation_threshold: the score, from 0 to 100, from which a signal opens a case or joins it.

        Returns:
            The settings as they are now.

        Raises:
            ValidationFailed: it is no number from 0 to 100.
            PermissionDenied: the caller may not write risk.

        >>> lab.signals.change_settings(escalation_threshold=lab.signals.settings().escalation_threshold)
        RiskSettings(escalation_threshold=80.0)
        """
        body = {"escalation_threshold": escalation_threshold}
        return RiskSettingsHandle.parse(self._client, self._client.put("/v1/risk/settings", body))

    def simulate(
        self,
        rules: Iterable[Mapping[str, object]],
        *,
        since: When | None = None,
        until: When | None = None,
        threshold: Mapping[str, object] | tuple[str, str] | None = None,
        points: int = 100,
        costs: Mapping[str, float] | None = None,
    ) -> RiskSimulationHandle:
        """Replay escalation rules over past signals, and compare them with the outcomes of cases.

        Args:
            rules: each `{"id": ..., "when": condition}`; conditions are those of policies.
            threshold: `(rule_id, attribute)` of the number that the curve varies.
            since: of the first signal, by its time; `until` of the first one that is left out.
            points: how many values the curve has at most, 1 to 1,000.
            costs: what one `missed_fraud` and one `false_alarm` cost, in any unit; by default 10 and 1.

        Returns:
            Precision, recall and false positive rate, each with its interval, the effect of each rule, and the curve of
            the threshold.

        Raises:
            ValidationFailed: a rule is not valid, `since` is not before `until`, or there are too many signals.
            Unavailable: the simulation took too long.

        >>> high = {"attr": "signal.score", "op": "gte", "value": 95}
        >>> report = lab.signals.simulate([{"id": "high", "when": high}], since="2026-10-26")
        >>> report.rules.df()[["rule_id", "escalated"]]
          rule_id  escalated
        0    high         85
        """
        given = [
            arguments.read_mapping(rule, name=f"rules[{number}]")
            for number, rule in enumerate(arguments.iterate(rules, name="rules", of="dicts"))
        ]
        body: dict[str, object] = {"rules": given, "points": points}
        body |= arguments.read_period(since, until)
        if costs is not None:
            body["costs"] = arguments.read_mapping(costs, name="costs")
        if threshold is not None:
            body["threshold"] = read_threshold(threshold)
        with show_progress("Simulating the rules"):
            return RiskSimulationHandle.parse(self._client, self._client.post("/v1/risk/simulate", body, is_read=True))
