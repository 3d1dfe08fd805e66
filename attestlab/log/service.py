"""Service for the transparency log: append entries, seal them before the commit, serve proofs.

Appending is cheap and returns index and leaf hash at once. Sealing runs once per
transaction, just before its commit: it writes leaves, full tiles, the new root and one
signed checkpoint, and moves the head by compare-and-set. Nothing in memory changes before
the commit, and the head guard is durable before any reader sees the new checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Connection

from attestlab.core.clock import Clock
from attestlab.core.crypto import sealing
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.crypto.signing import Algorithm, dump_private, load_private
from attestlab.core.db.foreseen_reads import ForeseenQuery
from attestlab.core.db.storage import CommitUnknown, Storage
from attestlab.core.db.transaction import Buffer, Foreseen, Transaction
from attestlab.core.errors import Conflict, HeadGuardMismatch, IntegrityFailed, NotFound, Unavailable, ValidationFailed
from attestlab.log import entries, store
from attestlab.log.head_guard import HeadGuard, require_continues
from attestlab.log.merkle import hashing
from attestlab.log.merkle.committed_tree import TreeCache
from attestlab.log.merkle.tree import Tree, TreeReader, TreeUpdate
from attestlab.log.note.note import NoteSigner, TreeHead, sign_checkpoint
from attestlab.log.note.trust_policy import TrustPolicy
from attestlab.log.results import ConsistencyProof, InclusionProof, SequencedEntry, SignedHead
from attestlab.log.tables import LogCheckpointRecord, LogHeadRecord, LogLeafRecord
from attestlab.log.timekeeping import Timekeeping
from attestlab.log.witnessing import cosignatures

BUFFER = Buffer[SequencedEntry]("log entries")
CACHE_KEY = "log"
_HEAD = ForeseenQuery("head of the log", store.lock_head)
_NEWEST_CHECKPOINT = ForeseenQuery("newest checkpoint", store.newest_checkpoint)

Finder = Callable[[Connection, str], int | None]


def foresee_append(foreseen: Foreseen) -> None:
    """Name what `Log.append` and the seal of its transaction will read."""
    _HEAD.foresee(foreseen)
    _NEWEST_CHECKPOINT.foresee(foreseen)


@dataclass(slots=True)
class _Batch:
    """The log as one transaction sees it: the head read under the writer's lock, and the tree of that head."""

    head: TreeHead
    signer: NoteSigner
    tree: Tree
    is_sealed: bool = False


