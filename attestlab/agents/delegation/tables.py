"""Table of delegations: the hops that agents signed, and what ended them."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class DelegationRecord(NamedTuple):
    """A delegation from a parent agent to a child.

    `scopes` are separated by spaces, denies after `!`. `hop` is the signed JWS, and `digest` its SHA-256 in base64url.
    `previous_id` is the delegation that the parent itself had received. `is_birth` says that the child was registered
    with it, so that the child has no scopes when it ends. `log_index` and `revoked_index` are its log entries.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    parent_agent_id: Annotated[UUID, Field(foreign_key="agents.id")]
    child_agent_id: Annotated[UUID, Field(foreign_key="agents.id")]
    previous_id: Annotated[UUID | None, Field(foreign_key="delegations.id", index=True)]
    depth: int
    scopes: str
    is_birth: bool
    kid: Annotated[str, Field(max_length=40)]
    hop: str
    digest: Annotated[str, Field(max_length=43)]
    expires_at: datetime
    created_at: datetime
    log_index: Annotated[int, Field(sa_type=BigInteger)]
    revoked_at: datetime | None = None
    revoked_because: Annotated[str | None, Field(max_length=16)] = None
    revoked_index: Annotated[int | None, Field(sa_type=BigInteger)] = None


Delegation = model_of(
    DelegationRecord,
    "delegations",
    Index("ix_delegations_given", "parent_agent_id", "id"),
    Index("ix_delegations_received", "child_agent_id", "id"),
    Index("ix_delegations_one_parent", "child_agent_id", unique=True, sqlite_where=text("revoked_at IS NULL")),
    Index("ix_delegations_revoked", "revoked_index", sqlite_where=text("revoked_index IS NOT NULL")),
)
