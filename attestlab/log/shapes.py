"""Wire models of the log (CONTRACT section 7); hashes are `sha256:<hex>`."""

from typing import Annotated

from pydantic import Field

from attestlab.core.shapes import In, Moment, Out, Sha256Hex, one_of
from attestlab.log.entries import EntryType
from attestlab.log.note.note import MAX_SIZE

Size = Annotated[int, Field(ge=0, le=MAX_SIZE)]


class FsckOut(Out, wire_name="log_check", source="docs/log.md"):
    """A complete check of the records (`attestlab log fsck`): when it began, over how many entries, and its result."""

    at: Moment
    """When the check began. Format: RFC 3339 date-time, UTC, milliseconds."""
    tree_size: int
    """How many entries the log had then. Format: entries."""
    problems: int
    """The problems that the check found; 0 if the records were clean. Format: count."""


class HeadOut(Out, wire_name="log_head", source="CONTRACT 7"):
    """The newest signed tree head; `checkpoint` is the note, verbatim, and `timestamp` its signed time.

    `last_fsck` is a statement of the service, which nothing signs; null if it knows of no check.
    """

    origin: str
    """The name of the log. Format: text without spaces."""
    tree_size: int
    """The number of entries in the log. Format: entries."""
    root_hash: str
    """Its root. Format: sha256: and 64 hex digits."""
    checkpoint: str
    """The newest signed note, verbatim. Format: C2SP signed note, text."""
    timestamp: Moment
    """The time in the log's cosignature. Format: RFC 3339 date-time, UTC, milliseconds."""
    last_fsck: FsckOut | None
    """The last complete check of the records that this server knows of; unsigned; null if it knows of none.
    Source: docs/log.md.
    """


class CheckpointOut(Out, source="CONTRACT 7"):
    """An earlier signed tree head."""

    tree_size: int
    """The size of the tree. Format: entries."""
    root_hash: str
    """Its root. Format: sha256: and 64 hex digits."""
    checkpoint: str
    """The signed note, verbatim: origin, size and root (standard base64), then signatures.
    Format: C2SP signed note, text.
    """
    timestamp: Moment
    """The time in the log's cosignature. Format: RFC 3339 date-time, UTC, milliseconds."""


class ProofQuery(In, wire_name="inclusion_query", source="CONTRACT 7"):
    """The size of the tree to prove inclusion in; the newest by default."""

    tree_size: Size | None = None
    """The size of the tree to prove inclusion in; by default the newest. Format: entries."""


class InclusionOut(Out, wire_name="log_inclusion_proof", source="CONTRACT 7"):
    """Proof that the tree of `tree_size` entries has `leaf_hash` at `log_index`; `hashes` run from leaf to root."""

    log_index: int
    """The index of the entry. Format: from 0."""
    tree_size: int
    """The size of the tree. Format: entries."""
    leaf_hash: str
    """RFC 6962 hash of the entry. Format: sha256: and 64 hex digits."""
    root_hash: str
    """The tree's root. Format: sha256: and 64 hex digits."""
    hashes: list[str]
    """The audit path, leaf to root. Format: sha256: and 64 hex digits."""


class ConsistencyQuery(In, source="CONTRACT 7"):
    """The sizes of the older and the newer tree."""

    from_: Size = Field(alias="from")
    """The smaller tree. Format: entries."""
    to: Size
    """The larger tree. Format: entries."""


class ConsistencyOut(Out, wire_name="consistency_proof", source="CONTRACT 7"):
    """Proof that the tree of size `to` begins with the tree of size `from`."""

    from_: int = Field(alias="from")
    """The smaller tree. Format: entries."""
    to: int
    """The larger tree. Format: entries."""
    from_root: str
    """Root of the smaller tree. Format: sha256: and 64 hex digits."""
    to_root: str
    """Root of the larger tree. Format: sha256: and 64 hex digits."""
    hashes: list[str]
    """RFC 6962 consistency proof. Format: sha256: and 64 hex digits."""


class EntriesQuery(In, wire_name="log_records_query", source="CONTRACT 7"):
    """A range of entries, oldest first."""

    start: Size = 0
    """The index of the first entry. Format: from 0."""
    limit: Annotated[int, Field(ge=1, le=100)] = 50
    """The number of entries. Format: 1-100, by default 50."""


class EntryOut(Out, wire_name="log_record", source="CONTRACT 7"):
    """An entry: its exact bytes (standard base64), and the same bytes parsed as JSON."""

    log_index: int
    """Its index in the log. Format: from 0."""
    leaf_hash: str
    """RFC 6962 hash of the entry. Format: sha256: and 64 hex digits."""
    type: Annotated[str, one_of(EntryType)]
    """The type of the entry. Format: an entry type."""
    entry_b64: str
    """The entry's exact bytes. Format: standard base64."""
    entry: object
    """The same bytes, parsed as JSON. Format: see log_entry:<type>."""


class EntriesOut(Out, wire_name="log_records", source="CONTRACT 7"):
    """Entries in order; `next_start` is null at the end of the log."""

    items: list[EntryOut]
    """The entries. Format: oldest first."""
    next_start: int | None
    """Where the next page starts; null at the end of the log. Format: from 0."""
    tree_size: int
    """The size of the log now. Format: entries."""


class LookupQuery(In, wire_name="log_lookup_query", source="CONTRACT 7"):
    """Exactly one name of an entry: its leaf hash (`sha256:<hex>` or hex), attestation, receipt or document."""

    hash: Sha256Hex | None = None
    """The leaf hash of the entry. Format: 64 lowercase hex digits, perhaps after sha256:."""
    attestation_id: str | None = None
    """The attestation whose mint is looked up. Format: UUID, 36 characters."""
    receipt_id: str | None = None
    """The receipt whose mint is looked up. Format: UUID, 36 characters. Source: CONTRACT 11.5."""
    document_hash: Sha256Hex | None = None
    """The document whose first attestation is looked up. Format: SHA-256, 64 hex digits."""


class VkeyOut(Out, wire_name="log_key", source="CONTRACT 7"):
    """The key to pin, as a C2SP vkey; `cosigner_vkey` is the same key for its timestamped signatures."""

    origin: str
    """The name of the log. Format: text without spaces."""
    vkey: str
    """The log's public key. Format: C2SP vkey."""
    cosigner_vkey: str
    """The same key for its timestamped signatures. Format: C2SP vkey."""
