"""A query finds the data sets that it names, and each opening of them costs."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb
import pytest

from attestlab.installation import Installation
from attestlab.lake.named_views import run_on_needed_views
from attestlab.lake.relations import TenantLake
from attestlab.lake.views import LakeView
from attestlab.orgs.rules import Caller

JOIN = "select count(*) from signals join cases on cases.id = case_id where score >= {least}"


@pytest.mark.parametrize(
    ("query", "parameters"),
    [(JOIN.format(least=50), None), (JOIN.format(least="?"), [50]), (JOIN.format(least="$least"), {"least": 50})],
)
def test_a_query_opens_the_data_sets_that_it_names_once(
    lab: Installation, caller: Caller, monkeypatch: pytest.MonkeyPatch, query: str, parameters: object
) -> None:
    opened: list[list[str]] = []
    open_views = TenantLake.open_views

    def note(lake: TenantLake, wanted: Iterable[LakeView], *, has_plain_types: bool = False) -> object:
        views = list(wanted)
        opened.append(sorted(view.name for view in views))
        return open_views(lake, views, has_plain_types=has_plain_types)

    def run(connection: duckdb.DuckDBPyConnection) -> object:
        return connection.execute(query, parameters).fetchall()

    monkeypatch.setattr(TenantLake, "open_views", note)

    assert run_on_needed_views(lab.lake(caller), query, run) == [(0,)]
    assert opened == [["cases", "signals"]]
