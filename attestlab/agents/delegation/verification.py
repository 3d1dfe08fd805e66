"""Verification of a chain of hops against what the verifier knows, with one verdict (CONTRACT 11.10).

A chain is evidence by itself: who granted what to whom follows from its signatures. What it cannot show, the verifier
adds as `Knowledge`: whose keys these are, and what ended since. The service knows all of it; a stranger has the keys
of a proof bundle, and the public list of revocations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

from attestlab.agents.delegation.hops import ALGORITHM, Hop, SignedHop, read_hop
from attestlab.agents.delegation.rules import MAX_DEPTH, ChainVerdict
from attestlab.agents.scopes import NO_SCOPES, ScopeSet, find_widening, parse_required_scope
from attestlab.core.crypto.signing import PublicKey
from attestlab.core.encoding import format_time, quote
from attestlab.core.errors import IntegrityFailed, ValidationFailed

MAX_CHAIN_LENGTH: Final = 32  # hops that a verifier reads; a chain of more than `MAX_DEPTH` has its own verdict


class KnownKey(NamedTuple):
    """A key from the ledger of an agent, which belongs to that agent as far as the verifier knows."""

    kid: str
    agent_id: str
    public: PublicKey
    thumbprint: str
    position: int
    """The place in the agent's ledger, from 0; a key made later has a higher one."""
    ended_index: int | None = None
    """The log entry with which the key was rotated or compromised; None while it is active."""
    compromised_at: datetime | None = None
    """Since when others may have signed with it, as its agent's tenant reported."""


class KnownAgent(NamedTuple):
    """An agent as the service knows it."""

    tenant_id: str
    scopes: ScopeSet
    """What the agent may do by itself; narrowing an agent narrows every chain through it."""
    ended: str | None = None
    """Why it may not act: `suspended`, `revoked` or `expired`; None for an active agent."""


class RecordedHop(NamedTuple):
    """A hop as the service recorded it."""

    digest: str
    log_index: int
    """The log entry of the delegation; a key that ended later was still valid."""
    at: datetime
    """The time of that entry."""


@dataclass(frozen=True)
class Knowledge:
    """What a verifier knows beside the chain; `agents` and `recorded` are None for verifiers other than the service.

    Agents and delegations are named by their UUIDs as texts, in lower case, as hops name them.
    """

    keys: Mapping[str, KnownKey]
    revoked: Collection[str] = field(default_factory=frozenset)
    """Ids of delegations that were revoked."""
    agents: Mapping[str, KnownAgent] | None = None
    recorded: Mapping[str, RecordedHop] | None = None

    @cached_property
    def positions(self) -> Mapping[tuple[str, str], int]:
        """The place of each key in its agent's ledger, by agent and thumbprint."""
        return {(key.agent_id, key.thumbprint): key.position for key in self.keys.values()}


@dataclass(frozen=True)
class ChainReport:
    """The verdict about a chain, and what its leaf may do if the verdict is VALID."""

    verdict: ChainVerdict
    depth: int
    root_agent_id: str | None = None
    leaf_agent_id: str | None = None
    scopes: ScopeSet = NO_SCOPES
    """What the leaf may do; empty unless the verdict is VALID, or only the required scope is missing."""
    expires_at: datetime | None = None
    reasons: tuple[str, ...] = ()


class _Checked(NamedTuple):
    hops: Sequence[SignedHop]
    known: Knowledge
    now: datetime


def judge_chain(
    chain: Sequence[str],
    find_knowledge: Callable[[Sequence[Hop]], Knowledge],
    *,
    now: datetime,
    required_scope: str | None = None,
) -> ChainReport:
    """Judge a chain, root first; `find_knowledge` receives its hops and returns what the verifier knows about them.

    Raises:
        ValidationFailed: the chain is empty, has more than 32 hops, or `required_scope` is no scope.
    """
    _require_readable(chain)
    required = None if required_scope is None else parse_required_scope(required_scope)
    try:
        hops = _read_hops(chain)
        checked = _Checked(hops, find_knowledge([each.hop for each in hops]), now)
        _require_unbroken(checked)
    except IntegrityFailed as error:
        return ChainReport(ChainVerdict.CHAIN_BROKEN, len(chain), reasons=(error.message,))
    return _judge_unbroken(checked, required)


