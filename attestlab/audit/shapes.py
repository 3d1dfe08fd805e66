"""Wire models of the audit trail."""

from typing import Annotated, Literal

from pydantic import Field

from attestlab.core.filters import Filters, Where
from attestlab.core.shapes import Moment, Out, Uuid
from attestlab.web.paging import PageQuery

Exact = Annotated[str, Field(min_length=1, max_length=128)]


class TrailQuery(PageQuery, Filters, wire_name="audit_query", source="CONTRACT 3"):
    """Filters of the audit trail; each one matches exactly, `from` is inclusive, `to` exclusive."""

    actor_id: Annotated[Exact | None, Where("actor_id")] = None
    """Only what this actor did. Format: 1-128 characters."""
    action: Annotated[Exact | None, Where("action")] = None
    """Only this action. Format: <kind>.<verb>."""
    resource_type: Annotated[Exact | None, Where("resource_type")] = None
    """Only resources of this type. Format: 1-128 characters."""
    resource_id: Annotated[Exact | None, Where("resource_id")] = None
    """Only this resource. Format: 1-128 characters."""
    outcome: Annotated[Literal["SUCCESS", "FAILURE"] | None, Where("outcome")] = None
    """Only successes, or only failures. Format: SUCCESS or FAILURE."""
    since: Annotated[Moment | None, Where("timestamp", ">=")] = Field(default=None, alias="from")
    """Only events at or after this moment. Format: RFC 3339 date-time with an offset."""
    until: Annotated[Moment | None, Where("timestamp", "<")] = Field(default=None, alias="to")
    """Only events before this moment. Format: RFC 3339 date-time with an offset."""

    @property
    def is_by_kind(self) -> bool:
        """Whether it names a resource type or action, but no actor or resource, which select better."""
        given = self.given_filters
        return bool(given & {"resource_type", "action"}) and not given & {"actor_id", "resource_id"}


class AuditEventOut(Out, source="CONTRACT 3"):
    """An audit event of the trail.

    `integrity_hash` is the SHA-256 (hex) of `prev_hash`'s 32 bytes and the canonical JSON of the other members.
    """

    id: Uuid
    """The line. Format: UUID, 36 characters."""
    tenant_id: Uuid
    """The tenant of the audit trail. Format: UUID, 36 characters."""
    timestamp: Moment
    """When it happened. Format: RFC 3339, UTC, milliseconds."""
    actor_type: Literal["USER", "API_KEY", "SERVICE", "AGENT"]
    """The type of the actor. Format: USER|API_KEY|SERVICE|AGENT."""
    actor_id: str
    """The actor. Format: the UUID of the person, key or agent, or the name of the part of the service."""
    action: str
    """The action that was done or attempted. Format: <kind>.<verb>."""
    resource_type: str
    """The type of the resource. Format: 1-40 characters."""
    resource_id: str
    """The id of the resource. Format: 1-128 characters."""
    outcome: Literal["SUCCESS", "FAILURE"]
    """Whether it succeeded. Format: SUCCESS|FAILURE."""
    metadata: dict[str, object]
    """Further details, never secrets or claims; row_sha256 is the digest of the row after the change.
    For an agent also session_id and on_behalf_of, the person for whom it acts, or null. Format: JSON.
    """
    integrity_hash: str
    """SHA-256 of prev_hash's bytes and the canonical JSON of the line without the two hashes. Format: 64 lowercase hex.
    """
    prev_hash: str
    """The integrity_hash of the tenant's previous line; zeros for the first. Format: 64 lowercase hex."""
