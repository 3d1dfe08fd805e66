"""The verification of a chain of eight hops with keys in memory, against eight bare Ed25519 verifications."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import cycle, islice, pairwise
from time import process_time
from typing import NamedTuple
from uuid import uuid4

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from attestlab.agents.delegation.hops import ALGORITHM, Hop, SignedHop, compute_digest, read_hop
from attestlab.agents.delegation.rules import MAX_DEPTH, ChainVerdict
from attestlab.agents.delegation.verification import Knowledge, KnownKey, judge_chain
from attestlab.agents.scopes import parse_scopes
from attestlab.core.crypto import signing
from benchmarks.figures import Figure

CHAINS = 32  # of the same agents, so that no token is read twice in a row
VERIFICATIONS = 128  # a side and round
ROUNDS = 21
NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)
SCOPES = ["docs:read", "docs:write", "mail:send", "tickets:*", "!docs:delete"]


class _Agent(NamedTuple):
    agent_id: str
    kid: str
    private: Ed25519PrivateKey
    thumbprint: str


class _Signed(NamedTuple):
    """What a bare verification needs: key, signature and signed text."""

    public: Ed25519PublicKey
    signature: bytes
    text: bytes


def figures() -> Iterator[Figure]:
    """Yield the processor time of a chain and of its bare signatures, in turn, and their ratio."""
    agents = [_make_agent() for _ in range(MAX_DEPTH + 1)]
    known = Knowledge({agent.kid: _know(agent) for agent in agents})
    chains = [_sign_chain(agents) for _ in range(CHAINS)]
    whole = [partial(_verify, chain, known) for chain in chains]
    bare = [partial(_verify_bare, [_strip(read_hop(token), known) for token in chain]) for chain in chains]
    rounds = [(_measure_ms(whole), _measure_ms(bare)) for _ in range(ROUNDS + 1)][1:]  # the first is not warm
    against = f"{MAX_DEPTH} bare Ed25519 verifications"
    yield Figure.of_rounds("agents.chain_cpu_ratio", [one / other for one, other in rounds], "ratio", against=against)
    yield Figure.of_rounds("agents.chain_cpu_ms", [one for one, _ in rounds], "ms")
    yield Figure.of_rounds("agents.chain_bare_cpu_ms", [other for _, other in rounds], "ms")


def _make_agent() -> _Agent:
    private = Ed25519PrivateKey.generate()
    thumbprint = signing.thumbprint(ALGORITHM, private.public_key())
    return _Agent(str(uuid4()), f"agk_{uuid4().hex[:24]}", private, thumbprint)


def _know(agent: _Agent) -> KnownKey:
    return KnownKey(agent.kid, agent.agent_id, agent.private.public_key(), agent.thumbprint, 0)


def _sign_chain(agents: list[_Agent]) -> list[str]:
    """Sign a chain from each agent to the next, with the same scopes in each hop."""
    tenant_id, scopes = str(uuid4()), parse_scopes(SCOPES)
    chain: list[str] = []
    for depth, (parent, child) in enumerate(pairwise(agents), 1):
        prev = compute_digest(chain[-1]) if chain else None
        ends_at = NOW + timedelta(hours=1)
        hop = Hop(
            str(uuid4()),
            tenant_id,
            parent.agent_id,
            child.agent_id,
            child.thumbprint,
            scopes,
            depth,
            NOW,
            ends_at,
            prev,
        )
        chain.append(hop.sign(parent.kid, parent.private))
    return chain


def _strip(hop: SignedHop, known: Knowledge) -> _Signed:
    public = known.keys[hop.kid].public
    assert isinstance(public, Ed25519PublicKey)
    return _Signed(public, hop.jws.signature, hop.jws.signed)


def _verify(chain: list[str], known: Knowledge) -> None:
    report = judge_chain(chain, lambda _: replace(known), now=NOW)
    if report.verdict is not ChainVerdict.VALID:
        raise RuntimeError(f"It verifies as {report.verdict}, but the benchmark measures VALID ones.")


def _verify_bare(signed: list[_Signed]) -> None:
    for public, signature, text in signed:
        public.verify(signature, text)


def _measure_ms(verifications: Sequence[Callable[[], None]]) -> float:
    """Return the processor time of one verification, in milliseconds."""
    began = process_time()
    for verify in islice(cycle(verifications), VERIFICATIONS):
        verify()
    return 1e3 * (process_time() - began) / VERIFICATIONS
