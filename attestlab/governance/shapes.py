"""Wire models of issuer governance (CONTRACT section 4)."""

from typing import Annotated, Literal

from pydantic import Field

from attestlab.attestations.shapes import SchemaId
from attestlab.core.filters import Filters, Where
from attestlab.core.shapes import In, Moment, Out, ReasonText, Uuid
from attestlab.governance.rules import RequestStatus, RequestType
from attestlab.issuers.rules import RiskRating, TrustTier
from attestlab.issuers.shapes import RiskRatingName, TrustTierName
from attestlab.web.paging import PageQuery

Types = Literal["SUSPEND_ISSUER", "REVOKE_ISSUER", "REINSTATE_ISSUER", "CHANGE_TRUST_TIER", "CHANGE_RISK_RATING"]
RequestStatuses = Literal["PENDING", "APPROVED", "REJECTED", "EXECUTED"]


class IssuerRequestIn(In, source="CONTRACT 4"):
    """A requested change of an issuer's status or ratings."""

    type: RequestType
    """The change. Format: SUSPEND_ISSUER, REVOKE_ISSUER, REINSTATE_ISSUER, CHANGE_TRUST_TIER or CHANGE_RISK_RATING."""
    target_issuer_id: Uuid
    """The issuer to change. Format: UUID, 36 characters."""
    reason: ReasonText
    """Why it should change. Format: text, 1-1024 characters."""
    new_trust_tier: TrustTier | None = None
    """The new tier, for CHANGE_TRUST_TIER only. Format: SELF_SIGNED, BASIC, VERIFIED or ENTERPRISE."""
    new_risk_rating: RiskRating | None = None
    """The new rating, for CHANGE_RISK_RATING only. Format: LOW, MEDIUM, HIGH or CRITICAL."""


class RequestsQuery(PageQuery, Filters, wire_name="issuer_requests_query", source="CONTRACT 4"):
    """Filters of the list of governance requests."""

    issuer_id: Annotated[Uuid | None, Where("issuer_id")] = None
    """Only requests about this issuer. Format: UUID, 36 characters."""
    status: Annotated[RequestStatus | None, Where("status")] = None
    """Only requests with this status. Format: PENDING, APPROVED, REJECTED or EXECUTED."""


class RejectIn(In, wire_name="rejection_input", source="CONTRACT 4"):
    """Reason for a rejection."""

    reason: ReasonText
    """Why it is rejected. Format: text, 1-1024 characters."""


class ApprovalOut(Out, wire_name="issuer_request_approval", source="CONTRACT 4"):
    """An approval of a request."""

    user_id: str
    """The person who approved. Format: UUID, 36 characters."""
    approved_at: Moment
    """When they approved it. Format: RFC 3339 date-time, UTC, milliseconds."""


class ImpactOut(Out, wire_name="issuer_request_impact", source="CONTRACT 4"):
    """Impact of a requested change, as last counted."""

    attestations: int
    """Attestations of the issuer. Format: count."""
    valid: int
    """Those of them that are valid. Format: count."""
    active_keys: int
    """Keys of the issuer that can sign. Format: count."""
    counted_at: Moment
    """When they were counted: at the request, at each approval, and at the execution.
    Format: RFC 3339 date-time, UTC, milliseconds.
    """


class IssuerRequestOut(Out, source="CONTRACT 4"):
    """A request to change an issuer's status or ratings."""

    id: Uuid
    """The request. Format: UUID, 36 characters."""
    tenant_id: Uuid
    """The tenant of the issuer. Format: UUID, 36 characters."""
    type: Types
    """The requested change.
    Format: SUSPEND_ISSUER, REVOKE_ISSUER, REINSTATE_ISSUER, CHANGE_TRUST_TIER or CHANGE_RISK_RATING.
    """
    target_issuer_id: Uuid
    """The issuer. Format: UUID, 36 characters."""
    reason: str
    """The reason for the request. Format: 1-1024 characters."""
    new_trust_tier: TrustTierName | None
    """The requested tier; null if the request is not about the tier.
    Format: SELF_SIGNED, BASIC, VERIFIED or ENTERPRISE.
    """
    new_risk_rating: RiskRatingName | None
    """The requested rating; null if the request is not about the rating. Format: LOW, MEDIUM, HIGH or CRITICAL."""
    status: RequestStatuses
    """Its state; the last two are final. Format: PENDING, APPROVED, REJECTED or EXECUTED."""
    requested_by: str
    """The person who made the request. Format: UUID, 36 characters."""
    created_at: Moment
    """When it was made. Format: RFC 3339 date-time, UTC, milliseconds."""
    approvals: list[ApprovalOut]
    """Its approvals."""
    approvals_needed: int
    """The number of approvals that it needs, in addition to the requester. Format: count."""
    impact: ImpactOut
    """The objects that the change would affect."""
    rejected_by: str | None
    """The person who rejected or withdrew it. Format: UUID, 36 characters."""
    rejected_at: Moment | None
    """When it was rejected. Format: RFC 3339 date-time, UTC, milliseconds."""
    rejection_reason: str | None
    """The reason. Format: 1-1024 characters."""
    executed_by: str | None
    """The person who executed it. Format: UUID, 36 characters."""
    executed_at: Moment | None
    """When it was executed. Format: RFC 3339 date-time, UTC, milliseconds."""
    log_index: int | None
    """The log entry of the change; null before the execution. Format: index. Source: CONTRACT 7."""


class SchemaCountOut(Out, source="CONTRACT 4"):
    """Count of attestations with one schema."""

    schema_id: SchemaId = Field(alias="schema")
    """The schema. Format: a schema id of the catalogue."""
    attestations: int
    """Attestations with this schema. Format: count."""
    valid: int
    """Those of them that are valid. Format: count."""


class MonthCountOut(Out, source="CONTRACT 4"):
    """Count of attestations minted in one month (UTC)."""

    month: str
    """The month of the mint, UTC. Format: YYYY-MM."""
    attestations: int
    """Attestations of this month. Format: count."""
    valid: int
    """Those of them that are valid. Format: count."""


class RecipientCountOut(Out, source="CONTRACT 4"):
    """Count of attestations with one recipient."""

    recipient: str
    """The recipient. Format: e-mail address."""
    attestations: int
    """Attestations for this recipient. Format: count."""
    valid: int
    """Those of them that are valid. Format: count."""


class BlastRadiusOut(Out, source="CONTRACT 4"):
    """Attestations that depend on an issuer or a key; `truncated` if there are more recipients than these."""

    issuer_id: Uuid
    """The issuer. Format: UUID, 36 characters."""
    kid: str | None
    """The requested key; null for all keys. Format: 1-64 of A-Z a-z 0-9 . _ : -."""
    attestations: int
    """Attestations of the issuer, or of the key. Format: count."""
    valid: int
    """Those of them that are valid. Format: count."""
    by_schema: list[SchemaCountOut]
    """Counts by schema, largest first."""
    by_month: list[MonthCountOut]
    """Counts by month of the mint, oldest first."""
    by_recipient: list[RecipientCountOut]
    """Counts of the hundred recipients with the most attestations."""
    truncated: bool
    """Whether there are more recipients than these. Format: true or false. Source: docs/http.md."""
