"""Wire models of machine agents (SPEC, Machine agent; CONTRACT 11.8)."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from attestlab.agents.rules import (
    MAX_DESCRIPTION_LENGTH,
    MAX_DISPLAY_NAME_LENGTH,
    MAX_REASON_LENGTH,
    AgentStatus,
    AgentType,
    TrustLevel,
)
from attestlab.agents.scopes import MAX_PART_LENGTH, MAX_SCOPES
from attestlab.core.filters import NO_CONDITION, Filters, Where
from attestlab.core.shapes import In, Moment, Out, Uuid, omit_default, one_of
from attestlab.core.text_forms import describe_form
from attestlab.issuers.rules import URL_LENGTH
from attestlab.issuers.shapes import CustodyName, KeyText
from attestlab.web.paging import PageQuery

MAX_SKILLS = 64
AgentDisplayName = Annotated[str, StringConstraints(min_length=1, max_length=MAX_DISPLAY_NAME_LENGTH)]
AgentDescription = Annotated[str, StringConstraints(max_length=MAX_DESCRIPTION_LENGTH)]
AgentReason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_REASON_LENGTH)]
AgentScopeText = Annotated[str, StringConstraints(min_length=1, max_length=2 * MAX_PART_LENGTH + 2)]
AgentScopes = Annotated[list[AgentScopeText], Field(max_length=MAX_SCOPES)]
AgentObject = dict[str, JsonValue]
AgentTypeName = Annotated[str, one_of(AgentType)]
AgentStatusName = Annotated[str, one_of(AgentStatus)]
AGENT_KEY_STATUSES = ("active", "rotated", "compromised")
AgentKeyStatusName = Annotated[str, one_of(AGENT_KEY_STATUSES)]
ProofText = Annotated[str, StringConstraints(min_length=1, max_length=128)]
SkillText = Annotated[str, StringConstraints(min_length=1, max_length=200)]
SkillDescription = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
HTTP_URL = describe_form(r"^https?://[^\s]+$", "Send an http or https URL, such as https://agent.example/a2a.")
HttpUrl = Annotated[str, StringConstraints(pattern=HTTP_URL, min_length=1, max_length=URL_LENGTH)]


class AgentSkill(In, wire_name="agent_skill", source="CONTRACT 11.8"):
    """A skill that an agent's card lists."""

    id: SkillText
    """Its id, by which clients name it. Format: text, 1-200 characters."""
    name: SkillText
    """Its name. Format: text, 1-200 characters."""
    description: SkillDescription
    """What the agent does with it. Format: text, 1-1000 characters."""
    tags: list[SkillText] = Field(default_factory=list, max_length=20)
    """Words to find it by. Format: at most 20 texts of 1-200 characters."""


class AgentCardIn(In, wire_name="agent_card_input", source="CONTRACT 11.8"):
    """Where an agent answers and what it can do, for its public card."""

    url: HttpUrl
    """Where the agent answers. Format: absolute URL, at most 2048 characters."""
    version: Annotated[str, StringConstraints(min_length=1, max_length=64)] | None = None
    """The agent's own version. Format: text, 1-64 characters."""
    skills: Annotated[list[AgentSkill], Field(max_length=MAX_SKILLS)] | None = None
    """What it can do; by default one skill for each of its scopes. Format: at most 64 skills."""


