"""Heads of the log that a verifier kept: they prove that a log is the one that was seen, or that it was forked."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

import attestlab
from attestlab.client.lab import Lab
from attestlab.core.errors import ProofInvalid, ValidationFailed
from support.installations import install

CLAIMS = {"student_name": "Ada Lovelace"}
WITNESS = "witness.example/w1+da598b40+BP1Bnm3WPcH0C5UTtNeFqzlSG5q+bIf+k0zLUOA9n0M5"  # has cosigned nothing


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, Lab]]:
    """Two labs on copies of one installation: the same log key, and records that part from here on."""
    folder = tmp_path_factory.mktemp("twins")
    install(folder / "true", f"sqlite:///{folder / 'true' / 'records.db'}")
    with attestlab.open(folder / "true") as lab:
        lab.issuers.create("Registrar", "registrar.example")
    shutil.copytree(folder / "true", folder / "false")
    with attestlab.open(folder / "true") as true, attestlab.open(folder / "false") as false:
        yield true, false


def mint(lab: Lab, count: int) -> None:
    issuer = lab.issuers["Registrar"]
    lab.attestations.mint_many([{"issuer": issuer, "schema": "degree", "claims": CLAIMS}] * count)


def test_a_head_that_was_kept_proves_growth_a_rollback_and_a_fork(twins: tuple[Lab, Lab]) -> None:
    true, false = twins
    first = true.log.head()
    mint(true, 3)
    kept = true.log.head()
    mint(true, 2)

    assert true.log.consistency(first, kept).to == kept.tree_size
    assert true.log.consistency(kept).to == len(true.log)
    with pytest.raises(ProofInvalid, match="rolled back"):
        false.log.consistency(kept)
    mint(false, 9)
    with pytest.raises(ProofInvalid, match="forked"):
        false.log.consistency(kept)
    with pytest.raises(ProofInvalid, match="forked"):
        false.log.consistency(first, kept)
    assert false.log.consistency(first.tree_size, kept.tree_size).to == kept.tree_size  # sizes alone remember nothing


def test_each_signed_head_of_the_log_can_be_kept(twins: tuple[Lab, Lab]) -> None:
    true, _ = twins

    for older in true.log.checkpoints():
        if older.tree_size:
            assert true.log.consistency(older).from_root == older.root_hash


def test_what_is_no_tree_is_refused(twins: tuple[Lab, Lab]) -> None:
    with pytest.raises(ValidationFailed, match="no tree"):
        twins[0].log.consistency("3")  # type: ignore[arg-type]  # what a person may try


def test_a_pinned_log_is_trusted_and_no_other(twins: tuple[Lab, Lab]) -> None:
    true, _ = twins
    mint(true, 1)
    attestation = true.attestations[0]
    pinned = true.log.vkey().trust_policy
    demanding = pinned.replace("quorum none", f"witness w1 {WITNESS}\nquorum w1")

    assert true.verify(attestation.bundle().document, trust=pinned).valid
    assert not true.verify(attestation.bundle().document, trust=demanding).valid
    with pytest.raises(ValidationFailed, match="belongs to a bundle"):
        true.verify(attestation, trust=pinned)
