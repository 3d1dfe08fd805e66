"""Service for entities: their signals, cases, entries of lists and velocity, as of one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.errors import NotFound
from attestlab.orgs.rules import Caller
from attestlab.risk.enforcement import store as enforcement_store
from attestlab.risk.enforcement.store import Position
from attestlab.risk.enforcement.tables import RiskCaseRecord, RiskListEntryRecord
from attestlab.risk.rules import Entity
from attestlab.risk.signals import store as signal_store
from attestlab.risk.signals.tables import RiskSignalRecord
from attestlab.risk.velocity.service import count_actions

MAX_SIGNALS = MAX_CASES = 50  # the newest of an entity
UNNAMED = "of this type and id"


@dataclass(frozen=True)
class EntityView:
    """What is known about an entity: its newest signals and cases, its list entries, and its counts by action."""

    entity: Entity
    signals: Sequence[RiskSignalRecord]
    cases: Sequence[RiskCaseRecord]
    list_entries: Sequence[RiskListEntryRecord]
    windows: Mapping[str, Mapping[str, int]]


class Entities:
    """The entities of tenants."""

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def get(self, entity: Entity, *, caller: Caller) -> EntityView:
        """Return what the tenant knows about an entity.

        Raises:
            NotFound: the tenant knows nothing about it.
        """
        now, tenant_id = self.clock.now(), caller.tenant_id
        its_own = {"entity_type": entity.type.value, "entity_id": entity.id}
        with self.storage.read() as connection:
            execute = connection.execute
            view = EntityView(
                entity,
                signal_store.find_newest(execute, tenant_id, entity, limit=MAX_SIGNALS),
                enforcement_store.list_cases(execute, Position(tenant_id, None, MAX_CASES), its_own),
                enforcement_store.find_list_entries(execute, tenant_id, entity, now=now),
                count_actions(execute, tenant_id, entity, now=now),
            )
        if not (view.signals or view.cases or view.list_entries or view.windows):
            raise NotFound("entity", UNNAMED)
        return view
