"""Which attestations a caller may read: those of its tenant, or for a consumer those that they hold.

Capabilities say what a consumer holds: the inbox what was delivered and not declined. Everything else is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, or_

from attestlab.attestations import store
from attestlab.attestations.store import attestations
from attestlab.attestations.tables import AttestationRecord
from attestlab.orgs.rules import Caller, Realm

SelectHeld = Callable[[UUID], Select[UUID]]  # selects the ids of attestations that the consumer of a tenant holds


class Holdings:
    """What callers may read; each of `selects` adds attestations that a consumer holds."""

    def __init__(self, selects: Sequence[SelectHeld]) -> None:
        self._selects = selects

    def get(self, connection: Connection, attestation_id: UUID, *, caller: Caller) -> AttestationRecord:
        """Get an attestation that the caller may read.

        Raises:
            NotFound: there is none with this id.
        """
        if caller.realm is not Realm.CONSUMER:
            return store.get(connection, attestation_id, tenant_id=caller.tenant_id)
        return store.get_readable(connection, attestation_id, self.build_condition(caller))

    def build_condition(self, caller: Caller) -> ColumnElement[bool]:
        """Build the condition on attestations that the caller may read."""
        if caller.realm is not Realm.CONSUMER:
            return attestations.c.tenant_id == caller.tenant_id
        return or_(*(attestations.c.id.in_(select_held(caller.tenant_id)) for select_held in self._selects))
