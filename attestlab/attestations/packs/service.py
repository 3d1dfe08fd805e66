"""Verification packs: attestations that belong together are minted with the id of one, and listed by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from attestlab.attestations import store
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import AnyRow
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs import quotas
from attestlab.orgs.rules import Caller, validate_display_name


class Packs:
    """The verbs of packs. A pack is never removed, so an attestation's pack is always there."""

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def create(self, name: str, *, description: str | None = None, caller: Caller) -> dict[str, Any]:
        """Make a pack of the caller's tenant; returns its row by column.

        Raises:
            ValidationFailed: the name is not one line of text.
            QuotaExceeded: the plan allows no more packs.
        """
        name = validate_display_name("name", name)
        with self.storage.write() as tx:
            limit = quotas.allowance_of(caller).attestation_packs
            quotas.require_capacity("attestation_packs", limit, lambda: store.count_packs(tx, caller.tenant_id))
            now = self.clock.now()
            row = {"id": new_id(now), "tenant_id": caller.tenant_id, "name": name}
            row |= {"description": description, "created_at": now}
            return audited_write.insert(
                tx, store.packs, row, AuditContext(caller.tenant_id, caller, "attestation_pack.create", now)
            )

    def page(self, *, caller: Caller, before: UUID | None = None, limit: int = 50) -> Sequence[AnyRow]:
        """The tenant's packs, newest first, from the one behind `before`."""
        with self.storage.read() as connection:
            return store.page_of_packs(connection, tenant_id=caller.tenant_id, before=before, limit=limit)

    def get(self, pack_id: UUID, *, caller: Caller) -> AnyRow:
        """One of the tenant's packs.

        Raises:
            NotFound: there is none of that id in the caller's tenant.
        """
        with self.storage.read() as connection:
            return store.get_pack(connection, pack_id, tenant_id=caller.tenant_id)
