"""HTTP routes of the log: C2SP tlog-tiles paths for log clients, JSON for people and notebooks; all of them public."""

import base64
import json

from sqlalchemy import Connection

from attestlab.core.db.storage import Storage
from attestlab.core.errors import NotFound, ValidationFailed
from attestlab.log.entries import sha256_name
from attestlab.log.merkle.hashing import TileName
from attestlab.log.note.note import VerifierKey
from attestlab.log.service import Log
from attestlab.log.shapes import (
    CheckpointOut,
    ConsistencyOut,
    ConsistencyQuery,
    EntriesOut,
    EntriesQuery,
    EntryOut,
    HeadOut,
    InclusionOut,
    LookupQuery,
    ProofQuery,
    VkeyOut,
)
from attestlab.log.tables import LogCheckpointRecord, LogLeafRecord
from attestlab.web.paging import Page, PageQuery, decode_number, split_page
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

IMMUTABLE = "public, max-age=31536000, immutable"
REVALIDATE = "no-cache"  # a cache may store the response, but must revalidate it before each use

routes = Routes("log")
_CHECKPOINTS = "log checkpoints"


@routes.get("/log/checkpoint", scope=PUBLIC, cache_control=REVALIDATE)
def checkpoint(storage: Storage, log: Log) -> RawResponse:
    """The newest checkpoint, a signed note."""
    with storage.read() as connection:
        note = log.head(connection).note
    return RawResponse(note.encode(), "text/plain; charset=utf-8")


@routes.get("/log/checkpoint.witnessed", scope=PUBLIC, cache_control=REVALIDATE)
def witnessed_checkpoint(storage: Storage, log: Log) -> RawResponse:
    """The newest checkpoint that a quorum of the configured witnesses cosigned, a signed note."""
    with storage.read() as connection:
        witnessed = log.witnessed_checkpoint(connection)
    if witnessed is None:
        raise NotFound("checkpoint", "with the quorum's cosignatures")
    return RawResponse(witnessed.note.encode(), "text/plain; charset=utf-8")


@routes.get("/log/tile/{path...}", scope=PUBLIC, cache_control=IMMUTABLE)
def tile(path: str, storage: Storage, log: Log) -> RawResponse:
    """A tile `<level>/<index>[.p/<width>]` or an entry bundle `entries/<index>[.p/<width>]`."""
    name = TileName.parse(f"tile/{path}")
    with storage.read() as connection:
        return RawResponse(log.tile(connection, name), "application/octet-stream")


@routes.get("/v1/log/head", scope=PUBLIC, cache_control=REVALIDATE)
def head(storage: Storage, log: Log) -> HeadOut:
    """The newest signed tree head."""
    with storage.read() as connection:
        found = log.head(connection)
    return HeadOut(
        origin=found.origin,
        tree_size=found.size,
        root_hash=sha256_name(found.root),
        checkpoint=found.note,
        timestamp=found.at,
    )


@routes.get("/v1/log/checkpoints", scope=PUBLIC)
def checkpoints(query: PageQuery, storage: Storage, log: Log) -> Page[CheckpointOut]:
    """Every signed tree head, newest first."""
    before = decode_number(_CHECKPOINTS, query.cursor)
    with storage.read() as connection:
        found = log.checkpoints(connection, limit=query.limit + 1, before=before)
    shown, cursor = split_page(found, limit=query.limit, kind=_CHECKPOINTS, position=lambda row: [row.size])
    return Page[CheckpointOut](items=[_render_checkpoint(row) for row in shown], next_cursor=cursor)


@routes.get("/v1/log/proofs/{index}", scope=PUBLIC)
def proof(index: int, query: ProofQuery, storage: Storage, log: Log) -> InclusionOut:
    """The inclusion proof of an entry."""
    with storage.read() as connection:
        proven = log.inclusion(connection, index, query.tree_size)
    return InclusionOut(
        log_index=proven.index,
        tree_size=proven.tree_size,
        leaf_hash=sha256_name(proven.leaf_hash),
        root_hash=sha256_name(proven.root),
        hashes=[sha256_name(value) for value in proven.hashes],
    )


@routes.get("/v1/log/consistency", scope=PUBLIC)
def consistency(query: ConsistencyQuery, storage: Storage, log: Log) -> ConsistencyOut:
    """The proof that the log only grew between two sizes."""
    with storage.read() as connection:
        proven = log.consistency(connection, query.from_, query.to)
    return ConsistencyOut.model_validate(
        {
            "from": proven.size1,
            "to": proven.size2,
            "from_root": sha256_name(proven.root1),
            "to_root": sha256_name(proven.root2),
            "hashes": [sha256_name(value) for value in proven.hashes],
        }
    )


@routes.get("/v1/log/entries", scope=PUBLIC)
def entries(query: EntriesQuery, storage: Storage, log: Log) -> EntriesOut:
    """Entries in the order they were logged."""
    with storage.read() as connection:
        size = log.size(connection)
        found = log.entries(connection, query.start, query.limit)
    end = query.start + len(found)
    return EntriesOut(
        items=[_render_entry(leaf) for leaf in found], next_start=end if found and end < size else None, tree_size=size
    )


@routes.get("/v1/log/lookup", scope=PUBLIC)
def lookup(query: LookupQuery, storage: Storage, log: Log) -> EntryOut:
    """Find an entry by its leaf hash, its attestation or the document it is about."""
    named = {name: value for name, value in query.model_dump().items() if value is not None}
    if len(named) != 1:
        raise ValidationFailed.of("/hash", "one_of", "Give exactly one of hash, attestation_id and document_hash.")
    ((name, value),) = named.items()
    with storage.read() as connection:
        index = _find_index(log, connection, name, value)
        (leaf,) = log.entries(connection, index, 1)
    return _render_entry(leaf)


@routes.get("/v1/log/vkey", scope=PUBLIC)
def vkey(storage: Storage, log: Log) -> VkeyOut:
    """The log's public key. Pin the key from a source that you trust more than this endpoint."""
    with storage.read() as connection:
        key = VerifierKey.parse(log.vkey(connection))
    return VkeyOut(origin=key.name, vkey=str(key), cosigner_vkey=str(key.cosigner()))


def _find_index(log: Log, connection: Connection, name: str, value: str) -> int:
    if name == "hash":
        return log.lookup(connection, bytes.fromhex(value.removeprefix("sha256:")))
    index = log.finders[name](connection, value)
    if index is None:
        raise NotFound("log entry with", f"{name} {value}")
    return index


def _render_checkpoint(row: LogCheckpointRecord) -> CheckpointOut:
    return CheckpointOut(tree_size=row.size, root_hash=sha256_name(row.root), checkpoint=row.note, timestamp=row.at)


def _render_entry(leaf: LogLeafRecord) -> EntryOut:
    return EntryOut(
        log_index=leaf.index,
        leaf_hash=sha256_name(leaf.leaf_hash),
        type=leaf.kind,
        entry_b64=base64.b64encode(leaf.entry).decode("ascii"),
        entry=json.loads(leaf.entry),
    )
