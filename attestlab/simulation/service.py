"""Service for simulations: simulate drafts over the history, store reports, check that a report is current.

DuckDB is loaded by the first simulation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from os import PathLike, fspath
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.crypto.service_key import ServiceKey
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.ids import new_id
from attestlab.core.limits.concurrency import ConcurrencyLimit
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.lake.service import Lake
from attestlab.lake.store import Numbering, sequence_length
from attestlab.orgs.rules import Caller
from attestlab.policy import rules as policy_rules
from attestlab.policy import store as policy_store
from attestlab.policy.attribute_registry import load_registry, parse_document
from attestlab.policy.evaluation.counterfactual import Counterfactual
from attestlab.policy.evaluation.policy_set import PolicySet
from attestlab.policy.language.document import Document, TargetType
from attestlab.policy.targets import require_target
from attestlab.simulation import rules, store
from attestlab.simulation.rules import ReportSummary
from attestlab.simulation.scenarios import PolicyDraft, build_scenario, compute_baseline_digest, load_recorded_set
from attestlab.simulation.shapes import SimulateIn, ThresholdIn
from attestlab.simulation.signing import REPORTS, TYP, SignedReport

if TYPE_CHECKING:
    from attestlab.simulation.history import History
    from attestlab.simulation.reports import ComposedReport
    from attestlab.simulation.simulation import Simulation

TIME_LIMIT_S = 20
_TOO_LONG = (
    "The simulation took over {:g} s. With many decisions narrow it by from and to; "
    "with many or large rules simulate fewer of them at once, without sweep and by."
)
LONG_HISTORY = 20_000  # entries of a tenant's audit trail, which has every decision and every mint
MAX_CONCURRENT_SIMULATIONS = 2  # per process; each may take a gigabyte, and a thread of the shared pool


class IsolatedRows(NamedTuple):
    """What one rule of a draft does alone, as rows: in all, by segment and by target (`Simulation.isolate`)."""

    effect: Mapping[str, object]
    segments: Sequence[Mapping[str, object]]
    targets: Sequence[Mapping[str, object]]


class SimulationRun(NamedTuple):
    """A report that is not stored yet, and additional results.

    `groups` are as of `Simulation.decide`, `rules` have coverage and marginal effect; `sweep`, `counterfactual` and
    `isolated` are None unless requested, and `sweeps` has the rows of each requested one.
    """

    report: ComposedReport
    groups: Sequence[Mapping[str, object]]
    rules: Sequence[Mapping[str, object]]
    sweep: Sequence[Mapping[str, object]] | None
    sweeps: Sequence[Sequence[Mapping[str, object]]]
    counterfactual: Counterfactual | None
    isolated: IsolatedRows | None


class Simulations:
    """Simulates drafts over recorded decisions. Reports are stored and audited; nothing else is written.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(
        self, *, storage: Storage, clock: Clock, keyring: Keyring, lake: Lake, time_limit_s: float = TIME_LIMIT_S
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.lake = lake
        self.key = ServiceKey(keyring, REPORTS)
        self.time_limit_s = time_limit_s
        self.concurrency = ConcurrencyLimit(MAX_CONCURRENT_SIMULATIONS, "simulations")

    def of(
        self,
        policy: Document | UUID,
        *,
        replaces: UUID | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        by: Sequence[str] = (),
        contexts: str | PathLike[str] | None = None,
        caller: Caller,
    ) -> Simulation:
        """Prepare the simulation of a draft, or a policy's newest version, over the decisions from `start` to before
        `end`.

        It joins the active policies; a policy replaces its own active version, and so does a document that `replaces`
        it. With `contexts`, a Parquet file of typed contexts replaces the decisions: one column per attribute, and no
        recorded results. No row is read yet.

        Raises:
            NotFound: the tenant has no such policy.
            Conflict: it is archived.
            ValidationFailed: the draft is invalid, or is for another action or target than the policy that it
                replaces; an attribute of `by` is unknown; `start` is not before `end`, or has no time zone; `contexts`
                cannot be read as Parquet.
        """
        return self._open(self._draft(policy, replaces, caller), start, end, by, contexts, caller)

    def run(
        self,
        policy: Document | UUID,
        options: SimulateIn,
        *,
        is_cancelled: Callable[[], bool] = lambda: False,
        caller: Caller,
    ) -> SimulationRun:
        """Run a complete simulation within its time limit, with the options of a request; the report is not stored yet.

        `policy` is the request's document, parsed, which replaces the policy that the request names; or that policy.
        It stops as soon as `is_cancelled` returns true, which another thread checks many times a second.

        The sweep of one or two thresholds has about `options.points` points; further sweeps have as many, and read
        the history once for all of them.

        Raises:
            NotFound, Conflict, ValidationFailed: see `of`; or the decision is not in the history.
            Cancelled: it took too long, or was cancelled.
            Unavailable: too many simulations are running.
        """
        draft = self._draft(policy, options.policy_id, caller)
        message = _TOO_LONG.format(self.time_limit_s)
        with (
            self.concurrency.acquire(),
            self._open(draft, options.from_, options.to, options.by, None, caller) as simulation,
            simulation.session.deadline(self.time_limit_s, message, is_cancelled=is_cancelled),
        ):
            # The sweeps come first, so that an invalid one costs little.
            points, decision = options.points, options.counterfactual
            sweep_rows = _run_sweep(simulation, options.sweep, points) if options.sweep else None
            further = [
                _run_sweep(simulation, each, points, f"/sweeps/{number}") for number, each in enumerate(options.sweeps)
            ]
            counterfactual_change = None if decision is None else simulation.counterfactual(decision)
            report = self.compose(simulation, draft, caller=caller)
            effects = {row["rule"]: row for row in simulation.marginal().rows()}
            rule_effects = [{**row, **effects[row["rule"]]} for row in simulation.coverage().rows()]
            groups = simulation.decide().rows()
            isolated = None if options.rule is None else _isolate(simulation, options.rule, rule_effects)
            return SimulationRun(report, groups, rule_effects, sweep_rows, further, counterfactual_change, isolated)

    def compose(self, simulation: Simulation, draft: PolicyDraft, *, caller: Caller) -> ComposedReport:
        """Compose the report of a simulation, without storing it.

        Raises:
            ValidationFailed: the history has no recorded decisions.
            Cancelled, Unavailable: see `QuerySession.run`.
        """
        from attestlab.simulation.reports import compose_report  # loads DuckDB, which a start need not wait for

        now = self.clock.now()
        return compose_report(
            simulation,
            draft,
            report_id=new_id(now),
            tenant_id=caller.tenant_id,
            made_by=caller.actor_id,
            made_at=now,
        )

    def save(self, report: ComposedReport, *, caller: Caller, tx: Transaction | None = None) -> SignedReport:
        """Store a report, so that an activation may name it.

        For a caller who only reads it is signed and not stored: a mailed page that replays a policy is neither a deed
        of its reader nor a check before an activation.
        """
        if caller.only_reads:
            return self._sign(report)
        with self.storage.write(tx) as tx:
            policy_id = None if report.policy_id is None else str(report.policy_id)
            facts = {"policy_id": policy_id, "document_digest": report.document_digest}
            deed = AuditContext(caller.tenant_id, caller, "simulation_report.create", report.made_at, facts)
            audited_write.insert(tx, store.reports, report.to_record(caller.actor_id), deed)
        return self._sign(report)

    def _sign(self, report: ComposedReport) -> SignedReport:
        return SignedReport(report.digest, report.content, self.key.sign(report.content, typ=TYP))

    def has_long_history(self, caller: Caller) -> bool:
        """Whether the tenant's simulations take so long that other requests would notice (`LONG_HISTORY`)."""
        with self.storage.read() as connection:
            return sequence_length(connection, Numbering.TRAIL, caller.tenant_id) > LONG_HISTORY

    def get(self, digest: str, *, caller: Caller) -> SignedReport:
        """Return a report of the tenant, signed now.

        Raises:
            NotFound: the tenant has no report with this digest.
        """
        with self.storage.read() as connection:
            row = store.get_report(connection, digest, tenant_id=caller.tenant_id)
        content = json.loads(row.report)
        return SignedReport(digest, content, self.key.sign(content, typ=TYP))

    def require_current(self, tx: Transaction, *, policy_id: UUID, digest: str, simulation_digest: str | None) -> None:
        """Reject unless `simulation_digest` names a current report on exactly the version with `digest`.

        Raises:
            Conflict: see `rules.require_current`.
        """
        row = None if simulation_digest is None else store.find_report(tx, simulation_digest, policy_id)
        if row is None:
            rules.require_current(None, document_digest=digest, baseline_digest="", now=self.clock.now())
            return
        content = json.loads(row.report)
        summary = ReportSummary(
            row.document_digest, row.baseline_digest, row.made_at, row.unexpected_flips, content["left_out"]
        )
        today = compute_baseline_digest(tx.connection, content["policy"]["category"], row.tenant_id)
        rules.require_current(summary, document_digest=digest, baseline_digest=today, now=self.clock.now())

    def _draft(self, policy: Document | UUID, replaces: UUID | None, caller: Caller) -> PolicyDraft:
        with self.storage.read() as connection:
            execute = connection.execute
            if isinstance(policy, UUID):
                row = policy_store.get_policy(execute, policy, tenant_id=caller.tenant_id)
                policy_rules.require_open(row.status)
                return PolicyDraft(
                    parse_document(policy_store.get_version(execute, policy, row.version)), policy, row.version
                )
            require_target(execute, policy.target_type, policy.target_id, tenant_id=caller.tenant_id)
            if replaces is not None:
                row = policy_store.get_policy(execute, replaces, tenant_id=caller.tenant_id)
                policy_rules.require_open(row.status)
                current = (row.category, row.target_type, row.target_id)
                requested = (policy.category, policy.target_type, policy.target_id)
                policy_rules.require_same_target(current=current, requested=requested)
        return PolicyDraft(policy, replaces)

    def _open(
        self,
        draft: PolicyDraft,
        start: datetime | None,
        end: datetime | None,
        by: Sequence[str],
        contexts: str | PathLike[str] | None,
        caller: Caller,
    ) -> Simulation:
        from attestlab.simulation.history import ContextsHistory, DecisionHistory, open_connection  # loads DuckDB, too
        from attestlab.simulation.query_session import QuerySession
        from attestlab.simulation.simulation import Simulation

        rules.require_window(start, end)
        tenant_id = caller.tenant_id
        with self.storage.read() as connection:
            scenario = build_scenario(connection, draft, tenant_id)
            registry = load_registry(connection.execute, tenant_id, draft.document.target_type)
        target = None if draft.document.target_type is TargetType.TENANT_DEFAULT else draft.target
        history: History = DecisionHistory(draft.document.category.value, target, start, end)
        if contexts is not None:
            history, duckdb_connection = ContextsHistory(fspath(contexts)), open_connection()
            history.raw(duckdb_connection, {})  # rejects an unreadable file immediately
        else:
            duckdb_connection = self.lake(caller).history()

        def load_recorded(members: str) -> PolicySet:
            with self.storage.read() as connection:
                return load_recorded_set(connection, members, tenant_id)

        def report(simulation: Simulation) -> SignedReport:
            return self.save(self.compose(simulation, draft, caller=caller), caller=caller)

        return Simulation(
            QuerySession(duckdb_connection), history, scenario, registry, by=by, recorded=load_recorded, reporter=report
        )


def _isolate(simulation: Simulation, rule: str, effects: Sequence[Mapping[str, object]]) -> IsolatedRows:
    found = simulation.isolate(rule)
    (effect,) = (each for each in effects if each["rule"] == rule)
    return IsolatedRows(effect, found.segments.rows(), found.targets.rows())


def _run_sweep(
    simulation: Simulation, thresholds: Sequence[ThresholdIn], points: int, field: str = "/sweep"
) -> list[dict[str, object]]:
    of_each = points if len(thresholds) == 1 else max(1, int(points**0.5))
    return simulation.sweep_thresholds([each.name for each in thresholds], points=of_each, field=field).rows()
