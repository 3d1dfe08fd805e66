"""Wire models of the log (CONTRACT section 7); hashes are `sha256:<hex>`."""

from typing import Annotated

from pydantic import Field

from attestlab.core.shapes import In, Moment, Out, Sha256Hex, one_of
from attestlab.log.entries import EntryType
from attestlab.log.note.note import MAX_SIZE

Size = Annotated[int, Field(ge=0, le=MAX_SIZE)]


class FsckOut(Out):
    """A complete check of the records (`attestlab log fsck`): when it began, over how many entries, and its result."""

    at: Moment
    tree_size: int
    problems: int


class HeadOut(Out):
    """The newest signed tree head; `checkpoint` is the note, verbatim, and `timestamp` its signed time.

    `last_fsck` is a statement of the service, which nothing signs; null if it knows of no check.
    """

    origin: str
    tree_size: int
    root_hash: str
    checkpoint: str
    timestamp: Moment
    last_fsck: FsckOut | None


class CheckpointOut(Out):
    """An earlier signed tree head."""

    tree_size: int
    root_hash: str
    checkpoint: str
    timestamp: Moment


class ProofQuery(In):
    """The size of the tree to prove inclusion in; the newest by default."""

    tree_size: Size | None = None


class InclusionOut(Out):
    """Proof that the tree of `tree_size` entries has `leaf_hash` at `log_index`; `hashes` run from leaf to root."""

    log_index: int
    tree_size: int
    leaf_hash: str
    root_hash: str
    hashes: list[str]


class ConsistencyQuery(In):
    """The sizes of the older and the newer tree."""

    from_: Size = Field(alias="from")
    to: Size


class ConsistencyOut(Out):
    """Proof that the tree of size `to` begins with the tree of size `from`."""

    from_: int = Field(alias="from")
    to: int
    from_root: str
    to_root: str
    hashes: list[str]


class EntriesQuery(In):
    """A range of entries, oldest first."""

    start: Size = 0
    limit: Annotated[int, Field(ge=1, le=100)] = 50


class EntryOut(Out):
    """An entry: its exact bytes (standard base64), and the same bytes parsed as JSON."""

    log_index: int
    leaf_hash: str
    type: Annotated[str, one_of(EntryType)]
    entry_b64: str
    entry: object


class EntriesOut(Out):
    """Entries in order; `next_start` is null at the end of the log."""

    items: list[EntryOut]
    next_start: int | None
    tree_size: int


class LookupQuery(In):
    """Exactly one name of an entry: its leaf hash (`sha256:<hex>` or hex), its attestation or its document."""

    hash: Sha256Hex | None = None
    attestation_id: str | None = None
    document_hash: Sha256Hex | None = None


class VkeyOut(Out):
    """The key to pin, as a C2SP vkey; `cosigner_vkey` is the same key for its timestamped signatures."""

    origin: str
    vkey: str
    cosigner_vkey: str
