"""Tables of machine agents, their keys, and the challenges that prove a key of their own."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Double, Index, text
from sqlmodel import Field

from attestlab.agents.rules import INITIAL_TRUST_SCORE
from attestlab.core.db.tables import model_of, only_on, short_repr
from attestlab.core.records.row_digest import UNDIGESTED

SINCE_0040 = {"info": {"since": "0040"}}


@short_repr
class AgentRecord(NamedTuple):
    """A machine agent of a tenant.

    `scopes` are separated by spaces, in the order sent. `extra` and `card` are JSON objects. `key_id` is the newest
    key. `parent_agent_id` is the agent that delegated to this one, at `delegation_depth` from the root of the tree;
    `delegated_scopes` are the scopes of that delegation, and `delegated_until` is its end: until then it limits what
    the agent's own scopes allow. `changed_index` is the log entry of the last change of status. `card_signature` is the
    JWS with which the holder of the agent's own key signed its card. `owner_left_at` is when the person who answered
    for it was removed; null again once another one does. `trust_score` is kept by `agents.trust` and is 0.5 before its
    first evidence; `passed_check_at` is the last passed compliance check that another than the agent asked for. Both
    may change without an audit line.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    agent_type: Annotated[str, Field(max_length=12)]
    display_name: Annotated[str, Field(max_length=256)]
    description: Annotated[str, Field(max_length=2048)]
    status: Annotated[str, Field(max_length=10)]
    scopes: str
    extra: str
    card: str | None
    discoverable: bool
    key_id: Annotated[str, Field(max_length=40)]
    custody: Annotated[str, Field(max_length=8)]
    parent_agent_id: Annotated[UUID | None, Field(foreign_key="agents.id", index=True)]
    delegation_depth: int
    delegated_scopes: str | None
    delegated_until: datetime | None
    created_by_user_id: Annotated[UUID | None, Field(foreign_key="users.id")]
    owner_user_id: Annotated[UUID | None, Field(foreign_key="users.id", index=True)]
    expires_at: datetime | None
    status_changed_at: datetime | None
    changed_index: Annotated[int | None, Field(sa_type=BigInteger)]
    created_at: datetime
    updated_at: datetime
    card_signature: Annotated[str | None, Field(sa_column_kwargs=SINCE_0040)] = None
    owner_left_at: Annotated[datetime | None, Field(sa_column_kwargs=SINCE_0040)] = None
    trust_score: Annotated[float, Field(sa_type=Double, sa_column_kwargs=UNDIGESTED | {"server_default": "0.5"})] = (
        INITIAL_TRUST_SCORE
    )
    passed_check_at: Annotated[datetime | None, Field(sa_column_kwargs=UNDIGESTED)] = None


_EXPIRING = "expires_at IS NOT NULL AND status <> 'revoked'"
_LEFT = "owner_left_at IS NOT NULL AND status = 'active'"
Agent = model_of(
    AgentRecord,
    "agents",
    # Filters of a page read the index alone: without it, a page without a hit reads all rows of the tenant.
    Index("ix_agents_of_tenant", "tenant_id", "id", "agent_type", "status", "expires_at"),
    # An index of PostgreSQL holds no text of 2,048 characters.
    only_on("sqlite", Index("ix_agents_texts", "tenant_id", "id", "display_name", "description")),
    Index("ix_agents_expiring", "expires_at", sqlite_where=text(_EXPIRING)),
    Index("ix_agents_left", "owner_left_at", sqlite_where=text(_LEFT)),
)


@short_repr
class AgentKeyRecord(NamedTuple):
    """A key of an agent: its public key as SubjectPublicKeyInfo, and of a managed key the sealed private key.

    `log_index` is the key's first log entry, `changed_index` that of its last change of status. Its tenant has a
    public key once, whichever agent it belongs to.
    """

    kid: Annotated[str, Field(primary_key=True, max_length=40)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    agent_id: Annotated[UUID, Field(foreign_key="agents.id")]
    alg: Annotated[str, Field(max_length=8)]
    spki: bytes
    sealed: Annotated[bytes | None, Field(repr=False)]
    custody: Annotated[str, Field(max_length=8)]
    status: Annotated[str, Field(max_length=12)]
    created_at: datetime
    rotated_at: datetime | None
    reported_at: datetime | None
    compromised_at: datetime | None
    log_index: Annotated[int, Field(sa_type=BigInteger)]
    changed_index: Annotated[int | None, Field(sa_type=BigInteger)]

    @property
    def owner_id(self) -> UUID:
        """The agent, to which the sealed private key is bound."""
        return self.agent_id


AgentKey = model_of(
    AgentKeyRecord,
    "agent_keys",
    Index("ix_agent_keys_of_agent", "agent_id", "created_at"),
    Index("ix_agent_keys_of_public_key", "tenant_id", "spki", unique=True),
)


@short_repr
class AgentChallengeRecord(NamedTuple):
    """A challenge that the holder of a private key signs, to register its public key; used once."""

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    spki: bytes
    challenge: Annotated[str, Field(max_length=64)]
    expires_at: Annotated[datetime, Field(index=True)]


AgentChallenge = model_of(
    AgentChallengeRecord,
    "agent_challenges",
    Index("ix_agent_challenges_of_public_key", "tenant_id", "spki"),
)
