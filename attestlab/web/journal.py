"""The server's own log: one JSON object a line on stderr.

Never local variables: they hold claims and secrets. The library is loaded when there is
something to say, for it takes a fifth of a second, and most processes never have.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any


def failed(fault: BaseException, *, request_id: str) -> None:
    """Tell of a request that ended in a way nobody foresaw."""
    _write("request failed", fault, request_id=request_id)


def part_failed(fault: BaseException, *, part: str) -> None:
    """Tell of work behind the requests that failed, and will be tried again."""
    _write("part failed", fault, part=part)


def _write(event: str, fault: BaseException, **about: str) -> None:
    """Log an error. A line that cannot be written is lost: stderr may be a file on the disk that is full."""
    with suppress(OSError):
        _journal().error(event, exc_info=fault, **about)


def warned(event: str, **facts: str) -> None:
    """Tell of a setting that probably is not what the operator means; quickly, for requests wait."""
    at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    line = json.dumps({**facts, "event": event, "level": "warning", "timestamp": at})
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def _journal() -> Any:
    import structlog

    tracebacks = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    return structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.ExceptionRenderer(tracebacks),
            structlog.processors.JSONRenderer(),
        ],
    )
