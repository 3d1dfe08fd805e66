"""When API keys and people's sessions were last used: noted in memory with each request, written once a minute.

What a process that is killed has not written yet is at most a minute old, so the records are exact to five minutes.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.orgs import store
from attestlab.orgs.rules import Caller
from attestlab.orgs.tables import CredentialUseRecord

WRITE_INTERVAL: Final = timedelta(minutes=1)
MAX_NOTED: Final = 100_000  # in a process that writes nothing, such as one that only reads


class CredentialUses:
    """The last uses of keys and sessions: those in the records, and those that this process has not written yet.

    `tx` is the unit of work to join; without it, a verb reads by itself.
    """

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock
        self._noted: dict[UUID, CredentialUseRecord] = {}  # by the key or session
        self._in_writing: dict[UUID, CredentialUseRecord] = {}  # until a commit; a write that fails is repeated
        self._written_at: datetime | None = None

    def note(self, caller: Caller, *, at: datetime) -> None:
        """Note that a key or session was used; the service itself and agents have no such credential."""
        if caller.actor_type not in ("USER", "API_KEY"):
            return
        credential_id = UUID(caller.credential_id)
        if len(self._noted) < MAX_NOTED or credential_id in self._noted:
            self._noted[credential_id] = CredentialUseRecord(credential_id, UUID(caller.actor_id), at)

    def write_due(self, tx: Transaction) -> None:
        """Write what was noted, once a minute; what could not be committed is written again with the next call."""
        now = self.clock.now()
        if self._written_at is not None and self._written_at <= now < self._written_at + WRITE_INTERVAL:
            return
        if not self._in_writing:
            self._in_writing, self._noted = self._noted, {}
        if self._in_writing:
            tx.flush()
            store.KEEP_USES.run(tx.connection, [use._asdict() for use in self._in_writing.values()])
        tx.after_commit(partial(self._finish_write, now))

    def _finish_write(self, at: datetime) -> None:
        self._in_writing, self._written_at = {}, at

    def find_of_actors(self, actor_ids: Collection[UUID], *, tx: Transaction | None = None) -> dict[UUID, datetime]:
        """Find when keys or people last used a credential; those that never did are left out."""
        with self.storage.read(tx) as connection:
            found = store.find_uses_of_actors(connection.execute, actor_ids)
        wanted = set(actor_ids)
        return self._join_noted(found, {use: use.actor_id for use in self._list_noted() if use.actor_id in wanted})

    def find_of_credentials(
        self, credential_ids: Collection[UUID], *, tx: Transaction | None = None
    ) -> dict[UUID, datetime]:
        """Find when keys or sessions were last used; those that never were are left out."""
        with self.storage.read(tx) as connection:
            found = store.find_uses(connection.execute, credential_ids)
        wanted = set(credential_ids)
        noted = {use: use.credential_id for use in self._list_noted() if use.credential_id in wanted}
        return self._join_noted(found, noted)

    def _list_noted(self) -> list[CredentialUseRecord]:
        return [*self._in_writing.values(), *self._noted.values()]

    def _join_noted(self, found: dict[UUID, datetime], noted: dict[CredentialUseRecord, UUID]) -> dict[UUID, datetime]:
        for use, key in noted.items():
            found[key] = max(use.last_used_at, found.get(key, use.last_used_at))
        return found
