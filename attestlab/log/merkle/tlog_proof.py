"""C2SP tlog-proof: checkpoint, index and inclusion proof in one text that can be verified offline."""

from __future__ import annotations

from dataclasses import dataclass

from attestlab.core.encoding import b64_decode, b64_encode
from attestlab.core.errors import ProofInvalid
from attestlab.log.merkle.hashing import HASH_BYTES, verify_inclusion
from attestlab.log.note.note import MAX_NOTE_CHARS, parse_decimal
from attestlab.log.note.trust_policy import Checkpoint, TrustPolicy

HEADER = "c2sp.org/tlog-proof@v1"
MAX_HASHES = 63


@dataclass(frozen=True, slots=True)
class LogProof:
    """An inclusion proof with its checkpoint, which is the signed note, verbatim.

    `hashes` run from the leaf's sibling to the root's child; `extra` is opaque and not authenticated.
    """

    index: int
    hashes: tuple[bytes, ...]
    checkpoint: str
    extra: bytes | None = None

    @property
    def text(self) -> str:
        """The proof in the format of a `.tlog-proof` file."""
        extra = [] if self.extra is None else [f"extra {b64_encode(self.extra)}"]
        hashes = [b64_encode(value) for value in self.hashes]
        return "\n".join([HEADER, *extra, f"index {self.index}", *hashes, "", self.checkpoint])

    @classmethod
    def parse(cls, text: str) -> LogProof:
        """Parse a proof, without verifying anything in it.

        Raises:
            ProofInvalid: the text is malformed or too long.
        """
        if len(text) > MAX_NOTE_CHARS:
            raise ProofInvalid(f"The tlog-proof has {len(text):,} characters; the limit is {MAX_NOTE_CHARS:,}.")
        proof, blank, checkpoint = text.partition("\n\n")
        lines = proof.split("\n")
        try:
            if lines.pop(0) != HEADER or not blank:
                raise ValueError(f"its first line is not {HEADER}, or it has no blank line")
            extra = b64_decode(_take_value("extra", lines)) if lines and lines[0].startswith("extra ") else None
            index = parse_decimal(_take_value("index", lines))
            hashes = tuple(b64_decode(line) for line in lines)
        except ValueError as error:
            raise ProofInvalid(f"The tlog-proof is malformed: {error}.") from error
        if len(hashes) > MAX_HASHES or any(len(value) != HASH_BYTES for value in hashes):
            raise ProofInvalid(f"A tlog-proof has at most {MAX_HASHES} hashes of {HASH_BYTES} bytes.")
        return cls(index, hashes, checkpoint, extra)

    def verify(self, leaf_hash: bytes, policy: TrustPolicy) -> Checkpoint:
        """Verify that the leaf is at `index` in a tree that `policy` accepts, and return its checkpoint.

        Raises:
            SignatureInvalid: the policy does not accept the checkpoint.
            ProofInvalid: the checkpointed tree does not have the leaf at `index`.
        """
        checkpoint = policy.verify_checkpoint(self.checkpoint)
        verify_inclusion(self.index, checkpoint.size, leaf_hash, self.hashes, checkpoint.root)
        return checkpoint


def _take_value(key: str, lines: list[str]) -> str:
    word, _, value = (lines.pop(0) if lines else "").partition(" ")
    if word != key:
        raise ValueError(f"the line {key!r} is missing")
    return value
