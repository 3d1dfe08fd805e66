"""What the policy simulator asks the facade for: policies and their texts, simulations, sweeps and proofs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple

from attestlab import Lab
from attestlab.client.handles.policies import (
    AnalysisHandle,
    PolicyHandle,
    PolicySummaryHandle,
    SimulationHandle,
    VersionHandle,
)
from attestlab.client.handles.simulation_parts import SweptValues
from attestlab.core.errors import NotFound, ValidationFailed
from attestlab.orgs.rules import Scope
from attestlab.policy.formats.toml import format_toml
from attestlab.policy.language.document import Document
from attestlab_dashboards.common_loads import share_load
from attestlab_dashboards.policy.documents import (
    DraftProblem,
    PolicyJson,
    RuleThreshold,
    list_thresholds,
    locate,
    parse,
)
from attestlab_dashboards.policy.notation import NEW_POLICY
from attestlab_dashboards.policy.shared_loads import share
from attestlab_dashboards.policy.state import YESTERDAY, PolicyState

POINTS: Final = 400  # of a curve, and of a map in all
TEMPLATE: Final = """name = "Mint: minimum trust"
category = "MINT"
target_type = "TENANT_DEFAULT"
default_effect = "ALLOW"

[[rules]]
id = "young-key"
effect = "DENY"
priority = 10
reason = "The signing key is younger than a week."
when = { attr = "key.age_days", op = "lt", value = 7 }
"""
_COUNT: Final = """SELECT count(*) AS count FROM decisions
WHERE created_at >= coalesce(CAST($since AS TIMESTAMPTZ), '-infinity'::TIMESTAMPTZ)
  AND created_at < coalesce(CAST($until AS TIMESTAMPTZ), 'infinity'::TIMESTAMPTZ)"""
# The parts of the state that choose the text, and those that choose the decisions it is replayed over.
TEXT_FIELDS: Final = ("policy", "version", "category", "draft")
REPLAY_FIELDS: Final = (*TEXT_FIELDS, "window", "since", "until", "by", "run")


@dataclass(frozen=True)
class PolicyText:
    """The policy that the page is about, and the text that is replayed.

    Attributes:
        policies: the tenant's policies, newest first, of the chosen category.
        policy: the chosen one; None for a new one.
        text: the draft, or the document of the chosen version.
        stored_text: that document alone; `version` is its number, 0 for a new policy.
        active: the document of the active version; None if there is none.
        versions: its versions, newest first.
        may_write: whether the person may save versions and run them in shadow.
    """

    policies: tuple[PolicySummaryHandle, ...]
    policy: PolicyHandle | None
    text: str
    stored_text: str
    version: int
    active: PolicyJson | None
    versions: tuple[VersionHandle, ...]
    may_write: bool

    @property
    def document(self) -> PolicyJson | None:
        """The document of the text; None if it is no TOML."""
        return parse(self.text)

    @property
    def is_draft(self) -> bool:
        """Whether the text is not the stored newest version, so that it can be saved."""
        newest = 0 if self.policy is None else self.policy.version
        return self.text != self.stored_text or self.version != newest or self.policy is None

    @property
    def is_active(self) -> bool:
        """Whether the text says what the active version does."""
        if self.active is None or self.document is None:
            return False
        return Document.read(self.document).digest == Document.read(self.active).digest

    @property
    def name(self) -> str:
        """What the page calls the text."""
        if self.policy is None:
            return "The new draft"
        return f"Draft {self.policy.version + 1}" if self.is_draft else f"Version {self.version}"

    @property
    def source(self) -> dict[str, str]:
        """The text as the facade takes it; a bare text could be the path of a file."""
        return {"toml": self.text}

    @property
    def category(self) -> str:
        """The action that the policy decides about."""
        return str((self.document or {}).get("category", "MINT"))


Window = tuple[datetime | None, datetime | None]
"""Of the first decision, and of the first one that is left out; None is no bound."""

Thresholds = tuple[RuleThreshold, ...]
"""Those that one sweep varies."""


class DraftReplay(NamedTuple):
    """A simulation of the text; or, if the service refuses the text, its errors.

    Attributes:
        swept: the sweeps that the same simulation made, by their thresholds.
    """

    about: PolicyText
    report: SimulationHandle | None
    problems: tuple[DraftProblem, ...]
    swept: Mapping[Thresholds, SweptValues]


class Sweep(NamedTuple):
    """A sweep of one threshold or of two; `values` is None if the text has too few, or is refused."""

    replay: DraftReplay
    chosen: Thresholds
    choices: Thresholds
    values: SweptValues | None


class Proof(NamedTuple):
    """What is true of the text for every possible context; None if the service refuses the text."""

    replay: DraftReplay
    analysis: AnalysisHandle | None


def load_text(lab: Lab, state: PolicyState) -> PolicyText:
    """Load the policy and the text."""
    return share(lab).get(("text", *_take(state, TEXT_FIELDS)), lambda: _load_text(lab, state))


def write_template(category: str) -> str:
    """Write the text that a new policy of a category begins with; without one, a policy of mints."""
    return TEMPLATE.replace('"MINT"', f'"{category}"') if category else TEMPLATE


def _load_text(lab: Lab, state: PolicyState) -> PolicyText:
    listed = tuple(lab.policies)
    listed = tuple(each for each in listed if state.category in ("", each.category) and each.status != "ARCHIVED")
    chosen = state.policy or next((str(each.id) for each in listed if each.status == "ACTIVE"), "")
    chosen = chosen or next((str(each.id) for each in listed), NEW_POLICY)
    may_write = Scope.POLICIES_WRITE in lab.me().credential.scopes
    if chosen == NEW_POLICY:
        text = write_template(state.category)
        return PolicyText(listed, None, state.draft or text, text, 0, None, (), may_write)
    policy = lab.policies.get(chosen)
    versions = tuple(policy.versions())
    version = state.version or policy.version
    stored = policy.toml() if version == policy.version else _write(_find_version(versions, version).read_document())
    active = None
    if policy.active_version is not None:
        is_newest = policy.active_version == policy.version
        active = policy.document if is_newest else _find_version(versions, policy.active_version).read_document()
    return PolicyText(listed, policy, state.draft or stored, stored, version, active, versions, may_write)


def _find_version(versions: tuple[VersionHandle, ...], number: int) -> VersionHandle:
    found = next((each for each in versions if each.version == number), None)
    if found is None:
        raise NotFound("version", f"{number}; the newest is {versions[0].version}")
    return found


def _write(document: dict[str, object]) -> str:
    return format_toml(Document.read(document))


def load_replay(lab: Lab, state: PolicyState) -> DraftReplay:
    """Replay the text over the past decisions; the service stores the report, which an activation may name."""
    return share(lab).get(("replay", *_take(state, REPLAY_FIELDS)), lambda: _replay(lab, state), is_long=True)


def _replay(lab: Lab, state: PolicyState) -> DraftReplay:
    about = load_text(lab, state)
    since, until = find_window(lab, state)
    by = [path for path in state.by if path in _paths(lab)]
    stored = None if about.is_draft else about.policy
    sweeps = _list_sweeps(about, state)
    named = [[each.name for each in chosen] for chosen in sweeps]

    def simulate() -> SimulationHandle:
        return lab.policies.simulate(
            about.source if stored is None else stored,
            replaces=about.policy if stored is None else None,
            since=since,
            until=until,
            by=by,
            sweeps=named,
            points=POINTS,
        )

    policy = None if about.policy is None else about.policy.id
    question = ("replay", policy, about.version, about.text, about.is_draft, since, until, tuple(by), str(named))
    try:
        report = simulate() if state.run else share_load(question, simulate)
    except ValidationFailed as error:
        return DraftReplay(about, None, read_problems(about.text, error), {})
    return DraftReplay(about, report, (), dict(zip(sweeps, report.sweeps, strict=True)))


def load_isolated(lab: Lab, state: PolicyState) -> SimulationHandle | None:
    """Compare the text with the chosen rule and without it; None if no rule is chosen, or the text lacks it."""
    replay = load_replay(lab, state)
    if replay.report is None or state.rule not in {each.rule for each in replay.report.rules}:
        return None
    about, by, (since, until) = replay.about, replay.report.by, find_window(lab, state)
    key: Hashable = ("rule", *_take(state, (*REPLAY_FIELDS, "rule")))
    return share(lab).get(
        key,
        lambda: lab.policies.isolate(about.source, state.rule, replaces=about.policy, since=since, until=until, by=by),
        is_long=True,
    )


def _list_sweeps(about: PolicyText, state: PolicyState) -> list[Thresholds]:
    """List what the page shows of the text: the curve of one threshold, and the map of two."""
    choices = _list_choices(about)
    chosen = [_choose_thresholds(choices, state, count) for count in (1, 2)]
    return [each for count, each in enumerate(chosen, 1) if len(each) == count]


def read_problems(text: str, error: ValidationFailed) -> tuple[DraftProblem, ...]:
    """Find the lines of what the service refuses.

    Raises:
        ValidationFailed: the error is not about the text.
    """
    fields = error.details.get("fields")
    listed = [each for each in fields if isinstance(each, dict)] if isinstance(fields, list) else []
    if not listed or str(listed[0].get("field")) in ("/from", "/to", "/by"):
        raise error
    found = [locate(text, str(each.get("field")), str(each.get("message"))) for each in listed]
    return tuple(sorted(found))


def find_window(lab: Lab, state: PolicyState) -> Window:
    """Find the window: a number of days ends at the newest decision; without bounds it has all decisions."""
    since = _read_day(state.since) if state.since else None
    until = _read_day(state.until) + timedelta(days=1) if state.until else None
    if state.window == "all":
        return since, until
    newest = load_newest_decision(lab)
    if newest is None:
        return None, until
    if state.window == YESTERDAY:
        midnight = datetime.combine(newest.date(), time(), UTC)
        return midnight - timedelta(days=1), midnight
    return newest - timedelta(days=int(state.window.removesuffix("d"))), until


def load_newest_decision(lab: Lab) -> datetime | None:
    """Load the time of the newest decision; None if there is none."""
    (row,) = lab.sql("select max(created_at) as newest from decisions")
    newest = row["newest"]
    return newest.astimezone(UTC) if isinstance(newest, datetime) else None


def describe_work(lab: Lab, state: PolicyState) -> str:
    """Describe what a replay of the window has to do."""
    since, until = find_window(lab, state)
    bounds = {"since": since, "until": until}
    (row,) = share(lab).get(("work", since, until), lambda: list(lab.sql(_COUNT, bounds)))
    return f"{int(str(row['count'])):,} past decisions are replayed."


def load_sweep(lab: Lab, state: PolicyState, count: int) -> Sweep:
    """Simulate every value of one threshold, or of two."""
    fields = (*REPLAY_FIELDS, "sweep", *(["second"] if count == 2 else []))
    key: Hashable = ("sweep", count, *_take(state, fields))
    return share(lab).get(key, lambda: _sweep(lab, state, count))


def _sweep(lab: Lab, state: PolicyState, count: int) -> Sweep:
    replay = load_replay(lab, state)
    choices = () if replay.report is None else _list_choices(replay.about)
    chosen = _choose_thresholds(choices, state, count)
    if len(chosen) < count:
        return Sweep(replay, chosen, choices, None)
    return Sweep(replay, chosen, choices, replay.swept.get(chosen) or _sweep_alone(lab, state, replay.about, chosen))


def _sweep_alone(lab: Lab, state: PolicyState, about: PolicyText, chosen: Thresholds) -> SweptValues | None:
    """Sweep thresholds that were chosen after the replay."""
    since, until = find_window(lab, state)
    named = [each.name for each in chosen]
    report = share(lab).get(
        ("swept", about.text, *named, since, until, state.run),
        lambda: lab.policies.sweep(
            about.source, *named, points=POINTS, replaces=about.policy, since=since, until=until
        ),
        is_long=True,
    )
    return report.sweep


def _list_choices(about: PolicyText) -> Thresholds:
    """List the thresholds of the text, those that the active version does not have first."""
    old = set(list_thresholds(about.active))
    return tuple(sorted(list_thresholds(about.document), key=lambda each: each in old))


def _choose_thresholds(choices: Thresholds, state: PolicyState, count: int) -> Thresholds:
    first = next((each for each in choices if each.key == state.sweep), choices[0] if choices else None)
    if first is None or count == 1:
        return () if first is None else (first,)
    others = [each for each in choices if each != first]
    second = next((each for each in others if each.key == state.second), others[0] if others else None)
    return (first,) if second is None else (first, second)


def load_proof(lab: Lab, state: PolicyState) -> Proof:
    """Prove what is true of the text for every possible context, and compare it with the active version.

    The proof knows no decisions, so one serves for every window of them.
    """
    replay = load_replay(lab, state)
    if replay.report is None:
        return Proof(replay, None)
    about = replay.about
    key = ("proof", *_take(state, (*TEXT_FIELDS, "run")))
    return Proof(replay, share(lab).get(key, lambda: lab.policies.analyze(about.source, against=about.active)))


def _paths(lab: Lab) -> frozenset[str]:
    return frozenset(each.path for each in share(lab).get("attributes", lambda: tuple(lab.policies.attributes())))


def _take(state: PolicyState, fields: tuple[str, ...]) -> tuple[Hashable, ...]:
    return tuple(getattr(state, name) for name in fields)


def _read_day(text: str) -> datetime:
    return datetime.combine(date.fromisoformat(text), time(), UTC)
