"""The observer of writes: receives what operators measure, such as how long a process holds the writer's lock."""

from __future__ import annotations

from typing import Protocol


class WriteObserver(Protocol):
    """Receives measurements of writes, from any thread. Its methods must not raise: a commit waits for them."""

    def observe_queue(self, waiting: int) -> None:
        """Take the number of jobs that wait for the next group."""
        ...

    def observe_group(self, jobs: int) -> None:
        """Take the number of jobs of a group that is about to be committed."""
        ...

    def observe_lock(self, *, before_s: float, held_s: float) -> None:
        """Take the time that a write waited before it had the writer's lock, and the time that it held the lock."""
        ...

    def observe_connections(self, in_use: int) -> None:
        """Take the number of connections to PostgreSQL that are in use."""
        ...


class Unobserved:
    """The observer of a process that reports no metrics."""

    def observe_queue(self, waiting: int) -> None:
        """Do nothing."""

    def observe_group(self, jobs: int) -> None:
        """Do nothing."""

    def observe_lock(self, *, before_s: float, held_s: float) -> None:
        """Do nothing."""

    def observe_connections(self, in_use: int) -> None:
        """Do nothing."""
