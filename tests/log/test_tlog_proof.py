"""The tlog-proof text carries everything an offline verifier needs but the trust."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from attestlab.core.errors import ProofInvalid, SignatureInvalid
from attestlab.log.merkle.hashing import leaf_hash, node_hash
from attestlab.log.merkle.tlog_proof import LogProof
from attestlab.log.note.note import NoteSigner, TreeHead, sign_checkpoint
from attestlab.log.note.trust_policy import TrustPolicy

SIGNER = NoteSigner("log.example/a", Ed25519PrivateKey.from_private_bytes(bytes(32)))
LEAF, SIBLING = leaf_hash(b"mine"), leaf_hash(b"another's")
NOTE = sign_checkpoint(SIGNER, TreeHead("log.example/a", 2, node_hash(LEAF, SIBLING)), at_s=1_795_262_400)
PROOF = LogProof(0, (SIBLING,), NOTE, extra=b"context")
TRUST = TrustPolicy.without_witnesses(str(SIGNER.vkey))


def test_a_proof_has_the_lines_of_the_standard() -> None:
    lines = PROOF.text.split("\n")
    assert lines[:3] == ["c2sp.org/tlog-proof@v1", "extra Y29udGV4dA==", "index 0"]
    assert lines[4] == ""
    assert PROOF.text.endswith(NOTE)


@pytest.mark.parametrize("proof", [PROOF, LogProof(5, (), NOTE), LogProof(0, (SIBLING,) * 63, NOTE, b"")])
def test_a_proof_reads_back(proof: LogProof) -> None:
    assert LogProof.parse(proof.text) == proof


def test_a_proof_verifies_against_a_pinned_policy_only() -> None:
    assert LogProof.parse(PROOF.text).verify(LEAF, TRUST).size == 2

    stranger = NoteSigner("log.example/a", Ed25519PrivateKey.generate())
    with pytest.raises(SignatureInvalid):
        PROOF.verify(LEAF, TrustPolicy.without_witnesses(str(stranger.vkey)))


def test_a_proof_of_another_leaf_or_index_is_refused() -> None:
    with pytest.raises(ProofInvalid):
        PROOF.verify(SIBLING, TRUST)
    with pytest.raises(ProofInvalid):
        LogProof(1, (SIBLING,), NOTE).verify(LEAF, TRUST)


@pytest.mark.parametrize(
    "text",
    [
        "",
        NOTE,
        PROOF.text.replace("@v1", "@v2"),
        PROOF.text.replace("index 0", "index 00"),
        PROOF.text.replace("index 0", "index -1"),
        PROOF.text.replace("index 0", "index  0"),
        PROOF.text.replace("index 0\n", ""),
        PROOF.text.replace("extra Y29udGV4dA==", "extra Y29udGV4dA"),
        PROOF.text.replace("extra Y29udGV4dA==\nindex 0", "index 0\nextra Y29udGV4dA=="),
        PROOF.text.replace("index 0\n", "index 0\nAAAA\n"),
        PROOF.text.replace("\n", "\r\n"),
        LogProof(0, (SIBLING,) * 64, NOTE).text,
        PROOF.text + "x" * 1_000_000,
    ],
)
def test_a_malformed_proof_is_refused(text: str) -> None:
    with pytest.raises(ProofInvalid):
        LogProof.parse(text)
