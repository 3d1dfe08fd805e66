"""Results of the log service: a signed tree head, and proofs that lead to its root."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


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
