"""Rendering of what proof bundles of agents share: entries and keys, with their proofs; it makes no decisions."""

from __future__ import annotations

from attestlab.agents.key_proofs import ProvenEntry, ProvenKey
from attestlab.agents.keys import ALG
from attestlab.agents.proof_shapes import AgentKeyProofOut, EntryProofOut
from attestlab.agents.tables import AgentKeyRecord
from attestlab.core.crypto import signing
from attestlab.core.encoding import b64_encode
from attestlab.core.row_rendering import RowRenderer
from attestlab.log.entries import sha256_name
from attestlab.log.results import InclusionProof

render_entry_proof = RowRenderer(
    EntryProofOut,
    ProvenEntry,
    parts={"proof": InclusionProof},
    log_index="proof.index",
    hashes=lambda logged: [sha256_name(each) for each in logged.proof.hashes],
)
render_key_proof = RowRenderer(
    AgentKeyProofOut,
    ProvenKey,
    parts={"row": AgentKeyRecord},
    jwk=lambda key: signing.jwk(ALG, signing.load_public(ALG, key.row.spki), key.row.kid),
    log_entry=lambda key: b64_encode(key.logged.entry),
    inclusion_proof=lambda key: render_entry_proof(key.logged),
)
