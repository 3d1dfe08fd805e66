"""Policies that decide: simulated, and switched on, as two people would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from sqlalchemy import select

from attestlab.audit.store import events
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.policy import store
from attestlab.policy.language.document import Document


def create_active_policy(lab: Installation, caller: Caller, raw: Mapping[str, Any]) -> UUID:
    """A policy of the caller's tenant that one person wrote and another switched on."""
    made = lab.policies.create(Document.read(raw), caller=caller)
    activate_policy(lab, caller, made.id)
    policy_id: UUID = made.id
    return policy_id


def activate_policy(lab: Installation, caller: Caller, policy_id: UUID) -> None:
    digest = simulate_policy(lab, caller, policy_id)
    examined = lab.policies.examine(policy_id, caller=caller)
    second = replace(caller, actor_id="the-second-person")
    lab.policies.activate(policy_id, examined, simulation_digest=digest, caller=second)


def simulate_policy(lab: Installation, caller: Caller, policy_id: UUID) -> str:
    """The digest of a fresh report on the newest version."""
    with lab.simulations.of(policy_id, caller=caller) as simulation:
        return simulation.report().digest


def read_decisions(lab: Installation, tenant_id: UUID) -> list[dict[str, Any]]:
    """Every decision in a tenant's keeping, by its place in the trail."""
    columns, is_its_line = store.decisions.c, events.c.resource_id == store.decisions.c.id
    query = select(*columns).join_from(store.decisions, events, is_its_line).where(columns.tenant_id == tenant_id)
    query = query.order_by(events.c.seq)
    with lab.storage.read() as connection:
        return [dict(row) for row in connection.execute(query).mappings()]
