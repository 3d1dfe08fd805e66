"""Rendering of what proof bundles of agents share: entries and keys, with their proofs; it makes no decisions."""

from __future__ import annotations

from attestlab.agents.key_proofs import ProvenEntry, ProvenKey
from attestlab.agents.keys import ALG
from attestlab.agents.proof_shapes import AgentKeyProofOut, EntryProofOut
from attestlab.core.crypto import signing
from attestlab.core.encoding import b64_encode
from attestlab.log.entries import sha256_name


def render_entry_proof(logged: ProvenEntry) -> EntryProofOut:
    """Render the path from an entry to the root."""
    hashes = [sha256_name(each) for each in logged.proof.hashes]
    return EntryProofOut(log_index=logged.proof.index, tree_size=logged.proof.tree_size, hashes=hashes)


def render_key_proof(key: ProvenKey) -> AgentKeyProofOut:
    """Render a key with the proof that its agent has it."""
    return AgentKeyProofOut(
        kid=key.row.kid,
        agent_id=key.row.agent_id,
        jwk=signing.jwk(ALG, signing.load_public(ALG, key.row.spki), key.row.kid),
        log_entry=b64_encode(key.logged.entry),
        inclusion_proof=render_entry_proof(key.logged),
    )