class Log:
    """The transparency log of one database.

    `finders` map other names of an entry (`attestation_id`, `document_hash`) to its index;
    the capabilities that own these names register them. `witnesses` are the witnesses that
    the operator requests cosignatures from, with their quorum.
    """

    def __init__(self, *, storage: Storage, keyring: Keyring, clock: Clock, guard: HeadGuard) -> None:
        self.finders: dict[str, Finder] = {}
        self.witnesses: TrustPolicy | None = None
        self.time = Timekeeping(clock)
        self._storage, self._keyring, self._guard = storage, keyring, guard
        self._trees = TreeCache()
        self._signer: NoteSigner | None = None
        self._sealed_connection: Connection | None = None  # of the transaction between its seal and its commit

    def create(self, tx: Transaction, *, origin: str, private: Ed25519PrivateKey) -> str:
        """Create the log `origin` under a fresh key, with a checkpoint of the empty tree; returns its vkey.

        Raises:
            Conflict: the records already hold a log.
            HeadGuardMismatch: the guard holds the head of a log that the records have lost.
            OSError: the guard cannot be written.
        """
        if store.lock_head(tx.read_unflushed) is not None:
            raise Conflict("The records already hold a log; a database holds exactly one.")
        signer = NoteSigner(origin, private)
        head = TreeHead(origin, 0, hashing.EMPTY_ROOT)
        sealing.record_kek(tx, self._keyring)
        sealed = sealing.seal(
            tx, self._keyring, dump_private(private), tenant_id=None, issuer_id=None, kid=origin, alg=Algorithm.ED25519
        )
        store.create_head(tx, LogHeadRecord(store.HEAD_ID, origin, 0, head.root, str(signer.vkey), sealed))
        self._sign(tx, signer, head, previous_size=None)
        tx.flush()
        self._guard.start(head)
        tx.after_commit(lambda: self._adopt(signer))
        return str(signer.vkey)

    def append(self, tx: Transaction, entry: bytes, *, kind: str, subject: str | None = None) -> SequencedEntry:
        """Append `entry` to the log; it is logged if and only if the transaction commits.

        Raises:
            PayloadTooLarge: the entry exceeds the 65,535 bytes that an entry bundle can carry.
            HeadGuardMismatch: the records are older than, or differ from, what was signed.
        """
        hashing.require_entry_fits(entry)
        batch = self._batch(tx)
        if batch.is_sealed:
            raise RuntimeError("the transaction's log entries are sealed; append before that")
        pending = tx.buffer(BUFFER)
        appended = SequencedEntry(batch.head.size + len(pending), hashing.leaf_hash(entry), entry, kind, subject)
        pending.append(appended)
        return appended

    def pending_entries(self, tx: Transaction) -> tuple[int, list[SequencedEntry]]:
        """The size of the committed log, and the entries that this transaction has appended so far."""
        return self._batch(tx).head.size, list(tx.buffer(BUFFER))

    def next_status_link(self, tx: Transaction, subject: str) -> entries.Link:
        """The link that the next status entry of `subject` must carry to continue its chain."""
        pending = tx.buffer(BUFFER)
        for appended in reversed(pending):
            if appended.subject == subject:
                return _next_link(appended.leaf_hash, appended.entry)
        last = store.last_of_subject(tx, subject)
        return _next_link(*last) if last else entries.FIRST_LINK

    def seal(self, tx: Transaction) -> None:
        """Write the appended entries with tiles, root and one signed checkpoint; runs once, before the commit.

        Raises:
            HeadGuardMismatch: the head moved although this transaction holds its lock.
        """
        pending = tx.buffer(BUFFER)
        if not pending:
            return
        batch: _Batch = tx.cache[CACHE_KEY]
        batch.is_sealed = True
        update = batch.tree.with_leaves([appended.leaf_hash for appended in pending])
        reader = self._trees.reader_of(tx.connection, update, update.tree.size)
        head = TreeHead(batch.head.origin, reader.size, reader.root)
        note = self._sign(tx, batch.signer, head, previous_size=batch.head.size)
        for appended in pending:
            appended.tree_size, appended.root, appended.checkpoint = head.size, head.root, note
            appended.tree = reader
            store.add_leaf(tx, appended)
        for (level, index), rows in update.full_tiles.items():
            store.add_tile(tx, level, index, rows[0])
        if not store.move_head(tx, old=(batch.head.size, batch.head.root), new=(head.size, head.root)):
            raise HeadGuardMismatch("The log's head moved under its lock; nothing is signed.")
        self._sealed_connection = tx.connection
        tx.after_commit(lambda: self._promote(head, update, reader))

    def _batch(self, tx: Transaction) -> _Batch:
        """Lock the head and load its tree, once per transaction: under the lock neither can change."""
        batch: _Batch | None = tx.cache.get(CACHE_KEY)
        if batch is None:
            row = _require_created(store.lock_head(tx.read_unflushed))
            head = TreeHead(row.origin, row.size, row.root)
            tree = self._trees.tree_of(tx.connection, head).tree
            self._require_guard(tx.connection, head)
            if tree.size != head.size:
                raise HeadGuardMismatch(f"The records end at size {head.size}, but size {tree.size} was committed.")
            self._sealed_connection = None
            batch = tx.cache[CACHE_KEY] = _Batch(head, self._unseal_once(row), tree)
        return batch

    def _sign(self, tx: Transaction, signer: NoteSigner, head: TreeHead, *, previous_size: int | None) -> str:
        at_s = int(self.time.next_checkpoint_time(tx.connection).timestamp())
        note = sign_checkpoint(signer, head, at_s=at_s)
        at = datetime.fromtimestamp(at_s, UTC)
        store.add_checkpoint(tx, LogCheckpointRecord(head.size, previous_size, head.root, note, at))
        return note

    def _unseal_once(self, row: LogHeadRecord) -> NoteSigner:
        """Return the log's signing key, unsealed once per process."""
        if self._signer is None:
            self._signer = unseal_signer(row, self._keyring)
        return self._signer

    def _adopt(self, signer: NoteSigner) -> None:
        """Keep the key of the log that was just created."""
        self._signer = signer

    def _promote(self, head: TreeHead, update: TreeUpdate, reader: TreeReader) -> None:
        """Make the committed batch the tree in memory, and advance the head guard to it."""
        self._sealed_connection = None
        self._trees.promote(head, update, reader)
        self._advance_guard(head)

    def _advance_guard(self, head: TreeHead) -> None:
        try:
            self._guard.advance(head)
        except OSError as error:
            # The batch is committed; a retry would append it a second time.
            raise CommitUnknown("The entries are stored, but the head guard could not be written.") from error

    def is_created(self, connection: Connection) -> bool:
        """Whether the records hold a log."""
        return store.head(connection) is not None

    def check_key(self, connection: Connection) -> None:
        """Check that the keyring unseals the log's signing key, so that it is this installation's keyring.

        Raises:
            IntegrityFailed: the keyring does not unseal it.
        """
        self._unseal_once(_require_created(store.head(connection)))

    def rewrap(self, tx: Transaction, new: Keyring) -> None:
        """Seal the log's private key under another key-encryption key."""
        row = _require_created(store.head(tx.connection))
        sealed = self._keyring.rewrap(
            row.sealed_key, new, tenant_id=None, issuer_id=None, kid=row.origin, alg=Algorithm.ED25519
        )
        store.set_sealed_key(tx, sealed)

    def vkey(self, connection: Connection) -> str:
        """The key to pin: C2SP `name+id+base64`."""
        return _require_created(store.head(connection)).vkey

    def size(self, connection: Connection) -> int:
        """The number of entries in the log."""
        return self._head(connection).size

    def check_guard(self, connection: Connection) -> None:
        """Compare the records with their signed root and with the head guard; runs when a process starts.

        Raises:
            IntegrityFailed: the stored entries do not have the root that was signed.
            HeadGuardMissing: there is no guard.
            HeadGuardMismatch: the records are older than, or differ from, what was signed.
        """
        guarded = self._guard.read()  # before the first read of the records: see `require_continues`
        head = self._head(connection)
        self._trees.tree_of(connection, head)
        require_continues(
            guarded, head, lambda size: self._trees.reader(connection, head, size).root, self._guard.remedy
        )

    @cached_property
    def log_id(self) -> str:
        """The log's origin."""
        if self._signer is not None:  # a note is signed under the origin, so this reads nothing, also within a write
            return self._signer.vkey.name
        with self._storage.read() as connection:
            return self.head(connection).origin

    def head(self, connection: Connection) -> SignedHead:
        """The newest signed tree head in this connection's snapshot; the head guard holds it before it is returned."""
        head = self._head(connection)
        signed = store.checkpoint(connection, head.size)
        if signed is None or signed.root != head.root:
            raise IntegrityFailed(f"The checkpoint of size {head.size} is missing; run `attestlab log fsck`.")
        self._ensure_guarded(connection, head)
        return _with_cosignatures(head.origin, connection, signed)

    def witnessed_checkpoint(self, connection: Connection) -> SignedHead | None:
        """The newest signed tree head that a quorum of the configured witnesses cosigned; None without one."""
        size = cosignatures.newest_witnessed_size(connection, self.witnesses) if self.witnesses else None
        signed = None if size is None else store.checkpoint(connection, size)
        return None if signed is None else _with_cosignatures(self._head(connection).origin, connection, signed)

    def head_covering(self, connection: Connection, index: int) -> SignedHead:
        """The head to prove entry `index` with: the newest witnessed one that covers it, otherwise the newest."""
        witnessed = self.witnessed_checkpoint(connection)
        return witnessed if witnessed is not None and witnessed.size > index else self.head(connection)

    def inclusion(self, connection: Connection, index: int, tree_size: int | None = None) -> InclusionProof:
        """The proof that entry `index` is in the tree of `tree_size` leaves, by default the newest.

        Raises:
            ValidationFailed: the log never had that size.
            NotFound: the tree of that size has no entry `index`.
        """
        head = self._head(connection)
        size = _require_size(head, head.size if tree_size is None else tree_size, "tree_size")
        if not 0 <= index < size:
            raise NotFound("log entry", index)
        reader = self._trees.reader(connection, head, size)
        leaf = reader.node(0, index)
        return InclusionProof(index, size, leaf, reader.root, reader.inclusion(index))

    def consistency(self, connection: Connection, size1: int, size2: int) -> ConsistencyProof:
        """The proof that the tree of `size2` leaves begins with the tree of `size1` leaves.

        Raises:
            ValidationFailed: size1 exceeds size2, or the log never had one of the sizes.
        """
        head = self._head(connection)
        _require_size(head, size2, "to")
        if not 0 <= size1 <= size2:
            raise ValidationFailed.of("/from", "range", "Invalid from: expected a size from 0 up to the value of to.")
        older, newer = (self._trees.reader(connection, head, size) for size in (size1, size2))
        return ConsistencyProof(size1, size2, older.root, newer.root, newer.consistency(size1))

    def entries(self, connection: Connection, start: int, limit: int) -> list[LogLeafRecord]:
        """Up to `limit` entries from index `start`, oldest first."""
        end = min(start + limit, self._head(connection).size)
        return store.leaf_rows(connection, start, end - start) if 0 <= start < end else []

    def checkpoints(
        self, connection: Connection, *, limit: int, before: int | None = None
    ) -> list[LogCheckpointRecord]:
        """Up to `limit` checkpoints, newest first, of sizes below `before`."""
        head = self._head(connection)
        self._ensure_guarded(connection, head)
        found = store.checkpoints_before(connection, head.size + 1 if before is None else before, limit)
        return cosignatures.with_cosignatures(connection, found)

    def lookup(self, connection: Connection, leaf_hash: bytes) -> int:
        """The index of the entry with this leaf hash.

        Raises:
            NotFound: no entry has it.
        """
        index = store.index_of(connection, leaf_hash, self._head(connection).size)
        if index is None:
            raise NotFound("log entry with leaf hash", entries.sha256_name(leaf_hash))
        return index

    def tile(self, connection: Connection, name: hashing.TileName) -> bytes:
        """The bytes of a tile or entry bundle, full or partial.

        Raises:
            NotFound: the log is too small to have this tile.
        """
        head = self._head(connection)
        start = name.index * hashing.TILE_WIDTH
        if start + name.width > head.size >> hashing.TILE_HEIGHT * (name.level or 0):
            raise NotFound("log tile", name.path)
        if name.level is None:
            return hashing.encode_bundle(store.entry_bytes(connection, start, start + name.width))
        return self._trees.reader(connection, head, head.size).tile(name.level, name.index, name.width)

    def _head(self, connection: Connection) -> TreeHead:
        if connection is self._sealed_connection:
            # A sealed head that is not committed may be rolled back; returning or caching it would be a fork.
            raise RuntimeError("the log cannot be read between a transaction's seal and its commit")
        row = _require_created(self._storage.load_cached(connection, "log head", store.head))
        return TreeHead(row.origin, row.size, row.root)

    def _ensure_guarded(self, connection: Connection, head: TreeHead) -> None:
        """Advance the guard to a head before the first reader returns it; its writer may have died before doing so.

        A head smaller than the guard's comes from an older snapshot; it was signed too, so it needs no check.
        """
        known = self._guard.last_head
        if known is None or (known.size <= head.size and known != head):
            guarded = self._guard.read()
            # Without a guard reads continue: this head was signed before, and only an operator may accept it again.
            if guarded is not None and guarded.size <= head.size:
                self._require_guard(connection, head)
                self._advance_guard(head)

    def _require_guard(self, connection: Connection, head: TreeHead) -> None:
        self._guard.require_continues(head, lambda size: self._trees.reader(connection, head, size).root)


