"""Search of the first page: finds what a text or a file's hash names.

It answers no more than the public log does: `GET /v1/log/lookup` finds the entry of an id or a
document's hash, and the entries of the log name the ids of all attestations.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection

from attestlab.core.errors import NotFound
from attestlab.log.entries import EntryType, parse_entry
from attestlab.log.service import Log
from attestlab.log.tables import LogLeafRecord
from attestlab.portal import store
from attestlab.portal.rules import SearchKind, SearchTerm
from attestlab.portal.store import FoundAttestation

MAX_FOUND = 20
_NAMING_AN_ATTESTATION = (EntryType.MINTED, EntryType.ATTESTATION_STATUS)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found: an attestation's id, several attestations of a document, or an entry of the log.

    All are empty if it found nothing; `log_size` is the number of entries.
    """

    log_size: int
    attestation_id: UUID | None = None
    attestations: tuple[FoundAttestation, ...] = ()
    has_more: bool = False
    entry_index: int | None = None
    entry_kind: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the search found nothing."""
        return self.attestation_id is None and not self.attestations and self.entry_index is None


def find(connection: Connection, log: Log, term: SearchTerm, *, is_file: bool = False) -> SearchResult:
    """Find what a recognised text names; the hash of a file names documents alone.

    A file may have been made of the bytes whose hash is a leaf (RFC 9162): it is not attested.
    """
    size = log.size(connection)
    if term.kind is SearchKind.ATTESTATION:
        return SearchResult(size, attestation_id=UUID(term.value))  # its page tells whether it exists
    if term.kind is SearchKind.INDEX:
        return _find_entry(connection, log, int(term.value), size)
    if term.kind is SearchKind.SHA256:
        return _find_document(connection, log, term.value, size, is_file=is_file)
    return SearchResult(size)


def _find_document(connection: Connection, log: Log, digest: str, size: int, *, is_file: bool) -> SearchResult:
    """Find the attestations of a document; a hash that is no document's may be that of a leaf."""
    found = store.attestations_of_document(connection, digest, limit=MAX_FOUND + 1)
    if len(found) == 1:
        return SearchResult(size, attestation_id=found[0].id)
    if found:
        return SearchResult(size, attestations=tuple(found[:MAX_FOUND]), has_more=len(found) > MAX_FOUND)
    if is_file:
        return SearchResult(size)
    try:
        return _find_entry(connection, log, log.lookup(connection, bytes.fromhex(digest)), size)
    except NotFound:
        return SearchResult(size)


def _find_entry(connection: Connection, log: Log, index: int, size: int) -> SearchResult:
    leaves = log.entries(connection, index, 1)
    if not leaves:
        return SearchResult(size)
    return SearchResult(size, attestation_id=_attestation_of(leaves[0]), entry_index=index, entry_kind=leaves[0].kind)


def _attestation_of(leaf: LogLeafRecord) -> UUID | None:
    if leaf.kind not in _NAMING_AN_ATTESTATION:
        return None
    return UUID(str(parse_entry(leaf.entry).members["id"]))
