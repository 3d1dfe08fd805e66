"""The risk that policies see of a mint, a verification or an export: of its issuer, its document and its client.

A document is named by its SHA-256 (`document_hash`), a client by its address and the /64 network of an IPv6 address.
The decision stores what was found; it never stores the address.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from attestlab.policy.active_policies import PolicyContext
from attestlab.risk.recent import RecentRisk
from attestlab.risk.rules import Entity, EntityType
from attestlab.web.rate_limit.client_address import address_names

ReadRisk = Callable[[UUID, Sequence[Entity]], RecentRisk]
"""Reads the recent risk of one thing as a tenant knows it: `risk.recent` with a snapshot or a transaction."""


@dataclass(frozen=True, slots=True)
class RiskSubjects:
    """What an operation is about; a missing document or address is None."""

    issuer_id: UUID
    document_hash: str | None = None
    client_address: str | None = field(default=None, repr=False)

    def look_up(self, read: ReadRisk, tenant_id: UUID, kinds: Sequence[EntityType]) -> PolicyContext:
        """Return the attributes of these entities; none of an entity that the operation does not have."""
        context: dict[str, str | float | int | bool | None] = {}
        for kind in kinds:
            if entities := [Entity(kind, name) for name in self._names(kind)]:
                risk = read(tenant_id, entities)
                context[f"risk.{kind}.score"] = risk.score
                context[f"risk.{kind}.signals_24h"] = risk.signals
                context[f"risk.{kind}.allow_listed"] = risk.is_allow_listed
                context[f"risk.{kind}.deny_listed"] = risk.is_deny_listed
        return context

    def _names(self, kind: EntityType) -> Sequence[str]:
        if kind is EntityType.ISSUER:
            return [str(self.issuer_id)]
        if kind is EntityType.DOCUMENT:
            return [] if self.document_hash is None else [self.document_hash]
        return () if self.client_address is None else address_names(self.client_address)
