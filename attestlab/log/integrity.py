"""Integrity check of the stored log: recomputes all derived data from the entries alone.

It recomputes every leaf hash, tile, root and chain link, verifies the signatures of every
checkpoint, and compares the head guard. It streams the log: memory holds the right edge of
the tree and one page of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from sqlalchemy import Connection

from attestlab.core.crypto.keyring import Keyring
from attestlab.core.errors import AttestLabError, HeadGuardMismatch, HeadGuardMissing
from attestlab.core.records.hash_chain import GENESIS, link_hash, read_head
from attestlab.core.records.integrity import Problem
from attestlab.log import entries, store
from attestlab.log.entries import EntryType
from attestlab.log.head_guard import HeadGuard, Remedy, require_continues
from attestlab.log.merkle import hashing
from attestlab.log.merkle.tree import TileCache, Tree, TreeReader
from attestlab.log.note.note import Note, TreeHead, VerifierKey
from attestlab.log.service import unseal_signer
from attestlab.log.status.status_list import StatusList
from attestlab.log.tables import LogCheckpointRecord, LogCosignatureRecord, LogHeadRecord, LogLeafRecord
from attestlab.log.witnessing import cosignatures

GUARD = "head_guard"  # a problem of this kind means: do not mint on these records
FORK = "fork"  # a problem of this kind means: the log signed another history, which an operator gave up
LEAVES_PER_PASS = 1_000_000  # the most leaf hashes that one query may group in memory


def check_log(connection: Connection, *, keyring: Keyring, guard: HeadGuard) -> Iterator[Problem]:
    """Find every inconsistency of the log in one snapshot of the records; yields nothing for a sound log."""
    try:
        # Read before the records, since a running log is ahead of its guard and never behind it.
        guarded, abandoned, problems = _read_guard(guard)
        yield from problems
        head = store.head(connection)
        if head is None:
            yield Problem("head", "log_head", "The head is missing; without it nothing can be appended.")
        else:
            yield from _Check(connection, head, guarded, abandoned, guard.remedy).problems(keyring)
    except (
        Exception
    ) as error:  # damaged rows raise whatever their decoder raises; each such error is a problem to report
        yield Problem("unreadable", "log", f"The rest of the log cannot be read: {type(error).__name__}: {error}")


def _read_guard(guard: HeadGuard) -> tuple[TreeHead | None, tuple[TreeHead, ...], list[Problem]]:
    """Read the guard's head, the heads that an operator gave up, and the problems of the guard file."""
    name = guard.path.name
    problems = [
        Problem("head_guard_slot", f"{name} slot {slot}", "It is damaged; the next mint rewrites it.")
        for slot in guard.damaged_slots()
    ]
    try:
        guarded, abandoned = guard.read(), guard.abandoned_heads()
    except HeadGuardMismatch as error:
        return None, (), [*problems, Problem(GUARD, name, error.message)]
    if guarded is None:
        message = f"It is missing, so these records may be an older copy. {guard.remedy.missing}"
        problems.append(Problem(GUARD, name, message))
    return guarded, abandoned, problems


