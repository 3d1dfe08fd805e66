"""The limits of the child process: time, memory, a crash; the next scan runs in another process."""

from __future__ import annotations

import pytest

from attestlab.core.errors import ValidationFailed, WorkAborted
from attestlab.core.execution.worker_processes import WorkerProcesses
from attestlab.risk.media import MediaScanner, scanner
from support.pictures import TAKEN_AT, make_jpeg
from support.timeouts import WAIT_TIMEOUT_S

JPEG = make_jpeg()


@pytest.mark.parametrize(
    "work", ["sum(range(10 ** 15))", "__import__('os').kill(__import__('os').getpid(), 11)"], ids=["long", "crash"]
)
def test_scan_that_does_not_end_well_is_refused_and_the_next_one_runs(work: str) -> None:
    scanned = MediaScanner()
    try:
        refused = pytest.raises(ValidationFailed, match=r"256 MiB, or crashes a parser\. Send a smaller")
        with refused, scanner._report_aborted_scan():
            scanned.workers.run_blocking(eval, work, timeout_s=0.5)
        assert scanned.scan_blocking(JPEG, claimed_at=TAKEN_AT).score == 0
    finally:
        scanned.close()


def test_memory_of_a_process_is_limited_from_its_first_scan_on() -> None:
    workers, take_memory = WorkerProcesses(1), "len(bytearray(300 << 20))"
    try:
        assert workers.run_blocking(eval, take_memory, timeout_s=WAIT_TIMEOUT_S) == 300 << 20
        workers.run_blocking(scanner.scan_in_child, JPEG, None, None, None, timeout_s=WAIT_TIMEOUT_S)
        with pytest.raises(WorkAborted, match="died"):
            workers.run_blocking(eval, take_memory, timeout_s=WAIT_TIMEOUT_S)
    finally:
        workers.close()


def test_scan_that_takes_too_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, whose memory is not limited: what a parser raises within the limit."""

    def run_out(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("attestlab.risk.media.scanner.scan", run_out)
    monkeypatch.setattr(scanner, "_limit_memory", lambda _: None)
    with pytest.raises(ValidationFailed, match="256 MiB"):
        scanner.scan_in_child(JPEG, None, None, None)
