"""The tree in memory equals the recursive definitions of RFC 6962, section 2.1, for every size and every proof."""

from __future__ import annotations

import functools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.core.errors import IntegrityFailed
from attestlab.log.merkle import hashing
from attestlab.log.merkle.tree import TileCache, TileHashes, Tree, TreeReader, TreeUpdate

MAX_SIZE = 1000
LEAVES = [hashing.leaf_hash(str(number).encode()) for number in range(70_000)]


@functools.cache
def mth(start: int, end: int) -> bytes:
    """MTH(D[start:end]) as the RFC writes it."""
    if end - start <= 1:
        return LEAVES[start] if end > start else hashing.EMPTY_ROOT
    k = split(end - start)
    return hashing.node_hash(mth(start, start + k), mth(start + k, end))


def split(n: int) -> int:
    """The largest power of two smaller than n."""
    return 1 << (n - 1).bit_length() - 1


def path(m: int, start: int, end: int) -> list[bytes]:
    """PATH(m, D[start:end]) as the RFC writes it."""
    if end - start == 1:
        return []
    k = split(end - start)
    if m < k:
        return [*path(m, start, start + k), mth(start + k, end)]
    return [*path(m - k, start + k, end), mth(start, start + k)]


def subproof(m: int, start: int, end: int, is_known: bool) -> list[bytes]:
    """SUBPROOF(m, D[start:end], b) as the RFC writes it."""
    if m == end - start:
        return [] if is_known else [mth(start, end)]
    k = split(end - start)
    if m <= k:
        return [*subproof(m, start, start + k, is_known), mth(start + k, end)]
    return [*subproof(m - k, start + k, end, False), mth(start, start + k)]


class Stored:
    """Full tiles as the records keep them: bytes by place, read one at a time."""

    def __init__(self) -> None:
        self.tiles: dict[tuple[int, int], bytes] = {}

    def store(self, update: TreeUpdate) -> Tree:
        self.tiles.update({place: rows[0] for place, rows in update.full_tiles.items()})
        return update.tree

    def fetch(self, level: int, index: int) -> bytes:
        return self.tiles[level, index]

    def reader(self, tree: Tree, size: int, capacity: int = 4) -> TreeReader:
        return TreeReader(tree, size, cache=TileCache(capacity), fetch=self.fetch)


def grown_to(size: int, *, step: int = 97) -> tuple[Tree, Stored]:
    tree, stored = Tree(), Stored()
    for start in range(0, size, step):
        tree = stored.store(tree.with_leaves(LEAVES[start : min(start + step, size)]))
    return tree, stored


def test_the_root_of_every_size_up_to_a_thousand_is_the_rfcs() -> None:
    tree, stored = grown_to(MAX_SIZE)
    for size in range(MAX_SIZE + 1):
        assert stored.reader(tree, size).root == mth(0, size)


def test_every_inclusion_path_is_the_rfcs() -> None:
    tree, stored = grown_to(MAX_SIZE)
    for size in [*range(1, 35), 255, 256, 257, 511, 512, 513, 999, 1000]:
        reader = stored.reader(tree, size)
        for index in range(size):
            assert reader.inclusion(index) == path(index, 0, size)


def test_every_consistency_proof_is_the_rfcs() -> None:
    tree, stored = grown_to(MAX_SIZE)
    for size in [*range(1, 35), 255, 256, 257, 511, 512, 513, 999, 1000]:
        reader = stored.reader(tree, size)
        assert reader.consistency(0) == []
        for older in range(1, size + 1):
            assert reader.consistency(older) == subproof(older, 0, size, True)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 70_000), st.integers(0, 2**32), st.integers(1, 5000))
def test_any_large_tree_proves_itself_to_the_verifier(size: int, seed: int, step: int) -> None:
    chance = random.Random(seed)
    tree, stored = grown_to(size, step=step)
    asked = chance.randint(1, size)
    reader = stored.reader(tree, asked)
    assert reader.root == mth(0, asked)
    for index in {0, asked - 1, chance.randrange(asked), chance.randrange(asked)}:
        hashing.verify_inclusion(index, asked, LEAVES[index], reader.inclusion(index), reader.root)
    older = chance.randint(1, asked)
    hashing.verify_consistency(older, asked, mth(0, older), reader.root, reader.consistency(older))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 70_000))
def test_tree_loaded_from_tiles_equals_the_grown_tree(size: int) -> None:
    tree, stored = grown_to(size, step=5000)
    loaded = Tree.from_tiles(size, LEAVES[size - size % 256 : size], stored.fetch)
    assert [rows for rows in loaded.edge if any(rows)] == [rows for rows in tree.edge if any(rows)]
    assert stored.reader(loaded, size).root == mth(0, size)


def test_growing_leaves_the_tree_before_untouched() -> None:
    """
    A batch that fails must not have changed what the next one builds upon.
    """
    tree, stored = grown_to(700)
    before = (tree.size, tree.edge)
    tree.with_leaves(LEAVES[:900])
    assert (tree.size, tree.edge) == before
    assert stored.reader(tree, 700).root == mth(0, 700)


def test_a_batch_proves_from_tiles_that_are_not_stored_yet() -> None:
    update = Tree().with_leaves(LEAVES[:600])

    def nothing_is_stored(level: int, index: int) -> bytes:
        raise AssertionError("the records were asked for a tile of an open batch")

    reader = TreeReader(update.tree, 600, cache=TileCache(), fetch=nothing_is_stored, fresh=update.full_tiles)
    assert reader.inclusion(3) == path(3, 0, 600)


@pytest.mark.parametrize("place", [(0, 0), (0, 255), (1, 0)])
def test_a_changed_tile_is_refused_instead_of_proven_from(place: tuple[int, int]) -> None:
    """
    The records are not trusted: a tile's root must be the hash its parent holds, up to the edge that was signed.
    """
    tree, stored = grown_to(65_536 + 300, step=5000)
    reader = stored.reader(tree, tree.size)
    stored.tiles[place] = bytes(32) + stored.tiles[place][32:]
    leaf = place[1] * 256 if place[0] == 0 else 65_536 + 1
    with pytest.raises(IntegrityFailed, match="changed"):
        reader.inclusion(leaf)
        reader.node(8, 3)


def test_a_tile_of_a_wrong_length_is_refused() -> None:
    tree, stored = grown_to(600)
    stored.tiles[0, 0] = stored.tiles[0, 0][:-1]
    with pytest.raises(IntegrityFailed, match="8191"):
        stored.reader(tree, 600).inclusion(0)


def test_the_cache_forgets_the_tiles_used_longest_ago() -> None:
    cache, rows = TileCache(capacity=2), tuple[bytes, ...]((b"x",) * 8)
    tiles: dict[tuple[int, int], TileHashes] = {(0, 0): rows, (0, 1): rows}
    cache.put(tiles)
    assert cache.get((0, 0)) is not None
    cache.put({(0, 2): rows})
    assert [cache.get((0, n)) is not None for n in range(3)] == [True, False, True]


def test_a_size_that_the_tree_never_had_is_refused() -> None:
    with pytest.raises(ValueError, match="never had"):
        TreeReader(Tree(), 1, cache=TileCache(), fetch=lambda _level, _index: b"")
