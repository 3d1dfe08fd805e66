"""The tree in memory, kept in step with the records: the only part of the log that outlives a transaction.

Another process may have appended, and records can be damaged, so the signed root
decides each time whether what is remembered is the tree that is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import Connection

from attestlab.core.errors import IntegrityFailed
from attestlab.log import store
from attestlab.log.merkle import hashing
from attestlab.log.merkle.tree import FetchTile, TileCache, Tree, TreeReader, TreeUpdate
from attestlab.log.note.note import TreeHead

MAX_CATCH_UP_LEAVES = 65_536  # above that, loading the tree anew from its tiles is quicker


@dataclass(frozen=True, slots=True)
class CommittedTree:
    """A committed head and a tree that was found to have it; the reader is of exactly this head."""

    head: TreeHead
    tree: Tree
    reader: TreeReader = field(repr=False)


class TreeCache:
    """Holds trees of committed heads only. Any thread may read; what is remembered is replaced as a whole."""

    def __init__(self) -> None:
        self._cache = TileCache()
        self._newest: CommittedTree | None = None

    def tree_of(self, connection: Connection, head: TreeHead) -> CommittedTree:
        """A tree that has the committed `head`: the remembered one, that one caught up, or one loaded anew.

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
        """Remember what a batch committed: its tree, the tiles it made full, the reader of its head."""
        self._cache.put(update.full_tiles)
        if self._newest is None or update.tree.size > self._newest.tree.size:
            self._newest = CommittedTree(head, update.tree, reader)

    def reader(self, connection: Connection, head: TreeHead, size: int) -> TreeReader:
        """Roots and proofs of the first `size` leaves under a committed head."""
        committed = self.tree_of(connection, head)
        if size == head.size:
            return committed.reader.with_source(_tile_fetcher(connection))
        return self.reader_of(connection, TreeUpdate(committed.tree, {}), size)

    def reader_of(self, connection: Connection, update: TreeUpdate, size: int) -> TreeReader:
        """Roots and proofs of a tree that need not be committed; forgotten tiles are read from the records."""
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
        """What was remembered belongs to another tree, or there was nothing; the records are read from scratch."""
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
