"""When a witness cosigns (C2SP tlog-witness): sentences over what it knows and what it is handed."""

from __future__ import annotations

from attestlab.core.errors import Conflict, ProofInvalid, ValidationFailed
from attestlab.log.notes import TreeHead
from attestlab.log.rules import EMPTY_ROOT, verify_consistency
from attestlab.log.submissions import Submission


class KnowsAnother(Conflict):
    """The submission does not begin where the witness stands; `size` is where that is."""

    def __init__(self, message: str, *, size: int) -> None:
        super().__init__(message, details={"size": size})
        self.size = size


def require_forward(submission: Submission, head: TreeHead) -> None:
    """A log only grows.

    Raises:
        ValidationFailed: the old size exceeds the new one.
    """
    if submission.old_size > head.size:
        raise ValidationFailed(f"The old size {submission.old_size} exceeds the checkpoint's {head.size}.")


def require_continues(known: TreeHead | None, submission: Submission, head: TreeHead) -> None:
    """Let `head` pass if it begins with the tree that was cosigned last, `known`; None where none was.

    Raises:
        KnowsAnother: the submission begins at another size, or shows another tree of the same size.
        ProofInvalid: the proof does not hold.
    """
    known = known or TreeHead(head.origin, 0, EMPTY_ROOT)
    if submission.old_size != known.size:
        raise KnowsAnother(f"The tree cosigned last has {known.size} leaves; begin there.", size=known.size)
    if head.size == known.size and head.root != known.root:
        raise KnowsAnother(f"Another tree of {known.size} leaves was cosigned: this is a fork.", size=known.size)
    try:
        verify_consistency(known.size, head.size, known.root, head.root, submission.proof)
    except ProofInvalid as fault:
        raise ProofInvalid(f"{fault.message} The checkpoint is not cosigned.") from fault
