"""Service for compliance: check an agent, an issuer or the tenant, and read earlier checks (CONTRACT 11.11)."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import orjson

from attestlab.agents import store as agent_store
from attestlab.agents.compliance import store
from attestlab.agents.compliance.facts import collect_facts
from attestlab.agents.compliance.rules import Assessment, ControlFinding, EntityKind, assess
from attestlab.agents.compliance.shapes import ComplianceCheckIn, ComplianceChecksQuery
from attestlab.agents.compliance.tables import ComplianceCheckRecord
from attestlab.agents.evidence import note_evidence
from attestlab.agents.rules import TrustCause, parse_agent_id
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import parse_uuid
from attestlab.core.errors import NotFound
from attestlab.core.ids import new_id, new_ids
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.issuers import store as issuer_store
from attestlab.orgs.rules import Caller


class Compliance:
    """The compliance checks of all tenants. `tx` is the unit of work to join; without it, a verb commits its own."""

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def check(self, body: ComplianceCheckIn, *, caller: Caller, tx: Transaction | None = None) -> ComplianceCheckRecord:
        """Check an entity: `assess`, then `add`; raises the errors of the former."""
        return self.add(self.assess(body, caller=caller), caller=caller, tx=tx)

    def assess(self, body: ComplianceCheckIn, *, caller: Caller) -> ComplianceCheckRecord:
        """Read the facts in one snapshot and answer the controls; needs no transaction.

        Raises:
            NotFound: the caller's tenant has no such agent or issuer, or is another tenant.
            ValidationFailed: the id of an issuer or a tenant is no UUID.
        """
        kind, now, mine = body.entity_type, self.clock.now(), caller.tenant_id
        entity_id = _parse_entity_id(kind, body.entity_id, caller)
        with self.storage.read() as connection:
            if kind is EntityKind.AGENT:
                agent_store.get(connection.execute, entity_id, tenant_id=mine)
            if kind is EntityKind.ISSUER:
                issuer_store.get(connection.execute, entity_id, tenant_id=mine)
            facts = collect_facts(connection, kind, entity_id, tenant_id=mine, now=now)
        result = assess(facts, body.regulation)
        return ComplianceCheckRecord(
            id=new_id(now),
            tenant_id=mine,
            entity_type=kind.value,
            entity_id=entity_id,
            regulation=body.regulation.value,
            status=result.status.value,
            score=result.score,
            passed_controls=sum(finding.passed for finding in result.findings),
            asked_controls=len(result.findings),
            findings=_encode_findings(result, now),
            left_out=" ".join(result.left_out),
            asked_by_agent_id=UUID(caller.actor_id) if caller.actor_type == "AGENT" else None,
            created_at=now,
        )

    def add(
        self, row: ComplianceCheckRecord, *, caller: Caller, tx: Transaction | None = None
    ) -> ComplianceCheckRecord:
        """Store an assessment: row and audit line; one of an agent is evidence, unless the agent itself asked."""
        with self.storage.write(tx) as tx:
            context = AuditContext(caller.tenant_id, caller, "compliance_check.create", row.created_at)
            audited_write.insert(tx, store.checks, row, context)
            if row.entity_type == EntityKind.AGENT and row.asked_by_agent_id != row.entity_id:
                store.keep_passed(tx, row)
                note_evidence(tx, row.entity_id, TrustCause.COMPLIANCE, row.id)
        return row

    def get(self, check_id: UUID, *, caller: Caller) -> ComplianceCheckRecord:
        """Get a check.

        Raises:
            NotFound: the caller's tenant has no such check.
        """
        with self.storage.read() as connection:
            return store.get(connection.execute, check_id, tenant_id=caller.tenant_id)

    def page(
        self, query: ComplianceChecksQuery, *, caller: Caller, before: UUID | None = None, limit: int = 50
    ) -> list[ComplianceCheckRecord]:
        """List the tenant's checks, newest first, starting after `before`."""
        with self.storage.read() as connection:
            return store.page(connection.execute, query, tenant_id=caller.tenant_id, before=before, limit=limit)


def _parse_entity_id(kind: EntityKind, text: str, caller: Caller) -> UUID:
    if kind is EntityKind.AGENT:
        return parse_agent_id(text, tenant_id=caller.tenant_id)
    entity_id = parse_uuid(text, field="/entity_id")
    if kind is EntityKind.TENANT and entity_id != caller.tenant_id:
        raise NotFound("tenant", entity_id)
    return entity_id


def _encode_findings(result: Assessment, now: datetime) -> str:
    ids = new_ids(now, len(result.findings))
    return orjson.dumps([_describe(*each) for each in zip(ids, result.findings, strict=True)]).decode()


def _describe(finding_id: UUID, finding: ControlFinding) -> dict[str, object]:
    return {
        "finding_id": str(finding_id),
        "control": finding.control.value,
        "severity": finding.severity.value,
        "passed": finding.passed,
        "title": finding.title,
        "evidence": finding.evidence,
    }
