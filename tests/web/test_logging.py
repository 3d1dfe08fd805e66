"""The server's log: a line that stderr does not accept is lost and counted; it blocks and fails nothing."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import pytest
from pydantic import BaseModel

from attestlab.web import logging_setup
from attestlab.web.logging_setup import STDERR

SECRET = "ada@people.example"


@contextmanager
def stderr_is(monkeypatch: pytest.MonkeyPatch, descriptor: int) -> Iterator[None]:
    with os.fdopen(descriptor, "w", closefd=False) as file, monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", file)
        yield
    os.close(descriptor)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(STDERR, "_unreported", 0)
    monkeypatch.setattr(STDERR, "_is_midline", False)
    monkeypatch.setattr(logging_setup, "_repeated", {})


def full_disk() -> int:
    return os.open("/dev/full", os.O_WRONLY)


def pipe_without_a_reader() -> int:
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def pipe_that_is_not_read(*, blocking: bool) -> int:
    _reading, writing = os.pipe()
    os.set_blocking(writing, False)
    while True:
        try:
            os.write(writing, b"x" * 4096)
        except BlockingIOError:
            os.set_blocking(writing, blocking)
            return writing


BROKEN: list[Callable[[], int]] = [
    full_disk,
    pipe_without_a_reader,
    lambda: pipe_that_is_not_read(blocking=True),
    lambda: pipe_that_is_not_read(blocking=False),
]


@pytest.mark.parametrize("broken", BROKEN, ids=["full disk", "no reader", "idle reader", "EAGAIN"])
def test_a_line_that_cannot_be_written_is_counted(monkeypatch: pytest.MonkeyPatch, broken: Callable[[], int]) -> None:
    counted: list[int] = []
    monkeypatch.setattr(STDERR, "on_lost", lambda: counted.append(1))
    before = STDERR.lost

    with stderr_is(monkeypatch, broken()):
        logging_setup.log_warning("a setting")
        logging_setup.log_part_failure(OSError(errno.ENOSPC, "full"), part="sweep")
        logging_setup.log_request_failure(ValueError("x" * 100_000), request_id="r")

    assert STDERR.lost == before + 3
    assert len(counted) == 3


def test_a_process_without_standard_streams_counts_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    before = STDERR.lost
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", None)
        patched.setattr(sys, "stdout", None)
        logging_setup.log_part_failure(ValueError("x"), part="sweep")

    assert STDERR.lost == before + 1


def lines_of(capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capfd.readouterr().err.splitlines()]


def test_the_next_written_line_follows_the_number_of_lost_lines(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with stderr_is(monkeypatch, full_disk()):
        for _ in range(7):
            logging_setup.log_warning("lost")

    logging_setup.log_warning("written")
    logging_setup.log_warning("written too")

    assert [(line["event"], line.get("lost")) for line in lines_of(capfd)] == [
        ("log lines lost", 7),
        ("written", None),
        ("written too", None),
    ]


def test_a_truncated_line_does_not_corrupt_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with stderr_is(monkeypatch, writing):
        logging_setup.log_request_failure(ValueError("x"), request_id="r" * 100_000)  # more than a pipe holds
        cut = os.read(reading, 1 << 20)
        logging_setup.log_warning("whole")
    lines = (cut + os.read(reading, 1 << 20)).decode().splitlines()
    os.close(reading)

    assert len(lines) == 3
    assert [json.loads(line)["event"] for line in lines[1:]] == ["log lines lost", "whole"]


def test_a_logged_error_has_causes_and_frames_but_no_local_variables(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def fails(_password: str) -> None:
        hidden = _password * 2
        raise OSError(len(hidden), "disk")

    try:
        try:
            fails(SECRET)
        except OSError as cause:
            raise RuntimeError("outer") from cause
    except RuntimeError as error:
        logging_setup.log_part_failure(ExceptionGroup("several", [error, KeyError("k")]), part="p")

    (line,) = lines_of(capfd)
    kinds = [found["exc_type"] for found in line["exception"]]
    assert kinds == ["ExceptionGroup", "RuntimeError", "KeyError", "OSError"]
    assert line["exception"][3]["frames"][-1]["name"] == "fails"
    assert SECRET not in json.dumps(line)


class Address(BaseModel):
    """A model that rejects its input."""

    port: int


def refused_by_pydantic() -> None:
    Address.model_validate({"port": SECRET})


def refused_by_duckdb() -> None:
    duckdb.connect().execute("SELECT CAST(? AS INTEGER)", [SECRET])


@pytest.mark.parametrize("refused", [refused_by_pydantic, refused_by_duckdb])
def test_values_quoted_by_a_library_are_omitted(capfd: pytest.CaptureFixture[str], refused: Callable[[], None]) -> None:
    with pytest.raises(Exception, match=SECRET) as raised:
        refused()
    logging_setup.log_request_failure(raised.value, request_id="r")

    (line,) = lines_of(capfd)
    assert line["exception"][0]["exc_type"].endswith(("ValidationError", "ConversionException"))
    assert SECRET not in json.dumps(line)


def test_a_recurring_failure_is_one_line_per_second_with_a_count(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(logging_setup, "monotonic", lambda: now)
    for _ in range(500):
        logging_setup.log_repeated_failure("commit failed", OSError(errno.EIO, "disk"))
    now += logging_setup.REPEAT_INTERVAL_S
    logging_setup.log_repeated_failure("commit failed", OSError(errno.EIO, "disk"))

    assert [line["omitted"] for line in lines_of(capfd)] == [0, 499]
