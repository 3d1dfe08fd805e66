"""Integrity checks of agents: status and keys are those of the newest entries of their chains in the log.

`RECORD_CHECKS` has these and the checks of all parts of agents, by the kind of problem that fsck reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from sqlalchemy import Connection, select

from attestlab.agents import store
from attestlab.agents.delegation import integrity as delegation_integrity
from attestlab.agents.observability import integrity as event_integrity
from attestlab.agents.rules import AgentStatus
from attestlab.agents.runs import integrity as run_integrity
from attestlab.agents.tables import AgentKeyRecord, AgentRecord
from attestlab.agents.trust import integrity as trust_integrity
from attestlab.agents.witnessing import integrity as vote_integrity
from attestlab.core.counting import plural
from attestlab.core.db.tables import iterate
from attestlab.issuers.integrity import build_key_members, find_differences
from attestlab.log import agent_entries
from attestlab.log import store as log_store
from attestlab.log.entries import EntryType

PAGE = 500


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield differences between rows and the newest entries of their chains, as (agent or key, problem)."""
    yield from _check_statuses(connection)
    yield from _check_keys(connection)


def _check_statuses(connection: Connection) -> Iterator[tuple[str, str]]:
    """Compare each agent with its last change; one that is active and never changed needs no entry."""
    changed = 0
    query = select(*store.agents.c).order_by(store.agents.c.id).execution_options(yield_per=PAGE)
    for row in iterate(connection.execute(query), AgentRecord):
        if row.changed_index is None:
            if row.status != AgentStatus.ACTIVE:
                yield str(row.id), f"the row's status is {row.status}, but it has no log index of a change"
            continue
        changed += 1
        subject, expected = agent_entries.agent_subject(row.id), {"status": row.status}
        if wrong := find_differences(connection, subject, expected, index=row.changed_index):
            yield str(row.id), f"the row differs from the log in {wrong}"
    if (chains := log_store.count_of_subjects(connection, EntryType.AGENT_STATUS)) != changed:
        yield (
            "count",
            f"{plural(chains, 'chain')} of {EntryType.AGENT_STATUS.value}, {plural(changed, 'changed agent')}",
        )


def _check_keys(connection: Connection) -> Iterator[tuple[str, str]]:
    count = 0
    query = select(*store.keys.c).order_by(store.keys.c.kid).execution_options(yield_per=PAGE)
    for row in iterate(connection.execute(query), AgentKeyRecord):
        count += 1
        subject = agent_entries.agent_key_subject(row.agent_id, row.kid)
        index = row.log_index if row.changed_index is None else row.changed_index
        if wrong := find_differences(connection, subject, build_key_members(row), index=index):
            yield row.kid, f"the row differs from the log in {wrong}"
    if (chains := log_store.count_of_subjects(connection, EntryType.AGENT_KEY)) != count:
        yield "count", f"{plural(chains, 'chain')} of {EntryType.AGENT_KEY.value}, {plural(count, 'key')}"


RECORD_CHECKS: Final[dict[str, Callable[[Connection], Iterator[tuple[str, str]]]]] = {
    "agent": find_inconsistencies,
    "delegation": delegation_integrity.find_inconsistencies,
    "witness_vote": vote_integrity.find_inconsistencies,
    "agent_event": event_integrity.find_inconsistencies,
    "run": run_integrity.find_inconsistencies,
    "trust": trust_integrity.find_inconsistencies,
}
CHAINS: Final = (event_integrity.CHAIN, trust_integrity.CHAIN)
