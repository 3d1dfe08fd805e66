"""Integrity check of trust: the changes are chained, and each agent has the score of its last one."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, func, select

from attestlab.agents.compliance.rules import CheckStatus, EntityKind
from attestlab.agents.compliance.store import BY_OTHERS, checks
from attestlab.agents.rules import INITIAL_TRUST_SCORE
from attestlab.agents.store import agents
from attestlab.agents.trust import store

CHAIN = store.NUMBERED.chain


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield breaks of the chain, and agents that differ from their history or checks, as (place, problem)."""
    for message in store.NUMBERED.find_breaks(connection):
        yield CHAIN, message
    yield from _check_scores(connection)
    yield from _check_passed(connection)


def _check_scores(connection: Connection) -> Iterator[tuple[str, str]]:
    changes = store.changes.c
    last = select(changes.agent_id, func.max(changes.seq).label("seq")).group_by(changes.agent_id).subquery()
    joined = agents.outerjoin(last, last.c.agent_id == agents.c.id)
    joined = joined.outerjoin(store.changes, changes.seq == last.c.seq)
    query = select(agents.c.id, agents.c.trust_score, changes.score).select_from(joined).order_by(agents.c.id)
    for agent_id, stored, changed in connection.execute(query):
        expected = INITIAL_TRUST_SCORE if changed is None else changed
        if stored != expected:
            yield str(agent_id), f"the trust score is {stored}, but its history ends with {expected}"


def _check_passed(connection: Connection) -> Iterator[tuple[str, str]]:
    passed = (checks.c.entity_type == EntityKind.AGENT.value, checks.c.status == CheckStatus.PASSED.value, BY_OTHERS)
    of_agent = select(checks.c.entity_id, func.max(checks.c.created_at).label("at")).where(*passed)
    last = of_agent.group_by(checks.c.entity_id).subquery()
    joined = agents.outerjoin(last, last.c.entity_id == agents.c.id)
    query = select(agents.c.id, agents.c.passed_check_at, last.c.at).select_from(joined).order_by(agents.c.id)
    for agent_id, stored, expected in connection.execute(query):
        if stored != expected:
            yield str(agent_id), f"it last passed a check at {stored}, but its checks say {expected}"
