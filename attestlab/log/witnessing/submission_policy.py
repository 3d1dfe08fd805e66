"""Submission of a checkpoint to a witness: the request body of `add-checkpoint` (C2SP tlog-witness).

A submission states the size that the log believes the witness to know, proves (RFC 6962,
2.1.2) that the new tree begins with the tree of that size, and ends with the checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass

from attestlab.core.encoding import b64_decode, b64_encode
from attestlab.core.errors import SignatureInvalid, ValidationFailed
from attestlab.log.merkle.hashing import HASH_BYTES
from attestlab.log.note.note import Note, TreeHead, parse_decimal

PATH = "/add-checkpoint"
SIZE_TYPE = "text/x.tlog.size"  # media type of a 409, whose body is the size that the witness knows
MAX_PROOF_LINES = 63
MAX_SUBMISSION_BYTES = 512 * 1024  # enough for a checkpoint with a hundred signatures, some of them post-quantum
OLD_SIZE_PREFIX = "old "


@dataclass(frozen=True, slots=True)
class Submission:
    """`proof` leads from the tree of `old_size` leaves to that of `checkpoint`, a signed note, verbatim."""

    old_size: int
    proof: tuple[bytes, ...]
    checkpoint: str

    @property
    def text(self) -> str:
        """The body of the request."""
        lines = [f"{OLD_SIZE_PREFIX}{self.old_size}", *(b64_encode(value) for value in self.proof)]
        return "\n".join([*lines, "", self.checkpoint])

    @classmethod
    def parse(cls, body: bytes) -> Submission:
        """Parse a request body, without verifying anything in it.

        Raises:
            ValidationFailed: the body is too long, or does not have the form that tlog-witness defines.
        """
        if len(body) > MAX_SUBMISSION_BYTES:
            raise ValidationFailed(f"A submission has at most {MAX_SUBMISSION_BYTES:,} bytes.")
        try:
            head, blank, checkpoint = body.decode().partition("\n\n")
            old, *proof = head.split("\n")
            if not blank or not old.startswith(OLD_SIZE_PREFIX) or len(proof) > MAX_PROOF_LINES:
                raise ValueError(f"an old size line, up to {MAX_PROOF_LINES} proof lines and an empty line come first")
            return cls(parse_decimal(old.removeprefix(OLD_SIZE_PREFIX)), tuple(map(_parse_hash, proof)), checkpoint)
        except ValueError as error:
            raise ValidationFailed(f"The submission is malformed: {error}.") from error

    def parse_checkpoint(self) -> tuple[Note, TreeHead]:
        """Parse the checkpoint, without verifying its signatures.

        Raises:
            ValidationFailed: the text is not a checkpoint.
        """
        try:
            note = Note.parse(self.checkpoint)
            return note, TreeHead.parse_syntax(note.text)
        except SignatureInvalid as error:
            raise ValidationFailed(error.message) from error


def _parse_hash(line: str) -> bytes:
    value = b64_decode(line)
    if len(value) != HASH_BYTES:
        raise ValueError(f"a proof line is the base64 of {HASH_BYTES} bytes")
    return value
