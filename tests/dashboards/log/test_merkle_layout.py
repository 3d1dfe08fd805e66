"""Where the hashes of proofs stand in the tree, against the recursive definitions of RFC 6962."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab import Lab
from attestlab.client.handles.log import parse_hash
from attestlab_dashboards.log.merkle_layout import build_blocks, build_path
from support.property_tests import examples


def entries(size: int) -> list[bytes]:
    return [str(number).encode() for number in range(size)]


def split(size: int) -> int:
    """The largest power of two below a size."""
    return 1 << (size - 1).bit_length() - 1


def root_of(leaves: list[bytes]) -> bytes:
    """MTH of RFC 6962, 2.1."""
    if len(leaves) == 1:
        return sha256(b"\x00" + leaves[0]).digest()
    k = split(len(leaves))
    return sha256(b"\x01" + root_of(leaves[:k]) + root_of(leaves[k:])).digest()


def inclusion(index: int, leaves: list[bytes]) -> list[bytes]:
    """PATH of RFC 6962, 2.1.1."""
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if index < k:
        return [*inclusion(index, leaves[:k]), root_of(leaves[k:])]
    return [*inclusion(index - k, leaves[k:]), root_of(leaves[:k])]


def consistency(older: int, leaves: list[bytes], *, is_known: bool = True) -> list[bytes]:
    """SUBPROOF of RFC 6962, 2.1.2."""
    if older == len(leaves):
        return [] if is_known else [root_of(leaves)]
    k = split(len(leaves))
    if older <= k:
        return [*consistency(older, leaves[:k], is_known=is_known), root_of(leaves[k:])]
    return [*consistency(older - k, leaves[k:], is_known=False), root_of(leaves[:k])]


@st.composite
def places(draw: st.DrawFn) -> tuple[int, int]:
    size = draw(st.integers(1, 70))
    return draw(st.integers(0, size - 1)), size


@pytest.mark.more_in_soak
@settings(max_examples=examples(100, many=3_000), deadline=None)
@given(places())
def test_each_sibling_covers_the_entries_that_its_hash_is_of(place: tuple[int, int]) -> None:
    index, size = place
    leaves = entries(size)

    path = build_path(index, size, leaves[index], tuple(inclusion(index, leaves)), root_of(leaves))

    assert path.leads_to_root
    for sibling in path.siblings:
        assert sibling.hash == root_of(leaves[sibling.first : sibling.end])
        assert (sibling.side == "left") == (sibling.end <= index)
    covered = sorted([(index, index + 1), *((sibling.first, sibling.end) for sibling in path.siblings)])
    assert [end for _, end in covered[:-1]] == [first for first, _ in covered[1:]]
    assert (covered[0][0], covered[-1][1]) == (0, size)


@pytest.mark.more_in_soak
@settings(max_examples=examples(100, many=3_000), deadline=None)
@given(places())
def test_each_block_covers_the_entries_that_its_hash_is_of(place: tuple[int, int]) -> None:
    older, newer = place[0] + 1, place[1]
    leaves = entries(newer)

    blocks = build_blocks(older, newer, root_of(leaves[:older]), tuple(consistency(older, leaves)))

    for block in blocks:
        assert block.hash == root_of(leaves[block.first : block.end])
        assert block.is_old == (block.end <= older)
    assert [block.end for block in blocks[:-1]] == [block.first for block in blocks[1:]]
    assert (blocks[0].first, blocks[-1].end) == (0, newer)


@pytest.mark.more_in_soak
@settings(max_examples=examples(50, many=1_000), deadline=None)
@given(places(), st.integers(0, 63), st.integers(0, 255))
def test_a_changed_hash_breaks_the_path_from_there_up(place: tuple[int, int], which: int, bit: int) -> None:
    index, size = place
    leaves = entries(size)
    hashes = inclusion(index, leaves)
    if not hashes:
        return
    at = which % len(hashes)
    changed = bytearray(hashes[at])
    changed[bit // 8] ^= 1 << bit % 8
    true = build_path(index, size, leaves[index], tuple(hashes), root_of(leaves))

    path = build_path(index, size, leaves[index], (*hashes[:at], bytes(changed), *hashes[at + 1 :]), root_of(leaves))

    assert path.compare(true).broken_at == at + 1
    assert not path.leads_to_root
    assert true.compare(true).broken_at is None


def test_the_proofs_of_a_real_log_are_placed_as_its_leaves_say(demo_lab: Lab) -> None:
    leaves = [parse_hash(entry.leaf_hash) for entry in demo_lab.log]
    proof = demo_lab.log.proof(17)

    path = build_path(
        17, len(leaves), entry_of(demo_lab, 17), tuple(map(parse_hash, proof.hashes)), parse_hash(proof.root_hash)
    )

    assert path.leads_to_root
    assert path.nodes[0] == leaves[17]
    assert path.siblings[0].hash == leaves[16]


def entry_of(lab: Lab, index: int) -> bytes:
    from base64 import b64decode

    return b64decode(lab.log.entry(index).entry_b64)
