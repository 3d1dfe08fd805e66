"""Services for allow and deny lists, and for challenges, which subjects on the allow list do not need.

Lists have entities that a tenant has decided about, with a reason and perhaps an end. The service records the decision
to challenge a subject, whom the caller verifies by its own means.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import format_time
from attestlab.core.errors import Conflict, NotFound, ValidationFailed
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs.rules import Caller
from attestlab.risk.enforcement import store
from attestlab.risk.enforcement.impartiality import Impartiality
from attestlab.risk.enforcement.shapes import ChallengesQuery, ListsQuery
from attestlab.risk.enforcement.store import ListPage, RiskChallengeRecord, RiskListEntryRecord
from attestlab.risk.rules import MAX_SCORE, Entity, Factor, ListName, require_listable, sum_factors

LISTS_CHANGED = "entity lists changed"  # in the cache of a transaction


class EntityLists:
    """The allow and deny lists of tenants.

    The signals of an allowed entity are recorded and never escalated, and it needs no challenge. The score of a denied
    entity is 100 wherever the service itself scores. An entity can be on both lists: then it needs no challenge, its
    score is 100, and its signals are not escalated. An entry about a network holds for every address in it.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock, impartiality: Impartiality) -> None:
        self.storage = storage
        self.clock = clock
        self._impartiality = impartiality

    def add(
        self,
        name: ListName,
        entity: Entity,
        *,
        reason: str,
        expires_at: datetime | None = None,
        caller: Caller,
        tx: Transaction | None = None,
    ) -> RiskListEntryRecord:
        """Put an entity on a list.

        Raises:
            ValidationFailed: the end is not in the future, or the entry could never hold.
            PermissionDenied: the caller is an agent, and would allow an agent of its tree.
            Conflict: the entity is on the list already.
        """
        require_listable(entity)
        with self.storage.write(tx) as tx:
            tx.cache[LISTS_CHANGED] = True
            if name is ListName.ALLOW:
                self._impartiality.require(tx.exec, entity, caller=caller, verb="put on the allow list")
            now = self.clock.now()
            if expires_at is not None and expires_at <= now:
                message = f"{format_time(expires_at)} is past. Choose a later time, or omit it."
                raise ValidationFailed.of("/expires_at", "past", message)
            if store.is_listed(tx.exec, name, caller.tenant_id, entity, now=now):
                raise Conflict(f"The {entity.type.value} is on the {name.value} list already. Remove that entry first.")
            row = RiskListEntryRecord(
                id=new_id(now),
                tenant_id=caller.tenant_id,
                list=name.value,
                entity_type=entity.type.value,
                entity_id=entity.id,
                reason=reason,
                created_at=now,
                created_by=caller.actor_id,
                expires_at=expires_at,
            )
            context = AuditContext(caller.tenant_id, caller, "risk_list_entry.add", now, {"list": name.value})
            return audited_write.insert(tx, store.list_entries, row, context)

    def remove(self, entry_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> None:
        """Remove an entry; it stays in the records as history.

        Raises:
            NotFound: the tenant has no such entry, or it was removed already.
            PermissionDenied: the caller is an agent, and the entry denies an agent of its tree.
        """
        with self.storage.write(tx) as tx:
            tx.cache[LISTS_CHANGED] = True
            row = store.get_list_entry(tx.exec, entry_id, tenant_id=caller.tenant_id)
            if row.removed_at is not None:
                raise NotFound("list entry", entry_id)
            if row.list == ListName.DENY:
                self._impartiality.require(tx.exec, row.entity, caller=caller, verb="take from the deny list")
            now = self.clock.now()
            changes = {"removed_at": now, "removed_by": caller.actor_id}
            context = AuditContext(caller.tenant_id, caller, "risk_list_entry.remove", now, {"list": row.list})
            audited_write.change(tx, store.list_entries, row, changes, context)

    def page(
        self, filters: ListsQuery, *, caller: Caller, before: UUID | None = None, limit: int = 50
    ) -> list[RiskListEntryRecord]:
        """Return a page of the entries that filters select and that hold now, newest first."""
        position = ListPage(caller.tenant_id, before, limit)
        with self.storage.read() as connection:
            return store.list_list_entries(connection.execute, position, filters, now=self.clock.now())


def is_allowed(connection: Connection, tenant_id: UUID, entity: tuple[str, str], *, now: datetime) -> bool:
    """Return whether an entity, given by its type and id, is on the tenant's allow list."""
    return ListName.ALLOW in store.find_lists(connection.execute, tenant_id, entity, now=now)


def find_allowed(connection: Connection, tenant_id: UUID, entities: Sequence[Entity], *, now: datetime) -> set[Entity]:
    """Return those of the entities that are on the tenant's allow list."""
    found = store.find_lists_of(connection.execute, tenant_id, entities, now=now)
    return {entity for entity, names in found.items() if ListName.ALLOW in names}


def add_deny_factor(
    connection: Connection, tenant_id: UUID, entities: Iterable[Entity], factors: list[Factor], *, now: datetime
) -> list[Factor]:
    """Return the factors of a score, raised to 100 by the factor `deny_list` if one of the entities is denied."""
    for entity in entities:
        if ListName.DENY in store.find_lists(connection.execute, tenant_id, entity, now=now):
            missing = MAX_SCORE - sum_factors(factors)
            text = f"This {entity.type.value} is on the deny list."
            return [*factors, Factor("deny_list", entity.type.value, MAX_SCORE, missing, text)]
    return factors


class Challenges:
    """The challenge decisions of tenants.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def create(
        self,
        subject_id: str,
        *,
        subject_type: str = "user",
        reason: str,
        risk_score: int | None = None,
        caller: Caller,
        tx: Transaction | None = None,
    ) -> RiskChallengeRecord:
        """Record the decision to challenge a subject; no challenge is required of one on the allow list."""
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            is_exempt = is_allowed(tx.connection, caller.tenant_id, (subject_type, subject_id), now=now)
            row = RiskChallengeRecord(
                id=new_id(now),
                tenant_id=caller.tenant_id,
                subject_type=subject_type,
                subject_id=subject_id,
                reason=reason,
                risk_score=risk_score,
                challenge_required=not is_exempt,
                created_by=caller.actor_id,
                created_at=now,
            )
            context = AuditContext(caller.tenant_id, caller, "risk_challenge.create", now)
            return audited_write.insert(tx, store.challenges, row, context)

    def page(
        self, filters: ChallengesQuery, *, caller: Caller, before: UUID | None = None, limit: int = 50
    ) -> list[RiskChallengeRecord]:
        """Return a page of the tenant's decisions that filters select, newest first."""
        with self.storage.read() as connection:
            return store.list_challenges(connection.execute, ListPage(caller.tenant_id, before, limit), filters)
