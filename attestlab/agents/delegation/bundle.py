"""Proof bundles of delegations: a chain that anyone verifies offline, with a pinned log and nothing else.

A bundle has the chain, each key with the log entry `agent.key` with which its agent got it, the path from that entry
to the head, and the signed head. The log proves whose keys these are; the keys prove the chain. What was revoked since
is not in a bundle: compare the ids of the hops with the public list of revocations.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple, Self

from attestlab.agents.delegation.hops import ALGORITHM, read_hop
from attestlab.agents.delegation.verification import (
    MAX_CHAIN_LENGTH,
    ChainReport,
    Knowledge,
    KnownKey,
    judge_chain,
)
from attestlab.agents.key_evidence import KeyEvidence, has_format, prove_keys, read_key, require_format
from attestlab.attestations.bundle.reader import Reader
from attestlab.core.crypto import signing
from attestlab.core.errors import ValidationFailed
from attestlab.core.strict_json import parse_json
from attestlab.log.note.trust_policy import Checkpoint, TrustPolicy

FORMAT: Final = "attestlab-delegation/1"
MAX_KEYS: Final = 1_000


class VerifiedChain(NamedTuple):
    """The verdict about the chain of a bundle, and the head of the log that proves its keys; None if none is proven."""

    report: ChainReport
    head: Checkpoint | None


@dataclass(frozen=True)
class DelegationBundle:
    """A proof bundle as it was read; nothing of it is verified yet."""

    chain: tuple[str, ...]
    keys: tuple[KeyEvidence, ...] = field(repr=False)
    checkpoint: str = field(repr=False)

    @classmethod
    def parse(cls, document: object) -> Self:
        """Read a bundle from its JSON document.

        Raises:
            NewerFormat: it has a newer form than this version reads.
            ValidationFailed: a member is missing or has another form; the message names it by its JSON Pointer.
        """
        try:
            top = Reader(document, "")
            require_format(top.string("format"), FORMAT)
            chain = tuple(top.strings("chain"))
            keys = tuple(read_key(each) for each in top.objects("keys"))
            checkpoint = top.object("signed_tree_head").string("checkpoint")
        except ValueError as error:
            raise ValidationFailed(f"The delegation bundle cannot be read: {error}.") from None
        if not 1 <= len(chain) <= MAX_CHAIN_LENGTH or len(keys) > MAX_KEYS:
            message = (
                f"The delegation bundle has {len(chain)} hops and {len(keys)} keys; 1 to {MAX_CHAIN_LENGTH} hops and "
                f"at most {MAX_KEYS} keys can be read."
            )
            raise ValidationFailed(message)
        return cls(chain, keys, checkpoint)

    @classmethod
    def read(cls, content: bytes) -> Self:
        """Read a bundle from a file's content; raises the errors of `parse` and of strict JSON."""
        return cls.parse(parse_json(content))


def is_delegation_bundle(document: object) -> bool:
    """Whether a JSON document says that it is a delegation bundle, of whatever version."""
    return has_format(document, FORMAT)


def verify_delegation_bundle(
    bundle: DelegationBundle,
    *,
    trust: TrustPolicy,
    now: datetime,
    required_scope: str | None = None,
    revoked: Collection[str] = frozenset(),
) -> VerifiedChain:
    """Verify a chain offline: the log proves the keys, and the keys the chain.

    Args:
        bundle: the parsed bundle.
        trust: the pinned logs and witnesses.
        now: the time at which expiry is decided.
        required_scope: what the caller needs the leaf to be allowed, or None.
        revoked: the ids of revoked delegations, from the public list of the service.

    Raises:
        ValidationFailed: `required_scope` is no scope.
    """
    proven: list[Checkpoint] = []

    def find_knowledge(_: object) -> Knowledge:
        head = trust.verify_checkpoint(bundle.checkpoint)
        keys = _prove_keys(bundle, head)
        proven.append(head)
        return Knowledge(keys, revoked)

    report = judge_chain(bundle.chain, find_knowledge, now=now, required_scope=required_scope)
    return VerifiedChain(report, proven[0] if proven else None)


def list_delegation_ids(bundle: DelegationBundle) -> list[str]:
    """List the ids of the hops of a chain that reads; the public list of revocations has them if they are revoked."""
    return [read_hop(token).hop.id for token in bundle.chain]


def _prove_keys(bundle: DelegationBundle, head: Checkpoint) -> dict[str, KnownKey]:
    """Prove that the log gives each key to its agent; a later entry makes a later key.

    Raises:
        IntegrityFailed: a key has no such entry in the log of this head.
    """
    return {
        key.kid: KnownKey(key.kid, key.agent_id, key.public, signing.thumbprint(ALGORITHM, key.public), position)
        for position, key in enumerate(prove_keys(bundle.keys, head))
    }