def compute_scopes(hops: Sequence[Hop], agents: Mapping[str, KnownAgent] | None) -> ScopeSet:
    """Compute what the leaf of a valid chain may do: the last grant, within what each agent of the chain may."""
    granted = hops[-1].scopes.simplify()
    if agents is not None:
        for agent_id in (hops[0].parent, *(hop.child for hop in hops)):
            granted = granted.intersect(agents[agent_id].scopes)
    return granted


def _require_readable(chain: object) -> None:
    if isinstance(chain, str | bytes) or not isinstance(chain, Sequence):
        raise ValidationFailed.of("/chain", "type", "A chain is a list of hops, each a compact JWS, the root's first.")
    if not chain:
        raise ValidationFailed.of("/chain", "too_short", "The chain is empty; send at least one hop, the root's first.")
    if len(chain) > MAX_CHAIN_LENGTH:
        message = f"The chain has {len(chain)} hops; at most {MAX_CHAIN_LENGTH} are read, and {MAX_DEPTH} can be valid."
        raise ValidationFailed.of("/chain", "too_long", message)


def _read_hops(chain: Sequence[str]) -> list[SignedHop]:
    hops = []
    for number, token in enumerate(chain, 1):
        try:
            hops.append(read_hop(token))
        except IntegrityFailed as error:
            raise _at(number, error.message) from None
    return hops


def _require_unbroken(checked: _Checked) -> None:
    """Require the order, the signers, the records and the signatures of a chain.

    Raises:
        IntegrityFailed: one of them is wrong; the message names the hop.
    """
    for number, hop in enumerate(checked.hops, 1):
        before = checked.hops[number - 2] if number > 1 else None
        fault = (
            _find_disorder(number, hop, before)
            or _find_wrong_signer(hop, before, checked.known)
            or _find_missing_record(hop, checked.known)
        )
        if fault is not None:
            raise _at(number, fault)
    _require_one_place_each(checked.hops)
    for number, hop in enumerate(checked.hops, 1):  # last, because it takes the most time
        try:
            hop.jws.verify(ALGORITHM, checked.known.keys[hop.kid].public)
        except IntegrityFailed as error:
            raise _at(number, error.message) from None


def _find_disorder(number: int, hop: SignedHop, before: SignedHop | None) -> str | None:
    stated = hop.hop
    if stated.depth != number:
        return f"Its depth is {stated.depth}, and its place in the chain {number}."
    if stated.prev != (before.digest if before else None):
        return (
            "Its prev is not the hash of the hop before." if before else "It names a hop before it, which is missing."
        )
    if before is not None and stated.parent != before.hop.child:
        return f"Its parent {stated.parent} is not the child of the hop before."
    if before is not None and stated.tenant_id != before.hop.tenant_id:
        return "Its tenant is not that of the hop before."
    if stated.expires_at <= stated.issued_at:
        return "It ends before it begins."
    return None


def _find_wrong_signer(hop: SignedHop, before: SignedHop | None, known: Knowledge) -> str | None:
    """Find out whether the parent signed with the key that the hop before names, or a later one of its ledger."""
    key = known.keys.get(hop.kid)
    if key is None:
        return f"The key {quote(hop.kid)} is not known."
    if key.agent_id != hop.hop.parent:
        return f"The key {quote(hop.kid)} is not one of the parent {hop.hop.parent}."
    if before is None or key.thumbprint == before.hop.child_key:
        return None
    named = known.positions.get((key.agent_id, before.hop.child_key))
    if named is None or key.position < named:
        return f"The key {quote(hop.kid)} is neither the one that the hop before names, nor a later one of the agent."
    return None


def _find_missing_record(hop: SignedHop, known: Knowledge) -> str | None:
    """Find out whether the service, if it is the verifier, recorded exactly this hop."""
    if known.recorded is not None:
        recorded = known.recorded.get(hop.hop.id)
        if recorded is None or recorded.digest != hop.digest:
            return f"The service has not recorded the delegation {hop.hop.id} in this form."
    if known.agents is not None:
        for agent_id in (hop.hop.parent, hop.hop.child):
            agent = known.agents.get(agent_id)
            if agent is None or agent.tenant_id != hop.hop.tenant_id:
                return f"The agent {agent_id} is not known."
    return None


