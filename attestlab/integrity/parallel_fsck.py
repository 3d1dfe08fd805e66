"""Parallel consistency check: runs the parts of `fsck` in several processes, on all cores.

Each part compares only rows that it reads in one snapshot, so a server may run at the same time. Processes are forked
while the records are closed, because a child must not share a connection.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import replace
from multiprocessing import active_children, get_context
from typing import NamedTuple

from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError, OperationalError

from attestlab.core.errors import Unavailable
from attestlab.core.records.integrity import Problem
from attestlab.core.terminal_bar import OnProgress
from attestlab.installation import Installation
from attestlab.integrity.fsck import ATTESTATIONS, FsckPart, check_part, plan_parts
from attestlab.log.fsck_record import FsckSummary
from attestlab.settings import Settings

MAX_PROCESSES = 8
MIN_PARTS_OF_ATTESTATIONS = 2  # with fewer, starting processes takes more time than it saves
PARENT_CHECK_INTERVAL_S = 1.0

_lab: Installation | None = None  # the open installation of a process of the pool


class FsckReport(NamedTuple):
    """What a complete check found, and its summary; None if the records could not even tell the size of the log."""

    problems: list[Problem]
    summary: FsckSummary | None


def check_installation(settings: Settings, *, progress: OnProgress = lambda _done, _of: None) -> FsckReport:
    """Find all problems of an installation; records that are not a database at all are a problem, too.

    Raises:
        AttestLabError: there is no installation, or its key-encryption key is missing.
        SQLAlchemyError: the records cannot be reached, so the check has no result.
    """
    problems: list[Problem] = []
    summary = None
    try:
        with closing(Installation.open(settings)) as lab:
            with lab.storage.read() as connection:
                planned, summary = plan_parts(connection), _begin_summary(connection, lab)
            is_serial = _process_count(planned) == 1
            if is_serial:
                problems.extend(_check_serially(lab, planned, progress))
        if not is_serial:  # the records are closed by now, because a child must not inherit a connection
            problems = _check_in_parallel(settings, planned, progress)
    except (DatabaseError, sqlite3.DatabaseError) as error:  # from SQLAlchemy, or directly from the driver
        if isinstance(error, OperationalError | sqlite3.OperationalError) and not problems:
            raise
        cause = error.orig if isinstance(error, DatabaseError) else error
        problems.append(Problem("database", str(settings.data), f"cannot be read: {cause}"))
    return FsckReport(problems, None if summary is None else replace(summary, problems=len(problems)))


def _begin_summary(connection: Connection, lab: Installation) -> FsckSummary:
    """Note the time and the size of the log; each part sees these entries, and maybe later ones."""
    return FsckSummary(lab.log_id, lab.clock.now(), lab.log.size(connection), 0)


def _process_count(planned: list[FsckPart]) -> int:
    """Return the number of processes: one for each available processor, or a single one for a small installation."""
    is_small = sum(part.name == ATTESTATIONS for part in planned) < MIN_PARTS_OF_ATTESTATIONS
    return 1 if is_small else min(len(os.sched_getaffinity(0)), MAX_PROCESSES)


def _check_serially(lab: Installation, planned: list[FsckPart], progress: OnProgress) -> Iterator[Problem]:
    """Check all parts in one snapshot of the records."""
    with lab.storage.read() as connection:
        for done, part in enumerate(planned, 1):
            yield from check_part(connection, lab, part)
            progress(done, len(planned))


def _check_in_parallel(settings: Settings, planned: list[FsckPart], progress: OnProgress) -> list[Problem]:
    """Check the parts in several processes; indivisible parts start first, because they take longest."""
    context, parent = get_context("fork"), os.getpid()
    with (
        _report_killed_process(),
        ProcessPoolExecutor(_process_count(planned), context, initializer=_start_process, initargs=(parent,)) as pool,
    ):
        ordered = sorted(planned, key=lambda part: part.name == ATTESTATIONS)
        running = {part: pool.submit(_check_in_process, settings, part) for part in ordered}
        try:
            _report_progress(list(running.values()), progress)
        except KeyboardInterrupt:
            _end_processes(pool)
            raise
        return [problem for part in planned for problem in running[part].result()]


def _end_processes(pool: ProcessPoolExecutor) -> None:
    """End the check at once: the pool would wait for all parts, and only a terminal sends Ctrl-C to its processes."""
    pool.shutdown(wait=False, cancel_futures=True)
    for process in active_children():
        process.terminate()


def _report_progress(running: list[Future[list[Problem]]], progress: OnProgress) -> None:
    """Report each part as it finishes."""
    for done, future in enumerate(as_completed(running), 1):
        future.result()
        progress(done, len(running))


@contextmanager
def _report_killed_process() -> Iterator[None]:
    """Report a process that was killed, whether parts are still submitted then or waited for.

    Raises:
        Unavailable: a process was killed.
    """
    try:
        yield
    except BrokenProcessPool as error:
        raise Unavailable("A process of the check was killed, perhaps for lack of memory. Run it again.") from error


def _start_process(parent: int) -> None:
    """Prepare a process of the pool: Ctrl-C ends it without a traceback, and it ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_INTERVAL_S)
    os._exit(1)


def _check_in_process(settings: Settings, part: FsckPart) -> list[Problem]:
    """Check one part in a process of the pool, which opens the installation once."""
    global _lab
    try:
        _lab = _lab or Installation.open(settings)
        with _lab.storage.read() as connection:
            return list(check_part(connection, _lab, part))
    except Exception as error:  # its arguments may not be picklable; its text is
        return [Problem("unreadable", part.name, f"cannot be checked: {type(error).__name__}: {error}")]
