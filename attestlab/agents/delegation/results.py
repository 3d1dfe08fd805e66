"""Results of the delegation service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from attestlab.agents.delegation.rules import DelegationStatus
from attestlab.agents.delegation.tables import DelegationRecord
from attestlab.agents.key_proofs import ProvenKey
from attestlab.agents.service import AgentDetails
from attestlab.log.results import SignedHead


@dataclass(frozen=True)
class DelegationDetails:
    """A delegation with its child, and the hops from the root to it."""

    row: DelegationRecord
    status: DelegationStatus
    child: AgentDetails
    chain: Sequence[str] = field(repr=False)


@dataclass(frozen=True)
class RevokedDelegations:
    """What a revocation ended, or with `dry_run` would end; the first row is the delegation itself."""

    delegation: DelegationDetails
    revoked_delegations: int
    terminated_sessions: int
    dry_run: bool


@dataclass(frozen=True)
class ChainProof:
    """What a stranger needs to verify a chain: the hops, the keys in the log, and a signed head of that log."""

    chain: Sequence[str] = field(repr=False)
    keys: Sequence[ProvenKey] = field(repr=False)
    head: SignedHead = field(repr=False)
