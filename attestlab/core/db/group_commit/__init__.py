"""Group commit: jobs that arrive during a commit share the next one. Two implementations keep one protocol.

`LoopGroupCommit` runs the jobs on the event loop (SQLite), `ThreadGroupCommit` in a thread (PostgreSQL).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from attestlab.core.db.transaction import Foreseen, Transaction

Job = Callable[[Transaction], object]
Deliver = Callable[[object, BaseException | None], None]
Foresee = Callable[[Foreseen], None]
"""Names the keys that a job will read (`core/db/foreseen_reads.py`)."""


def foresee_nothing(foreseen: Foreseen) -> None:
    """Name no key."""


class GroupCommit(Protocol):
    """Commits jobs in groups."""

    def submit(self, job: Job, deliver: Deliver, foresee: Foresee = foresee_nothing) -> None:
        """Queue a job and call `deliver(result, error)` once its group is durable or has failed.

        `foresee` names what the job will read, so that the group reads it once; it matters on PostgreSQL only.

        Raises:
            Unavailable: the queue is full.
        """
        ...

    @property
    def waiting(self) -> int:
        """Number of jobs queued for the next group."""
        ...

    async def aclose(self) -> None:
        """Commit all accepted jobs, then stop the thread."""
        ...
