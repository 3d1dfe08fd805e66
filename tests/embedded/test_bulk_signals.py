"""Many signals in several requests: as if they were one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from attestlab.client.collections import bulk_signals
from attestlab.client.lab import Lab
from attestlab.core.errors import ValidationFailed
from support.new_labs import open_new_lab


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with open_new_lab(tmp_path_factory.mktemp("lab")) as opened:
        yield opened


def make_signal(source: str, number: int, **changes: Any) -> dict[str, Any]:
    signal = {"source": source, "signal_type": "behavior", "score": 1, "entity_type": "user", "entity_id": f"u{number}"}
    return {**signal, **changes}


def count_signals(lab: Lab, source: str) -> int:
    return len(lab.signals.sql("select * from this where source = ?", [source]))


@pytest.mark.parametrize(("bound", "value"), [("MAX_SIGNALS", 10), ("MAX_BYTES", 1_000)])
def test_several_requests_record_every_signal(
    lab: Lab, bound: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_signals, bound, value)
    sent = []
    original = bulk_signals._send
    monkeypatch.setattr(bulk_signals, "_send", lambda *given: sent.append(given[1].split(b"\n")) or original(*given))

    done = lab.signals.add_many((make_signal(bound.lower(), number) for number in range(25)), backfill=True)

    assert (done.accepted, done.rejected, done.more_rejected, done.not_read) == (25, [], 0, 0)
    assert (len(sent) > 2, sum(map(len, sent)), count_signals(lab, bound.lower())) == (True, 25, 25)


def test_rejected_lines_have_their_number_in_the_whole_list(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_signals, "MAX_SIGNALS", 10)
    signals = [make_signal("numbers", number, score=999 if number in (4, 15, 22) else 1) for number in range(25)]

    done = lab.signals.add_many(signals)

    assert [each.line for each in done.rejected] == [5, 16, 23]
    assert (done.accepted, count_signals(lab, "numbers")) == (22, 22)


def test_every_good_row_is_sent_however_many_bad_ones_there_are(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_signals, "MAX_SIGNALS", 500)
    signals = [make_signal("mixed", number, score=1 if number % 2 else 999) for number in range(3_000)]

    done = lab.signals.add_many(signals)

    assert (done.accepted, done.rejected_count, count_signals(lab, "mixed")) == (1_500, 1_500, 1_500)
    assert [each.line for each in done.rejected] == [*range(1, 2_000, 2)]
    assert repr(done).startswith("Bulk(accepted=1500, rejected=1500, not_sent=0, first=row 1: /score: 999 is outside")


def test_no_signals_are_none(lab: Lab) -> None:
    assert lab.signals.add_many([]).accepted == 0


def test_rows_that_cannot_be_sent_are_rejected_with_their_number_and_field(lab: Lab) -> None:
    rows: list[Any] = [
        7,
        make_signal("unsendable", 1),
        make_signal("unsendable", 2, score=float("nan")),
        make_signal("unsendable", 3, occurred_at=datetime(2026, 1, 2)),
        make_signal("unsendable", 4, score="high"),
    ]

    done = lab.signals.add_many(rows)

    assert (done.accepted, count_signals(lab, "unsendable")) == (1, 1)
    table = done.rejected.df()
    assert table["line"].tolist() == [1, 3, 4, 5]
    for message, part in zip(
        table["message"], ["is a int", "score=nan", "occurred_at=2026-01-02", "/score"], strict=True
    ):
        assert part in message
    card = done._repr_html_()
    assert all(part in card for part in ("NOT ALL RECORDED", "not sent", "row 3", "rejected.df()"))


@pytest.mark.parametrize(
    "change",
    [{"score": 101}, {"score": "1"}, {"entity_type": "planet"}, {"entity_id": ""}, {"source": "A B"}, {"extra": 1}],
    ids=str,
)
def test_strict_sends_nothing_unless_every_row_is_a_signal(lab: Lab, change: dict[str, Any]) -> None:
    rows = [make_signal("strict", 1), make_signal("strict", 2) | change]
    refused = lab.signals.add_many(rows[1:])
    assert (refused.accepted, refused.rejected_count) == (0, 1), "the service refuses the same"

    with pytest.raises(ValidationFailed, match=r"1 of 2 rows are no signals, so none was sent. Row 2: ") as caught:
        lab.signals.add_many(rows, strict=True)

    assert (caught.value.fields[0].field, count_signals(lab, "strict")) == ("/1", 0)
    assert lab.signals.add_many(make_signal("whole", number) for number in range(3)).accepted == 3


def make_columns(source: str) -> dict[str, list[Any]]:
    return {
        "source": [source] * 3,
        "signal_type": ["behavior"] * 3,
        "score": [1, 2.5, 3],
        "entity_type": ["user"] * 3,
        "entity_id": ["07", "u2", "u3"],
        "details": ['{"page": 1}', None, '{"page": 3}'],
        "occurred_at": ["2026-01-02 09:00:00", None, "2026-07-02T09:00:00Z"],
    }


def make_table(form: str, folder: Path, columns: dict[str, list[Any]]) -> Any:
    frame = pd.DataFrame(columns)
    if form == "csv":
        frame.to_csv(folder / "signals.csv", index=False)
    elif form == "parquet":
        frame.to_parquet(folder / "signals.parquet")
    path = folder / f"signals.{form}"
    forms = {"pandas": frame, "arrow": pa.table(columns), "polars": pl.DataFrame(columns, strict=False)}
    return path if path.exists() else forms[form]


@pytest.mark.parametrize("form", ["pandas", "arrow", "polars", "csv", "parquet"])
def test_tables_of_every_form_are_recorded_with_the_zone_of_their_times(lab: Lab, tmp_path: Path, form: str) -> None:
    done = lab.signals.add_many(make_table(form, tmp_path, make_columns(form)), tz="Europe/Zurich")

    assert (done.accepted, done.rejected_count) == (3, 0), done
    rows = lab.signals.sql("select * from this where source = ? order by score", [form]).df()
    assert (rows["entity_id"].tolist(), rows["score"].tolist()) == (["07", "u2", "u3"], [1, 2.5, 3])
    assert [when.isoformat() for when in rows["occurred_at"][[0, 2]]] == [
        "2026-01-02T08:00:00+00:00",
        "2026-07-02T09:00:00+00:00",
    ]


def test_times_of_a_frame_have_the_zone_that_is_named(lab: Lab) -> None:
    frame = pd.DataFrame(make_columns("zoned") | {"occurred_at": pd.to_datetime(["2026-01-02 09:00"] * 3)})

    without, named = lab.signals.add_many(frame), lab.signals.add_many(frame, tz="Asia/Tokyo")

    assert (without.accepted, named.accepted) == (0, 3)
    assert "Pass tz='UTC'" in without.rejected[0].message
    assert {each.occurred_at.hour for each in lab.signals.list(source="zoned")} == {0}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"source": ["s"], "scor": [1]}), "unknown columns: 'scor'. Did you mean `score`?"),
        (pd.DataFrame({"source": ["s"], "score": [1]}), "lacks the columns 'signal_type', 'entity_type'"),
        ("nowhere.csv", "There is no file"),
        (Path(__file__), "neither a .csv nor a .parquet file"),
        ({"source": "s"}, "signals is a dict. Pass a list of dicts, a data frame, or the path of a file"),
        (7, "signals is a int"),
    ],
    ids=["unknown", "missing", "no file", "other file", "dict", "number"],
)
def test_what_is_no_table_of_signals_is_refused_before_a_row_is_sent(lab: Lab, table: Any, message: str) -> None:
    with pytest.raises(ValidationFailed) as caught:
        lab.signals.add_many(table)

    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"), [("a.csv", b"source\n\xff\n"), ("a.csv", b'source\n"'), ("a.parquet", b"PAR")]
)
def test_a_file_that_is_not_what_its_name_says_is_refused(lab: Lab, tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(ValidationFailed, match=r"'a\.(csv|parquet)'"):
        lab.signals.add_many(tmp_path / name)


@pytest.mark.parametrize("tz", ["Mars/Olympus", "", "../etc/passwd", 7], ids=str)
def test_a_zone_that_is_none_is_refused(lab: Lab, tz: Any) -> None:
    with pytest.raises(ValidationFailed, match="is no time zone"):
        lab.signals.add_many([], tz=tz)


class Interrupted(Exception):
    """The program that sends is killed."""


def test_a_backfill_that_was_interrupted_continues_and_records_no_signal_twice(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_signals, "MAX_SIGNALS", 10)
    signals = [make_signal("resumed", number, score=999 if number == 4 else 1) for number in range(35)]

    def break_off() -> Iterator[dict[str, Any]]:
        yield from signals[:25]
        raise Interrupted

    with pytest.raises(Interrupted):
        lab.signals.add_many(break_off(), backfill=True)
    assert count_signals(lab, "resumed") == 19

    done = lab.signals.add_many(signals, backfill=True)

    assert (done.accepted, [each.line for each in done.rejected], count_signals(lab, "resumed")) == (34, [5], 34)


def test_equal_signals_at_other_places_of_a_backfill_are_other_signals(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_signals, "MAX_SIGNALS", 10)

    lab.signals.add_many([make_signal("equal", 1)] * 30, backfill=True)

    assert count_signals(lab, "equal") == 30


def test_signals_that_are_no_history_are_recorded_each_time(lab: Lab) -> None:
    for _ in range(2):
        lab.signals.add_many([make_signal("repeated", 1)] * 3)

    assert count_signals(lab, "repeated") == 6
