"""Runs scans in child processes that are limited in time and memory.

The libraries behind a scan read strangers' bytes in native code. A crash there, or a file that takes too long, ends
the child process of that scan and nothing else.
"""

from __future__ import annotations

import resource
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from attestlab.core.errors import PayloadTooLarge, ValidationFailed, WorkAborted
from attestlab.core.execution.worker_processes import OnDisconnect, WorkerProcesses
from attestlab.risk.media.assessment import MediaAssessment
from attestlab.risk.media.limits import CONTENT, MAX_MEDIA_BYTES

SCAN_TIMEOUT_S = 2.0  # of processor time; `core.execution.worker_processes` allows a busy machine more elapsed time
MAX_MEMORY_BYTES = 256 << 20  # of one scan, with the media itself


class MediaScanner:
    """Scans media in its own child processes; `close` ends them.

    A tenant has one scan at a time, so that its hostile files take one of the processes and not all.
    """

    def __init__(self, processes: int = 2) -> None:
        self.workers = WorkerProcesses(processes)

    async def scan(
        self,
        tenant: Hashable,
        content: bytes | Path | None,
        content_type: str | None = None,
        indicators: Mapping[str, object] | None = None,
        *,
        claimed_at: datetime | None = None,
        on_disconnect: OnDisconnect | None = None,
    ) -> MediaAssessment:
        """Scan media; called on an event loop. The child process reads a file itself.

        Raises:
            ValidationFailed: see `scanning.scan`, or the scan exceeded its limits or crashed on these bytes.
            Unavailable: too many scans of the tenant are queued.
        """
        arguments = (_require_bounded(content), content_type, indicators, claimed_at)
        with _report_aborted_scan():
            return await self.workers.run(
                tenant, scan_in_child, *arguments, timeout_s=SCAN_TIMEOUT_S, on_disconnect=on_disconnect
            )

    def scan_blocking(
        self,
        content: bytes | None,
        content_type: str | None = None,
        indicators: Mapping[str, object] | None = None,
        *,
        claimed_at: datetime | None = None,
    ) -> MediaAssessment:
        """Do the same as `scan` for callers without an event loop; blocks until a process is free."""
        arguments = (_require_bounded(content), content_type, indicators, claimed_at)
        with _report_aborted_scan():
            return self.workers.run_blocking(scan_in_child, *arguments, timeout_s=SCAN_TIMEOUT_S)

    def close(self) -> None:
        """End the child processes."""
        self.workers.close()


def scan_in_child(
    content: bytes | Path | None,
    content_type: str | None,
    indicators: Mapping[str, object] | None,
    claimed_at: datetime | None,
) -> MediaAssessment:
    """Scan media in the child process, within the limit of memory.

    Raises:
        ValidationFailed: see `scanning.scan`, or the scan needs too much memory.
    """
    from attestlab.risk.media.scanning import scan

    _load_libraries()
    _limit_memory(content if isinstance(content, bytes) else b"")
    try:
        media = content.read_bytes() if isinstance(content, Path) else content
        return scan(media, content_type, indicators, claimed_at=claimed_at)
    except MemoryError:
        raise _exceeded_limits() from None


def _require_bounded(content: bytes | Path | None) -> bytes | Path | None:
    """Reject content that is too long before another process gets it."""
    size = content.stat().st_size if isinstance(content, Path) else len(content or b"")
    if size > MAX_MEDIA_BYTES:
        raise PayloadTooLarge(MAX_MEDIA_BYTES, "media")
    return content


@contextmanager
def _report_aborted_scan() -> Iterator[None]:
    try:
        yield
    except WorkAborted:
        raise _exceeded_limits() from None


def _exceeded_limits() -> ValidationFailed:
    message = (
        f"Scanning the media takes over {SCAN_TIMEOUT_S:g} s or {MAX_MEMORY_BYTES >> 20} MiB, or crashes a parser. "
        "Send a smaller rendition, saved again with a usual program."
    )
    return ValidationFailed.of(CONTENT, "scan_aborted", message)


def _load_libraries() -> None:
    """Import the native libraries, so that the limit of memory bounds the scan and not them."""
    import c2pa  # noqa: F401
    import numpy  # noqa: F401
    from PIL import JpegImagePlugin  # noqa: F401


def _limit_memory(content: bytes) -> None:
    """Let this process take `MAX_MEMORY_BYTES` more than it had before it received the content and its message."""
    status = Path("/proc/self/status").read_text()
    used = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmData:")) * 1024
    limit = used - 2 * len(content) + MAX_MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash leaves no copy of a stranger's picture
