"""Compliance checks: the self-assessment of an agent, an issuer or the tenant, with the answer of each control."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from attestlab.agents.compliance.shapes import ComplianceCheckOut, ComplianceFindingOut
from attestlab.client.analysis.records import Records
from attestlab.client.handles.agents import AgentHandle
from attestlab.client.handles.base import Handle
from attestlab.client.handles.issuers import IssuerHandle
from attestlab.client.service_client import ServiceClient
from attestlab.core.errors import ValidationFailed

CHECKS = "/v1/compliance/checks"
CheckedLike = AgentHandle | IssuerHandle | str | None


class ComplianceCheckHandle(ComplianceCheckOut, Handle):
    """A compliance check, a self-assessment; `findings` are a table too."""

    shown_fields: ClassVar = ("status", "score", "entity_type", "entity_id", "regulation", "created_at")

    findings: Records[ComplianceFindingOut]

    @property
    def failures(self) -> Records[ComplianceFindingOut]:
        """The findings that did not pass."""
        return Records((finding for finding in self.findings if not finding.passed), ComplianceFindingOut)


def check_compliance(client: ServiceClient, what: object, regulation: str) -> ComplianceCheckHandle:
    """Check an agent, an issuer, or the tenant for None."""
    kind, entity_id = _read_entity(client, what)
    body = {"entity_type": kind, "entity_id": str(entity_id), "regulation": regulation}
    return ComplianceCheckHandle.parse(client, client.post(CHECKS, body))


def _read_entity(client: ServiceClient, what: object) -> tuple[str, UUID | str]:
    if what is None:
        return "tenant", str(client.get("/v1/me")["tenant_id"])
    if isinstance(what, AgentHandle | IssuerHandle):
        return "agent" if isinstance(what, AgentHandle) else "issuer", what.id
    if isinstance(what, str) and what.strip().startswith("maip:"):
        return "agent", what.strip()
    message = (
        f"A {type(what).__name__} does not say what to check. Pass lab.agents[id], lab.issuers[id] or a maip id, "
        "or nothing for the tenant."
    )
    raise ValidationFailed(message)
