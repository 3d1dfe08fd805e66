"""Policies that decide: switched on as two people would, with reports that stand in for simulations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from sqlalchemy import select

from attestlab.audit.store import events
from attestlab.core.transaction import Transaction
from attestlab.lab import Lab
from attestlab.orgs.rules import Caller
from attestlab.policy import store
from attestlab.policy.documents import Document

DIGEST = "a" * 64


class EverythingSimulated:
    """There is a current report on every version; what a report takes is told where simulations are."""

    def require_current(self, tx: Transaction, *, policy_id: UUID, digest: str, simulation_digest: str | None) -> None:
        """Whatever is named will do."""


def switched_on(lab: Lab, caller: Caller, raw: Mapping[str, Any]) -> UUID:
    """A policy of the caller's tenant that one person wrote and another switched on."""
    made = lab.policies.create(Document.read(raw), caller=caller)
    switch_on(lab, caller, made["id"])
    policy_id: UUID = made["id"]
    return policy_id


def switch_on(lab: Lab, caller: Caller, policy_id: UUID) -> None:
    lab.policies.simulations = EverythingSimulated()
    examined = lab.policies.examine(policy_id, caller=caller)
    second = replace(caller, actor_id="the-second-person")
    lab.policies.activate(policy_id, examined, simulation_digest=DIGEST, caller=second)


def kept(lab: Lab, tenant_id: UUID) -> list[dict[str, Any]]:
    """Every decision in a tenant's keeping, by its place in the trail."""
    columns, is_its_line = store.decisions.c, events.c.resource_id == store.decisions.c.id
    query = select(*columns).join_from(store.decisions, events, is_its_line).where(columns.tenant_id == tenant_id)
    query = query.order_by(events.c.seq)
    with lab.storage.read() as connection:
        return [dict(row) for row in connection.execute(query).mappings()]