def _require_one_place_each(hops: Sequence[SignedHop]) -> None:
    agents = [hops[0].hop.parent, *(each.hop.child for each in hops)]
    if len(set(agents)) < len(agents):
        raise IntegrityFailed("An agent occurs twice in the chain.")


def _at(number: int, reason: str) -> IntegrityFailed:
    return IntegrityFailed(f"Hop {number}: {reason}")


def _judge_unbroken(checked: _Checked, required: str | None) -> ChainReport:
    hops = [each.hop for each in checked.hops]
    verdict, reason = _find_first_fault(checked)
    scopes = compute_scopes(hops, checked.known.agents) if verdict is ChainVerdict.VALID else NO_SCOPES
    if verdict is ChainVerdict.VALID and required is not None and not scopes.permits(required):
        verdict, reason = ChainVerdict.SCOPE_VIOLATION, f"The chain does not grant all of {required}."
    return ChainReport(
        verdict,
        len(hops),
        hops[0].parent,
        hops[-1].child,
        scopes,
        min(hop.expires_at for hop in hops),
        () if reason is None else (reason,),
    )


def _find_first_fault(checked: _Checked) -> tuple[ChainVerdict, str | None]:
    for verdict, find_fault in _CHECKS:
        reason = find_fault(checked)
        if reason is not None:
            return verdict, reason
    return ChainVerdict.VALID, None


def _find_excess_depth(checked: _Checked) -> str | None:
    depth = len(checked.hops)
    return f"The chain has {depth} hops; at most {MAX_DEPTH} are valid." if depth > MAX_DEPTH else None


def _find_expiry(checked: _Checked) -> str | None:
    for number, each in enumerate(checked.hops, 1):
        if each.hop.expires_at <= checked.now:
            return f"Hop {number}: It expired at {format_time(each.hop.expires_at)}."
    return None


def _find_revocation(checked: _Checked) -> str | None:
    known = checked.known
    for number, each in enumerate(checked.hops, 1):
        if each.hop.id in known.revoked:
            return f"Hop {number}: The delegation {each.hop.id} was revoked."
        if _was_key_ended(each, known):
            return f"Hop {number}: The key {quote(each.kid)} had ended when it signed."
    for agent_id in (checked.hops[0].hop.parent, *(each.hop.child for each in checked.hops)):
        if known.agents is not None and (ended := known.agents[agent_id].ended) is not None:
            return f"The agent {agent_id} is {ended}."
    return None


def _was_key_ended(hop: SignedHop, known: Knowledge) -> bool:
    """Whether a key had ended when it signed, by the order of the log; a hop without a record counts as signed now."""
    key = known.keys[hop.kid]
    if key.ended_index is None:
        return False
    recorded = None if known.recorded is None else known.recorded[hop.hop.id]
    if recorded is None or key.ended_index <= recorded.log_index:
        return True
    return key.compromised_at is not None and key.compromised_at <= recorded.at


def _find_any_widening(checked: _Checked) -> str | None:
    for number, (before, each) in enumerate(pairwise(hop.hop for hop in checked.hops), 2):
        if each.expires_at > before.expires_at:
            return f"Hop {number}: It ends later than the hop before."
        if each.scopes.allows == before.scopes.allows and each.scopes.denies == before.scopes.denies:
            continue
        widening = find_widening(each.scopes, before.scopes)
        if widening is not None:
            return f"Hop {number}: {_describe_widening(widening)}"
    return None


def _describe_widening(scope: str) -> str:
    if scope.startswith("!"):
        return f"It lacks the deny {scope} of the hop before."
    return f"It grants {scope}, which the hop before does not allow."


_CHECKS: Final = (
    (ChainVerdict.DEPTH_EXCEEDED, _find_excess_depth),
    (ChainVerdict.EXPIRED, _find_expiry),
    (ChainVerdict.REVOKED, _find_revocation),
    (ChainVerdict.SCOPE_VIOLATION, _find_any_widening),
)
