"""A page of issuers reads the rows it shows, in the order of an index: each engine's own plan shows it."""

from __future__ import annotations

import threading
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Connection

from attestlab.installation import Installation
from attestlab.issuers import store
from attestlab.orgs.rules import Caller, Plan
from support.in_process_server import make_client, serve_in_thread
from support.query_plans import explain_queries, is_sorted

INDEX = "ix_issuers_tenant_id_id"


@pytest.mark.both_engines
@pytest.mark.parametrize(("before", "offset"), [(None, 0), (None, 1_000), (uuid4(), 0)])
def test_issuer_page_uses_an_index_without_sorting(
    lab: Installation, caller: Caller, before: UUID | None, offset: int
) -> None:
    wanted: dict[str, Any] = {"tenant_id": caller.tenant_id, "before": before, "offset": offset, "limit": 50}
    plan = explain_queries(lab.storage, lambda connection: store.page(connection, **wanted))

    assert (INDEX in plan, is_sorted(plan)) == (True, False)


def test_offset_query_runs_in_a_thread(lab: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def page(_connection: Connection, **_query: Any) -> list[Any]:
        threads.append(threading.current_thread().name)
        return []

    monkeypatch.setattr(store, "page", page)
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url, make_client(url, key=tenant.api_key) as client:
        client.get("/v1/issuers").raise_for_status()
        client.get("/v1/issuers?offset=1000").raise_for_status()

    assert [name.startswith("attestlab-long") for name in threads] == [False, True]
