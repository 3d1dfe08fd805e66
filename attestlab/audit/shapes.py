"""Wire models of the audit trail."""

from typing import Annotated, Literal

from pydantic import Field

from attestlab.core.filters import Filters, Where
from attestlab.core.shapes import Moment, Out, Uuid
from attestlab.web.paging import PageQuery

Exact = Annotated[str, Field(min_length=1, max_length=128)]


class TrailQuery(PageQuery, Filters):
    """Filters of the audit trail; each one matches exactly, `from` is inclusive, `to` exclusive."""

    actor_id: Annotated[Exact | None, Where("actor_id")] = None
    action: Annotated[Exact | None, Where("action")] = None
    resource_type: Annotated[Exact | None, Where("resource_type")] = None
    resource_id: Annotated[Exact | None, Where("resource_id")] = None
    outcome: Annotated[Literal["SUCCESS", "FAILURE"] | None, Where("outcome")] = None
    since: Annotated[Moment | None, Where("timestamp", ">=")] = Field(default=None, alias="from")
    until: Annotated[Moment | None, Where("timestamp", "<")] = Field(default=None, alias="to")

    @property
    def is_by_kind(self) -> bool:
        """Whether it names a resource type or action, but no actor or resource, which select better."""
        given = self.given_filters
        return bool(given & {"resource_type", "action"}) and not given & {"actor_id", "resource_id"}


class AuditEventOut(Out):
    """An audit event of the trail.

    `integrity_hash` is the SHA-256 (hex) of `prev_hash`'s 32 bytes and the canonical JSON of the other members.
    """

    id: Uuid
    tenant_id: Uuid
    timestamp: Moment
    actor_type: Literal["USER", "API_KEY", "SERVICE"]
    actor_id: str
    action: str
    resource_type: str
    resource_id: str
    outcome: Literal["SUCCESS", "FAILURE"]
    metadata: dict[str, object]
    integrity_hash: str
    prev_hash: str
