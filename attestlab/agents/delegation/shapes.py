"""Wire models of delegations (CONTRACT 11.10)."""

from typing import Annotated

from pydantic import Field, StringConstraints

from attestlab.agents.delegation.hops import MAX_HOP_LENGTH
from attestlab.agents.delegation.rules import ChainVerdict, DelegationStatus, Direction
from attestlab.agents.delegation.verification import MAX_CHAIN_LENGTH
from attestlab.agents.proof_shapes import AgentKeyProofOut, ProofTreeHeadOut
from attestlab.agents.shapes import AgentIn, AgentOut, AgentReason, AgentScopes, AgentScopeText
from attestlab.core.shapes import In, Moment, Out, Uuid, one_of
from attestlab.web.paging import PageQuery

AgentReference = Annotated[str, StringConstraints(min_length=1, max_length=64)]
HopText = Annotated[str, StringConstraints(min_length=1, max_length=MAX_HOP_LENGTH)]


class DelegationIn(In, wire_name="delegation_input", source="CONTRACT 11.10"):
    """What an agent delegates, to an agent that exists or one that is registered with it."""

    child_agent_id: AgentReference | None = None
    """The agent that receives; or send `child`. Format: UUID of 36 characters, or maip:<8 digits>:<ULID>."""
    child: AgentIn | None = None
    """The agent to register; without scopes it gets those of the delegation."""
    scopes: Annotated[AgentScopes, Field(min_length=1)]
    """What the child may do. Format: 1-64 of resource:action or resource:*, after ! what it may never do."""
    expires_at: Moment | None = None
    """Its end; by default the earliest of 30 days, the end of the parent's own delegation, and of both agents.
    Format: RFC 3339 date-time with an offset, in the future; kept in whole seconds.
    """
    signature: HopText | None = None
    """Own keys: the hop as the parent's holder signed it. Format: compact JWS, RFC 7515."""


class DelegationOut(Out, wire_name="delegation", source="CONTRACT 11.10"):
    """A delegation with the chain that proves it."""

    delegation_id: Uuid
    """The delegation. Format: UUID, 36 characters."""
    parent_agent_id: Uuid
    """The agent that delegated. Format: UUID, 36 characters."""
    child: AgentOut
    """The agent that received it."""
    scopes: list[str]
    """What it allows. Format: resource:action or resource:*."""
    denied_scopes: list[str]
    """What it denies; a deny always wins. Format: resource:action or resource:*."""
    depth: int
    """Its distance from the root. Format: 1-8."""
    status: Annotated[str, one_of(DelegationStatus)]
    """Whether it holds. Format: active, revoked or expired."""
    expires_at: Moment
    """Its end. Format: RFC 3339 date-time, UTC, milliseconds."""
    chain: list[str]
    """The hops from the root to this one. Format: 1-8 compact JWS, RFC 7515."""
    log_index: int
    """The log entry with which it began. Format: from 0."""
    revoked_at: Moment | None
    """When it was revoked. Format: RFC 3339 date-time, UTC, milliseconds."""
    created_at: Moment
    """When it was made. Format: RFC 3339 date-time, UTC, milliseconds."""


class DelegationsQuery(PageQuery, wire_name="delegations_query", source="CONTRACT 11.10"):
    """Which delegations of an agent to list."""

    direction: Direction | None = None
    """Those that it gave or those that it received; left out, both. Format: given or received."""


class DelegationRevokeIn(In, source="CONTRACT 11.10"):
    """Why a delegation is revoked; the audit trail keeps it, the public log does not."""

    reason: AgentReason
    """The reason. Format: text, 1-1000 characters."""
    dry_run: bool = False
    """Whether to count only, and change nothing. Format: true or false."""


class DelegationRevokeOut(Out, wire_name="delegation_revocation", source="CONTRACT 11.10"):
    """What a revocation ended, or with `dry_run` would end; the agents stay."""

    delegation: DelegationOut
    """The delegation."""
    revoked_delegations: int
    """It and all below it that were not revoked. Format: from 1."""
    terminated_sessions: int
    """The open sessions of their children. Format: from 0."""
    dry_run: bool
    """Whether nothing was changed. Format: true or false."""