class AgentIn(In, wire_name="agent_input", source="SPEC Machine agent"):
    """An agent to register; without `public_key` the service generates and holds its key."""

    agent_type: AgentType = AgentType.WORKER
    """What it is for. Format: orchestrator, worker, inference, pipeline, service, bot or llm."""
    display_name: AgentDisplayName
    """Its name. Format: one line, 1-256 characters."""
    description: AgentDescription = ""
    """What it does. Format: text, at most 2048 characters."""
    scopes: AgentScopes = Field(default_factory=list)
    """What it may do. Format: at most 64 of resource:action or resource:*, after ! what it may never do."""
    metadata: AgentObject = Field(default_factory=dict)
    """The tenant's own data. Format: JSON object, at most 16 KB."""
    expires_at: Moment | None = None
    """From then on it is revoked. Format: RFC 3339 date-time with an offset, in the future. Source: CONTRACT 11.8."""
    owner_user_id: Uuid | None = None
    """The person who answers for it; by default who registers it. Format: UUID, 36 characters. Source: CONTRACT 11.8.
    """
    card: AgentCardIn | None = None
    """What its card says. Format: JSON object, at most 16 KB. Source: CONTRACT 11.8."""
    public_key: KeyText | None = None
    """The key that it holds itself; left out, the service makes one. Format: Ed25519, raw 32 bytes, base64url.
    Source: CONTRACT 11.8.
    """
    proof: ProofText | None = None
    """That its holder has the private key. Format: base64url Ed25519 signature over attestlab-agent-key-v1, a line feed
    and the challenge. Source: CONTRACT 11.8.
    """


class AgentPatch(In, source="CONTRACT 11.8"):
    """Changes of an agent; omitted fields stay, null removes an expiry, an owner or a card."""

    display_name: AgentDisplayName = Field(default="", json_schema_extra=omit_default)
    """Its new name. Format: one line, 1-256 characters."""
    description: AgentDescription = Field(default="", json_schema_extra=omit_default)
    """What it does. Format: text, at most 2048 characters."""
    metadata: AgentObject = Field(default={}, json_schema_extra=omit_default)
    """The tenant's own data; replaces all of it. Format: JSON object, at most 16 KB."""
    scopes: AgentScopes = Field(default=[], json_schema_extra=omit_default)
    """All that it may do from now on. Format: at most 64 of resource:action or resource:*, after ! a deny."""
    expires_at: Moment | None = Field(default=None, json_schema_extra=omit_default)
    """From then on it is revoked; null: never. Format: RFC 3339 date-time with an offset, in the future."""
    owner_user_id: Uuid | None = Field(default=None, json_schema_extra=omit_default)
    """The person who answers for it; null removes them. Format: UUID, 36 characters."""
    discoverable: bool = Field(default=False, json_schema_extra=omit_default)
    """Whether its card and its public keys are public. Format: true or false."""
    card: AgentCardIn | None = Field(default=None, json_schema_extra=omit_default)
    """What its card says; null: the default. Format: JSON object, at most 16 KB."""


class AgentReasonIn(In, source="CONTRACT 11.8"):
    """Why an agent's status changes; the audit trail keeps it, the public log does not."""

    reason: AgentReason
    """The reason. Format: text, 1-1000 characters."""


class AgentKillIn(AgentReasonIn, source="CONTRACT 11.8"):
    """What a kill ends, or with `dry_run` would end."""

    cascade: bool = True
    """Whether its descendants are revoked with it. Format: true or false."""
    dry_run: bool = False
    """Whether to count only, and change nothing. Format: true or false."""


class AgentChallengeIn(In, source="CONTRACT 11.8"):
    """The public key of which a holder will prove the private key."""

    public_key: KeyText
    """The key. Format: Ed25519, raw 32 bytes, base64url."""


class AgentKeyIn(In, source="CONTRACT 11.8"):
    """The key that replaces an agent's key; without `public_key` the service generates and holds it."""

    public_key: KeyText | None = None
    """A key of the agent's own; left out, the service makes one. Format: Ed25519, raw 32 bytes, base64url."""
    proof: ProofText | None = None
    """That its holder has the private key. Format: base64url Ed25519 signature over attestlab-agent-key-v1, a line feed
    and the challenge.
    """


class AgentKeyCompromiseIn(AgentReasonIn, source="CONTRACT 11.8"):
    """A report that others may have an agent's private key."""

    compromised_at: Moment | None = None
    """Since when; by default since now. Format: RFC 3339 date-time with an offset, not in the future."""


