"""Upgrade of the log after an earlier version: an entry with the profile of each issuer whose entries have none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.issuers.service import Issuers

WriteProfile = Callable[[Callable[[Transaction], UUID | None]], Awaitable[UUID | None]]


class ProfileUpgrade:
    """Logs missing profiles in short writes, once after the start of a server.

    It is part of the sweep, because a log that may not sign yet still serves reads. A server that is killed continues
    at its next start: the entries themselves show which issuers are done. Servers of several hosts may run it at once,
    because each write looks under the writer's lock.
    """

    def __init__(self, issuers: Issuers) -> None:
        self._issuers = issuers
        self._after: UUID | None = None
        self._is_done = False

    async def run(self, write: WriteProfile) -> None:
        """Log what is missing; after an error, the next call continues."""
        while not self._is_done:
            self._after = await write(lambda tx: self._issuers.log_missing_profiles(tx, after=self._after))
            self._is_done = self._after is None
