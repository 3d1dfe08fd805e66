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
from attestlab.attestations.bundle.reader import Reader, decode_base64
from attestlab.core.crypto import jwk, signing
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import IntegrityFailed, NewerFormat, ProofInvalid, ValidationFailed
from attestlab.core.strict_json import parse_json
from attestlab.log import entries
from attestlab.log.entries import EntryType, parse_sha256
from attestlab.log.merkle import hashing
from attestlab.log.note.trust_policy import Checkpoint, TrustPolicy

FORMAT: Final = "attestlab-delegation/1"
_FORMAT_PREFIX: Final = "attestlab-delegation/"
MAX_KEYS: Final = 1_000


class KeyEvidence(NamedTuple):
    """A key of an agent, and the log entry that gives it to the agent."""

    kid: str
    agent_id: str
    jwk: dict[str, object]
    entry: bytes
    log_index: int
    hashes: tuple[bytes, ...]


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
            _require_format(top.string("format"))
            chain = tuple(top.strings("chain"))
            keys = tuple(_read_key(each) for each in top.objects("keys"))
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
    return isinstance(document, dict) and str(document.get("format")).startswith(_FORMAT_PREFIX)


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


def _require_format(text: str) -> None:
    if text == FORMAT:
        return
    if text.startswith(_FORMAT_PREFIX):
        raise NewerFormat(f"The bundle has the format {text}; this version reads {FORMAT}. Get a newer verifier.")
    raise ValueError(f"/format must be {FORMAT}")


def _read_key(reader: Reader) -> KeyEvidence:
    proof = reader.object("inclusion_proof")
    return KeyEvidence(
        kid=reader.string("kid"),
        agent_id=str(reader.uuid("agent_id")),
        jwk=dict(reader.object("jwk").value),
        entry=decode_base64(reader.string("log_entry"), f"{reader.path}/log_entry"),
        log_index=proof.count("log_index"),
        hashes=tuple(parse_sha256(each) for each in proof.strings("hashes")),
    )


def _prove_keys(bundle: DelegationBundle, head: Checkpoint) -> dict[str, KnownKey]:
    """Prove that the log gives each key to its agent; a later entry makes a later key.

    Raises:
        IntegrityFailed: a key has no such entry in the log of this head.
    """
    in_order = sorted(bundle.keys, key=lambda key: key.log_index)
    known = {}
    for position, key in enumerate(in_order):
        hashing.verify_inclusion(key.log_index, head.size, hashing.leaf_hash(key.entry), key.hashes, head.root)
        known[key.kid] = _read_proven_key(key, position)
    if len(known) != len(in_order):
        raise ProofInvalid("The bundle has a key twice.")
    return known


def _read_proven_key(key: KeyEvidence, position: int) -> KnownKey:
    members = entries.parse_entry(key.entry).members
    stated = {name: members.get(name) for name in ("type", "agent_id", "kid", "seq", "status")}
    if stated != {
        "type": EntryType.AGENT_KEY.value,
        "agent_id": key.agent_id,
        "kid": key.kid,
        "seq": 0,
        "status": "active",
    }:
        raise ProofInvalid(
            f"The log entry {key.log_index} does not give the key {key.kid} to the agent {key.agent_id}."
        )
    try:
        algorithm, public = jwk.load_jwk(key.jwk)
    except ValidationFailed as error:
        raise IntegrityFailed(f"The JWK of {key.kid} cannot be read: {error.message}") from None
    if algorithm is not ALGORITHM or members.get("public_key") != b64url_encode(signing.spki(public)):
        raise ProofInvalid(f"The log entry {key.log_index} has another public key than the JWK of {key.kid}.")
    return KnownKey(key.kid, key.agent_id, public, signing.thumbprint(ALGORITHM, public), position)
