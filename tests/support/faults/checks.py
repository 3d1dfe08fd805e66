"""What must be true after every story: no acknowledged mint is lost, and the log never forked."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from attestlab.attestations.rendering import render_bundle as rendered
from attestlab.attestations.store import attestations
from attestlab.core.encoding import parse_uuid
from attestlab.installation import Installation
from attestlab.log.head_guard import HEAD_GUARD, HeadGuard
from attestlab.log.merkle.hashing import EMPTY_ROOT, leaf_hash, node_hash, verify_consistency, verify_inclusion
from attestlab.log.note.trust_policy import TrustPolicy
from attestlab.settings import Settings
from support.faults import mint_jobs
from support.faults.mint_jobs import AcknowledgedMint
from support.faults.minting_clients import MintingClients
from support.faults.power_cuts import DiskImage
from support.faults.servers import ForkedServer
from support.lab_checks import check_bundle, check_lab, require_acknowledged


def check_acknowledged_mints(
    lab: Installation, acknowledged: Collection[AcknowledgedMint], *, seen: Iterable[str] = ()
) -> None:
    """Fsck is clean; every acknowledged mint is in its place and its bundle verifies offline; nothing forked.

    `seen` are checkpoints that clients saw beside those of their acknowledgements.
    """
    check_lab(lab)
    require_acknowledged(lab, [(mint.id, mint.index) for mint in acknowledged])
    places = [mint.index for mint in acknowledged]
    assert len(set(places)) == len(places), "one index was given twice"
    require_one_history(lab, {mint.note for mint in acknowledged} | set(seen))
    for mint in acknowledged:
        _check_bundle_of(lab, mint)


def require_one_history(lab: Installation, notes: Collection[str]) -> None:
    """Each checkpoint that anybody saw is signed by the log and is a beginning of its newest tree."""
    with lab.storage.read() as connection:
        trust = TrustPolicy.without_witnesses(lab.log.vkey(connection))
        newest = trust.verify_checkpoint(lab.log.head(connection).note)
        for note in notes:
            older = trust.verify_checkpoint(note)
            assert older.size <= newest.size, "a checkpoint that was shown is larger than the log"
            if older.size:
                proof = lab.log.consistency(connection, older.size, newest.size)
                verify_consistency(older.size, newest.size, older.root, newest.root, proof.hashes)


def _check_bundle_of(lab: Installation, mint: AcknowledgedMint) -> None:
    with lab.storage.read() as connection:
        trust = TrustPolicy.without_witnesses(lab.log.vkey(connection))
    attestation_id = parse_uuid(mint.id)
    evidence = lab.attestations.verify(attestation_id).evidence
    assert evidence is not None
    owner = lab.orgs.service_caller(evidence.attestation.tenant_id)
    found, proof, head = lab.attestations.load_evidence(attestation_id, caller=owner)
    text = rendered(found, proof, head, now=lab.clock.now()).model_dump_json(by_alias=True).encode()
    check_bundle(text, trust, lab)


def check_minting_clients(server: ForkedServer, minters: MintingClients) -> None:
    """The story of minting clients: every key that was answered has exactly one leaf, and each answer proves itself."""
    lab = server.open_lab()
    try:
        check_acknowledged_mints(lab, minters.acknowledged, seen=minters.seen)
        assert count_attestations(lab) == len(minters.answers), "a key has more than one leaf, or none"
        for answer in minters.answers.values():
            require_proof_holds(lab, answer.json())
    finally:
        lab.close()


def count_attestations(lab: Installation) -> int:
    """How many attestations there are."""
    with lab.storage.read() as connection:
        return connection.scalar(select(func.count()).select_from(attestations)) or 0


def require_proof_holds(lab: Installation, mint: dict[str, Any]) -> None:
    """The proof of an answer leads to the root of the checkpoint of the same answer."""
    head = lab.trust.verify_checkpoint(mint["checkpoint"])
    proof = mint["inclusion_proof"]
    leaf, *hashes = (bytes.fromhex(name.removeprefix("sha256:")) for name in (proof["leaf_hash"], *proof["hashes"]))
    verify_inclusion(mint["log_index"], head.size, leaf, hashes, head.root)


def check_disk_image(image: DiskImage, folder: Path, *, is_thorough: bool) -> None:
    """Every acknowledged mint is under the root of the head; a thorough check runs fsck, every bundle, and a mint."""
    settings = Settings(data=image.write_to(folder))
    require_guarded(settings.data, image.acknowledged)
    lab = Installation.open(settings)
    try:
        require_acknowledged(lab, [(mint.id, mint.index) for mint in image.acknowledged])
        require_root_of_entries(lab)
        if is_thorough:
            check_acknowledged_mints(lab, [*image.acknowledged, *mint_jobs.mint_repeatedly(lab, 1)])
    finally:
        lab.close()
        shutil.rmtree(folder)


def require_guarded(folder: Path, acknowledged: Collection[AcknowledgedMint]) -> None:
    """The head guard knows the largest tree that a client has seen, or a larger one."""
    guarded = HeadGuard(folder / HEAD_GUARD).read()
    assert guarded is not None
    for mint in acknowledged:
        assert guarded.size >= int(mint.note.splitlines()[1]), "a tree was shown that the guard does not know"


def require_root_of_entries(lab: Installation) -> None:
    """The head's root is that of the entries, and the guard agrees."""
    with lab.storage.read() as connection:
        lab.log.check_guard(connection)
        head = lab.log.head(connection)
        hashes = [leaf_hash(row.entry) for row in lab.log.entries(connection, 0, head.size)]
    assert len(hashes) == head.size
    assert root_of(hashes) == head.root


def root_of(hashes: list[bytes]) -> bytes:
    """The Merkle tree hash of RFC 6962, 2.1, from its definition."""
    if len(hashes) < 2:
        return hashes[0] if hashes else EMPTY_ROOT
    split = 1 << (len(hashes) - 1).bit_length() - 1
    return node_hash(root_of(hashes[:split]), root_of(hashes[split:]))
