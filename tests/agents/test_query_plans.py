"""Pages of agents read an index alone until they have their rows, whatever the filter."""

from __future__ import annotations

from uuid import uuid4

import pytest

from attestlab.agents import store
from attestlab.agents.rules import AgentStatus, AgentType
from attestlab.agents.shapes import AgentsQuery
from attestlab.core.clock import SystemClock
from attestlab.core.db.storage import Storage
from support.query_plans import explain_queries, is_scanned

FILTERS = {
    "none": AgentsQuery(),
    "type": AgentsQuery(agent_type=AgentType.BOT),
    "status": AgentsQuery(status=AgentStatus.SUSPENDED),
    "revoked": AgentsQuery(status=AgentStatus.REVOKED),
    "both": AgentsQuery(agent_type=AgentType.BOT, status=AgentStatus.ACTIVE),
}


def explain_page(storage: Storage, query: AgentsQuery) -> str:
    return explain_queries(
        storage,
        lambda connection: store.page(
            connection.execute, query, tenant_id=uuid4(), now=SystemClock().now(), before=None, limit=50
        ),
    )


@pytest.mark.both_engines
@pytest.mark.parametrize("query", FILTERS.values(), ids=FILTERS)
def test_a_page_reads_the_index_of_the_tenant(storage: Storage, query: AgentsQuery) -> None:
    plan = explain_page(storage, query)

    assert "ix_agents_of_tenant" in plan, plan
    assert not is_scanned(plan, "agents"), plan


def test_a_text_is_found_in_an_index_alone(storage: Storage) -> None:
    plan = explain_page(storage, AgentsQuery(q="no agent has it"))

    assert "USING COVERING INDEX ix_agents_texts (tenant_id=?)" in plan, plan


def test_a_filter_reads_no_row_without_a_hit(storage: Storage) -> None:
    plan = explain_page(storage, AgentsQuery(agent_type=AgentType.BOT))

    assert "USING COVERING INDEX ix_agents_of_tenant (tenant_id=?)" in plan, plan
