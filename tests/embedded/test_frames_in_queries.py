"""A query joins frames of the caller's own process: pandas, Polars and Arrow, by keyword."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import attestlab
from attestlab.client.lab import Lab
from attestlab.core.errors import ValidationFailed
from support.server_process import ServerProcess

TEAMS = {"source": ["a", "b"], "team": ["fraud", "access"]}
QUERY = "select team, count(*) n from signals join mine using (source) group by all order by team"


@pytest.fixture(scope="module")
def inside(running: ServerProcess) -> Iterator[Lab]:
    with attestlab.open(running.database_url, data=running.data) as lab:
        for source in "aab":
            lab.signals.add(source, "behavior", 50, "user", "u-1")
        yield lab


@pytest.mark.parametrize("frame", [pd.DataFrame(TEAMS), pl.DataFrame(TEAMS), pa.table(TEAMS)], ids=["pd", "pl", "pa"])
def test_a_frame_is_joined_by_its_keyword(inside: Lab, frame: object) -> None:
    rows = inside.sql(QUERY, mine=frame)

    assert list(rows) == list(rows) == [{"team": "access", "n": 1}, {"team": "fraud", "n": 2}]
    assert (len(rows), rows.columns, len(rows.df())) == (2, ["team", "n"], 2)


def test_rows_of_a_query_are_a_frame_of_another(inside: Lab) -> None:
    sources = inside.sql("select distinct source from signals")

    assert list(inside.sql("select count(*) n from mine m join more using (source)", mine=sources, more=sources)) == [
        {"n": 2}
    ]


def test_parameters_and_frames_go_together(inside: Lab) -> None:
    frame = pd.DataFrame({"order": [1, 2]})
    rows = inside.sql('select count(*) n from "order" where "order" > ?', [1], order=frame)

    assert list(rows) == [{"n": 1}]


@pytest.mark.parametrize("name", ["signals", "Signals", "this", "ends", "signals_rows", "log_entries_rows_0"])
def test_a_frame_hides_no_data_set(inside: Lab, name: str) -> None:
    with pytest.raises(ValidationFailed, match=f"'{name}' names a data set. Give the frame another name"):
        inside.sql("select 1", **{name: pd.DataFrame(TEAMS)}).arrow()


@pytest.mark.parametrize("name", ["", "a b", "1a", 'x"; drop', "a-b", "größe"])
def test_a_name_of_a_frame_is_an_identifier(inside: Lab, name: str) -> None:
    with pytest.raises(ValidationFailed, match=r"is no name for a frame\. Use letters, digits and `_`"):
        inside.sql("select 1", **{name: pd.DataFrame(TEAMS)})


@pytest.mark.parametrize(
    "value",
    [None, 1, "signals", [TEAMS], TEAMS, pd.Series([1]), pd.DataFrame({"a": [1, "x", {}]})],
    ids=["none", "number", "text", "list", "dict", "series", "mixed"],
)
def test_a_value_that_is_no_frame_is_refused(inside: Lab, value: object) -> None:
    with pytest.raises(ValidationFailed, match=r"'mine' .*Pass a data frame of pandas or Polars"):
        inside.sql("select * from mine", mine=value)


def test_over_http_a_frame_is_refused(running: ServerProcess) -> None:
    with attestlab.connect(running.url, running.made["api_key"]) as lab:
        rows = lab.sql(QUERY, mine=pd.DataFrame(TEAMS))
        with pytest.raises(ValidationFailed, match=r"'mine' is a frame of this process, and .* runs the query\. Read"):
            rows.df()


def test_the_async_lab_refuses_a_frame_too(running: ServerProcess) -> None:
    async def read() -> None:
        async with attestlab.connect_async(running.url, running.made["api_key"]) as lab:
            await lab.sql(QUERY, mine=pd.DataFrame(TEAMS)).df()

    with pytest.raises(ValidationFailed, match="'mine' is a frame of this process"):
        asyncio.run(read())