class AgentStatementIn(In, source="CONTRACT 11.8"):
    """What an agent states with its key."""

    payload: AgentObject
    """The statement. Format: JSON object, at most 16 KB."""
    iat: Annotated[int, Field(ge=0, le=2**40)] | None = None
    """Own keys: the time that was signed. Format: seconds since 1970-01-01, UTC."""
    jti: Uuid | None = None
    """Own keys: the id that was signed. Format: UUID, 36 characters."""
    signature: Annotated[str, StringConstraints(min_length=1, max_length=65_536)] | None = None
    """Own keys: the statement as its holder signed it. Format: compact JWS, RFC 7515."""


class AgentChallengeOut(Out, source="CONTRACT 11.8"):
    """A challenge for the holder of a private key, to be signed once."""

    challenge: str
    """What to sign, after attestlab-agent-key-v1 and a line feed. Format: base64url, 43 characters."""
    expires_at: Moment
    """Until when. Format: RFC 3339 date-time, UTC, milliseconds."""


class AgentKeyOut(Out, source="CONTRACT 11.8"):
    """A key of an agent."""

    kid: str
    """Its name. Format: agk_ and 24 hex digits."""
    algorithm: Literal["Ed25519"]
    """Its algorithm. Format: Ed25519."""
    public_key: str
    """The public key. Format: raw 32 bytes, base64url."""
    custody: CustodyName
    """Who holds the private key: the service, or the agent alone. Format: managed or external."""
    status: AgentKeyStatusName
    """Its status; only an active key signs. Format: active, rotated or compromised."""
    created_at: Moment
    """Since when it is the agent's. Format: RFC 3339 date-time, UTC, milliseconds."""
    rotated_at: Moment | None
    """When another replaced it. Format: RFC 3339 date-time, UTC, milliseconds."""
    compromised_at: Moment | None
    """Since when others may have signed with it. Format: RFC 3339 date-time, UTC, milliseconds."""
    log_index: int
    """The log entry with which it began. Format: from 0."""
    status_log_index: int | None
    """The log entry of its last change; null while there is none. Format: from 0."""


class AgentKeyRotationOut(Out, wire_name="agent_key_rotation", source="CONTRACT 11.8"):
    """Both keys of a rotation."""

    old_key: AgentKeyOut
    """The key that was replaced; what it signed stays valid."""
    new_key: AgentKeyOut
    """The key that signs from now on."""


