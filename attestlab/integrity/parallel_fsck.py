"""Check an installation on all cores: each part of `fsck` in one of several processes.

Every part compares only what it reads in one consistent look of its own, so a server may work meanwhile. Processes
are forked before the records are opened, because a connection must not be shared with a child.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from multiprocessing import get_context

from sqlalchemy.exc import DatabaseError, OperationalError

from attestlab.core.errors import Unavailable
from attestlab.installation import Installation
from attestlab.integrity.fsck import ATTESTATIONS, FsckPart, check, parts
from attestlab.log.fsck import Problem
from attestlab.settings import Settings

MAX_PROCESSES = 8
MIN_PARTS_OF_ATTESTATIONS = 2  # with fewer, starting processes takes longer than they save
PARENT_CHECK_INTERVAL_S = 1.0

Progress = Callable[[int, int], None]  # parts that are done, of so many
_lab: Installation | None = None  # of a process of the pool


def problems_of(settings: Settings, *, progress: Progress = lambda _done, _of: None) -> list[Problem]:
    """Every problem of an installation; that its records are no database at all is one.

    Raises:
        AttestLabError: there is no installation, or its key-encryption key is missing.
        SQLAlchemyError: the records cannot be reached, so that nothing can be said.
    """
    found: list[Problem] = []
    try:
        with closing(Installation.open(settings)) as lab:
            with lab.storage.read() as connection:
                planned = parts(connection)
            is_alone = _processes(planned) == 1
            if is_alone:
                found.extend(_in_turn(lab, planned, progress))
        if not is_alone:  # the records are closed again, because a child must not inherit them
            found = _side_by_side(settings, planned, progress)
    except (DatabaseError, sqlite3.DatabaseError) as error:  # of SQLAlchemy, or straight from the driver
        if isinstance(error, OperationalError | sqlite3.OperationalError) and not found:
            raise
        cause = error.orig if isinstance(error, DatabaseError) else error
        found.append(Problem("database", str(settings.data), f"cannot be read: {cause}"))
    return found


def _processes(planned: list[FsckPart]) -> int:
    """One for each processor that we may use; a single one for a small installation."""
    is_small = sum(part.name == ATTESTATIONS for part in planned) < MIN_PARTS_OF_ATTESTATIONS
    return 1 if is_small else min(len(os.sched_getaffinity(0)), MAX_PROCESSES)


def _in_turn(lab: Installation, planned: list[FsckPart], progress: Progress) -> Iterator[Problem]:
    """All parts in one look at the records."""
    with lab.storage.read() as connection:
        for done, part in enumerate(planned, 1):
            yield from check(connection, lab, part)
            progress(done, len(planned))


def _side_by_side(settings: Settings, planned: list[FsckPart], progress: Progress) -> list[Problem]:
    """The parts in several processes; those that cannot be divided begin first, because they take longest."""
    context, me = get_context("fork"), os.getpid()
    with ProcessPoolExecutor(_processes(planned), context, initializer=_start, initargs=(me,)) as pool:
        ordered = sorted(planned, key=lambda part: part.name == ATTESTATIONS)
        found = {part: pool.submit(_checked, settings, part) for part in ordered}
        _report(list(found.values()), progress)
        return [problem for part in planned for problem in found[part].result()]


def _report(running: list[Future[list[Problem]]], progress: Progress) -> None:
    """Report each part as it ends.

    Raises:
        Unavailable: a process was ended from outside.
    """
    try:
        for done, future in enumerate(as_completed(running), 1):
            future.result()
            progress(done, len(running))
    except BrokenProcessPool as error:
        raise Unavailable("A process of the check was ended, perhaps for lack of memory. Run it again.") from error


def _start(parent: int) -> None:
    """Prepare a process: Ctrl-C ends it without a traceback, and it does not outlive its parent."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_INTERVAL_S)
    os._exit(1)


def _checked(settings: Settings, part: FsckPart) -> list[Problem]:
    """One part, in a process of the pool, which opens the installation once."""
    global _lab
    try:
        _lab = _lab or Installation.open(settings)
        with _lab.storage.read() as connection:
            return list(check(connection, _lab, part))
    except Exception as error:  # its arguments may not survive the way to the parent; its words do
        return [Problem("unreadable", part.name, f"cannot be checked: {type(error).__name__}: {error}")]
