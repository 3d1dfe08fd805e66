"""Kinship of agents: two are of one tree if one is or was above the other, or a third one above both."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from attestlab.agents.delegation.store import list_lineage
from attestlab.agents.rules import parse_agent_id
from attestlab.agents.sessions.store import find_agent
from attestlab.core.db.tables import Execute
from attestlab.core.errors import NotFound
from attestlab.orgs.rules import Caller
from attestlab.risk.rules import Entity, EntityType

_EVER: Final = datetime.min.replace(tzinfo=UTC)


def is_of_own_tree(execute: Execute, caller: Caller, entity: Entity) -> bool:
    """Return whether an entity of risk is an agent of the calling agent's tree, or a session of one.

    Delegations that were revoked count too: an agent that left its tree is not impartial about it.
    """
    about = _find_agent_of(execute, caller, entity)
    if about is None:
        return False
    itself = list_lineage(execute, UUID(caller.actor_id), since=_EVER)
    return not itself.isdisjoint(list_lineage(execute, about, since=_EVER))


def _find_agent_of(execute: Execute, caller: Caller, entity: Entity) -> UUID | None:
    try:
        found = parse_agent_id(entity.id, tenant_id=caller.tenant_id)
    except NotFound:
        return None
    return find_agent(execute, found) if entity.type is EntityType.SESSION else found
