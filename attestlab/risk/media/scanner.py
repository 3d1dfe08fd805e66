"""The scan of one picture or film in a child process: a heuristic reading of the marks that it carries.

It cannot see whether a face, a voice or a scene is real. It reads what a file states about itself (content
credentials, EXIF, XMP, text chunks, times), traces of an earlier JPEG compression, and what the caller claims. A
forger removes all of that by taking a screenshot.

The libraries behind a scan read strangers' bytes in native code. A crash there, or a file that takes too long, ends
the child process of that scan and nothing else. Its time and memory are limited.
"""

from __future__ import annotations

import resource
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from attestlab.core.errors import PayloadTooLarge, ValidationFailed, WorkAborted
from attestlab.core.execution.worker_processes import OnDisconnect, WorkerProcesses
from attestlab.risk.media import findings
from attestlab.risk.media.containers.media_types import JPEG, UNREAD_PARTS, MediaType, detect_media_type, is_declared
from attestlab.risk.media.containers.metadata import CONTENT, MAX_MEDIA_BYTES, ContainerMetadata, NamedText
from attestlab.risk.media.containers.tiff import read_tiff
from attestlab.risk.media.containers.xmp import XmpMalformed, read_xmp
from attestlab.risk.media.content_credentials import ContentCredentials, CredentialState, parse_term, read_credentials
from attestlab.risk.media.findings import (
    Finding,
    MediaAssessment,
    assess,
    find_time_conflicts,
    name_foreign_data,
    parse_indicators,
)
from attestlab.risk.media.generator_marks import find_names, find_parameters, unfold_comments
from attestlab.risk.media.recompression import find_recompression

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
            ValidationFailed: see the function `scan`, or the scan exceeded its limits or crashed on these bytes.
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
        ValidationFailed: see the function `scan`, or the scan needs too much memory.
    """
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


_SOURCE_TYPE = "DigitalSourceType"


class ScanRequest(NamedTuple):
    """What a caller sends: the media or indicators or both, and what is claimed about the media."""

    content: bytes | None
    content_type: str | None = None
    indicators: Mapping[str, object] | None = None
    claimed_at: datetime | None = None


@dataclass
class _Report:
    """What was observed and what was not examined, beyond the findings."""

    observed: dict[str, object] = field(default_factory=dict)
    not_examined: list[dict[str, str]] = field(default_factory=list)

    def skip(self, part: str, reason: str) -> None:
        self.not_examined.append({"part": part, "reason": reason})


def scan(
    content: bytes | None,
    content_type: str | None = None,
    indicators: Mapping[str, object] | None = None,
    *,
    claimed_at: datetime | None = None,
) -> MediaAssessment:
    """Scan media for marks of generation and alteration; the result is heuristic and states what it cannot see.

    Runs native parsers over strangers' bytes: a server calls `scanner.MediaScanner`, which runs it in a child process.

    Args:
        content: the file; None to assess the indicators alone.
        content_type: the declared media type; a factor if it is not the type of the bytes.
        indicators: results of the caller's own detectors, from 0 to 1 or boolean, at most 16.
        claimed_at: when the picture is claimed to be taken, with its zone.

    Raises:
        ValidationFailed: nothing was sent, a bound of `limits` is exceeded, or an indicator is not acceptable.
        UnsupportedMediaType: the bytes are no format that the scan reads.
        PayloadTooLarge: the content has more bytes than a payload may have.
    """
    claims = parse_indicators(indicators)
    if content is None and not claims:
        raise ValidationFailed.of(CONTENT, "missing", "There is nothing to scan. Send content, indicators, or both.")
    report, found = _Report(), list(findings.weigh_indicators(claims))
    details: dict[str, object] = {"observed": report.observed, "not_examined": report.not_examined}
    if content is None:
        report.skip("content", "none was sent")
    else:
        media_type = _detect_bounded(content)
        details["media_type"] = media_type.name
        found += _scan_content(ScanRequest(content, content_type, None, claimed_at), content, media_type, report)
    return assess(found, details)


def _detect_bounded(content: bytes) -> MediaType:
    if len(content) > MAX_MEDIA_BYTES:
        raise PayloadTooLarge(MAX_MEDIA_BYTES, "media")
    return detect_media_type(content)


def _scan_content(request: ScanRequest, content: bytes, media_type: MediaType, report: _Report) -> Iterator[Finding]:
    """Read the container first: its bounds hold before native code sees the bytes."""
    metadata = _read_container(content, media_type, report)
    for part, reason in UNREAD_PARTS.get(media_type.name, ()):
        report.skip(part, reason)
    properties = _read_properties(metadata, report)
    credentials = _read_credentials(content, media_type.name, report)
    yield from findings.weigh_credentials(credentials)
    yield from findings.weigh_source_terms(parse_term(text.text) for text in properties if text.name == _SOURCE_TYPE)
    named = [NamedText("C2PA", "Software", name) for name in credentials.generators]
    texts = [*unfold_comments(metadata.texts), *properties]
    yield from findings.weigh_marks(find_parameters(texts), find_names([*texts, *named]))
    yield from _weigh_times(request.claimed_at, metadata, report)
    declared = request.content_type
    yield from findings.weigh_container(
        name_foreign_data(content, metadata.end),
        None if is_declared(media_type.name, declared) else declared,
        _find_recompression(content, media_type.name, metadata, report),
    )


def _read_container(content: bytes, media_type: MediaType, report: _Report) -> ContainerMetadata:
    metadata = ContainerMetadata()
    media_type.read(content, metadata)
    for block in metadata.exif:
        read_tiff(block, metadata)
    if metadata.size:
        report.observed["pixels"] = list(metadata.size)
    if metadata.is_truncated:
        report.observed["truncated"] = True
    return metadata


def _read_properties(metadata: ContainerMetadata, report: _Report) -> list[NamedText]:
    properties = []
    for packet in metadata.xmp:
        try:
            properties += [NamedText("XMP", name, value) for name, value in read_xmp(packet)]
        except XmpMalformed:
            report.skip("xmp", "the packet is not well-formed XML")
    return properties


def _read_credentials(content: bytes, media_type: str, report: _Report) -> ContentCredentials:
    credentials = read_credentials(content, media_type)
    report.observed["c2pa"] = credentials.state.value
    if credentials.signer:
        report.observed["c2pa_signer"] = findings.clean_text(
            credentials.signer
        )  # the name in the certificate, which is not verified
    if credentials.state is CredentialState.REMOTE:
        report.skip("c2pa", "the manifest is at another host, which the scan does not ask")
    return credentials


def _weigh_times(claimed_at: datetime | None, metadata: ContainerMetadata, report: _Report) -> Iterator[Finding]:
    if metadata.times:
        report.observed["times"] = [f"{time.place}, {time.kind}: {time.at.isoformat()}" for time in metadata.times[:4]]
    if claimed_at is None:
        report.skip("times", "no time was claimed")
        return
    yield from findings.weigh_time_conflicts(find_time_conflicts(metadata.times, claimed_at))


def _find_recompression(content: bytes, media_type: str, metadata: ContainerMetadata, report: _Report) -> float | None:
    if media_type != JPEG or metadata.size is None:
        report.skip("recompression", "only a JPEG with a size has its traces")
        return None
    trace = find_recompression(content, metadata.size, metadata.scans)
    if trace.reason:
        report.skip("recompression", trace.reason)
    return trace.bits if trace.is_found else None
