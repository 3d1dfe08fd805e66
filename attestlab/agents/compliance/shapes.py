"""Wire models of compliance checks and their findings (CONTRACT 11.11)."""

from typing import Annotated

from attestlab.agents.compliance.rules import CheckStatus, Control, EntityKind, Regulation, Severity
from attestlab.agents.delegation.shapes import AgentReference
from attestlab.core.filters import Filters, Where
from attestlab.core.shapes import In, Moment, Out, Uuid, one_of
from attestlab.web.paging import PageQuery

EntityKindName = Annotated[str, one_of(EntityKind)]
RegulationName = Annotated[str, one_of(Regulation)]
CheckStatusName = Annotated[str, one_of(CheckStatus)]
ControlName = Annotated[str, one_of(Control)]


class ComplianceCheckIn(In, wire_name="compliance_check_input", source="CONTRACT 11.11"):
    """A self-assessment to make."""

    entity_type: EntityKind
    """What to check. Format: agent, issuer or tenant."""
    entity_id: AgentReference
    """The agent, the issuer, or the tenant itself. Format: UUID of 36 characters; of an agent also its maip id."""
    regulation: Regulation = Regulation.BASELINE
    """What selects the controls; baseline asks all. Format: baseline, SOC2, ISO27001, GDPR, HIPAA or EU_AI_ACT."""


class ComplianceFindingOut(Out, wire_name="compliance_finding", source="CONTRACT 11.11"):
    """The answer of one control."""

    finding_id: Uuid
    """The finding. Format: UUID, 36 characters."""
    control: ControlName
    """The control. Format: a name of the table in docs/agents.md."""
    severity: Annotated[str, one_of(Severity)]
    """How much a failure matters; a failed high one fails the check. Format: low, medium or high."""
    passed: bool
    """Whether the fact meets the control. Format: true or false."""
    title: str
    """What the control asks. Format: one line."""
    evidence: str
    """The fact. Format: one sentence."""


class ComplianceCheckOut(Out, wire_name="compliance_check", source="CONTRACT 11.11"):
    """A self-assessment with its findings; it is no audit and no certificate."""

    check_id: Uuid
    """The check. Format: UUID, 36 characters."""
    entity_type: EntityKindName
    """What was checked. Format: agent, issuer or tenant."""
    entity_id: Uuid
    """The agent, issuer or tenant. Format: UUID, 36 characters."""
    regulation: RegulationName
    """What selected the controls. Format: baseline, SOC2, ISO27001, GDPR, HIPAA or EU_AI_ACT."""
    status: CheckStatusName
    """The result; warning where only low and medium controls failed. Format: passed, warning or failed."""
    score: int
    """The share of the asked controls that passed, rounded down. Format: 0-100."""
    findings: list[ComplianceFindingOut]
    """The answers. Format: one of each asked control, at most 10."""
    left_out: list[ControlName]
    """The selected controls for which there is no fact. Format: names of controls. Source: docs/agents.md."""
    self_assessment: bool
    """That the tenant assesses itself. Format: true."""
    disclaimer: str
    """What the check is not. Format: text."""
    created_at: Moment
    """When the facts were read. Format: RFC 3339 date-time, UTC, milliseconds."""
    valid_until: Moment
    """When the check is out of date, after 24 hours. Format: RFC 3339 date-time, UTC, milliseconds."""


class ComplianceChecksQuery(PageQuery, Filters, wire_name="compliance_checks_query", source="CONTRACT 11.11"):
    """Filters of the list of compliance checks."""

    entity_type: Annotated[EntityKind | None, Where("entity_type")] = None
    """Only checks of this kind. Format: agent, issuer or tenant."""
    entity_id: Annotated[Uuid | None, Where("entity_id")] = None
    """Only checks of this agent, issuer or tenant. Format: UUID, 36 characters."""
    regulation: Annotated[Regulation | None, Where("regulation")] = None
    """Only checks by this selection. Format: baseline, SOC2, ISO27001, GDPR, HIPAA or EU_AI_ACT."""
    status: Annotated[CheckStatus | None, Where("status")] = None
    """Only checks with this result. Format: passed, warning or failed."""
