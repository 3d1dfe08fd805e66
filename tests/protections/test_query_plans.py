"""How the engines read protections: the owner's list and the portfolio are ranges of one index."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from attestlab.consumer.accounts import store as account_store
from attestlab.installation import Installation
from attestlab.protections import store
from attestlab.protections.rules import Visibility
from attestlab.protections.shapes import ProtectionsQuery
from support.query_plans import explain_queries, is_scanned, is_sorted

pytestmark = [pytest.mark.both_engines, pytest.mark.one_world]


@pytest.mark.parametrize("before", [None, uuid4()])
@pytest.mark.parametrize(
    ("query", "index"),
    [
        (ProtectionsQuery(), "ix_protections_of_user"),
        (ProtectionsQuery(visibility=Visibility.PUBLIC), "ix_protections_of_visibility"),
    ],
)
def test_a_page_is_read_in_the_order_of_an_index(
    lab: Installation, query: ProtectionsQuery, index: str, before: UUID | None
) -> None:
    plan = explain_queries(
        lab.storage,
        lambda connection: store.page(connection.execute, query, user_id=uuid4(), before=before, limit=51),
    )

    assert (index in plan, is_sorted(plan)) == (True, False)
    assert [is_scanned(plan, table) for table in ("protections", "attestations", "protection_days")] == [False] * 3


def test_a_portfolio_is_found_by_its_username(lab: Installation) -> None:
    plan = explain_queries(
        lab.storage, lambda connection: account_store.find_account_by_username(connection.execute, "ada")
    )

    assert [is_scanned(plan, table) for table in ("consumer_accounts", "users", "tenants")] == [False] * 3
