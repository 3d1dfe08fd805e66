"""The Merkle tree in memory: a growing right edge, a cache of full tiles, and proofs from both.

The rows of a tile are all its complete nodes: row 0 its 256 hashes, row k the
nodes k heights above them. A tree is an immutable value; appending returns another
one, so a failed batch leaves no trace. Full tiles are in a bounded cache and are read
from the records when needed. The records are not trusted: the root of a tile read
from them must equal the hash in its parent tile.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock

from attestlab.core.errors import IntegrityFailed
from attestlab.log.merkle.hashing import EMPTY_ROOT, HASH_BYTES, TILE_BYTES, TILE_HEIGHT, TILE_WIDTH, node_hash

TileHashes = tuple[bytes, ...]
TilePlace = tuple[int, int]  # level and index of a tile
FetchTile = Callable[[int, int], bytes]

NO_ROWS: TileHashes = (b"",) * TILE_HEIGHT
CACHED_TILES = 4096  # about 16 KB each


def append_hashes(rows: TileHashes, hashes: bytes) -> tuple[TileHashes, bytes]:
    """Append `hashes` to a tile's rows; returns the rows, and the tile's root, empty while the tile is not full."""
    grown = list(rows)
    for height, row in enumerate(rows):
        if not hashes:
            break
        unpaired = len(row) // 64 * 64
        row += hashes
        grown[height] = row
        hashes = b"".join([sha256(b"\x01" + row[at : at + 64]).digest() for at in range(unpaired, len(row) - 63, 64)])
    return tuple(grown), hashes


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree of `size` leaves; `edge` has the rows of the partial tile of each level, lowest first."""

    size: int = 0
    edge: tuple[TileHashes, ...] = field(default=(), repr=False)

    def with_leaves(self, leaf_hashes: Sequence[bytes]) -> TreeUpdate:
        """Return the tree with the leaves appended, and the tiles that became full."""
        edge, full = list(self.edge), dict[TilePlace, TileHashes]()
        size, at = self.size, 0
        while at < len(leaf_hashes):
            chunk = leaf_hashes[at : at + TILE_WIDTH - size % TILE_WIDTH]
            _append_to_edge(edge, full, size // TILE_WIDTH, b"".join(chunk))
            at += len(chunk)
            size += len(chunk)
        return TreeUpdate(Tree(size, tuple(edge)), full)

    @classmethod
    def from_tiles(cls, size: int, tail: Sequence[bytes], fetch: FetchTile) -> Tree:
        """Build the tree of `size` leaves from its full tiles and the leaf hashes after the last full tile.

        The caller must compare its root with a signed root before using the tree.
        """
        edge = [append_hashes(NO_ROWS, b"".join(tail))[0]]
        count = size // TILE_WIDTH
        while count:
            below = len(edge) - 1
            roots = (tile_root(fetch(below, index)) for index in range(count // TILE_WIDTH * TILE_WIDTH, count))
            edge.append(append_hashes(NO_ROWS, b"".join(roots))[0])
            count //= TILE_WIDTH
        return cls(size, tuple(edge))


@dataclass(frozen=True, slots=True)
class TreeUpdate:
    """A tree with leaves appended, and the tiles that became full by that."""

    tree: Tree
    full_tiles: dict[TilePlace, TileHashes]


def _append_to_edge(
    edge: list[TileHashes], full: dict[TilePlace, TileHashes], index: int, hashes: bytes, level: int = 0
) -> None:
    """Append to the partial tile `index` of a level, carrying its root upwards when it becomes full."""
    if level == len(edge):
        edge.append(NO_ROWS)
    edge[level], root = append_hashes(edge[level], hashes)
    if root:
        full[level, index] = edge[level]
        edge[level] = NO_ROWS
        _append_to_edge(edge, full, index // TILE_WIDTH, root, level + 1)


def tile_root(data: bytes) -> bytes:
    """Compute the root of a full tile of 8,192 bytes, which is its hash in the level above."""
    return _compute_rows(data)[1]


def _compute_rows(data: bytes) -> tuple[TileHashes, bytes]:
    if len(data) != TILE_BYTES:
        raise IntegrityFailed(f"A stored tile has {len(data)} bytes instead of {TILE_BYTES}; run `attestlab log fsck`.")
    return append_hashes(NO_ROWS, data)


class TileCache:
    """LRU cache of full tiles, shared by all threads of a process. Callers must put tiles of committed trees only."""

    def __init__(self, capacity: int = CACHED_TILES) -> None:
        self._tiles: OrderedDict[TilePlace, TileHashes] = OrderedDict()
        self._capacity = capacity
        self._lock = Lock()

    def get(self, place: TilePlace) -> TileHashes | None:
        """Return the rows of a cached tile; None if it is not cached."""
        with self._lock:
            rows = self._tiles.get(place)
            if rows is not None:
                self._tiles.move_to_end(place)
            return rows

    def put(self, tiles: Mapping[TilePlace, TileHashes]) -> None:
        """Cache tiles, evicting the least recently used ones."""
        with self._lock:
            self._tiles.update(tiles)
            while len(self._tiles) > self._capacity:
                self._tiles.popitem(last=False)

    def clear(self) -> None:
        """Remove all tiles, after the cached tree turned out to be another one."""
        with self._lock:
            self._tiles.clear()


class TreeReader:
    """Roots and proofs of one size of a tree: `size` leaves of a tree that may have grown since.

    `fresh` are full tiles of a batch that is not committed yet. The right edge and
    the paths above the lowest tiles are computed once, so a proof costs the same
    however large the tree is.
    """

    def __init__(
        self,
        tree: Tree,
        size: int,
        *,
        cache: TileCache,
        fetch: FetchTile,
        fresh: Mapping[TilePlace, TileHashes] | None = None,
    ) -> None:
        if not 0 <= size <= tree.size:
            raise ValueError(f"a tree of {tree.size} leaves never had {size}")
        self.size = size
        self._tree, self._cache, self._fetch, self._fresh = tree, cache, fetch, fresh or {}
        self._heights = size.bit_length()
        self._above: dict[int, list[bytes]] = {}
        self._right, self.root = self._right_edge()

    def with_source(self, fetch: FetchTile) -> TreeReader:
        """Return the same reader with another source of tiles; computed hashes are shared."""
        same = copy(self)
        same._fetch = fetch
        return same

    def _right_edge(self) -> tuple[list[bytes], bytes]:
        """Compute, per height, the hash of the leaves after the last complete node (empty for none), and the root."""
        right, rest = list[bytes](), b""
        for height in range(self._heights):
            right.append(rest)
            if self.size >> height & 1:
                last = self.node(height, (self.size >> height) - 1)
                rest = node_hash(last, rest) if rest else last
        return right, rest or EMPTY_ROOT

    def node(self, height: int, index: int) -> bytes:
        """The hash of a complete node, which covers leaves index * 2^height up to (index + 1) * 2^height."""
        level, row = divmod(height, TILE_HEIGHT)
        rows = self._rows(level, index >> (TILE_HEIGHT - row))
        at = (index & (TILE_WIDTH - 1 >> row)) * HASH_BYTES
        return rows[row][at : at + HASH_BYTES]

    def tile(self, level: int, index: int, width: int) -> bytes:
        """The first `width` hashes of a tile, all of which the tree must have."""
        return self._rows(level, index)[0][: width * HASH_BYTES]

    def inclusion(self, index: int) -> list[bytes]:
        """The path of leaf `index`, from its sibling to the root's child (RFC 6962, 2.1.1)."""
        tile, place = divmod(index, TILE_WIDTH)
        above = self._above.get(tile)
        if above is None:
            if len(self._above) >= CACHED_TILES:
                self._above.clear()
            above = self._above[tile] = list(self._path(index, TILE_HEIGHT, self._heights))
        path, width = [], self.size - tile * TILE_WIDTH
        for height, row in enumerate(self._rows(0, tile)):
            sibling = place ^ 1
            if sibling + 1 << height <= width:
                path.append(row[sibling * HASH_BYTES : (sibling + 1) * HASH_BYTES])
            elif sibling << height < width:
                path.append(self._right[height])
            place >>= 1
        return path + above

    def _path(self, index: int, low: int, high: int) -> Iterator[bytes]:
        """Yield the siblings on the path from height `low` to `high`; on the right edge some do not exist."""
        for height in range(low, high):
            sibling = index >> height ^ 1
            if sibling + 1 << height <= self.size:
                yield self.node(height, sibling)
            elif sibling << height < self.size:
                yield self._right[height]

    def consistency(self, size: int) -> list[bytes]:
        """The proof that this tree begins with its first `size` leaves (RFC 6962, 2.1.2); empty for 0 and all."""
        if size in (0, self.size):
            return []
        steps, start, end, is_known = list[bytes](), 0, self.size, True
        while size != end:
            split = start + (1 << (end - start - 1).bit_length() - 1)
            if size <= split:
                steps.append(self._range(split, end))
                end = split
            else:
                steps.append(self._range(start, split))
                start, is_known = split, False
        return [*([] if is_known else [self._range(start, end)]), *reversed(steps)]

    def _range(self, start: int, end: int) -> bytes:
        """The hash of leaves `start` up to `end`: a complete node, or all leaves right of one."""
        height = (end - start - 1).bit_length()
        return self.node(height, start >> height) if end - start == 1 << height else self._right[height]

    def _rows(self, level: int, index: int) -> TileHashes:
        if index == self._tree.size >> TILE_HEIGHT * (level + 1):
            return self._tree.edge[level]
        rows = self._fresh.get((level, index)) or self._cache.get((level, index))
        return rows or self._fetch_verified(level, index)

    def _fetch_verified(self, level: int, index: int) -> TileHashes:
        rows, root = _compute_rows(self._fetch(level, index))
        if root != self.node(TILE_HEIGHT * (level + 1), index):
            raise IntegrityFailed(f"The stored tile {level}/{index} was changed; run `attestlab log fsck`.")
        self._cache.put({(level, index): rows})
        return rows