class _Check:
    """One walk over the log, from an empty tree to the head."""

    def __init__(
        self,
        connection: Connection,
        head: LogHeadRecord,
        guarded: TreeHead | None,
        abandoned: tuple[TreeHead, ...],
        remedy: Remedy,
    ) -> None:
        self.connection, self.head, self.guarded, self.abandoned = connection, head, guarded, abandoned
        self.remedy = remedy
        self.compared_sizes = {known.size for known in (guarded, *abandoned) if known is not None}
        self.roots: dict[int, bytes] = {}  # recomputed roots at the sizes of the guard's heads
        self.tree = Tree()
        self.pending_hashes: list[bytes] = []  # leaf hashes since the last root was needed
        self.checkpoints = store.all_checkpoints(connection)
        self.checkpoint = next(self.checkpoints, None)
        self.statuses = StatusList()
        self.last_checkpoint: int | None = None

    def problems(self, keyring: Keyring) -> Iterator[Problem]:
        """Run all checks and yield the problems in the order of the walk."""
        yield from self._check_key(keyring)
        yield from self._walk()
        yield from self._check_surplus_tiles()
        yield from self._check_status_chains()
        yield from self._check_duplicates()
        yield from self._check_guard()
        yield from self._report_forks()

    def _check_key(self, keyring: Keyring) -> Iterator[Problem]:
        try:
            unseal_signer(self.head, keyring)
        except AttestLabError as error:
            yield Problem("log_key", "log_head", error.message)

    def _walk(self) -> Iterator[Problem]:
        size = 0
        yield from self._compare_roots(size)
        for leaf in store.all_leaves(self.connection):
            if leaf.index != size:
                yield Problem("gap", f"leaf {size}", f"It is missing; the next one is {leaf.index}.")
                return
            yield from _check_leaf(leaf)
            yield from self._check_status_list(leaf)
            self.pending_hashes.append(hashing.leaf_hash(leaf.entry))
            size += 1
            yield from self._compare_roots(size)
        yield from self._check_full_tiles()
        yield from self._check_end(size)

    def _check_status_list(self, leaf: LogLeafRecord) -> Iterator[Problem]:
        """Check that a status list entry has the digest of the list of all entries before it."""
        if leaf.subject is None:
            return
        try:
            parsed = entries.parse_entry(leaf.entry)
        except AttestLabError:
            return  # `_check_leaf` reports it
        if parsed.kind == EntryType.STATUS_LIST:
            self.statuses.grow(leaf.index)
            expected = {"size": leaf.index, **self.statuses.digest_members(parsed.members)}
            if any(parsed.members.get(name) != value for name, value in expected.items()):
                yield Problem("status_list", f"leaf {leaf.index}", "It differs from the list of the entries before it.")
        self.statuses.apply(leaf.index, parsed)

    def _compare_roots(self, size: int) -> Iterator[Problem]:
        """Compare the root of the entries at this size with the checkpoint's and record it for the guard's heads."""
        if size in self.compared_sizes:
            yield from self._check_full_tiles()
            self.roots[size] = self._root()
        if self.checkpoint is not None and self.checkpoint.size == size:
            yield from self._check_full_tiles()
            yield from self._check_checkpoint(self.checkpoint)
            self.last_checkpoint = size
            self.checkpoint = next(self.checkpoints, None)

    def _check_full_tiles(self) -> Iterator[Problem]:
        """Append the pending hashes to the tree, and compare the tiles that become full with the stored ones."""
        update = self.tree.with_leaves(self.pending_hashes)
        self.tree, self.pending_hashes = update.tree, []
        for (level, index), rows in update.full_tiles.items():
            stored = store.find_tile(self.connection, level, index)
            if stored is None:
                yield Problem("tile", f"tile {level}/{index}", "It is full, but not stored.")
            elif stored != rows[0]:
                yield Problem("tile", f"tile {level}/{index}", "It does not have the hashes of the entries.")

    def _root(self) -> bytes:
        return TreeReader(self.tree, self.tree.size, cache=TileCache(0), fetch=_right_edge_only).root

    def _check_checkpoint(self, row: LogCheckpointRecord) -> Iterator[Problem]:
        where = f"checkpoint {row.size}"
        if row.root != self._root():
            yield Problem("checkpoint", where, "Its root is not that of the entries.")
        if row.previous_size != self.last_checkpoint:
            yield Problem("checkpoint", where, f"It does not follow the checkpoint of size {self.last_checkpoint}.")
        try:
            at_s = _verified_time(row, self.head)
            if row.at.replace(tzinfo=UTC) != datetime.fromtimestamp(at_s, UTC):
                yield Problem("checkpoint", where, "Its time is not the one that was signed.")
        except AttestLabError as error:
            yield Problem("checkpoint", where, error.message)

    def _check_end(self, size: int) -> Iterator[Problem]:
        if (self.head.size, self.head.root) != (size, self._root()):
            yield Problem(
                "head", "log_head", f"It states {self.head.size} entries; {size} with another root are stored."
            )
        if self.last_checkpoint != size:
            yield Problem("checkpoint", f"checkpoint {size}", "The newest tree has none.")
        while self.checkpoint is not None:
            yield Problem("checkpoint", f"checkpoint {self.checkpoint.size}", "The log has fewer entries.")
            self.checkpoint = next(self.checkpoints, None)

    def _check_surplus_tiles(self) -> Iterator[Problem]:
        for level, index in store.stored_tile_positions(self.connection):
            if level < 0 or not 0 <= index < self.head.size >> hashing.TILE_HEIGHT * (level + 1):
                yield Problem("tile", f"tile {level}/{index}", "The log is not large enough to have it.")

    def _check_status_chains(self) -> Iterator[Problem]:
        subject, expected = None, entries.FIRST_LINK
        for leaf in store.status_leaves(self.connection):
            if leaf.subject != subject:
                subject, expected = leaf.subject, entries.FIRST_LINK
            try:
                link = entries.parse_entry(leaf.entry).link
            except AttestLabError:
                continue  # `_check_leaf` has reported it
            if link != expected:
                yield Problem("status_chain", f"leaf {leaf.index}", f"It does not continue the chain of {subject}.")
            expected = entries.Link(expected.seq + 1, hashing.leaf_hash(leaf.entry))

    def _check_duplicates(self) -> Iterator[Problem]:
        step = max(1, 256 * LEAVES_PER_PASS // max(self.head.size, LEAVES_PER_PASS))
        for start in range(0, 256, step):
            for digest, index in store.duplicate_leaves(
                self.connection, first_byte=range(start, min(start + step, 256))
            ):
                yield Problem("duplicate", f"leaf {index}", f"{entries.sha256_name(digest)} occurs earlier in the log.")

    def _check_guard(self) -> Iterator[Problem]:
        head = TreeHead(self.head.origin, self.head.size, self.head.root)
        try:
            require_continues(self.guarded, head, lambda size: self.roots.get(size, b""), self.remedy)
        except HeadGuardMissing:
            return  # `_read_guard` has reported it
        except HeadGuardMismatch as error:
            yield Problem(GUARD, "log_head", error.message)

    def _report_forks(self) -> Iterator[Problem]:
        """Report signed heads that an operator gave up, except those that these records do contain."""
        for lost in self.abandoned:
            if self.roots.get(lost.size) != lost.root:
                yield Problem(
                    FORK,
                    f"tree of size {lost.size}",
                    f"The log signed it with root {entries.sha256_name(lost.root)}; these records, which do not "
                    "contain it, were accepted instead. Followers and witnesses that saw it reject this log.",
                )


def _check_leaf(leaf: LogLeafRecord) -> Iterator[Problem]:
    where = f"leaf {leaf.index}"
    if hashing.leaf_hash(leaf.entry) != leaf.leaf_hash:
        yield Problem("leaf_hash", where, "Its hash is not that of its entry.")
    try:
        parsed = entries.parse_entry(leaf.entry)
    except AttestLabError as error:
        yield Problem("entry", where, error.message)
    else:
        if (leaf.kind, leaf.subject) != (parsed.kind, parsed.subject):
            yield Problem("leaf", where, "Its kind or subject differs from that of its entry.")


def _verified_time(row: LogCheckpointRecord, head: LogHeadRecord) -> int:
    """Verify that a checkpoint states its row's tree head and has both of the log's signatures; return its time."""
    key = VerifierKey.parse(head.vkey)
    note = Note.parse(row.note)
    if TreeHead.parse(note.text) != TreeHead(head.origin, row.size, row.root) or key.name != head.origin:
        raise AttestLabError("It states another tree head than its row.")
    signed = note.verify([key, key.cosigner()])
    at_s = signed.get(key.cosigner())
    if key not in signed or at_s is None:
        raise AttestLabError("It lacks a signature of the log.")
    return at_s


def _right_edge_only(level: int, index: int) -> bytes:
    raise AssertionError(f"the root of a tree needs no full tile, but {level}/{index} was requested")


def check_cosignatures(connection: Connection) -> Iterator[Problem]:
    """Find each broken link of the cosignatures' hash chain, and each cosignature that does not verify."""
    place, last = 0, GENESIS
    for row in store.all_cosignatures(connection):
        where = f"cosignature {row.seq}"
        if row.seq != place or row.hash != link_hash(
            last, cosignatures.link_content(row.tree_size, row.vkey, row.line)
        ):
            yield Problem("cosignatures", where, "the chain is broken here")
        if wrong := _cosignature_problem(connection, row):
            yield Problem("cosignatures", where, wrong)
        place, last = row.seq + 1, row.hash
    if (place, last) != read_head(connection, cosignatures.CHAIN):
        yield Problem("cosignatures", "end", "cosignatures are missing at the end")


def _cosignature_problem(connection: Connection, row: LogCosignatureRecord) -> str | None:
    checkpoint = store.checkpoint(connection, row.tree_size)
    if checkpoint is None:
        return "there is no checkpoint of its size"
    try:
        signed = cosignatures.Cosignature.verify(checkpoint.note, row.tree_size, VerifierKey.parse(row.vkey), row.line)
    except AttestLabError as error:
        return error.message
    stored = (row.line, row.at)
    return None if stored == (signed.line, signed.at) else "it differs from the signed line or time"
