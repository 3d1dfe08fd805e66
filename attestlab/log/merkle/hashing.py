"""RFC 6962 hashing and proofs, and the names and formats of C2SP tlog-tiles.

All functions are pure. A verification returns None or raises. A hash must have exactly
32 bytes and a path exactly the length that index and size require, so that each proof
has one encoding only.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attestlab.core.counting import plural
from attestlab.core.errors import NotFound, PayloadTooLarge, ProofInvalid

HASH_BYTES = 32
TILE_HEIGHT = 8
TILE_WIDTH = 1 << TILE_HEIGHT
TILE_BYTES = TILE_WIDTH * HASH_BYTES
MAX_LEVEL = 63
MAX_ENTRY_BYTES = 0xFFFF  # an entry bundle counts an entry's bytes in a uint16
EMPTY_ROOT = hashlib.sha256(b"").digest()

_TILE_PATH = re.compile(
    r"tile/(?P<level>[0-9]|[1-5][0-9]|6[0-3]|entries)/"
    r"(?P<index>(?:x[0-9]{3}/){0,5}[0-9]{3})(?:\.p/(?P<width>[1-9][0-9]{0,2}))?",
    re.ASCII,
)


def leaf_hash(entry: bytes) -> bytes:
    """The hash of a leaf: SHA-256(0x00 || entry)."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node: SHA-256(0x01 || left || right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def verify_inclusion(index: int, size: int, leaf_hash: bytes, proof: Sequence[bytes], root: bytes) -> None:
    """Verify that the tree of `size` leaves under `root` has `leaf_hash` at `index` (RFC 6962, 2.1.1).

    `proof` runs from the leaf's sibling to the root's child.

    Raises:
        ProofInvalid: the proof is malformed or does not lead to the root.
    """
    _require_hashes(leaf_hash, root, *proof)
    if not 0 <= index < size:
        raise ProofInvalid(f"Leaf {index} cannot be in a tree of {size} leaves.")
    inner = (index ^ (size - 1)).bit_length()
    _require_length(proof, inner + (index >> inner).bit_count())
    node = leaf_hash
    for height, sibling in enumerate(proof):
        is_right = height >= inner or index >> height & 1
        node = node_hash(sibling, node) if is_right else node_hash(node, sibling)
    if node != root:
        raise ProofInvalid("The inclusion proof does not lead to the root.")


def verify_consistency(size1: int, size2: int, root1: bytes, root2: bytes, proof: Sequence[bytes]) -> None:
    """Verify that the tree of `size2` leaves begins with the tree of `size1` leaves (RFC 6962, 2.1.2).

    Every tree begins with the empty tree; for `size1` 0 only an empty proof is accepted.

    Raises:
        ProofInvalid: the proof is malformed or does not lead to both roots.
    """
    _require_hashes(root1, root2, *proof)
    if not 0 <= size1 <= size2:
        raise ProofInvalid(f"A tree of {size2} leaves cannot begin with {size1} leaves.")
    if size1 == 0 and root1 != EMPTY_ROOT:
        raise ProofInvalid("The empty tree has another root.")
    if size1 in (0, size2):
        _require_length(proof, 0)
        if size1 == size2 and root1 != root2:
            raise ProofInvalid("Two trees of one size have different roots.")
        return
    _verify_growth(size1, size2, root1, root2, proof)


def _verify_growth(size1: int, size2: int, root1: bytes, root2: bytes, proof: Sequence[bytes]) -> None:
    """Verify the case 0 < size1 < size2: one walk from the old tree's last full subtree recomputes both roots."""
    start_height = (size1 & -size1).bit_length() - 1
    last = size1 - 1
    inner = (last ^ (size2 - 1)).bit_length()
    starts_at_root = size1 == 1 << start_height
    _require_length(proof, (not starts_at_root) + inner - start_height + (last >> inner).bit_count())
    old = new = root1 if starts_at_root else proof[0]
    for height, node in enumerate(proof if starts_at_root else proof[1:], start_height):
        if height >= inner or last >> height & 1:
            old, new = node_hash(node, old), node_hash(node, new)
        else:
            new = node_hash(new, node)
    if old != root1 or new != root2:
        raise ProofInvalid("The consistency proof does not lead to both roots.")


def _require_hashes(*hashes: bytes) -> None:
    if any(len(value) != HASH_BYTES for value in hashes):
        raise ProofInvalid(f"A hash in a proof is exactly {HASH_BYTES} bytes.")


def _require_length(proof: Sequence[bytes], wanted: int) -> None:
    if len(proof) != wanted:
        raise ProofInvalid(f"The proof has {plural(len(proof), 'hash', 'hashes')}; it needs exactly {wanted}.")


@dataclass(frozen=True, slots=True)
class TileName:
    """A tile or entry bundle of C2SP tlog-tiles; `level` is None for entries, `width` 1-256."""

    level: int | None
    index: int
    width: int = TILE_WIDTH

    @property
    def path(self) -> str:
        """The path below the log's prefix, such as `tile/0/x001/x234/067.p/12`."""
        level = "entries" if self.level is None else self.level
        digits = f"{self.index % 1000:03d}"
        rest = self.index // 1000
        while rest:
            digits = f"x{rest % 1000:03d}/{digits}"
            rest //= 1000
        partial = "" if self.width == TILE_WIDTH else f".p/{self.width}"
        return f"tile/{level}/{digits}{partial}"

    @classmethod
    def parse(cls, path: str) -> TileName:
        """Parse the path of a tile; each tile has exactly one path.

        Raises:
            NotFound: no tile has this path.
        """
        match = _TILE_PATH.fullmatch(path)
        if match is None:
            raise NotFound("log tile", path)
        level = None if match["level"] == "entries" else int(match["level"])
        index = int(match["index"].replace("x", "").replace("/", ""))
        name = cls(level, index, int(match["width"] or TILE_WIDTH))
        if name.path != path:  # padded with x000, or a "partial" tile of 256 hashes and more
            raise NotFound("log tile", path)
        return name


def tiles_of(size: int) -> Iterable[TileName]:
    """Every tile and entry bundle of a tree of `size` leaves, full and partial, entries first."""
    full, partial = divmod(size, TILE_WIDTH)
    yield from _level_tiles(None, full, partial)
    level = 0
    while full or partial:
        yield from _level_tiles(level, full, partial)
        level += 1
        full, partial = divmod(full, TILE_WIDTH)


def _level_tiles(level: int | None, full: int, partial: int) -> Iterable[TileName]:
    for index in range(full):
        yield TileName(level, index)
    if partial:
        yield TileName(level, full, partial)


def require_entry_fits(entry: bytes) -> None:
    """Reject an entry that exceeds what an entry bundle can carry."""
    if len(entry) > MAX_ENTRY_BYTES:
        raise PayloadTooLarge(MAX_ENTRY_BYTES, "log_entry")


def encode_bundle(entries: Iterable[bytes]) -> bytes:
    """Encode an entry bundle: each entry preceded by its length in two big-endian bytes."""
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


def decode_bundle(bundle: bytes) -> list[bytes]:
    """Decode the entries of a bundle.

    Raises:
        ProofInvalid: the bundle ends in the middle of an entry.
    """
    entries, at = [], 0
    while at < len(bundle):
        end = at + 2 + int.from_bytes(bundle[at : at + 2], "big")
        if at + 2 > len(bundle) or end > len(bundle):
            raise ProofInvalid("The entry bundle ends in the middle of an entry.")
        entries.append(bundle[at + 2 : end])
        at = end
    return entries
