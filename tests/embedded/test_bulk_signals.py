"""Many signals in several requests: as if they were one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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

    assert (done.accepted, done.rejected, done.more_rejected, done.stopped_at_line) == (25, [], 0, None)
    assert (len(sent) > 2, sum(map(len, sent)), count_signals(lab, bound.lower())) == (True, 25, 25)


def test_rejected_lines_have_their_number_in_the_whole_list(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_signals, "MAX_SIGNALS", 10)
    signals = [make_signal("numbers", number, score=999 if number in (4, 15, 22) else 1) for number in range(25)]

    done = lab.signals.add_many(signals)

    assert [each.line for each in done.rejected] == [5, 16, 23]
    assert (done.accepted, count_signals(lab, "numbers")) == (22, 22)


def test_after_many_rejected_lines_the_rest_is_not_sent(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_signals, "MAX_SIGNALS", 10)
    monkeypatch.setattr(bulk_signals, "MAX_REJECTED", 15)

    done = lab.signals.add_many(make_signal("rejected", number, score=999) for number in range(1_000))

    assert (done.accepted, done.stopped_at_line) == (0, 20)


def test_no_signals_are_none(lab: Lab) -> None:
    assert lab.signals.add_many([]).accepted == 0


def test_an_error_notes_how_many_signals_were_recorded(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_signals, "MAX_SIGNALS", 10)

    with pytest.raises(ValidationFailed, match=r"signals\[20\] is a int") as caught:
        lab.signals.add_many([*(make_signal("noted", number) for number in range(20)), 7])  # type: ignore[list-item]

    assert caught.value.__notes__ == ["Recording signals: 10 of 21 were done before; what was under way may be, too."]
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
