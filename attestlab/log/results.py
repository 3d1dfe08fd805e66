"""Results of the log service: a signed tree head, and proofs that lead to its root."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from attestlab.log.merkle.tree import TreeReader


@dataclass(frozen=True, slots=True)
class SignedHead:
    """A signed tree head that is safe to publish, since the head guard holds it; `note` is the checkpoint, verbatim."""

    origin: str
    size: int
    root: bytes
    note: str
    at: datetime


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """Proof that the tree of `tree_size` leaves under `root` has `leaf_hash` at `index`."""

    index: int
    tree_size: int
    leaf_hash: bytes
    root: bytes
    hashes: list[bytes]


@dataclass(frozen=True, slots=True)
class ConsistencyProof:
    """Proof that the tree of `size2` leaves begins with the tree of `size1` leaves."""

    size1: int
    size2: int
    root1: bytes
    root2: bytes
    hashes: list[bytes]


@dataclass(slots=True)
class SequencedEntry:
    """An entry appended by a transaction: index and leaf hash are set at once, the rest by the seal.

    `checkpoint` is a signed note, and `tree` the tree that it signs.
    """

    index: int
    leaf_hash: bytes = field(repr=False)
    entry: bytes = field(repr=False)
    kind: str
    subject: str | None
    tree_size: int = 0
    root: bytes = field(default=b"", repr=False)
    checkpoint: str = field(default="", repr=False)
    tree: TreeReader | None = field(default=None, repr=False)

    @property
    def proof(self) -> list[bytes]:
        """The inclusion path, from the leaf's sibling to the root's child; computed on access, as few are needed."""
        return self.tree.inclusion(self.index) if self.tree else []
