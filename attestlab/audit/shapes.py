"""Wire models of the audit trail."""

from typing import Annotated, Literal

from pydantic import Field

from attestlab.core.shapes import Moment, Out, Uuid
from attestlab.web.paging import PageQuery

Exact = Annotated[str, Field(min_length=1, max_length=128)]


class TrailQuery(PageQuery):
    """Filters of the audit trail; each one matches exactly, `from` is inclusive, `to` exclusive."""

    actor_id: Exact | None = None
    action: Exact | None = None
    resource_type: Exact | None = None
    resource_id: Exact | None = None
    outcome: Literal["SUCCESS", "FAILURE"] | None = None
    since: Moment | None = Field(default=None, alias="from")
    until: Moment | None = Field(default=None, alias="to")


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
