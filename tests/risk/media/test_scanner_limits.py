"""The limits of the child process: time, memory, a crash; the next scan runs in another process."""

from __future__ import annotations

import os
import signal

import pytest

from attestlab.core.errors import ValidationFailed
from attestlab.risk.media import MediaScanner, scanner
from support.pictures import TAKEN_AT, make_jpeg

JPEG = make_jpeg()


def compute_for_long(*_: object) -> None:
    sum(range(10**15))


def take_memory(content: bytes, *_: object) -> int:
    scanner._load_libraries()
    scanner._limit_memory(content)
    try:
        return len(bytearray(300 << 20))
    except MemoryError:
        raise scanner._exceeded_limits() from None


def crash(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.mark.parametrize("work", [compute_for_long, take_memory, crash])
def test_scan_beyond_its_limits_is_refused_and_the_next_one_runs(work, monkeypatch: pytest.MonkeyPatch) -> None:
    scanned = MediaScanner()
    try:
        with monkeypatch.context() as replaced:
            replaced.setattr(scanner, "scan_in_child", work)
            replaced.setattr(scanner, "SCAN_TIMEOUT_S", 0.3 if work is compute_for_long else 20)
            with pytest.raises(ValidationFailed, match=r"256 MiB, or crashes a parser\. Send a smaller"):
                scanned.scan_blocking(JPEG)
        assert scanned.scan_blocking(JPEG, claimed_at=TAKEN_AT).score == 0
    finally:
        scanned.close()
