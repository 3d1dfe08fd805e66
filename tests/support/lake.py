"""What happens in the stories of the lake, and what the records say of it without the lake's code."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import select

from attestlab.agents.observability.shapes import AgentEventIn
from attestlab.agents.observability.store import events as agent_events
from attestlab.agents.shapes import AgentIn
from attestlab.attestations.minting import MintRequest
from attestlab.attestations.store import attestations
from attestlab.audit.store import events
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.records.outbox import OutboxEvent
from attestlab.installation import Installation
from attestlab.lake.relations import DatasetReader
from attestlab.log.store import leaves
from attestlab.orgs.rules import Caller, Plan
from attestlab.policy.active_policies import PolicyQuery
from attestlab.policy.language.document import Category, TargetType
from attestlab.policy.store import decisions
from attestlab.receipts.shapes import ReceiptIn
from attestlab.receipts.store import receipts
from attestlab.risk.normalization.service import events as risk_events
from attestlab.risk.rules import Entity, EntityType
from attestlab.risk.signals.store import signals
from attestlab.webhooks import delivery_store
from attestlab.webhooks.sending import SentAttempt
from support.receipts import create_type

DATASETS = (
    *("decisions", "attestations", "receipts", "log_entries", "audit", "verifications", "signals", "raw_events"),
    *("deliveries", "agent_events"),
)
CURRENT = (
    *("issuers", "policies", "cases", "challenges", "inbox_items", "usage", "invoices"),
    *("agents", "agent_sessions", "delegations", "witness_votes", "run_steps", "compliance_findings"),
)
QUESTION = PolicyQuery(Category.MINT, TargetType.TENANT_DEFAULT)


@dataclass
class LakeTenant:
    """A tenant with an issuer and what it minted; `ended` says how many of that are revoked."""

    lab: Installation
    caller: Caller
    issuer_id: UUID
    kid: str
    receipt_type: str = ""
    minted: list[UUID] = field(default_factory=list)
    ended: int = 0
    endpoint_id: UUID | None = None
    receipts: list[UUID] = field(default_factory=list)
    agent_id: UUID | None = None

    @classmethod
    def of(cls, lab: Installation, caller: Caller, name: str) -> LakeTenant:
        made = lab.issuers.create(
            {"name": name, "domain": f"{name.lower()}.example"}, caller=caller, alg=Algorithm.ED25519
        )
        receipt_type = create_type(lab, caller, name=f"delivery-{made.issuer.id.hex}")
        return cls(lab, caller, made.issuer.id, made.keys[0].kid, receipt_type.name)

    def mint(self, **more: Any) -> None:
        claims = {"student_name": "Ada"}
        request = MintRequest(issuer_id=self.issuer_id, kid=self.kid, schema="degree", claims=claims, **more)
        self.minted.append(self.lab.attestations.mint(request, caller=self.caller).id)

    def revoke(self) -> None:
        if self.ended < len(self.minted):
            self.lab.attestations.revoke(self.minted[self.ended], reason="typo", caller=self.caller)
            self.ended += 1

    def verify(self) -> None:
        if self.minted:
            verified = self.lab.attestations.verify(self.minted[-1])
            with self.lab.storage.write() as tx:
                self.lab.attestations.meter(tx, verified)

    def report(self) -> None:
        """A raw event, and the signal that it becomes."""
        entity = Entity(EntityType.USER, f"user-{len(self.minted)}")
        now = self.lab.clock.now()
        self.lab.risk.normalization.record("login.failed.repeated", entity, occurred_at=now, caller=self.caller)

    def work(self) -> None:
        """An event of the tenant's agent."""
        if self.agent_id is None:
            agent = AgentIn(display_name="Worker", scopes=["docs:read"])
            self.agent_id = self.lab.agents.registry.register(agent, caller=self.caller).row.id
        event = AgentEventIn(agent_id=str(self.agent_id), event_type="tool.call", latency_ms=float(len(self.minted)))
        self.lab.agents.events.report(event, caller=self.caller)

    def receive(self, **more: Any) -> None:
        """A receipt; every second one is revoked, and every third one redacted."""
        body = {"receipt_type": self.receipt_type, "issuer_id": self.issuer_id, "payload": {"n": len(self.receipts)}}
        minted = self.lab.receipts.mint(ReceiptIn.model_validate(body | more), caller=self.caller)
        self.receipts.append(minted.id)
        if len(self.receipts) % 2 == 0:
            self.lab.receipts.revoke(minted.id, caller=self.caller)
        if len(self.receipts) % 3 == 0:
            self.lab.receipts.redact(minted.id, caller=self.caller)

    def deliver(self) -> None:
        """A test delivery to a receiver that is not there; nothing is sent."""
        webhooks, deliveries = self.lab.webhooks, self.lab.webhook_deliveries
        if self.endpoint_id is None:
            created = webhooks.create("Receiver", "https://receiver.example/", ["key.*"], caller=self.caller)
            self.endpoint_id = created.row.id
        now = self.lab.clock.now()
        failed = SentAttempt(now, now, http_status=503, response_time_ms=5, error="status 503")
        test = deliveries.prepare_test(self.endpoint_id, caller=self.caller)
        with self.lab.storage.write() as tx:
            deliveries.record_test(tx, test, failed, caller=self.caller)

    def decide(self, tx: Transaction | None = None, **context: Any) -> str:
        given = {"trust_tier": "BASIC", "key.age_days": 3 + len(self.minted) / 4, **context}
        kept = self.lab.policy_decisions.evaluate_and_record(QUESTION, given, caller=self.caller, tx=tx)
        return str(kept.row.id)


