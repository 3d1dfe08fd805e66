"""Keys of agents in proof bundles: each has the log entry with which its agent got it, and the path to a head.

It needs no database, because offline verifiers use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from attestlab.attestations.bundle.reader import Reader, decode_base64
from attestlab.core.crypto import jwk, signing
from attestlab.core.crypto.signing import Algorithm, PublicKey
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import IntegrityFailed, NewerFormat, ProofInvalid, ValidationFailed
from attestlab.log import entries
from attestlab.log.entries import EntryType, parse_sha256
from attestlab.log.merkle import hashing
from attestlab.log.note.trust_policy import Checkpoint

ALGORITHM = Algorithm.ED25519


def require_format(text: str, known: str) -> None:
    """Require the one format of a proof bundle that this version reads, such as `attestlab-run/1`.

    Raises:
        NewerFormat: it is another version of the format.
        ValueError: it is another format.
    """
    if text == known:
        return
    if text.startswith(_prefix(known)):
        raise NewerFormat(f"The bundle has the format {text}; this version reads {known}. Get a newer verifier.")
    raise ValueError(f"/format must be {known}")


def has_format(document: object, known: str) -> bool:
    """Whether a JSON document says that it has this format, in whatever version."""
    return isinstance(document, dict) and str(document.get("format")).startswith(_prefix(known))


def _prefix(known: str) -> str:
    return known.partition("/")[0] + "/"


class BundledEntry(NamedTuple):
    """An entry of the log, and the path from it to the root of a tree."""

    entry: bytes
    log_index: int
    tree_size: int
    hashes: tuple[bytes, ...]


class KeyEvidence(NamedTuple):
    """A key of an agent, and the log entry that gives it to the agent."""

    kid: str
    agent_id: str
    jwk: dict[str, object]
    proof: BundledEntry


class ProvenAgentKey(NamedTuple):
    """A key that the log gives to an agent, at an entry."""

    kid: str
    agent_id: str
    public: PublicKey
    log_index: int


def read_entry(reader: Reader) -> BundledEntry:
    """Read an entry with its proof; raises ValueError with the place of what cannot be read."""
    proof = reader.object("inclusion_proof")
    return BundledEntry(
        decode_base64(reader.string("log_entry"), f"{reader.path}/log_entry"),
        proof.count("log_index"),
        proof.count("tree_size"),
        tuple(parse_sha256(each) for each in proof.strings("hashes")),
    )


def read_key(reader: Reader) -> KeyEvidence:
    """Read a key with its proof; raises ValueError with the place of what cannot be read."""
    return KeyEvidence(
        kid=reader.string("kid"),
        agent_id=str(reader.uuid("agent_id")),
        jwk=dict(reader.object("jwk").value),
        proof=read_entry(reader),
    )


def prove_entry(proof: BundledEntry, head: Checkpoint) -> dict[str, object]:
    """Prove that the log of a head has an entry; returns its members.

    Raises:
        IntegrityFailed: the path leads elsewhere or is of another tree, or the entry cannot be read.
    """
    if proof.tree_size != head.size:
        raise ProofInvalid(f"The proof is of a tree of {proof.tree_size} entries; the signed head has {head.size}.")
    hashing.verify_inclusion(proof.log_index, head.size, hashing.leaf_hash(proof.entry), proof.hashes, head.root)
    return entries.parse_entry(proof.entry).members


def prove_keys(keys: Sequence[KeyEvidence], head: Checkpoint) -> list[ProvenAgentKey]:
    """Prove that the log gives each key to its agent; returns them in the order of their entries.

    Raises:
        IntegrityFailed: a key has no such entry in the log of this head, or is there twice.
    """
    proven = [_prove_key(key, head) for key in sorted(keys, key=lambda key: key.proof.log_index)]
    if len({key.kid for key in proven}) != len(proven):
        raise ProofInvalid("The bundle has a key twice.")
    return proven


def _prove_key(key: KeyEvidence, head: Checkpoint) -> ProvenAgentKey:
    index, members = key.proof.log_index, prove_entry(key.proof, head)
    stated = {name: members.get(name) for name in ("type", "agent_id", "kid", "seq", "status")}
    expected = {"type": EntryType.AGENT_KEY.value, "agent_id": key.agent_id, "kid": key.kid, "seq": 0}
    if stated != {**expected, "status": "active"}:
        raise ProofInvalid(f"The log entry {index} does not give the key {key.kid} to the agent {key.agent_id}.")
    try:
        algorithm, public = jwk.load_jwk(key.jwk)
    except ValidationFailed as error:
        raise IntegrityFailed(f"The JWK of {key.kid} cannot be read: {error.message}") from None
    if algorithm is not ALGORITHM or members.get("public_key") != b64url_encode(signing.spki(public)):
        raise ProofInvalid(f"The log entry {index} has another public key than the JWK of {key.kid}.")
    if key.jwk != signing.jwk(ALGORITHM, public, key.kid):
        raise ProofInvalid(f"The JWK of {key.kid} states more or other than kty, crv, x, kid, alg and use of this key.")
    return ProvenAgentKey(key.kid, key.agent_id, public, index)
