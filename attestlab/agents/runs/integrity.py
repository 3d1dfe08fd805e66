"""Integrity check of runs: steps are what their agents signed, and runs are what their steps and the log say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import Connection, select

from attestlab.agents import store as agent_store
from attestlab.agents.runs import rules, store
from attestlab.agents.runs.rules import PlannedStep, RecordedStep, RunStatus
from attestlab.agents.runs.step_tokens import ALGORITHM, verify_step
from attestlab.agents.runs.store import collect_recorded
from attestlab.agents.runs.tables import RunRecord, RunStepRecord
from attestlab.agents.tables import AgentKeyRecord
from attestlab.core.counting import plural
from attestlab.core.crypto import signing
from attestlab.core.db.tables import iterate
from attestlab.core.errors import AttestLabError
from attestlab.issuers.integrity import find_differences
from attestlab.log import agent_entries
from attestlab.log import store as log_store
from attestlab.log.entries import EntryType

PAGE = 500


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield steps that their agents did not sign, and runs that differ from steps or log, as (id, problem)."""
    yield from _check_signatures(connection)
    yield from _check_runs(connection)


def _check_signatures(connection: Connection) -> Iterator[tuple[str, str]]:
    columns = (*store.steps.c, *agent_store.keys.c)
    query = (
        select(*columns)
        .join(agent_store.keys, agent_store.keys.c.kid == store.steps.c.kid, isouter=True)
        .order_by(store.steps.c.id)
        .execution_options(yield_per=PAGE)
    )
    width = len(store.steps.c)
    for row in connection.execute(query):
        step, key = RunStepRecord(*row[:width]), AgentKeyRecord(*row[width:])
        problem = _find_fault_of_signature(step, key)
        if problem is not None:
            yield str(step.id), problem


def _find_fault_of_signature(row: RunStepRecord, key: AgentKeyRecord) -> str | None:
    if key.agent_id != row.agent_id:
        return f"its key {row.kid} is not one of the agent {row.agent_id}"
    try:
        (step,) = collect_recorded([row]).values()
        public = signing.load_public(ALGORITHM, key.spki)
        verify_step(row.jws, str(row.run_id), step, kid=key.kid, public=public)
    except (AttestLabError, ValueError) as error:
        return f"the row is not what its agent signed: {error}"
    return None


def _check_runs(connection: Connection) -> Iterator[tuple[str, str]]:
    ended = 0
    query = select(*store.runs.c).order_by(store.runs.c.id).execution_options(yield_per=PAGE)
    for row in iterate(connection.execute(query), RunRecord):
        ended += row.log_index is not None
        problem = _find_fault_of_run(connection, row)
        if problem is not None:
            yield str(row.id), problem
    if (chains := log_store.count_of_subjects(connection, EntryType.RUN_COMPLETED)) != ended:
        yield "count", f"{plural(chains, 'chain')} of {EntryType.RUN_COMPLETED.value}, {plural(ended, 'ended run')}"


def _find_fault_of_run(connection: Connection, row: RunRecord) -> str | None:
    try:
        plan, steps = rules.decode_plan(row.plan), store.list_steps(connection.execute, row.id)
        recorded = collect_recorded(steps)
        status = RunStatus(row.status)
    except (AttestLabError, ValueError, KeyError, TypeError) as error:
        return f"its plan, status or steps cannot be read: {error}"
    problem = _find_difference_of_steps(row, plan, steps, recorded)
    return problem or _find_difference_of_end(connection, row, plan, recorded, status)


def _find_difference_of_steps(
    row: RunRecord, plan: Sequence[PlannedStep], steps: Sequence[RunStepRecord], recorded: Mapping[str, RecordedStep]
) -> str | None:
    places = {step.id: place for place, step in enumerate(plan)}
    for step in steps:
        if places.get(step.step_id) != step.position:
            return f"its step {step.step_id} is at {step.position}, where the plan does not have it"
        if step.chain_ok != rules.is_chained(plan[step.position], step.inputs_hash, recorded):
            return f"the chain_ok of its step {step.step_id} is {step.chain_ok}, and its hashes say otherwise"
    counted = (row.planned_steps, row.recorded_steps, row.chain_ok)
    expected = (len(plan), len(steps), rules.is_run_chained(plan, recorded))
    return None if counted == expected else f"it says {counted}, but plan and steps make it {expected}"


def _find_difference_of_end(
    connection: Connection,
    row: RunRecord,
    plan: Sequence[PlannedStep],
    recorded: Mapping[str, RecordedStep],
    status: RunStatus,
) -> str | None:
    if row.log_index is None:
        return None if status is RunStatus.RUNNING else f"its status is {status}, but it has no log index of an end"
    if row.run_hash != rules.hash_run(str(row.id), str(row.agent_id), plan, recorded, status):
        return "its hash is not that of its plan, status and steps"
    subject, expected = agent_entries.run_subject(row.id), {"status": row.status, "run_hash": row.run_hash}
    wrong = find_differences(connection, subject, expected, index=row.log_index)
    return f"the row differs from the log in {wrong}" if wrong else None
