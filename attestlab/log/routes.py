"""HTTP routes of the log: C2SP tlog-tiles paths for log clients, JSON for people and notebooks; all of them public."""

from sqlalchemy import Connection

from attestlab.core.db.storage import Storage
from attestlab.core.errors import NotFound, ValidationFailed
from attestlab.log.entries import sha256_name
from attestlab.log.fsck_record import FsckRecord
from attestlab.log.merkle.hashing import TileName
from attestlab.log.note.note import VerifierKey
from attestlab.log.rendering import render_checkpoint, render_entry, render_fsck, render_head, render_inclusion
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
from attestlab.web.paging import Page, PageQuery, decode_number, split_page
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

IMMUTABLE = "public, max-age=31536000, immutable"
REVALIDATE = "no-cache"  # a cache may store the response, but must revalidate it before each use

routes = Routes("log")
_CHECKPOINTS = "log checkpoints"
_NOTE = "text/plain"
_TILE = "application/octet-stream"


@routes.get("/log/checkpoint", scope=PUBLIC, cache_control=REVALIDATE, produces={_NOTE: str})
def get_checkpoint(storage: Storage, log: Log) -> RawResponse:
    """Get the newest checkpoint, a signed note.

    This is the C2SP tlog-checkpoint that log clients read first: origin, tree size and root hash, signed with
    the log's key.
    """
    with storage.read() as connection:
        note = log.head(connection).note
    return RawResponse(note.encode(), f"{_NOTE}; charset=utf-8")


@routes.get(
    "/log/checkpoint.witnessed",
    scope=PUBLIC,
    cache_control=REVALIDATE,
    produces={_NOTE: str},
    raises=(NotFound,),
)
def get_witnessed_checkpoint(storage: Storage, log: Log) -> RawResponse:
    """Get the newest checkpoint that a quorum of the configured witnesses cosigned, a signed note.

    It may be older than the newest checkpoint, and is 404 while no quorum has cosigned any.
    """
    with storage.read() as connection:
        witnessed = log.witnessed_checkpoint(connection)
    if witnessed is None:
        raise NotFound("checkpoint", "with the quorum's cosignatures")
    return RawResponse(witnessed.note.encode(), f"{_NOTE}; charset=utf-8")


@routes.get("/log/tile/{path...}", scope=PUBLIC, cache_control=IMMUTABLE, produces={_TILE: bytes})
def get_tile(path: str, storage: Storage, log: Log) -> RawResponse:
    """Get a tile `<level>/<index>[.p/<width>]` or an entry bundle `entries/<index>[.p/<width>]`.

    These are the immutable files of C2SP tlog-tiles, of which any proof can be computed.
    """
    name = TileName.parse(f"tile/{path}")
    with storage.read() as connection:
        return RawResponse(log.tile(connection, name), _TILE)


@routes.get("/v1/log/head", scope=PUBLIC, cache_control=REVALIDATE)
def get_log_head(storage: Storage, log: Log, fsck_record: FsckRecord) -> HeadOut:
    """Get the newest signed tree head.

    `checkpoint` is the signed note itself; a verifier trusts only what it reads from there.
    """
    with storage.read() as connection:
        found = log.head(connection)
    checked = fsck_record.read(origin=found.origin, tree_size=found.size)
    return render_head(found, last_fsck=None if checked is None else render_fsck(checked))


@routes.get("/v1/log/checkpoints", scope=PUBLIC)
def list_checkpoints(query: PageQuery, storage: Storage, log: Log) -> Page[CheckpointOut]:
    """List every signed tree head, newest first.

    There is one for each append to the log.
    """
    before = decode_number(_CHECKPOINTS, query.cursor)
    with storage.read() as connection:
        found = log.checkpoints(connection, limit=query.limit + 1, before=before)
    shown, cursor = split_page(found, limit=query.limit, kind=_CHECKPOINTS, position=lambda row: [row.size])
    return Page[CheckpointOut](items=[render_checkpoint(row) for row in shown], next_cursor=cursor)


@routes.get("/v1/log/proofs/{index}", scope=PUBLIC)
def get_inclusion_proof(index: int, query: ProofQuery, storage: Storage, log: Log) -> InclusionOut:
    """Get the inclusion proof of an entry.

    The hashes lead from the leaf to the root of the tree of `tree_size` entries (RFC 6962).
    """
    with storage.read() as connection:
        return render_inclusion(log.inclusion(connection, index, query.tree_size))


@routes.get("/v1/log/consistency", scope=PUBLIC, raises=(NotFound,))
def get_consistency_proof(query: ConsistencyQuery, storage: Storage, log: Log) -> ConsistencyOut:
    """Get the proof that the log only grew between two sizes.

    Compare both roots with checkpoints that you hold. A first size above the second is a 400.
    """
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
def list_log_entries(query: EntriesQuery, storage: Storage, log: Log) -> EntriesOut:
    """List entries in the order they were logged.

    `next_start` is where the next page begins, null at the end. Entries commit to attestations without
    disclosing their claims.
    """
    with storage.read() as connection:
        size = log.size(connection)
        found = log.entries(connection, query.start, query.limit)
    end = query.start + len(found)
    return EntriesOut(
        items=[render_entry(leaf) for leaf in found], next_start=end if found and end < size else None, tree_size=size
    )


@routes.get("/v1/log/lookup", scope=PUBLIC, raises=(NotFound,))
def find_log_entry(query: LookupQuery, storage: Storage, log: Log) -> EntryOut:
    """Find an entry by its leaf hash, its attestation, its receipt or the document it is about.

    Give exactly one of the four names; for a document its first attestation is found.
    """
    named = {name: value for name, value in query.model_dump().items() if value is not None}
    if len(named) != 1:
        raise ValidationFailed.of("/hash", "one_of", f"Give exactly one of {', '.join(LookupQuery.model_fields)}.")
    ((name, value),) = named.items()
    with storage.read() as connection:
        index = _find_index(log, connection, name, value)
        (leaf,) = log.entries(connection, index, 1)
    return render_entry(leaf)


@routes.get("/v1/log/vkey", scope=PUBLIC)
def get_log_key(storage: Storage, log: Log) -> VkeyOut:
    """Get the log's public key. Pin the key from a source that you trust more than this endpoint.

    It has the form of a C2SP vkey, for `attestlab verify --trust` and other log clients.
    """
    with storage.read() as connection:
        key = VerifierKey.parse(log.vkey(connection))
    return VkeyOut(origin=key.name, vkey=str(key), cosigner_vkey=str(key.cosigner()))


def _find_index(log: Log, connection: Connection, name: str, value: str) -> int:
    if name == "hash":
        return log.lookup(connection, bytes.fromhex(value))
    index = log.finders[name](connection, value)
    if index is None:
        raise NotFound("log entry with", f"{name} {value}")
    return index