class AgentOut(Out, wire_name="agent", source="SPEC Machine agent"):
    """A machine agent, as it is now."""

    id: Uuid
    """The agent. Format: UUID, 36 characters."""
    agent_id: str
    """The agent in protocols. Format: maip:<8 digits of the tenant>:<ULID>. Source: CONTRACT 11.8."""
    tenant_id: Uuid
    """The tenant of the agent. Format: UUID, 36 characters."""
    agent_type: AgentTypeName
    """What it is for. Format: orchestrator, worker, inference, pipeline, service, bot or llm."""
    display_name: str
    """Its name. Format: one line, 1-256 characters."""
    description: str
    """What it does. Format: text, at most 2048 characters."""
    status: AgentStatusName
    """Whether it may act. Format: active, suspended or revoked."""
    scopes: list[str]
    """Its own scopes, as sent. Format: resource:action or resource:*, after ! a deny."""
    effective_scopes: list[str]
    """What it may do now, within the delegation that it got. Format: allows, then denies after !.
    Source: CONTRACT 11.8.
    """
    metadata: AgentObject
    """The tenant's own data. Format: JSON object, at most 16 KB."""
    trust_score: float
    """How far its evidence reaches; 0.5 without any. Format: 0.000-1.000."""
    trust_level: Annotated[str, one_of(TrustLevel)]
    """What is known of it. Format: authenticated, verified or trusted. Source: CONTRACT 11.8."""
    public_key: str
    """The public key that verifies what it signs now. Format: Ed25519, raw 32 bytes, base64url."""
    key_id: str
    """The name of that key. Format: agk_ and 24 hex digits. Source: CONTRACT 11.8."""
    custody: CustodyName
    """Who holds its private key. Format: managed or external. Source: CONTRACT 11.8."""
    keys: list[AgentKeyOut]
    """Its newest keys, newest first; `GET /v1/agents/{id}/keys` lists all. Format: at most 5."""
    session_count: int
    """Its open sessions. Format: from 0."""
    delegation_depth: int
    """Its distance from the agent without a parent. Format: 0-8. Source: CONTRACT 11.8."""
    parent_agent_id: Uuid | None
    """The agent that delegated to it. Format: UUID, 36 characters. Source: CONTRACT 11.8."""
    created_by_user_id: Uuid | None
    """The person who registered it; null if a key or an agent did. Format: UUID, 36 characters. Source: CONTRACT 11.8.
    """
    owner_user_id: Uuid | None
    """The person who answers for it. Format: UUID, 36 characters. Source: CONTRACT 11.8."""
    discoverable: bool
    """Whether its card and its public keys are public. Format: true or false. Source: CONTRACT 11.8."""
    card: AgentObject | None
    """What its card says beyond its name; null: the default. Format: JSON object. Source: CONTRACT 11.8."""
    last_active_at: Moment | None
    """When it last used a session, within some seconds. Format: RFC 3339 date-time, UTC. Source: CONTRACT 11.8."""
    expires_at: Moment | None
    """From then on it is revoked. Format: RFC 3339 date-time, UTC, milliseconds. Source: CONTRACT 11.8."""
    created_at: Moment
    """When it was registered. Format: RFC 3339 date-time, UTC, milliseconds."""
    updated_at: Moment
    """When it last changed. Format: RFC 3339 date-time, UTC, milliseconds."""


class AgentKillOut(Out, wire_name="agent_kill", source="CONTRACT 11.8"):
    """What a kill ended, or with `dry_run` would end."""

    agent: AgentOut
    """The agent."""
    terminated_sessions: int
    """The open sessions of all revoked agents. Format: from 0."""
    revoked_descendants: int
    """The agents below it that were not revoked yet. Format: from 0."""
    revoked_delegations: int
    """The delegations that any of them gave or got. Format: from 0."""
    dry_run: bool
    """Whether nothing was changed. Format: true or false."""


class AgentStatementOut(Out, wire_name="agent_statement", source="CONTRACT 11.8"):
    """A statement with its signature."""

    jws: str
    """The statement as a JWT with the type agent-statement+jwt. Format: compact JWS, RFC 7515."""
    kid: str
    """The key that signed. Format: agk_ and 24 hex digits."""


class AgentsQuery(PageQuery, Filters, wire_name="agents_query", source="CONTRACT 11.8"):
    """Filters of the list of agents."""

    status: Annotated[AgentStatus | None, NO_CONDITION] = None
    """Only agents in this state. Format: active, suspended or revoked."""
    agent_type: Annotated[AgentType | None, Where("agent_type")] = None
    """Only agents of this type. Format: orchestrator, worker, inference, pipeline, service, bot or llm."""
    owner_user_id: Annotated[Uuid | None, Where("owner_user_id")] = None
    """Only agents for which this person answers. Format: UUID, 36 characters."""
    parent_agent_id: Annotated[Uuid | None, Where("parent_agent_id")] = None
    """Only agents to which this one delegated. Format: UUID, 36 characters."""
    q: Annotated[str | None, StringConstraints(min_length=1, max_length=200), NO_CONDITION] = None
    """Only agents with this text in name or description, in any case. Format: text, 1-200 characters."""


def list_sent(body: AgentIn | AgentPatch) -> Mapping[str, object]:
    """Return the fields of a body that were sent."""
    return {name: getattr(body, name) for name in body.model_fields_set}