class ChainIn(In, wire_name="delegation_chain", source="CONTRACT 11.10"):
    """A chain to verify."""

    chain: Annotated[list[Annotated[str, StringConstraints(max_length=MAX_HOP_LENGTH)]], Field(min_length=1)] = Field(
        max_length=MAX_CHAIN_LENGTH
    )
    """The hops, the root's first. Format: 1-32 compact JWS, RFC 7515."""
    required_scope: AgentScopeText | None = None
    """What the caller needs to be allowed. Format: resource:action, or resource:* for every action."""


class ChainVerdictOut(Out, wire_name="delegation_verdict", source="CONTRACT 11.10"):
    """The verdict about a chain."""

    verdict: Annotated[str, one_of(ChainVerdict)]
    """The first that applies. Format: CHAIN_BROKEN, DEPTH_EXCEEDED, EXPIRED, REVOKED, SCOPE_VIOLATION or VALID."""
    depth: int
    """The number of hops. Format: 1-32; at most 8 are valid."""
    root_agent_id: str | None
    """The agent at the root; null for a broken chain. Format: UUID, 36 characters."""
    leaf_agent_id: str | None
    """The agent that received the last hop; null for a broken chain. Format: UUID, 36 characters."""
    effective_scopes: list[str]
    """What the leaf may do now. Format: resource:action or resource:*; none unless VALID, or the required one lacks."""
    denied_scopes: list[str]
    """What it may never do. Format: resource:action or resource:*."""
    expires_at: Moment | None
    """When the first hop expires. Format: RFC 3339 date-time, UTC, milliseconds."""
    reasons: list[str]
    """Why the chain is not valid, in words. Format: at most one sentence."""


class DelegationProofOut(Out, wire_name="delegation_proof", source="CONTRACT 11.10"):
    """What anyone needs to verify a chain without this service."""

    format: str
    """The form of this document. Format: attestlab-delegation/1."""
    chain: list[str]
    """The hops, the root's first. Format: 1-8 compact JWS, RFC 7515."""
    keys: list[AgentKeyProofOut]
    """The keys of the agents in the chain that sign or are named. Format: from 1."""
    signed_tree_head: ProofTreeHeadOut
    """The head that all proofs lead to."""


class BiscuitOut(Out, wire_name="delegation_biscuit", source="CONTRACT 11.10"):
    """A chain as a Biscuit, which third parties can narrow."""

    biscuit: str
    """The token. Format: Biscuit, URL-safe base64."""
    root_public_key: str
    """The key that verifies it. Format: Ed25519, raw 32 bytes, base64url."""
    revocation_ids: list[str]
    """Its revocation identifiers, one a block. Format: hex."""


class RevocationsQuery(In, wire_name="delegation_revocations_query", source="CONTRACT 11.10"):
    """Which part of the list of revocations to read."""

    since: Annotated[int, Field(ge=-1, le=2**53 - 1)] = -1
    """The last log index that the reader has; left out, from the beginning. Format: from -1."""
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    """The number of revocations. Format: 1-1000, by default 100."""


class RevocationOut(Out, wire_name="delegation_revocation_item", source="CONTRACT 11.10"):
    """A revoked delegation."""

    id: Uuid
    """The delegation. Format: UUID, 36 characters."""
    revoked_at: Moment
    """When. Format: RFC 3339 date-time, UTC, milliseconds."""
    log_index: int
    """The log entry of the revocation. Format: from 0."""


class RevocationsOut(Out, wire_name="delegation_revocations", source="CONTRACT 11.10"):
    """Revoked delegations in the order of the log."""

    items: list[RevocationOut]
    """The revocations. Format: at most `limit`."""
    next_after: int | None
    """The value of `since` for the next part; null at the end. Format: log index."""
