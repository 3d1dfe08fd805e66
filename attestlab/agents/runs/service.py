"""Service for runs: start them, record their steps, complete them (CONTRACT 11.12). It executes nothing.

A run that ends is an entry of the log, a row, an audit line and an event, in one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from attestlab.agents import rules as agent_rules
from attestlab.agents import store as agent_store
from attestlab.agents.key_proofs import prove_entry, prove_keys
from attestlab.agents.keys import AgentKeys
from attestlab.agents.lifecycle import get_active
from attestlab.agents.runs import rules, store
from attestlab.agents.runs.events import RunCompleted
from attestlab.agents.runs.results import RecordedOfPlan, RunDetails, RunProof
from attestlab.agents.runs.rules import PlannedStep, RecordedStep, RunStatus
from attestlab.agents.runs.shapes import PlannedStepIn, RunCompleteIn, RunIn, RunsQuery, RunStepIn
from attestlab.agents.runs.signing import sign_step
from attestlab.agents.runs.store import RunSummary, collect_recorded
from attestlab.agents.runs.tables import RunRecord, RunStepRecord
from attestlab.agents.tables import AgentRecord
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.audited_write import AuditContext
from attestlab.log import agent_entries
from attestlab.log.entries import EntryType
from attestlab.log.service import Log
from attestlab.orgs.rules import Caller, validate_display_name


class Runs:
    """The runs of all tenants. `tx` is the unit of work to join; without it, a verb commits its own."""

    def __init__(self, *, storage: Storage, clock: Clock, log: Log, keys: AgentKeys) -> None:
        self.storage = storage
        self.clock = clock
        self.log = log
        self.keys = keys

    def start(self, body: RunIn, *, caller: Caller, tx: Transaction | None = None) -> RunDetails:
        """Start a run of an agent with its plan: a row and an audit line.

        Raises:
            NotFound: the caller's tenant has no such agent, or not one that the plan names.
            PermissionDenied: the caller is another agent.
            Conflict: the agent is not active.
            ValidationFailed: the plan has a cycle, an unknown dependency or an id twice; or the metadata is too large.
        """
        agent_id = agent_rules.parse_agent_id(body.agent_id, tenant_id=caller.tenant_id)
        agent_rules.require_own(caller, agent_id, verb="start runs of")
        plan = [_read_planned(step, caller.tenant_id) for step in body.plan.steps]
        rules.require_plan(plan)
        name = validate_display_name("name", body.name)
        extra = agent_rules.encode_object("metadata", body.metadata, agent_rules.METADATA_LIMIT_BYTES)
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            get_active(tx.exec, agent_id, caller, now, verb="start a run")
            _require_known_agents(tx.exec, plan, caller.tenant_id)
            row = RunRecord(
                id=new_id(now),
                tenant_id=caller.tenant_id,
                agent_id=agent_id,
                name=name,
                plan=rules.encode_plan(plan),
                extra=extra,
                status=RunStatus.RUNNING.value,
                chain_ok=True,
                planned_steps=len(plan),
                recorded_steps=0,
                created_at=now,
            )
            audited_write.insert(tx, store.runs, row, AuditContext(caller.tenant_id, caller, "run.start", now))
        return RunDetails(row, plan, [])

    def get(self, run_id: UUID, *, caller: Caller) -> RunDetails:
        """Get a run with its plan and its recorded steps.

        Raises:
            NotFound: the caller's tenant has no such run.
        """
        with self.storage.read() as connection:
            return _read(connection.execute, run_id, caller)

    def page(
        self, query: RunsQuery, *, caller: Caller, before: UUID | None = None, limit: int = 50
    ) -> list[RunSummary]:
        """List the tenant's runs without their plans, newest first, starting after `before`."""
        with self.storage.read() as connection:
            return store.page(connection.execute, query, tenant_id=caller.tenant_id, before=before, limit=limit)

    def record(self, run_id: UUID, body: RunStepIn, *, caller: Caller, tx: Transaction | None = None) -> RecordedOfPlan:
        """Record a step of a run, once: what its agent signed, the row of the run, and audit lines.

        Inputs that are not what the dependencies put out are recorded, and `chain_ok` says so.

        Raises:
            NotFound: the caller's tenant has no such run or agent.
            PermissionDenied: the caller is another agent, or the agent is neither the run's nor one below it.
            Conflict: the run has ended, the step is recorded already or a dependency is not, or the agent is not
                active.
            ValidationFailed: the plan has no such step; or the key is the agent's own, and the signature is missing
                or not of this step; or the service holds the key, and there is a signature.
        """
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            found = _read(tx.exec, run_id, caller)
            agent = _get_recorder(tx.exec, found, body, caller, now)
            step = RecordedStep(body.step_id, str(agent.id), body.inputs_hash, body.outputs_hash, body.status)
            recorded = collect_recorded(found.steps)
            rules.require_running(RunStatus(found.row.status), "take steps")
            rules.require_recordable(found.plan, step.step_id, recorded)
            row = self._sign(tx, found, step, agent, body, now)
            context = AuditContext(caller.tenant_id, caller, "run_step.record", now)
            audited_write.insert(tx, store.steps, row, context)
            progress = {
                "recorded_steps": found.row.recorded_steps + 1,
                "chain_ok": found.row.chain_ok and row.chain_ok,
            }
            counted = AuditContext(caller.tenant_id, caller, "run.count", now, {"step_id": step.step_id})
            audited_write.change(tx, store.runs, found.row, progress, counted)
        return RecordedOfPlan(row, found.plan[row.position])

    def complete(
        self, run_id: UUID, body: RunCompleteIn, *, caller: Caller, tx: Transaction | None = None
    ) -> RunDetails:
        """End a run: its hash becomes an entry of the log, and nothing of it changes afterwards.

        Raises:
            NotFound: the caller's tenant has no such run.
            PermissionDenied: the caller is another agent.
            Conflict: the run has ended, or steps are open and it shall be completed.
        """
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            found = _read(tx.exec, run_id, caller)
            agent_rules.require_own(caller, found.row.agent_id, verb="complete runs of")
            recorded = collect_recorded(found.steps)
            rules.require_completable(found.plan, recorded, now=RunStatus(found.row.status), then=body.status)
            status = RunStatus(body.status.value)
            run_hash = rules.hash_run(str(run_id), str(found.row.agent_id), found.plan, recorded, status)
            index = self._log(tx, run_id, status, run_hash, now)
            end = {"status": status.value, "completed_at": now, "run_hash": run_hash, "log_index": index}
            context = AuditContext(caller.tenant_id, caller, "run.complete", now)
            row = audited_write.change(tx, store.runs, found.row, end, context)
            event = RunCompleted(run_id, status.value, row.chain_ok, index, now)
            outbox.publish(tx, caller.tenant_id, event, at=now)
        return RunDetails(row, found.plan, found.steps)

    def prove(self, run_id: UUID, *, caller: Caller) -> RunProof:
        """Collect what a stranger needs to verify a run: its steps, the agents' keys in the log, and a signed head.

        Raises:
            NotFound: the caller's tenant has no such run.
            Conflict: it has not ended, so that the log does not have its hash yet.
        """
        with self.storage.read() as connection:
            found = _read(connection.execute, run_id, caller)
            if found.row.log_index is None:
                message = "The run is running; the log has its hash once it ended. Complete it first."
                raise Conflict(message, details={"status": found.row.status, "reason": "running"})
            head = self.log.head_covering(connection, found.row.log_index)
            rows = store.list_keys(connection.execute, {step.kid for step in found.steps})
            keys = prove_keys(connection, self.log, rows, head.size)
            end = prove_entry(connection, self.log, found.row.log_index, head.size)
            return RunProof(found, keys, end, head)

    def _log(self, tx: Transaction, run_id: UUID, status: RunStatus, run_hash: str, now: datetime) -> int:
        entry = agent_entries.run_completed_entry(
            orchestration_id=run_id, status=status.value, run_hash=run_hash, at=now
        )
        subject = agent_entries.run_subject(run_id)
        return self.log.append(tx, entry, kind=EntryType.RUN_COMPLETED, subject=subject).index

    def _sign(
        self,
        tx: Transaction,
        found: RunDetails,
        step: RecordedStep,
        agent: AgentRecord,
        body: RunStepIn,
        now: datetime,
    ) -> RunStepRecord:
        position = next(index for index, each in enumerate(found.plan) if each.id == step.step_id)
        key = agent_store.get_key(tx.exec, agent.id, agent.key_id)
        private = self.keys.unseal_signer(key)
        return RunStepRecord(
            id=new_id(now),
            tenant_id=found.row.tenant_id,
            run_id=found.row.id,
            step_id=step.step_id,
            position=position,
            agent_id=agent.id,
            inputs_hash=step.inputs_hash,
            outputs_hash=step.outputs_hash,
            status=step.status.value,
            latency_ms=body.latency_ms,
            chain_ok=rules.is_chained(found.plan[position], step.inputs_hash, collect_recorded(found.steps)),
            kid=key.kid,
            jws=sign_step(str(found.row.id), step, key, private, body.signature, now=now),
            created_at=now,
        )


