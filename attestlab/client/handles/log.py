"""The transparency log: heads, entries and proofs, which are verified here with the log's own pure rules."""

from __future__ import annotations

from typing import ClassVar

from attestlab.client import card_contents
from attestlab.client.handles.base import Handle
from attestlab.core.counting import plural
from attestlab.core.errors import ProofInvalid, ValidationFailed
from attestlab.log.merkle import hashing
from attestlab.log.shapes import CheckpointOut, ConsistencyOut, EntryOut, HeadOut, InclusionOut, VkeyOut

_HASH_PREFIX = "sha256:"


class TreeHeadHandle(HeadOut, Handle):
    """A signed tree head: size and root of the log at a moment."""

    shown_fields: ClassVar = ("origin", "tree_size", "root_hash", "timestamp")

    def _repr_html_(self) -> str:
        return card_contents.draw_tree_head(self)


class CheckpointHandle(CheckpointOut, Handle):
    """An earlier signed tree head."""

    shown_fields: ClassVar = ("tree_size", "root_hash", "timestamp")


AnyHeadHandle = TreeHeadHandle | CheckpointHandle


class EntryHandle(EntryOut, Handle):
    """An entry of the log: its exact bytes, and the same parsed."""

    shown_fields: ClassVar = ("log_index", "type", "leaf_hash")


class InclusionHandle(InclusionOut, Handle):
    """The proof that the log has an entry; it was verified when it arrived."""

    shown_fields: ClassVar = ("log_index", "tree_size", "leaf_hash", "root_hash")

    def verify(self) -> None:
        """Recompute the root from the entry's hash and the path.

        Raises:
            ProofInvalid: the path leads to another root.

        >>> lab.log.proof(0).verify()
        """
        path = [parse_hash(each) for each in self.hashes]
        leaf, root = parse_hash(self.leaf_hash), parse_hash(self.root_hash)
        hashing.verify_inclusion(self.log_index, self.tree_size, leaf, path, root)


class ConsistencyHandle(ConsistencyOut, Handle):
    """The proof that the log only grew between two sizes; it was verified when it arrived."""

    shown_fields: ClassVar = ("from_", "to", "from_root", "to_root")

    def verify(self) -> None:
        """Recompute both roots from the proof.

        Raises:
            ProofInvalid: the larger tree does not begin with the smaller one.

        >>> lab.log.consistency(8, 16).verify()
        """
        path = [parse_hash(each) for each in self.hashes]
        hashing.verify_consistency(self.from_, self.to, parse_hash(self.from_root), parse_hash(self.to_root), path)


class VkeyHandle(VkeyOut, Handle):
    """The log's public key, to pin in a trust policy."""

    shown_fields: ClassVar = ("origin", "vkey")

    @property
    def trust_policy(self) -> str:
        """A C2SP tlog-policy that trusts this log without witnesses, as text."""
        return f"log {self.vkey}\nquorum none\n"


def parse_hash(text: str) -> bytes:
    """Parse a hash `sha256:<hex>` of the log.

    Raises:
        ProofInvalid: it is none.
    """
    try:
        raw = bytes.fromhex(text.removeprefix(_HASH_PREFIX))
    except ValueError:
        raw = b""
    if len(raw) != hashing.HASH_BYTES:
        raise ProofInvalid(f"{text[:80]!r} is not a SHA-256 hash of the log.")
    return raw


def read_size(head: int | AnyHeadHandle) -> int:
    """Read the size of a tree: the number itself, or that of a head.

    Raises:
        ValidationFailed: it is neither.
    """
    if isinstance(head, TreeHeadHandle | CheckpointHandle):
        return head.tree_size
    if isinstance(head, int):
        return head
    raise ValidationFailed(f"A value of type {type(head).__name__} is no tree. Pass a size, or a head of `lab.log`.")


def require_root(kept: int | AnyHeadHandle | None, root_hash: str) -> None:
    """Require that a head that was kept has the root that the log proves for its size; a bare size has none.

    Raises:
        ProofInvalid: the log shows two different trees of one size.
    """
    if isinstance(kept, TreeHeadHandle | CheckpointHandle) and kept.root_hash != root_hash:
        raise ProofInvalid(
            f"The log has another root at {plural(kept.tree_size, 'entry', 'entries')} than the head "
            "that you kept: it was forked."
        )
