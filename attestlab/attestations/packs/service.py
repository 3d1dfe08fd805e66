"""Service for verification packs: create, list, get."""

from __future__ import annotations

from uuid import UUID

from attestlab.attestations import store
from attestlab.attestations.tables import AttestationPackRecord
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs import quotas
from attestlab.orgs.rules import Caller, validate_display_name


class Packs:
    """Verification packs of tenants. A pack is never removed, so an attestation's pack always exists.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def create(
        self, name: str, *, description: str | None = None, caller: Caller, tx: Transaction | None = None
    ) -> AttestationPackRecord:
        """Create a pack in the caller's tenant.

        Raises:
            ValidationFailed: the name is not a single line of text.
            QuotaExceeded: the tenant has reached its plan's limit of packs.
        """
        name = validate_display_name("name", name)
        with self.storage.write(tx) as tx:
            limit = quotas.allowance_of(caller).attestation_packs
            quotas.require_capacity("attestation_packs", limit, lambda: store.count_packs(tx.exec, caller.tenant_id))
            now = self.clock.now()
            pack = AttestationPackRecord(new_id(now), caller.tenant_id, name, description, now)
            return audited_write.insert(
                tx, store.packs, pack, AuditContext(caller.tenant_id, caller, "attestation_pack.create", now)
            )

    def page(self, *, caller: Caller, before: UUID | None = None, limit: int = 50) -> list[AttestationPackRecord]:
        """List the tenant's packs, newest first, starting after `before`."""
        with self.storage.read() as connection:
            return store.page_of_packs(connection, tenant_id=caller.tenant_id, before=before, limit=limit)

    def get(self, pack_id: UUID, *, caller: Caller) -> AttestationPackRecord:
        """Get a pack of the caller's tenant.

        Raises:
            NotFound: the caller's tenant has no pack with this id.
        """
        with self.storage.read() as connection:
            return store.get_pack(connection, pack_id, tenant_id=caller.tenant_id)