@dataclass
class LakeScenario:
    """The operator's own tenant and another."""

    lab: Installation
    clock: FixedClock
    owner: LakeTenant
    other: LakeTenant

    @classmethod
    def of(cls, lab: Installation, caller: Caller, clock: FixedClock) -> LakeScenario:
        lab.lake.rows_a_part = 4
        tenant = lab.orgs.create_tenant("Other", plan=Plan.PROFESSIONAL)
        other = LakeTenant.of(lab, lab.orgs.service_caller(tenant.tenant_id), "Other")
        return cls(lab, clock, LakeTenant.of(lab, caller, "Northfield"), other)

    def act(self, number: int) -> None:
        """Something of everything, by turns, of both tenants."""
        self.clock.advance(timedelta(seconds=1))
        who = (self.owner, self.other)[number // 4 % 2]
        (who.mint, who.verify, who.decide, who.revoke)[number % 4]()
        who.work()
        if number % 2:
            who.report()
        else:
            who.deliver()
        if number % 8 == 2:
            who.receive()

    def seen(self, owner: LakeTenant) -> dict[str, DatasetReader]:
        """The tenant's data sets by name."""
        found = self.lab.lake(owner.caller)
        return {name: getattr(found, name) for name in DATASETS}


def corrupt_parquet(path: Path) -> None:
    """Spoil the pages of a part; its schema, which stands at the end, stays as it is."""
    content = bytearray(path.read_bytes())
    end = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[4:end] = bytes(end - 4)
    path.write_bytes(content)


def read_lake_ids(lake_scenario: LakeScenario, owner: LakeTenant) -> dict[str, list[str]]:
    """The ids of every fact that the lake shows a tenant, in order of the ids."""
    return {name: _ids(facts, id_column_of(name)) for name, facts in lake_scenario.seen(owner).items()}


def id_column_of(name: str) -> str:
    """The column that has another value in each row of a data set."""
    return {"log_entries": "leaf_hash", "deliveries": "seq", "receipts": "receipt_id"}.get(name, "id")


def _ids(facts: DatasetReader, column: str) -> list[str]:
    return sorted(str(value) for (value,) in facts.sql(f"select {column} from this").fetchall())


def read_recorded_ids(lab: Installation, tenant_id: UUID) -> dict[str, list[str]]:
    """The same, as the records have it."""
    outbox = table_of(OutboxEvent)
    with lab.storage.read() as connection:

        def listed(table: Any, *where: Any, column: str = "id") -> list[str]:
            own = select(table.c[column]).where(table.c.tenant_id == tenant_id, *where)
            return sorted(map(str, connection.scalars(own)))

        return {
            "decisions": listed(decisions),
            "attestations": listed(attestations),
            "receipts": listed(receipts),
            "log_entries": sorted(value.hex() for value in connection.scalars(select(leaves.c.leaf_hash))),
            "audit": listed(events),
            "verifications": listed(outbox, outbox.c.type.startswith("verification.")),
            "signals": listed(signals),
            "raw_events": listed(risk_events),
            "deliveries": listed(delivery_store.attempts, column="seq"),
            "agent_events": listed(agent_events),
        }


def require_complete_lake(lake_scenario: LakeScenario) -> None:
    """Each fact once, for each tenant, whatever is exported."""
    for owner in (lake_scenario.owner, lake_scenario.other):
        assert read_lake_ids(lake_scenario, owner) == read_recorded_ids(lake_scenario.lab, owner.caller.tenant_id)


def read_recorded_statuses(lab: Installation, tenant_id: UUID) -> dict[str, tuple[str, str | None]]:
    """What became of each attestation, and its successor."""
    columns = (attestations.c.id, attestations.c.status, attestations.c.superseded_by)
    with lab.storage.read() as connection:
        rows = connection.execute(select(*columns).where(attestations.c.tenant_id == tenant_id)).all()
    return {str(row.id): (row.status, None if row.superseded_by is None else str(row.superseded_by)) for row in rows}


def read_decision_contexts(lab: Installation, tenant_id: UUID) -> dict[str, dict[str, Any]]:
    """The context of each decision."""
    with lab.storage.read() as connection:
        rows = connection.execute(
            select(decisions.c.id, decisions.c.input).where(decisions.c.tenant_id == tenant_id)
        ).all()
    return {row.id: json.loads(row.input)["context"] for row in rows}
