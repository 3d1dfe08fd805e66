"""RFC 6962 proofs and C2SP tile names, first against vectors made by others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attestlab.core.errors import NotFound, PayloadTooLarge, ProofInvalid
from attestlab.log.merkle import hashing
from attestlab.log.merkle.hashing import TileName, leaf_hash, node_hash, verify_consistency, verify_inclusion
from support import vectors

# The reference accepts 12-byte roots of one size; here a hash has 32 bytes, whatever else holds.
TWELVE_BYTE_ROOTS = "additional/sizes-are-equal-one-and-proof-is-empty.json"


@pytest.mark.parametrize(("name", "case"), vectors.merkle("inclusion").items())
def test_an_inclusion_proof_is_judged_as_the_reference_judges_it(name: str, case: dict[str, Any]) -> None:
    def verify() -> None:
        verify_inclusion(case["leafIdx"], case["treeSize"], case["leafHash"], case["proof"], case["root"])

    if case["wantErr"]:
        with pytest.raises(ProofInvalid):
            verify()
    else:
        verify()


@pytest.mark.parametrize(("name", "case"), vectors.merkle("consistency").items())
def test_a_consistency_proof_is_judged_as_the_reference_judges_it(name: str, case: dict[str, Any]) -> None:
    def verify() -> None:
        verify_consistency(case["size1"], case["size2"], case["root1"], case["root2"], case["proof"])

    if case["wantErr"] or name == TWELVE_BYTE_ROOTS:
        with pytest.raises(ProofInvalid):
            verify()
    else:
        verify()


def test_empty_root_is_the_hash_of_the_empty_string() -> None:
    assert hashing.EMPTY_ROOT.hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_leaf_and_node_hashes_have_different_prefixes() -> None:
    """
    An inner node can never pass for a leaf: the first hashed byte differs (RFC 6962, 2.1).
    """
    left, right = hashing.leaf_hash(b"a"), hashing.leaf_hash(b"b")
    assert hashing.leaf_hash(left + right) != node_hash(left, right)


def test_consistency_from_the_empty_tree_needs_an_empty_proof() -> None:
    root = hashing.leaf_hash(b"only")
    verify_consistency(0, 1, hashing.EMPTY_ROOT, root, [])
    with pytest.raises(ProofInvalid, match="another root"):
        verify_consistency(0, 1, root, root, [])
    with pytest.raises(ProofInvalid, match="exactly 0"):
        verify_consistency(0, 1, hashing.EMPTY_ROOT, root, [root])


def test_two_trees_of_one_size_have_one_root() -> None:
    one, other = hashing.leaf_hash(b"one"), hashing.leaf_hash(b"other")
    verify_consistency(1, 1, one, one, [])
    with pytest.raises(ProofInvalid, match="different roots"):
        verify_consistency(1, 1, one, other, [])


def test_a_proof_with_one_hash_too_many_is_refused_even_if_the_root_fits() -> None:
    leaf, sibling = hashing.leaf_hash(b"0"), hashing.leaf_hash(b"1")
    root = node_hash(leaf, sibling)
    verify_inclusion(0, 2, leaf, [sibling], root)
    with pytest.raises(ProofInvalid, match="exactly 1"):
        verify_inclusion(0, 2, leaf, [sibling, sibling], node_hash(root, sibling))


@pytest.mark.parametrize(
    ("name", "path"),
    [
        (TileName(0, 0), "tile/0/000"),
        (TileName(0, 1234067), "tile/0/x001/x234/067"),
        (TileName(63, 999, 1), "tile/63/999.p/1"),
        (TileName(None, 1000, 255), "tile/entries/x001/000.p/255"),
    ],
)
def test_a_tile_has_the_path_that_tlog_tiles_gives_it(name: TileName, path: str) -> None:
    assert name.path == path
    assert TileName.parse(path) == name


@pytest.mark.parametrize(
    "path",
    [
        "tile/0/x000/001",
        "tile/0/1",
        "tile/0/0000",
        "tile/0/001/x234/067",
        "tile/64/000",
        "tile/00/000",
        "tile/-1/000",
        "tile/0/000.p/0",
        "tile/0/000.p/256",
        "tile/0/000.p/01",
        "tile/0/000/",
        "tile/0/\u0660\u0660\u0660",
        "tile/entries/000.p/",
        "tile/8/0/000",
        "checkpoint",
    ],
)
def test_a_path_that_no_tile_has_is_not_found(path: str) -> None:
    with pytest.raises(NotFound):
        TileName.parse(path)


@given(st.integers(0, 10**15), st.integers(1, 256), st.one_of(st.none(), st.integers(0, 63)))
def test_every_tile_name_reads_back(index: int, width: int, level: int | None) -> None:
    name = TileName(level, index, width)
    assert TileName.parse(name.path) == name


def test_the_tiles_of_a_tree_are_those_of_the_example_in_tlog_tiles() -> None:
    """
    "A tree of size 70,000 will be represented by 273 full level 0 tiles, one partial level 0 tile of width 112,
    one full level 1 tile, one partial level 1 tile of width 17, and one partial level 2 tile of width 1."
    """
    tiles = [name for name in hashing.tiles_of(70_000) if name.level is not None]

    assert [name for name in tiles if name.width < 256] == [
        TileName(0, 273, 112),
        TileName(1, 1, 17),
        TileName(2, 0, 1),
    ]
    assert len(tiles) == 273 + 1 + 3
    assert list(hashing.tiles_of(0)) == []
    assert [name.path for name in hashing.tiles_of(256)] == ["tile/entries/000", "tile/0/000", "tile/1/000.p/1"]


@given(st.lists(st.binary(max_size=300), max_size=20))
def test_bundle_round_trips(entries: list[bytes]) -> None:
    assert hashing.decode_bundle(hashing.encode_bundle(entries)) == entries


@pytest.mark.parametrize("bundle", [b"\x00", b"\x00\x02a", b"\x00\x01ab"])
def test_a_bundle_that_ends_inside_of_an_entry_is_refused(bundle: bytes) -> None:
    with pytest.raises(ProofInvalid):
        hashing.decode_bundle(bundle)


def test_an_entry_that_no_bundle_could_carry_is_refused() -> None:
    hashing.require_entry_fits(bytes(65_535))
    with pytest.raises(PayloadTooLarge):
        hashing.require_entry_fits(bytes(65_536))


@pytest.mark.parametrize("size", range(1, 9))
def test_a_leaf_beyond_the_tree_is_not_in_it(size: int) -> None:
    leaf = leaf_hash(b"leaf")
    for proof in ([], [leaf], [leaf] * 2, [leaf] * 3):
        with pytest.raises(ProofInvalid, match="Leaf"):
            verify_inclusion(size, size, leaf, proof, leaf)


def test_a_consistency_proof_must_lead_to_the_old_root_too() -> None:
    """Of three leaves in four: the new root alone could be any tree's that ends alike."""
    a, b, c, d = (leaf_hash(bytes([number])) for number in range(4))
    ab, cd = node_hash(a, b), node_hash(c, d)
    old, new = node_hash(ab, c), node_hash(ab, cd)
    proof = [c, d, ab]

    verify_consistency(3, 4, old, new, proof)
    with pytest.raises(ProofInvalid):
        verify_consistency(3, 4, node_hash(ab, d), new, proof)
    with pytest.raises(ProofInvalid):
        verify_consistency(3, 4, old, node_hash(cd, ab), proof)
