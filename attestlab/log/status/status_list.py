"""The status list: two bits for each entry of the log, which prove that a status did *not* change.

A log entry proves a revocation; proving that a subject was not revoked takes a list of all
revocations. The list of size n follows from the first n entries alone. At the index of its
first entry each subject has a code: 0 while it is in force, otherwise its end (`CODES`); an
attestation's first entry is its mint. Two bits per index, the lower indexes in the lower
bits, form chunks of 1,024 bytes for 4,096 indexes, padded with zeros. The list's digest is
the Merkle tree hash of its chunks (RFC 6962, 2.1), and the log has it as an entry
`status.list` at index n. So a chunk and a short path prove the status of an entry as of n.

Receipts have their codes in a separate array, with a separate digest in the same entry: followers and
verifiers of earlier versions skip entries of receipts, and still compute the digest that the entry has.

This module is pure: followers of the log and offline verifiers compute with it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from attestlab.core.errors import ProofInvalid
from attestlab.log import entries
from attestlab.log.entries import EntryType, ParsedEntry
from attestlab.log.merkle import hashing

CHUNK_BYTES = 1024
INDEXES_PER_CHUNK = CHUNK_BYTES * 4
CODES: dict[str, dict[str, int]] = {
    EntryType.ATTESTATION_STATUS: {"REVOKED": 1, "SUPERSEDED": 2, "EXPIRED": 3},
    EntryType.KEY_STATUS: {"pending": 0, "active": 0, "revoked": 1, "rotated": 2, "compromised": 3},
    EntryType.ISSUER_STATUS: {"ACTIVE": 0, "REVOKED": 1, "SUSPENDED": 2},
    EntryType.RECEIPT_STATUS: {"REVOKED": 1},
}
_ENDS_OF_MINTS = frozenset({EntryType.ATTESTATION_STATUS.value, EntryType.RECEIPT_STATUS.value})


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk of a list, for the 4,096 indexes from 4,096 * `number`, with its path to the digest, leaf to root."""

    number: int
    data: bytes
    hashes: tuple[bytes, ...]

    def code_of(self, index: int) -> int:
        """The code at a log index, which this chunk must cover."""
        return _read_code(self.data, index - self.number * INDEXES_PER_CHUNK)


@dataclass(slots=True)
class StatusCodes:
    """Codes of two bits by log index, in chunks; those of receipts, or those of all other subjects."""

    bits: bytearray = field(default_factory=bytearray)

    def copy(self) -> StatusCodes:
        """Return an independent copy."""
        return StatusCodes(bytearray(self.bits))

    def grow(self, size: int) -> None:
        """Extend the codes to `size` entries; the new codes are 0."""
        missing = _chunk_count(size) * CHUNK_BYTES - len(self.bits)
        self.bits += bytes(max(0, missing))

    def set(self, index: int, code: int) -> None:
        """Set the code at a log index."""
        byte, shift = index // 4, 2 * (index % 4)
        self.bits[byte] = self.bits[byte] & ~(3 << shift) | code << shift

    def code_of(self, index: int) -> int:
        """The code at a log index."""
        return _read_code(self.bits, index)

    def digest(self) -> bytes:
        """The Merkle tree hash of the chunks."""
        return _merkle_root(self._hashes())

    def chunk_of(self, index: int) -> Chunk:
        """The chunk that covers an index, with its path."""
        number = index // INDEXES_PER_CHUNK
        data = bytes(self.bits[number * CHUNK_BYTES : (number + 1) * CHUNK_BYTES])
        return Chunk(number, data, tuple(_merkle_path(self._hashes(), number)))

    def _hashes(self) -> list[bytes]:
        starts = range(0, len(self.bits), CHUNK_BYTES)
        return [hashing.leaf_hash(bytes(self.bits[start : start + CHUNK_BYTES])) for start in starts]


@dataclass(slots=True)
class StatusList:
    """The list of the first `size` entries; `first_indexes` are where the chains of keys and issuers begin."""

    size: int = 0
    codes: StatusCodes = field(default_factory=StatusCodes)
    receipts: StatusCodes = field(default_factory=StatusCodes)
    first_indexes: dict[str, int] = field(default_factory=dict)

    def copy(self) -> StatusList:
        """Return an independent copy."""
        return StatusList(self.size, self.codes.copy(), self.receipts.copy(), dict(self.first_indexes))

    def grow(self, size: int) -> None:
        """Extend the list to `size` entries, of which the new ones changed no status."""
        self.size = size
        self.codes.grow(size)
        self.receipts.grow(size)

    def codes_of(self, kind: str) -> StatusCodes:
        """The codes that entries of a type set."""
        return self.receipts if kind == EntryType.RECEIPT_STATUS else self.codes

    def apply(self, index: int, entry: ParsedEntry) -> int | None:
        """Apply the entry at `index`; the caller applies entries in order and may omit those without a subject.

        Returns the index whose code the entry sets, or None.
        """
        self.grow(max(self.size, index + 1))
        codes = CODES.get(entry.kind)
        if codes is None or entry.subject is None:
            return None
        place = entry.members.get("minted_index")
        if entry.kind not in _ENDS_OF_MINTS:
            place = self.first_indexes.setdefault(entry.subject, index)
        if type(place) is not int or not 0 <= place <= index:  # an entry with an impossible index changes nothing
            return None
        self.codes_of(entry.kind).set(place, codes.get(str(entry.members.get("status")), 0))
        return place

    def restore(self, subject: str, place: int, code: int) -> None:
        """Restore the final code of a subject, at index `place`, without its entries."""
        self.grow(max(self.size, place + 1))
        self.first_indexes[subject] = place
        codes = self.receipts if entries.is_receipt_subject(subject) else self.codes
        codes.set(place, code)

    def code_of(self, index: int) -> int:
        """The code at a log index, of all subjects but receipts."""
        return self.codes.code_of(index)

    def digest(self) -> bytes:
        """The Merkle tree hash of the chunks, without those of receipts."""
        return self.codes.digest()

    def digest_members(self, members: Mapping[str, object]) -> dict[str, str]:
        """The digests that the entry with these members must have; one of an earlier version has none of receipts."""
        found = {"digest": entries.sha256_name(self.digest())}
        if "receipts_digest" in members:
            found["receipts_digest"] = entries.sha256_name(self.receipts.digest())
        return found

    def chunk_of(self, index: int) -> Chunk:
        """The chunk that covers an index, with its path, of all subjects but receipts."""
        return self.codes.chunk_of(index)


def verify_chunk(chunk: Chunk, *, size: int, digest: bytes) -> None:
    """Verify that a chunk is part of the list of `size` entries with this digest.

    Raises:
        ProofInvalid: the chunk has the wrong size, or its path does not lead to the digest.
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
