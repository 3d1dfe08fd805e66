"""Wire models of issuer governance (CONTRACT section 4)."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from attestlab.attestations.shapes import SchemaId
from attestlab.core.filters import Filters, Where
from attestlab.core.shapes import In, Moment, Out, Uuid
from attestlab.governance.rules import RequestStatus, RequestType
from attestlab.issuers.rules import RiskRating, TrustTier
from attestlab.issuers.shapes import RiskRatingName, TrustTierName
from attestlab.web.paging import PageQuery

Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1024)]
Types = Literal["SUSPEND_ISSUER", "REVOKE_ISSUER", "REINSTATE_ISSUER", "CHANGE_TRUST_TIER", "CHANGE_RISK_RATING"]
Statuses = Literal["PENDING", "APPROVED", "REJECTED", "EXECUTED"]


class IssuerRequestIn(In):
    """A requested change of an issuer's status or ratings."""

    type: RequestType
    target_issuer_id: Uuid
    reason: Reason
    new_trust_tier: TrustTier | None = None
    new_risk_rating: RiskRating | None = None


class RequestsQuery(PageQuery, Filters):
    """Filters of the list of governance requests."""

    issuer_id: Annotated[Uuid | None, Where("issuer_id")] = None
    status: Annotated[RequestStatus | None, Where("status")] = None


class RejectIn(In):
    """Reason for a rejection."""

    reason: Reason


class ApprovalOut(Out):
    """An approval of a request."""

    user_id: str
    approved_at: Moment


class ImpactOut(Out):
    """Impact of a requested change, as last counted."""

    attestations: int
    valid: int
    active_keys: int
    counted_at: Moment


class IssuerRequestOut(Out):
    """A request to change an issuer's status or ratings."""

    id: Uuid
    tenant_id: Uuid
    type: Types
    target_issuer_id: Uuid
    reason: str
    new_trust_tier: TrustTierName | None
    new_risk_rating: RiskRatingName | None
    status: Statuses
    requested_by: str
    created_at: Moment
    approvals: list[ApprovalOut]
    approvals_needed: int
    impact: ImpactOut
    rejected_by: str | None
    rejected_at: Moment | None
    rejection_reason: str | None
    executed_by: str | None
    executed_at: Moment | None
    log_index: int | None


class SchemaCountOut(Out):
    """Count of attestations with one schema."""

    schema_id: SchemaId = Field(alias="schema")
    attestations: int
    valid: int


class MonthCountOut(Out):
    """Count of attestations minted in one month (UTC)."""

    month: str
    attestations: int
    valid: int


class RecipientCountOut(Out):
    """Count of attestations with one recipient."""

    recipient: str
    attestations: int
    valid: int


class BlastRadiusOut(Out):
    """Attestations that depend on an issuer or a key; `truncated` if there are more recipients than these."""

    issuer_id: Uuid
    kid: str | None
    attestations: int
    valid: int
    by_schema: list[SchemaCountOut]
    by_month: list[MonthCountOut]
    by_recipient: list[RecipientCountOut]
    truncated: bool
