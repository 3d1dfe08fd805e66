"""Cache of the committed tree: the only in-memory state of the log that outlives a transaction.

Another process may have appended, and records can be damaged, so each use compares the
cached tree's root with the signed root.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import Connection

from attestlab.core.errors import IntegrityFailed
from attestlab.log import store
from attestlab.log.merkle import hashing
from attestlab.log.merkle.tree import FetchTile, TileCache, Tree, TreeReader, TreeUpdate
from attestlab.log.note.note import TreeHead

MAX_CATCH_UP_LEAVES = 65_536  # for more leaves, reloading the tree from its tiles is faster


@dataclass(frozen=True, slots=True)
class CommittedTree:
    """A committed head, a tree whose root was checked against it, and the reader of exactly this head."""

    head: TreeHead
    tree: Tree
    reader: TreeReader = field(repr=False)


class TreeCache:
    """Caches the newest tree of a committed head. Any thread may read; the cached value is replaced as a whole."""

    def __init__(self) -> None:
        self._cache = TileCache()
        self._newest: CommittedTree | None = None

    def tree_of(self, connection: Connection, head: TreeHead) -> CommittedTree:
        """Return a tree that has the committed `head`: the cached one, extended if needed, or one reloaded.

        Raises:
            IntegrityFailed: the stored entries do not have the root that was signed.
        """
        newest = self._newest
        if newest is not None and newest.head == head:
            return newest
        known = newest.tree if newest else Tree()
        return (
            self._accept_if_root_matches(connection, TreeUpdate(known, {}), head)
            or self._catch_up(connection, known, head)
            or self._reload(connection, head)
        )

    def promote(self, head: TreeHead, update: TreeUpdate, reader: TreeReader) -> None:
        """Cache the tree that a batch committed, the tiles that it filled, and the reader of its head."""
        self._cache.put(update.full_tiles)
        if self._newest is None or update.tree.size > self._newest.tree.size:
            self._newest = CommittedTree(head, update.tree, reader)

    def reader(self, connection: Connection, head: TreeHead, size: int) -> TreeReader:
        """Return a reader for roots and proofs of the first `size` leaves under a committed head."""
        committed = self.tree_of(connection, head)
        if size == head.size:
            return committed.reader.with_source(_tile_fetcher(connection))
        return self.reader_of(connection, TreeUpdate(committed.tree, {}), size)

    def reader_of(self, connection: Connection, update: TreeUpdate, size: int) -> TreeReader:
        """Return a reader of a tree that need not be committed; tiles not cached are read from the records."""
        return TreeReader(
            update.tree, size, cache=self._cache, fetch=_tile_fetcher(connection), fresh=update.full_tiles
        )

    def _accept_if_root_matches(
        self, connection: Connection, update: TreeUpdate, head: TreeHead
    ) -> CommittedTree | None:
        if update.tree.size < head.size:
            return None
        reader = self.reader_of(connection, update, head.size)
        if reader.root != head.root:
            return None
        self.promote(head, update, reader)
        return CommittedTree(head, update.tree, reader)

    def _catch_up(self, connection: Connection, known: Tree, head: TreeHead) -> CommittedTree | None:
        if not known.size < head.size <= known.size + MAX_CATCH_UP_LEAVES:
            return None
        update = known.with_leaves(store.leaf_hashes(connection, known.size, head.size))
        return self._accept_if_root_matches(connection, update, head)

    def _reload(self, connection: Connection, head: TreeHead) -> CommittedTree:
        """Discard the cached tree, which is absent or another one, and load the tree from the records."""
        self._cache.clear()
        self._newest = None
        tail = store.leaf_hashes(connection, head.size - head.size % hashing.TILE_WIDTH, head.size)
        loaded = TreeUpdate(Tree.from_tiles(head.size, tail, _tile_fetcher(connection)), {})
        committed = self._accept_if_root_matches(connection, loaded, head)
        if committed is None:
            raise IntegrityFailed("The stored entries do not have the root that was signed; run `attestlab log fsck`.")
        return committed


def _tile_fetcher(connection: Connection) -> FetchTile:
    return lambda level, index: store.tile(connection, level, index)
