"""How the engines read receipts: a page is read in the order of an index, whatever it is filtered by."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from attestlab.installation import Installation
from attestlab.receipts import store
from attestlab.receipts.shapes import ReceiptFilters
from support.query_plans import explain_queries, is_scanned, is_sorted

pytestmark = [pytest.mark.both_engines, pytest.mark.one_world]


@pytest.mark.parametrize("before", [None, 1_000])
@pytest.mark.parametrize(
    "criteria", [{}, {"receipt_type": "delivery"}, {"issuer_id": uuid4()}, {"subject": "parcel 7"}]
)
def test_a_page_is_read_in_the_order_of_an_index(
    lab: Installation, criteria: dict[str, Any], before: int | None
) -> None:
    wanted = ReceiptFilters(**criteria)
    plan = explain_queries(
        lab.storage,
        lambda connection: store.page(connection.execute, wanted, tenant_id=uuid4(), before=before, offset=0, limit=51),
    )

    # Which of the indexes that end in `log_index` fits best depends on how many rows share a value.
    assert ("ix_receipts_of_" in plan, is_scanned(plan, "receipts"), is_sorted(plan)) == (True, False, False)
