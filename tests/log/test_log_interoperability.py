"""Implementations that are not ours read what we wrote: proofs, notes, cosignatures, and the exported tiles.

tlog-scales and sigstore come with the `dev` extra. Go's golang.org/x/mod, the reference for notes and
tiled logs, is asked where `go` and its source are installed (Debian: golang-go, golang-golang-x-mod-dev).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from base64 import b64encode
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sigstore._internal import merkle as sigstore_merkle
from sigstore._internal.rekor.checkpoint import SignedCheckpoint
from sigstore._internal.trust import Keyring as SigstoreKeyring
from sigstore.errors import VerificationError
from sigstore_models.common.v1 import PublicKey, PublicKeyDetails
from tlog_scales.backend import LocalBackend
from tlog_scales.reader import TilesReader
from tlog_scales.signing import Ed25519CosignatureVerifier, Vkey
from tlog_scales.tiles import leaf_hash
from tlog_scales.tlog import Checkpoint, ConsistencyProof, ConsistencyProofInvalid, InclusionProof

from attestlab.core.clock import FixedClock
from attestlab.log.export import export
from attestlab.log.note.note import VerifierKey
from support.log.instance import LogInstance, make_entry

SIZES = (1, 2, 3, 255, 256, 257, 600)
GO_SOURCES = Path("/usr/share/gocode")
PROGRAM = Path(__file__).parent / "outside" / "check_export.go"


@pytest.fixture
def grown_world(sqlite_log_instance: LogInstance) -> LogInstance:
    """600 entries in batches that end at the sizes where trees are awkward."""
    for size in SIZES:
        sqlite_log_instance.grow(size)
    return sqlite_log_instance


def vkey_of(log_instance: LogInstance) -> str:
    with log_instance.storage.read() as connection:
        return log_instance.log.vkey(connection)


def exported(log_instance: LogInstance, folder: Path) -> Path:
    with log_instance.storage.read() as connection:
        export(log_instance.log, connection, folder)
    return folder


def test_tlog_scales_reads_the_export_and_proves_every_entry_from_its_tiles(
    grown_world: LogInstance, tmp_path: Path, clock: FixedClock
) -> None:
    reader = TilesReader(LocalBackend(exported(grown_world, tmp_path / "out")))
    checkpoint = reader.get_checkpoint()
    checkpoint.verify(Vkey.from_string(vkey_of(grown_world)))

    assert reader.calculate_root_hash() == checkpoint.root_hash
    for index in range(checkpoint.size):
        stored = reader.get_entry(index)
        assert stored == make_entry(index, clock)
        reader.get_inclusion_proof(index, checkpoint.size).check(leaf_hash(stored), checkpoint.root_hash)


def test_tlog_scales_accepts_the_service_s_proofs(grown_world: LogInstance) -> None:
    with grown_world.storage.read() as connection:
        for index in (0, 1, 255, 256, 599):
            proof = grown_world.log.inclusion(connection, index)
            InclusionProof(index, proof.tree_size, proof.hashes).check(proof.leaf_hash, proof.root)
        for older in SIZES:
            step = grown_world.log.consistency(connection, older, 600)
            ConsistencyProof(older, 600, step.hashes).check(step.root1, step.root2)
        step = grown_world.log.consistency(connection, 257, 600)
    with pytest.raises(ConsistencyProofInvalid):
        ConsistencyProof(257, 600, step.hashes[:-1]).check(step.root1, step.root2)


def test_tlog_scales_verifies_both_signatures_of_a_checkpoint(grown_world: LogInstance) -> None:
    with grown_world.storage.read() as connection:
        head = grown_world.log.head(connection)
    checkpoint = Checkpoint.from_text(head.note)
    cosigner = Ed25519CosignatureVerifier(Vkey.from_string(str(VerifierKey.parse(vkey_of(grown_world)).cosigner())))
    timestamped = checkpoint.signatures[1]

    cosigner.verify_note(timestamped, checkpoint)
    assert cosigner.get_timestamp(timestamped.payload) == int(head.at.timestamp())
    with pytest.raises(InvalidSignature):
        cosigner.verify(
            timestamped.payload[:-2] + bytes([timestamped.payload[-2] ^ 1]) + timestamped.payload[-1:], checkpoint
        )


def test_sigstore_verifies_the_checkpoint_as_one_of_rekor(grown_world: LogInstance) -> None:
    with grown_world.storage.read() as connection:
        head = grown_world.log.head(connection)
    key = VerifierKey.parse(vkey_of(grown_world))
    signed = SignedCheckpoint.from_text(head.note)
    signed.signed_note.verify(sigstore_keyring(key), key.key_id)
    assert (signed.checkpoint.origin, signed.checkpoint.log_size) == (head.origin, head.size)
    assert signed.checkpoint.log_hash == head.root.hex()

    forged = SignedCheckpoint.from_text(head.note.replace("\n600\n", "\n601\n"))
    with pytest.raises(VerificationError):
        forged.signed_note.verify(sigstore_keyring(key), key.key_id)


def sigstore_keyring(key: VerifierKey) -> SigstoreKeyring:
    spki = Ed25519PublicKey.from_public_bytes(key.public).public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return SigstoreKeyring([PublicKey(raw_bytes=b64encode(spki), key_details=PublicKeyDetails.PKIX_ED25519)])


def test_sigstore_verifies_inclusion_proofs(grown_world: LogInstance, clock: FixedClock) -> None:
    with grown_world.storage.read() as connection:
        for index in (0, 1, 255, 256, 599):
            proof = grown_world.log.inclusion(connection, index)
            claim = SimpleNamespace(
                log_index=index, tree_size=proof.tree_size, hashes=proof.hashes, root_hash=proof.root
            )

            def body(number: int, claim: SimpleNamespace = claim) -> SimpleNamespace:
                inner = SimpleNamespace(inclusion_proof=claim, canonicalized_body=make_entry(number, clock))
                return SimpleNamespace(_inner=inner)

            sigstore_merkle.verify_merkle_inclusion(body(index))  # type: ignore[arg-type]
            with pytest.raises(VerificationError):
                sigstore_merkle.verify_merkle_inclusion(body(index + 1))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def go_checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our small program over golang.org/x/mod, compiled."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("no go; apt-get install golang-go golang-golang-x-mod-dev")
    if not (GO_SOURCES / "src/golang.org/x/mod/sumdb/tlog").is_dir():
        pytest.skip("no golang.org/x/mod; apt-get install golang-golang-x-mod-dev")
    folder = tmp_path_factory.mktemp("go")
    environ = {**os.environ, "GO111MODULE": "off", "GOPATH": str(GO_SOURCES), "GOCACHE": str(folder / "cache")}
    subprocess.run([go, "build", "-o", folder / "check_export", PROGRAM], env=environ, check=True)
    return folder / "check_export"


def checked_by_go(checker: Path, *args: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([checker, *args], capture_output=True, text=True, check=False)


def test_go_s_reference_opens_the_export_and_proves_every_entry(
    grown_world: LogInstance, tmp_path: Path, go_checker: Path
) -> None:
    out = exported(grown_world, tmp_path / "out")
    with grown_world.storage.read() as connection:
        notes = [row.note for row in grown_world.log.checkpoints(connection, limit=100) if row.size]
    assert len(notes) >= 2
    for note in notes:
        (tmp_path / "older").write_text(note)
        said = checked_by_go(go_checker, out, vkey_of(grown_world), tmp_path / "older")
        assert (said.returncode, said.stdout) == (0, "600\n"), said.stderr


@pytest.mark.parametrize("path", ["checkpoint", "tile/0/001", "tile/0/002.p/88", "tile/1/000.p/2", "tile/entries/000"])
def test_go_s_reference_refuses_an_export_with_one_changed_bit(
    grown_world: LogInstance, tmp_path: Path, go_checker: Path, path: str
) -> None:
    out = exported(grown_world, tmp_path / "out")
    raw = bytearray((out / path).read_bytes())
    raw[40] ^= 1
    (out / path).write_bytes(raw)
    assert checked_by_go(go_checker, out, vkey_of(grown_world)).returncode == 1
