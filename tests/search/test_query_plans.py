"""How the engines read for the search: no table that grows with the tenant's traffic is read as a whole."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from sqlalchemy import Connection

from attestlab.installation import Installation
from attestlab.search import store
from attestlab.search.rules import Span, parse_decision_range, parse_hash_range, parse_id_range
from support.query_plans import explain_queries, is_scanned

pytestmark = [pytest.mark.both_engines, pytest.mark.one_world]

TENANT = UUID(int=7)
NOW = datetime(2026, 11, 2, tzinfo=UTC)
SPANS = [Span.of_prefix("device-73")]
IDS = parse_id_range("0199a")
INDEXES = {
    "entities": ["ix_risk_signals_of_entity", "ix_risk_list_entries_of_entity"],
    "linked": ["ix_risk_links_of_second"],
    "cases": ["ix_risk_cases_open", "ix_risk_cases_of_entity", "ix_risk_cases_of_tenant"],
    "decisions": ["ix_policy_decisions_of_tenant"],
    "attestations": ["ix_attestations_of_tenant_by_id", "ix_attestations_document_hash"],
}


def search(connection: Connection, what: str) -> object:
    execute = connection.execute
    if what == "entities":
        return store.find_entities(execute, TENANT, SPANS, now=NOW, limit=20)
    if what == "linked":
        return store.find_linked_entities(execute, TENANT, SPANS, limit=20)
    if what == "cases":
        return store.find_cases(execute, TENANT, IDS, SPANS, limit=20)
    if what == "decisions":
        return store.find_decisions(execute, TENANT, parse_decision_range("dec_01K") or Span("", ""), limit=20)
    return store.find_attestations(execute, TENANT, IDS, parse_hash_range("ab12"), limit=20)


@pytest.mark.parametrize("what", INDEXES)
def test_what_grows_with_traffic_is_read_by_an_index(lab: Installation, what: str) -> None:
    plan = explain_queries(lab.storage, lambda connection: search(connection, what), with_bitmaps=True)

    assert [index for index in INDEXES[what] if index not in plan] == [], plan
    tables = ("risk_signals", "risk_cases", "risk_links", "risk_list_entries", "policy_decisions", "attestations")
    assert [table for table in tables if is_scanned(plan, table)] == []


def test_entities_are_read_from_one_id_to_the_next(lab: Installation) -> None:
    plan = explain_queries(lab.storage, lambda connection: search(connection, "entities"))

    ranges = (
        "entity_id>? AND entity_id<?",
        "(entity_id ~>=~",
    )  # as SQLite and PostgreSQL write the condition of an index
    assert any(each in plan for each in ranges), plan