def _with_cosignatures(origin: str, connection: Connection, signed: LogCheckpointRecord) -> SignedHead:
    (shown,) = cosignatures.with_cosignatures(connection, [signed])
    return SignedHead(origin, shown.size, shown.root, shown.note, shown.at)


def unseal_signer(row: LogHeadRecord, keyring: Keyring) -> NoteSigner:
    """Unseal the log's private key.

    Raises:
        IntegrityFailed: the keyring does not unseal it, or it is not the key that the vkey names.
    """
    der = keyring.unseal(row.sealed_key, tenant_id=None, issuer_id=None, kid=row.origin, alg=Algorithm.ED25519)
    private = load_private(Algorithm.ED25519, der)
    if not isinstance(private, Ed25519PrivateKey) or str(NoteSigner(row.origin, private).vkey) != row.vkey:
        raise IntegrityFailed("The sealed key of the log is not the one its vkey names.")
    return NoteSigner(row.origin, private)


def _require_created(row: LogHeadRecord | None) -> LogHeadRecord:
    if row is None:
        raise Unavailable("The records hold no log yet; run `attestlab init`.")
    return row


def _require_size(head: TreeHead, size: int, field_name: str) -> int:
    if not 0 <= size <= head.size:
        raise ValidationFailed.of(
            f"/{field_name}", "range", f"The log has {head.size} entries; ask for a size up to that."
        )
    return size


def _next_link(leaf_hash: bytes, entry: bytes) -> entries.Link:
    link = entries.parse_entry(entry).link
    if link is None:
        raise IntegrityFailed("A status chain holds an entry that is not a status; run `attestlab log fsck`.")
    return entries.Link(link.seq + 1, leaf_hash)
