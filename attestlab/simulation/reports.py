"""The report of a simulation: its results as canonical JSON (RFC 8785), identified by their SHA-256."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from uuid import UUID

from attestlab.core.crypto.canonical_json import canonical, sha256_hex
from attestlab.core.encoding import format_time
from attestlab.policy.evaluation.policy_set import PolicySet
from attestlab.simulation.history import DecisionHistory
from attestlab.simulation.scenarios import PolicyDraft
from attestlab.simulation.simulation import Simulation
from attestlab.simulation.store import SimulationReportRecord

FORMAT = "simulation-report/2"
MAX_FLIPS = 100
_STEPS = 9  # self-check, number, extent, risk, comparison, and its frames


@dataclass(frozen=True)
class ComposedReport:
    """The results of a simulation, composed but not yet stored; `content` are JSON values.

    `contexts` are those of the examples, in their order; no digest covers them, and they are not stored.
    """

    tenant_id: UUID
    policy_id: UUID | None
    document_digest: str
    baseline_digest: str
    unexpected_flips: int
    made_at: datetime
    content: Mapping[str, object]
    contexts: tuple[Mapping[str, object], ...]

    @cached_property
    def canonical(self) -> bytes:
        """The RFC 8785 JSON of the content."""
        return canonical(self.content)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of `canonical`, 64 hex digits."""
        return sha256_hex(self.canonical)

    def to_record(self, made_by: str) -> SimulationReportRecord:
        """Return the row to store."""
        return SimulationReportRecord(
            digest=self.digest,
            tenant_id=self.tenant_id,
            policy_id=self.policy_id,
            document_digest=self.document_digest,
            baseline_digest=self.baseline_digest,
            unexpected_flips=self.unexpected_flips,
            report=self.canonical.decode(),
            made_by=made_by,
            made_at=self.made_at,
        )


def compose_report(
    simulation: Simulation, draft: PolicyDraft, *, report_id: UUID, tenant_id: UUID, made_by: str, made_at: datetime
) -> ComposedReport:
    """Run the queries of a report: the self-check first, then the changes.

    Raises:
        Cancelled, Unavailable: see `QuerySession.run`.
    """
    with simulation.session.steps(_STEPS):
        checked = simulation.self_check()
        decided = simulation.load()
        unasked, last = simulation.extent
        compared = simulation.compare()
        flips, why, examples = (frame.rows() for frame in (compared.flips, compared.why, compared.examples))
        results = {
            "decided": decided,
            "unasked": unasked,
            "left_out": simulation.excluded_rows,
            "without_risk": simulation.count_without_risk(),
            "last_decision_seq": last,
            "transitions": compared.transitions.rows(),
            "flips": [_with_segments(row) for row in flips[:MAX_FLIPS]],
            "why": why[:MAX_FLIPS],
            "examples": [_without(row, "number", "context") for row in examples],
        }
    check = _without(asdict(checked), "sql")
    content = {
        "format": FORMAT,
        "report_id": str(report_id),
        "tenant_id": str(tenant_id),
        "policy": _policy_facts(draft),
        **_set_digests(simulation),
        "window": _window(simulation),
        "by": list(simulation.by),
        "self_check": {**check, "examples": list(checked.examples)},
        **results,
        "made_at": format_time(made_at),
        "made_by": made_by,
    }
    return ComposedReport(
        tenant_id=tenant_id,
        policy_id=draft.policy_id,
        document_digest=draft.document.digest,
        baseline_digest=simulation.scenario.baseline_digest,
        unexpected_flips=checked.unexpected_flips,
        made_at=made_at,
        content=content,
        contexts=tuple(_present_values(row["context"]) for row in examples),
    )


def _policy_facts(draft: PolicyDraft) -> dict[str, object]:
    document = draft.document
    return {
        "id": None if draft.policy_id is None else str(draft.policy_id),
        "version": draft.version,
        "name": document.name,
        "digest": document.digest,
        "category": document.category.value,
        "target_type": document.target_type.value,
        "target_id": None if document.target_id is None else str(document.target_id),
    }


def _set_digests(simulation: Simulation) -> dict[str, object]:
    """Return the digests for the draft's own target; a default is also simulated for other targets."""
    place = simulation.sets.places[0]
    return {
        "set_before": PolicySet(place.before).digest,
        "set_after": PolicySet(place.after).digest,
        "baseline_digest": simulation.scenario.baseline_digest,
    }


def _window(simulation: Simulation) -> dict[str, str | None]:
    history = simulation.history
    start, end = (history.start, history.end) if isinstance(history, DecisionHistory) else (None, None)
    return {"from": None if start is None else format_time(start), "to": None if end is None else format_time(end)}


def _with_segments(row: Mapping[str, object]) -> dict[str, object]:
    plain = {name: row[name] for name in ("from", "to", "count")}
    segments = {name.removeprefix("@"): value for name, value in row.items() if name not in plain}
    return {**plain, "segments": segments}


def _present_values(context: object) -> dict[str, object]:
    """Return the values of an example's context, which is null for a draft without attributes."""
    return {path: value for path, value in context.items() if value is not None} if isinstance(context, dict) else {}


def _without(row: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in row.items() if name not in names}
