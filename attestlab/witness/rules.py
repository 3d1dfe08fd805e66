"""Rules of a witness: when it cosigns a tree, given the tree it cosigned last (C2SP tlog-witness, as of July 2026)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from attestlab.core.errors import Conflict, ProofInvalid, ValidationFailed
from attestlab.log.merkle.hashing import EMPTY_ROOT, verify_consistency
from attestlab.log.note.note import SignatureType, TreeHead, VerifierKey
from attestlab.log.witnessing.submission_policy import Submission


@dataclass(frozen=True, slots=True)
class WitnessedLog:
    """A log whose checkpoints a witness cosigns: its origin and one of its keys, whose name may differ from it."""

    origin: str
    key: VerifierKey

    @classmethod
    def parse(cls, text: str) -> WitnessedLog:
        """Parse `VKEY`, whose name is the origin, or `ORIGIN VKEY`.

        Raises:
            ValidationFailed: the verifier key is invalid, or is a key of cosignatures (type 0x04).
        """
        origin, _space, vkey = text.strip().rpartition(" ")
        return cls.of(VerifierKey.parse(vkey), origin=origin.strip())

    @classmethod
    def of(cls, key: VerifierKey, *, origin: str = "") -> WitnessedLog:
        """The log of a key; the origin defaults to the key's name.

        Raises:
            ValidationFailed: the key is a key of cosignatures (type 0x04).
        """
        if key.type is not SignatureType.ED25519:
            raise ValidationFailed(f"The key of the log {key.name} is of type 0x04; give the one of type 0x01.")
        return cls(origin or key.name, key)


def origin_hash(origin: str) -> str:
    """The identifier of a log in the paths of the monitoring API: hex SHA-256 of its origin."""
    return hashlib.sha256(origin.encode()).hexdigest()


class SizeConflict(Conflict):
    """The submission's old size differs from `size`, that of the tree that was cosigned last."""

    def __init__(self, message: str, *, size: int) -> None:
        super().__init__(message, details={"size": size})
        self.size = size


def require_empty_root(head: TreeHead) -> None:
    """Require that a checkpoint of size 0 has the root of the empty tree.

    Raises:
        ProofInvalid: the checkpoint has size 0 and another root.
    """
    if head.size == 0 and head.root != EMPTY_ROOT:
        raise ProofInvalid("A checkpoint of size 0 has the root of the empty tree. The checkpoint is not cosigned.")


def require_growth(submission: Submission, head: TreeHead) -> None:
    """Require that the checkpoint is not smaller than the submission's old size.

    Raises:
        ValidationFailed: the old size exceeds the new one.
    """
    if submission.old_size > head.size:
        raise ValidationFailed(f"The old size {submission.old_size} exceeds the checkpoint's {head.size}.")


def require_continues(known: TreeHead | None, submission: Submission, head: TreeHead) -> None:
    """Require that `head` begins with `known`, the tree that was cosigned last; None before the first.

    Raises:
        SizeConflict: the submission starts from another size.
        ProofInvalid: the proof is invalid, or `head` is another tree of the same size.
    """
    known = known or TreeHead(head.origin, 0, EMPTY_ROOT)
    if submission.old_size != known.size:
        raise SizeConflict(f"The tree cosigned last has {known.size} leaves; start there.", size=known.size)
    if head.size == known.size and head.root != known.root:
        raise ProofInvalid(f"Another tree of {known.size} leaves was cosigned: this is a fork. It is not cosigned.")
    try:
        verify_consistency(known.size, head.size, known.root, head.root, submission.proof)
    except ProofInvalid as error:
        raise ProofInvalid(f"{error.message} The checkpoint is not cosigned.") from error
