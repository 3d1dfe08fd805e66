"""The status list: two bits for each entry of the log, from which anyone can tell what did *not* change.

An entry proves that something was revoked; that something was not revoked takes a list of
all that was. The list of size n follows from the first n entries alone. At the index of its
first entry each subject has a code: 0 while it stands, and else what became of it (`CODES`);
an attestation's first entry is its mint. Two bits an index, the lower indexes in the lower
bits, make chunks of 1,024 bytes for 4,096 indexes, filled up with zeros. The list's digest
is the Merkle tree hash of its chunks (RFC 6962, 2.1), and stands in the log as an entry
`status.list` at index n. So a chunk and a short path show the status of an entry as of n.

This module is pure: who follows the log, and who verifies offline, computes with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from attestlab.core.errors import ProofInvalid
from attestlab.log.entries import EntryType, ParsedEntry
from attestlab.log.merkle import hashing

CHUNK_BYTES = 1024
INDEXES_PER_CHUNK = CHUNK_BYTES * 4
CODES: dict[str, dict[str, int]] = {
    EntryType.ATTESTATION_STATUS: {"REVOKED": 1, "SUPERSEDED": 2, "EXPIRED": 3},
    EntryType.KEY_STATUS: {"pending": 0, "active": 0, "revoked": 1, "rotated": 2, "compromised": 3},
    EntryType.ISSUER_STATUS: {"ACTIVE": 0, "REVOKED": 1, "SUSPENDED": 2},
}


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a list with its path to the list's digest, leaf to root; it holds indexes from 4,096 * `number` on."""

    number: int
    data: bytes
    hashes: tuple[bytes, ...]

    def code_of(self, index: int) -> int:
        """The code at an index of the log that this chunk holds."""
        return _read_code(self.data, index - self.number * INDEXES_PER_CHUNK)


@dataclass(slots=True)
class StatusList:
    """The list of the first `size` entries; `first_indexes` are where the chains of keys and issuers begin."""

    size: int = 0
    bits: bytearray = field(default_factory=bytearray)
    first_indexes: dict[str, int] = field(default_factory=dict)

    def copy(self) -> StatusList:
        """One that can grow on its own."""
        return StatusList(self.size, bytearray(self.bits), dict(self.first_indexes))

    def grow(self, size: int) -> None:
        """Be the list of that many entries, of which the further ones changed no status."""
        self.size = size
        missing = _chunk_count(size) * CHUNK_BYTES - len(self.bits)
        self.bits += bytes(max(0, missing))

    def apply(self, index: int, entry: ParsedEntry) -> int | None:
        """Take in the entry at `index`; they come in order, and only those with a subject matter.

        Returns the index whose code it states.
        """
        self.grow(max(self.size, index + 1))
        codes = CODES.get(entry.kind)
        if codes is None or entry.subject is None:
            return None
        place = entry.members.get("minted_index")
        if entry.kind != EntryType.ATTESTATION_STATUS:
            place = self.first_indexes.setdefault(entry.subject, index)
        if type(place) is not int or not 0 <= place <= index:  # an entry that points elsewhere changes nothing
            return None
        self._set(place, codes.get(str(entry.members.get("status")), 0))
        return place

    def restore(self, subject: str, place: int, code: int) -> None:
        """Take in at once what all entries of a subject said; `place` is where its code stands."""
        self.grow(max(self.size, place + 1))
        self.first_indexes[subject] = place
        self._set(place, code)

    def _set(self, index: int, code: int) -> None:
        byte, shift = index // 4, 2 * (index % 4)
        self.bits[byte] = self.bits[byte] & ~(3 << shift) | code << shift

    def code_of(self, index: int) -> int:
        """The code at an index of the log."""
        return _read_code(self.bits, index)

    def digest(self) -> bytes:
        """The Merkle tree hash of the chunks."""
        return _merkle_root(self._hashes())

    def chunk_of(self, index: int) -> Chunk:
        """The chunk that holds an index, with its path."""
        number = index // INDEXES_PER_CHUNK
        data = bytes(self.bits[number * CHUNK_BYTES : (number + 1) * CHUNK_BYTES])
        return Chunk(number, data, tuple(_merkle_path(self._hashes(), number)))

    def _hashes(self) -> list[bytes]:
        starts = range(0, len(self.bits), CHUNK_BYTES)
        return [hashing.leaf_hash(bytes(self.bits[start : start + CHUNK_BYTES])) for start in starts]


def verify_chunk(chunk: Chunk, *, size: int, digest: bytes) -> None:
    """Prove that a chunk is part of the list of `size` entries that has this digest.

    Raises:
        ProofInvalid: it is not.
    """
    if len(chunk.data) != CHUNK_BYTES:
        raise ProofInvalid(f"A chunk of a status list has exactly {CHUNK_BYTES} bytes.")
    hashing.verify_inclusion(chunk.number, _chunk_count(size), hashing.leaf_hash(chunk.data), chunk.hashes, digest)


def _chunk_count(size: int) -> int:
    return -(-size // INDEXES_PER_CHUNK)


def _read_code(bits: Sequence[int], index: int) -> int:
    return bits[index // 4] >> 2 * (index % 4) & 3


def _merkle_root(hashes: Sequence[bytes]) -> bytes:
    if len(hashes) < 2:
        return hashes[0] if hashes else hashing.EMPTY_ROOT
    split = _split(len(hashes))
    return hashing.node_hash(_merkle_root(hashes[:split]), _merkle_root(hashes[split:]))


def _merkle_path(hashes: Sequence[bytes], number: int) -> list[bytes]:
    if len(hashes) < 2:
        return []
    split = _split(len(hashes))
    if number < split:
        return [*_merkle_path(hashes[:split], number), _merkle_root(hashes[split:])]
    return [*_merkle_path(hashes[split:], number - split), _merkle_root(hashes[:split])]


def _split(count: int) -> int:
    """The largest power of two below `count`."""
    return 1 << (count - 1).bit_length() - 1
