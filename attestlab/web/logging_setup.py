"""The server's own log: one JSON object per line on stderr.

Writing a line never raises and never waits for the reader. A line that stderr does not accept (full disk, closed
pipe, a reader that stopped reading) is lost and counted; the next line that it accepts is preceded by that count.
Lines never contain local variables or values of rows, because those hold claims, addresses and secrets.
"""

from __future__ import annotations

import json
import logging
import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from time import monotonic
from traceback import walk_tb

from attestlab.core.error_text import text_without_values

REPEAT_INTERVAL_S = 1.0
MAX_FRAMES = 40  # of one error; the innermost frames
MAX_ERRORS = 8  # in one chain or group of errors
PIECE_BYTES = select.PIPE_BUF  # a pipe that is ready accepts this many without blocking


class Stderr:
    """Writer for standard error: accepts a whole line immediately or counts it as lost. Thread-safe."""

    def __init__(self) -> None:
        self.lost = 0
        self.on_lost: Callable[[], None] = lambda: None
        self._unreported = 0
        self._is_midline = False
        self._lock = threading.Lock()

    def write(self, render: Callable[[], str]) -> None:
        """Write the line that `render` returns, preceded by the number of lines that were lost before it."""
        with self._lock:
            try:
                if self._unreported:
                    self._send(_format_line("log lines lost", "warning", lost=self._unreported))
                    self._unreported = 0
                self._send(render())
            except Exception:  # a failure of the log must not end the work that it reports
                self._unreported += 1
                self.lost += 1
                self.on_lost()

    def _send(self, line: str) -> None:
        begun = "\n" if self._is_midline else ""
        descriptor = _stderr_descriptor()
        if descriptor is None:
            sys.stderr.write(begun + line)  # replaced by an embedding program or a test; not a file
            sys.stderr.flush()
        else:
            self._send_pieces(descriptor, memoryview((begun + line).encode("utf-8", "backslashreplace")))

    def _send_pieces(self, descriptor: int, left: memoryview) -> None:
        ready = select.poll()
        ready.register(descriptor, select.POLLOUT)
        while left:
            if not ready.poll(0):
                raise BlockingIOError("the reader of the log does not read")
            left = left[os.write(descriptor, left[:PIECE_BYTES]) :]
            self._is_midline = bool(left)


STDERR = Stderr()
# By event: the time of its last line, and the number of lines omitted since.
_repeated: dict[str, tuple[float, int]] = {}


def log_request_failure(fault: BaseException, *, request_id: str) -> None:
    """Log a request that ended with an unexpected error."""
    _log_error("request failed", fault, request_id=request_id)


def log_part_failure(fault: BaseException, *, part: str) -> None:
    """Log background work that failed and will be retried."""
    _log_error("part failed", fault, part=part)


def log_repeated_failure(event: str, fault: BaseException, **facts: str) -> None:
    """Log a failure that may recur with every request: one line per second and event. `omitted` counts the others."""
    now = monotonic()
    last, omitted = _repeated.get(event, (-REPEAT_INTERVAL_S, 0))
    if now < last + REPEAT_INTERVAL_S:
        _repeated[event] = last, omitted + 1
        return
    _repeated[event] = now, 0
    _log_error(event, fault, **facts, omitted=omitted)


def log_warning(event: str, **facts: object) -> None:
    """Log a setting, or a state of the machine, that the operator should know."""
    STDERR.write(lambda: _format_line(event, "warning", **facts))


def _log_error(event: str, fault: BaseException, **facts: object) -> None:
    STDERR.write(
        lambda: _format_line(
            event, "error", **facts, exception=[_describe_error(error) for error in _iterate_causes(fault)]
        )
    )


def _format_line(event: str, level: str, **facts: object) -> str:
    at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    return json.dumps({**facts, "event": event, "level": level, "timestamp": at}) + "\n"


def _iterate_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes, including the members of a group, each once."""
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < MAX_ERRORS:
        error = waiting.pop(0)
        if error is not None and id(error) not in seen:
            seen.add(id(error))
            yield error
            members = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
            cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
            waiting += [*members, cause]


def _describe_error(error: BaseException) -> dict[str, object]:
    kind = type(error)
    frames = [(frame.f_code, line) for frame, line in walk_tb(error.__traceback__)][-MAX_FRAMES:]
    return {
        "exc_type": kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}",
        "exc_value": text_without_values(error),
        "frames": [{"filename": code.co_filename, "lineno": line, "name": code.co_name} for code, line in frames],
    }


def _stderr_descriptor() -> int | None:
    """Return the file descriptor of standard error, or None if it is not a file.

    Raises:
        BrokenPipeError: the process was started without standard error, or has closed it.
    """
    if sys.stderr is None or sys.stderr.closed:
        raise BrokenPipeError("standard error is closed")
    try:
        return sys.stderr.fileno()
    except OSError:
        return None


class _LibraryLogHandler(logging.Handler):
    """Writes records of libraries such as asyncio and Tornado, from WARNING up, to this log."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record; for an error its description only, because the library's text may quote values."""
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            STDERR.write(lambda: _format_line("library", "warning", logger=record.name, message=record.getMessage()))
        else:
            log_part_failure(error, part=record.name)


def capture_library_logs() -> None:
    """Route the logs of libraries, and the errors of threads, into this log."""
    logging.basicConfig(handlers=[_LibraryLogHandler(logging.WARNING)], force=True)
    threading.excepthook = _log_thread_failure


def _log_thread_failure(ended: threading.ExceptHookArgs) -> None:
    if ended.exc_value is not None:
        log_part_failure(ended.exc_value, part=ended.thread.name if ended.thread else "thread")


def log_loop_failure(_loop: object, context: dict[str, object]) -> None:
    """Log an error that asyncio reports, without asyncio's own text, which would quote the error's values."""
    error = context.get("exception")
    if isinstance(error, BaseException):
        log_part_failure(error, part="event loop")
    else:
        log_warning("event loop", message=str(context.get("message")))
