"""Many signals in several requests: as if they were one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from attestlab.client.collections import bulk_signals
from attestlab.client.lab import Lab
from attestlab.core.errors import Unavailable, ValidationFailed
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
    monkeypatch.setattr(bulk_signals, "_send", lambda *given: sent.append(given[1]) or original(*given))

    done = lab.signals.add_many((make_signal(bound.lower(), number) for number in range(25)), backfill=True)

    assert (done.accepted, done.rejected, done.rejected_count, done.not_sent) == (25, [], 0, 0)
    assert (len(sent) > 2, sum(map(len, sent)), count_signals(lab, bound.lower())) == (True, 25, 25)


def test_rejected_lines_have_their_number_in_the_whole_list(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_signals, "MAX_SIGNALS", 10)
    signals = [make_signal("numbers", number, score=999 if number in (4, 15, 22) else 1) for number in range(25)]

    done = lab.signals.add_many(signals)

    assert [each.line for each in done.rejected] == [5, 16, 23]
    assert (done.accepted, count_signals(lab, "numbers")) == (22, 22)


def test_good_rows_are_sent_however_many_are_bad(lab: Lab) -> None:
    signals = [make_signal("mixed", number, score=1 if number % 5 else 999) for number in range(6_000)]

    done = lab.signals.add_many(signals, backfill=True)

    assert (done.accepted, done.rejected_count, done.not_sent, count_signals(lab, "mixed")) == (4_800, 1_200, 0, 4_800)
    assert repr(done) == "Bulk(4,800 accepted, 1,200 rejected, 0 not sent)"
    assert "4,800 of 6,000 signals were recorded" in done._repr_html_()
    line, message = done.rejected.df().iloc[1]
    assert (line, message[:27]) == (6, "/score: 999 is outside of 0")


def test_an_empty_load_records_no_signal(lab: Lab) -> None:
    assert lab.signals.add_many([]).accepted == 0


def test_rows_that_cannot_be_sent_are_rejected_by_row_and_field(lab: Lab) -> None:
    bad: list[Any] = [7, make_signal("unsent", 1, score=float("nan"))]
    bad.append(make_signal("unsent", 2, details={"a": object()}))
    bad.append(make_signal("unsent", 3, occurred_at=datetime(2026, 1, 2)))

    done = lab.signals.add_many([*bad, make_signal("unsent", 4)], backfill=True)

    assert (done.accepted, [each.line for each in done.rejected]) == (1, [1, 2, 3, 4])
    for each, field in zip(done.rejected, ("Row 1", "score", "details.a", "/occurred_at"), strict=True):
        assert each.message.startswith(field)


BAD: list[dict[str, Any]] = [
    *({"score": -1}, {"score": "9"}, {"score": True}, {"score": 2, "score_scale": "unit"}, {"score_scale": "x"}),
    *({"source": "Not A Name"}, {"source": None}, {"entity_type": "star"}, {"entity_id": ""}, {"entity_id": "a\nb"}),
    *({"occurred_at": "2999-01-01T00:00:00Z"}, {"occurred_at": "soon"}, {"colour": "red"}, {"details": [1]}),
    *({"details": {"a": "x" * 9_000}}, {"details": {"a": "x" * 20_000}}),
]


def test_strict_refuses_what_the_service_rejects_and_sends_nothing(lab: Lab) -> None:
    for changes in BAD:
        signals = [make_signal("strict", 1), make_signal("strict", 2) | changes]
        with pytest.raises(ValidationFailed, match=r"1 of 2 rows .* none was sent\. The first is row 2: "):
            lab.signals.add_many(signals, strict=True)

    assert count_signals(lab, "strict") == 0
    rejected = lab.signals.add_many(make_signal("rejected", number) | each for number, each in enumerate(BAD))
    assert (rejected.accepted, len(rejected.rejected)) == (0, len(BAD))
    good = lab.signals.add_many([make_signal("strict", 1, details={"a": 1})], strict=True)
    assert (good.accepted, count_signals(lab, "strict")) == (1, 1)


COLUMNS = {
    "source": ["tables"] * 3,
    "signal_type": ["behavior"] * 3,
    "score": [1.0, 200.0, 3.5],
    "entity_type": ["user"] * 3,
    "entity_id": ["u1", "u2", "u3"],
    "occurred_at": ["2026-03-01 09:00:00"] * 3,
    "details": ['{"page": "/me"}', None, None],
}


def write_csv(path: Path) -> Path:
    frame = pd.DataFrame(COLUMNS)
    frame.to_csv(path, index=False)
    return path


def write_parquet(path: Path) -> Path:
    parquet.write_table(pa.table(COLUMNS), path)
    return path


FORMS: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda folder: pd.DataFrame(COLUMNS).assign(occurred_at=lambda frame: pd.to_datetime(frame.occurred_at)),
    "arrow": lambda folder: pa.table(COLUMNS),
    "polars": lambda folder: pl.DataFrame(COLUMNS),
    "csv": lambda folder: write_csv(folder / "signals.csv"),
    "parquet": lambda folder: str(write_parquet(folder / "signals.parquet")),
    "dicts": lambda folder: pa.table(COLUMNS).drop(["details"]).to_pylist(),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_table_is_recorded_row_by_row(lab: Lab, form: str, tmp_path: Path) -> None:
    before = count_signals(lab, "tables")

    done = lab.signals.add_many(FORMS[form](tmp_path), tz="Europe/Zurich")

    assert (done.accepted, [each.line for each in done.rejected], count_signals(lab, "tables")) == (2, [2], before + 2)
    newest = lab.signals.list(source="tables", entity_id="u1")
    assert next(newest).occurred_at == datetime(2026, 3, 1, 8, tzinfo=UTC)


def test_a_cell_of_another_type_rejects_its_row_alone(lab: Lab) -> None:
    frame = pd.DataFrame(COLUMNS | {"score": [1.0, "high", None]}).drop(columns=["occurred_at", "details"])

    done = lab.signals.add_many(frame)

    assert (done.accepted, [each.line for each in done.rejected]) == (1, [2, 3])
    assert done.rejected[0].message == "/score: `score` must be a number."


@pytest.mark.parametrize(
    ("signals", "message"),
    [
        (pd.DataFrame({"user": ["u1"]}), r"lacks source, signal_type.* and has user, which a signal has not"),
        ("no-such-file.csv", "There is no file"),
        (__file__, r"is no \.csv or \.parquet file"),
        (7, "signals is a int"),
        ({"source": "x"}, "signals is a dict"),
    ],
)
def test_what_has_no_rows_of_signals_is_refused_with_the_remedy(lab: Lab, signals: Any, message: str) -> None:
    with pytest.raises(ValidationFailed, match=message):
        lab.signals.add_many(signals)


def test_a_local_time_that_was_twice_or_never_rejects_its_row(lab: Lab) -> None:
    """Clocks in Zurich go back on 25 October 2026 at 03:00, and forward on 29 March at 02:00."""
    times = ["2026-03-29T02:30:00", "2026-10-25T02:30:00", "2026-10-25T03:00:00"]
    frame = pd.DataFrame(COLUMNS | {"occurred_at": times}).drop(columns=["details"])

    done = lab.signals.add_many(frame.assign(score=1.0), tz="Europe/Zurich")

    assert [each.line for each in done.rejected][:2] == [1, 2]
    assert "never was, because clocks changed" in done.rejected[0].message
    assert "was twice, because clocks changed" in done.rejected[1].message


@pytest.mark.parametrize("zone", ["Mars/Olympus", 7, "", "../etc", "a\0b"])
def test_an_unknown_zone_is_refused(lab: Lab, zone: Any) -> None:
    with pytest.raises(ValidationFailed, match="is no time zone"):
        lab.signals.add_many([], tz=zone)


@pytest.mark.parametrize("name", ["broken.csv", "broken.parquet"])
def test_a_broken_file_is_refused_in_one_line(lab: Lab, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"\xff\xfe\x00 not a table")

    with pytest.raises(ValidationFailed, match="cannot be read as") as caught:
        lab.signals.add_many(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_an_error_notes_how_many_signals_were_recorded(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_signals, "MAX_SIGNALS", 10)
    sent: list[object] = []
    original = bulk_signals._send

    def fail_later(*given: Any) -> None:
        sent.append(given)
        if len(sent) == 2:
            raise Unavailable("The service is gone.")
        original(*given)

    monkeypatch.setattr(bulk_signals, "_send", fail_later)
    with pytest.raises(Unavailable) as caught:
        lab.signals.add_many([make_signal("noted", number) for number in range(21)])

    assert caught.value.__notes__ == ["Sending signals: 10 of 21 were done before; what was under way may be, too."]
    assert count_signals(lab, "noted") == 10


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
