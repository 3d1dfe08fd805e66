"""Where the hashes of RFC 6962 proofs stand in the tree: the siblings of an audit path, the blocks of two heads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from attestlab.log.merkle.hashing import leaf_hash, node_hash


@dataclass(frozen=True)
class Sibling:
    """A hash of an audit path: its side, and the entries `first` up to `end` (left out) that it covers."""

    side: Literal["left", "right"]
    first: int
    end: int
    hash: bytes


@dataclass(frozen=True)
class AuditPath:
    """An audit path: siblings and computed nodes, both from leaf to root; `root` is the one that the head states.

    `nodes` has the leaf first, so it is one longer than `siblings`. `broken_at` is the first node that differs from
    the true one in a changed copy; None if none does.
    """

    index: int
    size: int
    siblings: tuple[Sibling, ...]
    nodes: tuple[bytes, ...]
    root: bytes
    broken_at: int | None = None

    @property
    def leads_to_root(self) -> bool:
        """Whether the computed root is the stated one."""
        return self.nodes[-1] == self.root

    def compare(self, original: AuditPath) -> AuditPath:
        """Return this path with the first node that differs from those of the original."""
        pairs = enumerate(zip(self.nodes, original.nodes, strict=True))
        return replace(self, broken_at=next((place for place, (own, true) in pairs if own != true), None))


@dataclass(frozen=True)
class Block:
    """A subtree that a consistency proof names: the entries `first` up to `end` (left out)."""

    first: int
    end: int
    hash: bytes
    is_old: bool


def build_path(index: int, size: int, entry: bytes, hashes: tuple[bytes, ...], root: bytes) -> AuditPath:
    """Recompute the nodes of an inclusion proof (RFC 6962, 2.1.1), and place its siblings in the tree.

    `hashes` must be as many as index and size require; the facade has verified that.
    """
    node, nodes, siblings = leaf_hash(entry), [leaf_hash(entry)], []
    for height, value in zip(_list_heights(index, size), hashes, strict=True):
        place = (index >> height) ^ 1
        is_left = bool(index >> height & 1)
        end = min((place + 1) << height, size)
        siblings.append(Sibling("left" if is_left else "right", place << height, end, value))
        node = node_hash(value, node) if is_left else node_hash(node, value)
        nodes.append(node)
    return AuditPath(index, size, tuple(siblings), tuple(nodes), root)


def _list_heights(index: int, size: int) -> list[int]:
    """List the heights at which a path has a sibling: each of the inner part, then those right of the full trees."""
    inner = (index ^ (size - 1)).bit_length()
    return [*range(inner), *_list_border(index, inner)]


def build_blocks(older: int, newer: int, older_root: bytes, hashes: tuple[bytes, ...]) -> tuple[Block, ...]:
    """Place the hashes of a consistency proof (RFC 6962, 2.1.2) in the tree, from left to right; 0 < older <= newer.

    The old blocks cover the entries of the older tree, and all blocks those of the newer one.
    """
    if older == newer:
        return (Block(0, older, older_root, is_old=True),)
    start = (older & -older).bit_length() - 1
    last, is_whole = older - 1, older == 1 << start
    first = (
        Block(0, older, older_root, is_old=True) if is_whole else Block(older - (1 << start), older, hashes[0], True)
    )
    rest = hashes if is_whole else hashes[1:]
    inner = (last ^ (newer - 1)).bit_length()
    heights = [*range(start, inner), *_list_border(last, inner)]
    others = [_place_block(last, height, value, newer) for height, value in zip(heights, rest, strict=True)]
    return tuple(sorted([first, *others], key=lambda block: block.first))


def _place_block(last: int, height: int, value: bytes, newer: int) -> Block:
    place = (last >> height) ^ 1
    return Block(place << height, min((place + 1) << height, newer), value, bool(last >> height & 1))


def _list_border(index: int, inner: int) -> list[int]:
    """List the heights above `inner` at which the path of an entry has a sibling: full trees on its left."""
    border = index >> inner
    return [inner + bit for bit in range(border.bit_length()) if border >> bit & 1]