def _read(execute: Execute, run_id: UUID, caller: Caller) -> RunDetails:
    row = store.get(execute, run_id, tenant_id=caller.tenant_id)
    return RunDetails(row, rules.decode_plan(row.plan), store.list_steps(execute, run_id))


def _read_planned(step: PlannedStepIn, tenant_id: UUID) -> PlannedStep:
    meant = None if step.agent_id is None else str(agent_rules.parse_agent_id(step.agent_id, tenant_id=tenant_id))
    return PlannedStep(step.id, step.type, tuple(step.depends_on), meant)


def _require_known_agents(execute: Execute, plan: Sequence[PlannedStep], tenant_id: UUID) -> None:
    named = {UUID(step.agent_id) for step in plan if step.agent_id is not None}
    unknown = named - store.list_known_agents(execute, named, tenant_id=tenant_id)
    if unknown:
        raise NotFound("agent", min(unknown))


def _get_recorder(execute: Execute, found: RunDetails, body: RunStepIn, caller: Caller, now: datetime) -> AgentRecord:
    """Get the agent that did a step: one that may record steps of this run, and is active."""
    agent_id = _choose_recorder(found, body, caller)
    agent_rules.require_own(caller, agent_id, verb="record steps for")
    agent = get_active(execute, agent_id, caller, now, verb="record a step")
    above = agent_store.list_ancestors(execute, [agent_id]).get(agent_id, [])
    rules.require_of_run(agent_id, found.row.agent_id, [each.id for each in above])
    return agent


def _choose_recorder(found: RunDetails, body: RunStepIn, caller: Caller) -> UUID:
    """Choose the agent that did a step: the one sent, else the calling agent, the planned one, or the run's."""
    if body.agent_id is not None:
        return agent_rules.parse_agent_id(body.agent_id, tenant_id=caller.tenant_id)
    if caller.actor_type == "AGENT":
        return UUID(str(caller.actor_id))
    planned = next((step.agent_id for step in found.plan if step.id == body.step_id), None)
    return found.row.agent_id if planned is None else UUID(planned)
