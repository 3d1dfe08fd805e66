"""Rows for analysts: the same through both doors, with types that no row decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import attestlab
from attestlab.client.analysis.categories import list_categories
from attestlab.client.analysis.row_iterator import RowIterator
from attestlab.client.analysis.rows import Rows
from attestlab.client.lab import Lab
from attestlab.core.errors import AttestLabError, ValidationFailed
from attestlab.lake import views
from attestlab.orgs.rules import Plan
from support.file_sizes import limit_file_size
from support.server_process import ServerProcess

NOUNS = {
    **{name: name for name in ("attestations", "issuers", "signals", "decisions", "audit", "policies", "cases")},
    **{"challenges": "challenges", "receipts": "receipts", "verifications": "verifications", "log": "log_entries"},
}
MAYBE_EMPTY = ("decisions", "policies", "cases", "challenges", "receipts", "verifications", "log")
COUNTS = "select source, count(*) n, sum(seq) total from this where score >= ? group by all order by source"


@pytest.fixture(scope="module")
def doors(running: ServerProcess) -> Iterator[dict[str, Lab]]:
    """A lab through each door, both for one tenant that has done something."""
    with (
        attestlab.open(running.database_url, data=running.data) as inside,
        attestlab.connect(running.url, running.made["api_key"]) as outside,
    ):
        issuer = inside.issuers.create("Registrar", "registrar.example")
        for _ in range(3):
            inside.mint(issuer=issuer, schema="degree", claims={"student_name": "Ada"})
        inside.attestations[0].revoke("a test")
        for number in range(20):
            inside.signals.add(f"source_{number % 3}", "behavior", 5 * number, "user", f"u-{number}")
        yield {"in process": inside, "over HTTP": outside}


@pytest.fixture(scope="module")
def empty(running: ServerProcess, doors: dict[str, Lab]) -> Lab:
    """A lab in process for a tenant that has done nothing."""
    installation = running.open_lab()
    installation.orgs.create_tenant("Empty", plan=Plan.ENTERPRISE)
    installation.close()
    return doors["in process"].as_("Empty")


def rows_of(lab: Lab, noun: str) -> Rows:
    found = getattr(lab, noun)
    return found if isinstance(found, Rows) else found.rows


@pytest.mark.parametrize("noun", NOUNS)
def test_both_doors_give_the_same_frame(doors: dict[str, Lab], noun: str) -> None:
    inside, outside = (rows_of(lab, noun).df() for lab in doors.values())

    order = list(inside.columns[:2])
    assert list(inside.columns) == rows_of(doors["over HTTP"], noun).columns
    pd.testing.assert_frame_equal(
        inside.sort_values(order, ignore_index=True), outside.sort_values(order, ignore_index=True)
    )


@pytest.mark.parametrize("noun", NOUNS)
def test_types_of_an_empty_frame_are_those_of_a_full_one(doors: dict[str, Lab], empty: Lab, noun: str) -> None:
    full, nothing = (rows_of(lab, noun).df() for lab in (doors["in process"], empty))

    assert nothing.dtypes.to_dict() == full.dtypes.to_dict()
    assert len(nothing) < len(full) or noun in MAYBE_EMPTY


@pytest.mark.parametrize("view", views.ALL, ids=lambda view: view.name)
def test_categories_are_those_of_the_lake(view: views.LakeView) -> None:
    enums = {
        column: list(dict.fromkeys(value.value for kind in kinds for value in kind))
        for column, kinds in view.enums.items()
    }

    assert list_categories(view.name) == enums


def test_types_are_those_that_an_analyst_expects(doors: dict[str, Lab]) -> None:
    frame = doors["in process"].attestations.df()

    assert list(frame["status"].cat.categories) == ["VALID", "REVOKED", "SUPERSEDED", "EXPIRED"]
    assert frame["status"].cat.ordered
    assert (str(frame["ended_index"].dtype), int(frame["ended_index"].isna().sum())) == ("Int64", 2)
    assert (str(frame["id"].dtype), str(frame["created_at"].dtype)) == ("str", "datetime64[us, UTC]")


@pytest.mark.parametrize("door", ["in process", "over HTTP"])
def test_every_form_has_the_same_rows(doors: dict[str, Lab], door: str, tmp_path: Path) -> None:
    signals = doors[door].signals

    assert len(signals) == 20
    assert signals.arrow().num_rows == len(list(signals.rows)) == len(signals.df()) == 20
    assert signals.pl().schema["occurred_at"] == pl.Datetime("us", "UTC")
    assert signals.rel().filter("score >= 50").count("*").fetchall() == [(10,)]
    assert (
        signals.to_parquet(tmp_path / "signals.parquet")
        == pq.read_metadata(tmp_path / "signals.parquet").num_rows
        == 20
    )
    assert pa.table(signals).num_rows == duckdb.connect().from_arrow(pa.table(signals)).shape[0] == 20
    assert signals.head(2)["score"].tolist() == [95.0, 90.0]
    assert bool(signals)


@pytest.mark.parametrize("door", ["in process", "over HTTP"])
def test_a_query_reads_the_rows_under_the_name_this(doors: dict[str, Lab], door: str) -> None:
    lab = doors[door]
    counted = lab.signals.sql(COUNTS, [50]).df()

    assert counted["n"].tolist() == [3, 4, 3]
    assert (str(counted["n"].dtype), str(counted["total"].dtype)) == ("Int64", "float64")
    with_name = lab.signals.sql(
        "with high as (select * from this where score > $least) select count(*) n from high", {"least": 90}
    )
    assert with_name.arrow().to_pylist() == [{"n": 1}]
    assert len(lab.signals.sql(COUNTS, [50])) == 3


@pytest.mark.parametrize("door", ["in process", "over HTTP"])
def test_a_query_of_the_lab_joins_data_sets(doors: dict[str, Lab], door: str) -> None:
    joined = doors[door].sql(
        "select name, attestations.status, count(*) n from attestations join issuers on issuers.id = issuer_id"
        " group by all order by n"
    )

    assert joined.columns == ["name", "status", "n"]
    assert [tuple(row.values()) for row in joined] == [("Registrar", "REVOKED", 1), ("Registrar", "VALID", 2)]


WRONG: dict[str, Callable[[Lab], object]] = {
    "not SQL": lambda lab: lab.sql("selec").df(),
    "unknown data set": lambda lab: lab.sql("select * from nothing").arrow(),
    "unknown column": lambda lab: lab.signals.sql("select colour from this").df(),
    "two statements": lambda lab: lab.sql("select 1; select 2").df(),
    "a file": lambda lab: lab.sql("select * from '/etc/passwd'").df(),
    "writing": lambda lab: lab.sql("copy signals to 'x'").df(),
    "failing at a row": lambda lab: lab.signals.sql("select source::int from this").df(),
    "too few parameters": lambda lab: lab.sql("select ?").df(),
    "no text": lambda lab: lab.sql(7),  # type: ignore[arg-type]
    "odd parameters": lambda lab: lab.sql("select ?", 7).df(),  # type: ignore[arg-type]
    "a query on a query": lambda lab: lab.sql("select 1").sql("select 2"),
    "head": lambda lab: lab.signals.head(-1),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_both_doors_refuse_the_same_query_in_one_line(doors: dict[str, Lab], wrong: str) -> None:
    raised = []
    for lab in doors.values():
        with pytest.raises(AttestLabError) as caught:
            WRONG[wrong](lab)
        raised.append(caught.value)

    assert [type(error) for error in raised] == [ValidationFailed, ValidationFailed]
    assert [error.message for error in raised if "\n" in error.message] == []


def test_a_file_that_cannot_be_written_is_reported(doors: dict[str, Lab], tmp_path: Path) -> None:
    with pytest.raises(ValidationFailed, match="cannot be written"):
        doors["in process"].signals.to_parquet(tmp_path / "no-such-folder" / "x.parquet")


def test_a_lab_of_another_tenant_has_no_rows_of_this_one(doors: dict[str, Lab], empty: Lab) -> None:
    assert len(empty.signals) == 0
    assert empty.sql("select * from attestations").df().empty
    assert not empty.signals


@pytest.mark.parametrize("door", ["in process", "over HTTP"])
def test_a_file_is_replaced_only_by_all_rows(doors: dict[str, Lab], door: str, tmp_path: Path) -> None:
    file = tmp_path / "signals.parquet"
    assert doors[door].signals.to_parquet(file) == 20
    failing = doors[door].signals.sql("select case when score > 90 then error('late') else score end from this")

    with pytest.raises(AttestLabError):
        failing.to_parquet(file)

    assert pq.read_metadata(file).num_rows == 20
    assert [path.name for path in tmp_path.iterdir()] == ["signals.parquet"]


def write_files(lab: Lab) -> Iterator[tuple[str, Callable[[Path], object]]]:
    """Every verb that writes a file."""
    far = {"attr": "jurisdiction", "op": "eq", "value": "AQ"}
    rules = [{"id": "far", "effect": "DENY", "priority": 1, "when": far}]
    target = {"category": "MINT", "target_type": "TENANT_DEFAULT", "default_effect": "ALLOW"}
    draft = {"name": "All but one", **target, "rules": rules}
    yield "to_parquet", lab.signals.to_parquet
    yield "save", lab.attestations[0].bundle().save
    yield "replay", lab.policies.replay(draft, pa.table({"jurisdiction": ["CH"] * 10})).to_parquet


def test_a_full_disk_leaves_every_file_as_it_was(doors: dict[str, Lab], tmp_path: Path) -> None:
    for name, write in write_files(doors["over HTTP"]):
        file = tmp_path / name
        file.write_text("before")
        file.chmod(0o600)
        with limit_file_size(100), pytest.raises(ValidationFailed, match=r"cannot be written: .*File too large"):
            write(file)
        assert (file.read_text(), [path.name for path in tmp_path.iterdir()]) == ("before", [name])

        write(file)
        assert (file.read_bytes() != b"before", file.stat().st_mode & 0o777) == (True, 0o600)
        file.unlink()


def test_a_link_leads_to_the_file_that_was_written(doors: dict[str, Lab], tmp_path: Path) -> None:
    link, file = tmp_path / "newest.json", tmp_path / "bundle.json"
    link.symlink_to(file)

    assert doors["over HTTP"].attestations[0].bundle().save(link) == link
    assert (link.is_symlink(), file.is_file()) == (True, True)


def test_what_is_no_regular_file_is_not_replaced(doors: dict[str, Lab], tmp_path: Path) -> None:
    with pytest.raises(ValidationFailed, match="is not a file"):
        doors["in process"].signals.to_parquet(tmp_path)


def test_a_connection_whose_rows_were_all_read_serves_the_next_request(doors: dict[str, Lab]) -> None:
    outside = doors["over HTTP"]
    outside.me()
    (before,) = outside._client._http._transport._pool.connections  # type: ignore[attr-defined]  # httpx's own

    outside.signals.df()
    outside.signals.sql("select 1").arrow()

    after = outside._client._http._transport._pool.connections  # type: ignore[attr-defined]
    assert [each is before and each.is_idle() for each in after] == [True]


@pytest.fixture
def requests(doors: dict[str, Lab]) -> Iterator[list[str]]:
    """The bodies of the requests for rows that the lab over HTTP sends, as they are sent."""
    sent: list[str] = []
    http = doors["over HTTP"]._client._http
    http.event_hooks = {"request": [lambda request: sent.append(request.content.decode())], "response": []}
    yield sent
    http.event_hooks = {"request": [], "response": []}


@pytest.mark.parametrize("collect", [list, tuple, sorted, lambda rows: [*rows]], ids=["list", "tuple", "sorted", "[*]"])
def test_a_list_of_rows_runs_its_query_once(
    doors: dict[str, Lab], requests: list[str], collect: Callable[[Rows], list[dict[str, object]]]
) -> None:
    assert list(collect(doors["over HTTP"].sql("select 7 as n"))) == [{"n": 7}]
    assert len(requests) == 1


def test_an_iteration_may_be_asked_for_its_length(doors: dict[str, Lab], requests: list[str]) -> None:
    rows = doors["over HTTP"].sql("select * from range(3) t(n)")
    iteration = iter(rows)

    assert (len(rows), len(requests)) == (3, 1)
    assert [next(iteration), *iteration] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert len(requests) == 1
    assert (len(rows), "count(*)" in requests[1]) == (3, True)


def test_rows_are_read_as_they_are_when_an_iteration_begins(doors: dict[str, Lab]) -> None:
    lab = doors["over HTTP"]
    rows, before = lab.sql("select id from issuers"), len(lab.issuers)
    assert len(list(rows)) == before
    lab.issuers.create("Another", "another.example")
    assert (len(list(rows)), len(rows)) == (before + 1, before + 1)


def test_a_short_answer_is_complete_with_its_first_row(doors: dict[str, Lab]) -> None:
    outside = doors["over HTTP"]
    outside.me()
    (before,) = outside._client._http._transport._pool.connections  # type: ignore[attr-defined]  # httpx's own

    iteration = iter(outside.sql("select * from range(9) t(n)"))

    assert next(iteration) == {"n": 0}
    after = outside._client._http._transport._pool.connections  # type: ignore[attr-defined]
    assert [each is before and each.is_idle() for each in after] == [True]


def test_a_long_answer_that_is_left_early_is_closed(doors: dict[str, Lab]) -> None:
    outside = doors["over HTTP"]
    iteration = cast(RowIterator, iter(outside.sql("select * from range(5000000) t(n)")))

    assert next(iteration) == {"n": 0}
    open_ones = outside._client._http._transport._pool.connections  # type: ignore[attr-defined]  # httpx's own
    assert [each.is_idle() for each in open_ones] == [False]
    iteration.close()
    assert [*iteration] == []
    assert outside._client._http._transport._pool.connections == []  # type: ignore[attr-defined]
