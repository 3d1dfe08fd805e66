"""The tree in memory, kept in step with the records: the only part of the log that outlives a transaction.

Another process may have appended, and records can be damaged, so the signed root
decides each time whether what is remembered is the tree that is asked for.
"""

from __future__ import annotations

from sqlalchemy import Connection

from attestlab.core.errors import IntegrityFailed
from attestlab.log import rules, store
from attestlab.log.notes import TreeHead
from attestlab.log.tree import Growth, TileCache, Tree, TreeReader

CATCH_UP_LEAVES = 65_536  # above that, loading the tree anew from its tiles is quicker


class TreeMemory:
    """Holds trees of committed heads only. Any thread may read; a tree is replaced as a whole."""

    def __init__(self) -> None:
        self._tree = Tree()
        self._cache = TileCache()

    def tree_with(self, connection: Connection, head: TreeHead) -> Tree:
        """A tree that has the committed `head`: the remembered one, that one caught up, or one loaded anew.

        Raises:
            IntegrityFailed: the stored entries do not have the root that was signed.
        """
        known = self._tree
        if self._has(connection, Growth(known, {}), head):
            return known
        if known.size < head.size <= known.size + CATCH_UP_LEAVES:
            caught_up = known.grown(store.leaf_hashes(connection, known.size, head.size))
            if self._has(connection, caught_up, head):
                self.adopt(caught_up)
                return caught_up.tree
        return self._load(connection, head)

    def adopt(self, growth: Growth) -> None:
        """Remember a committed tree and the tiles it made full."""
        self._cache.keep(growth.full)
        if growth.tree.size > self._tree.size:
            self._tree = growth.tree

    def reader(self, connection: Connection, growth: Growth, size: int) -> TreeReader:
        """Roots and proofs of the first `size` leaves; tiles that were forgotten are read from the records."""

        def fetch(level: int, index: int) -> bytes:
            return store.tile(connection, level, index)

        return TreeReader(growth.tree, size, cache=self._cache, fetch=fetch, fresh=growth.full)

    def _has(self, connection: Connection, growth: Growth, head: TreeHead) -> bool:
        return growth.tree.size >= head.size and self.reader(connection, growth, head.size).root == head.root

    def _load(self, connection: Connection, head: TreeHead) -> Tree:
        """What was remembered belongs to another tree, or there was nothing; the records are read from scratch."""
        self._cache.clear()
        tail = store.leaf_hashes(connection, head.size - head.size % rules.TILE_WIDTH, head.size)
        loaded = Growth(Tree.loaded(head.size, tail, lambda level, index: store.tile(connection, level, index)), {})
        if not self._has(connection, loaded, head):
            raise IntegrityFailed("The stored entries do not have the root that was signed; run `attestlab log fsck`.")
        self._tree = loaded.tree
        return loaded.tree
