"""The head guard: a file with the largest tree head this installation signed, outside of the records and backups.

A restored backup brings back an older tree. Signing a second tree of a size that
was signed before would be an irreversible fork, so every signer compares the records
with this file first, and signs nothing while the file is missing. An operator who
accepts the records as they are (`accept`) starts a new epoch of the file, which keeps
the heads that were given up: `attestlab log fsck` reports them.

The file has two slots of one disk block each, and a new head overwrites the older
slot in place: a write torn by a crash damages only that slot, and the other still
holds the previous head. An update costs one `fdatasync`, whereas writing a new file
and renaming it costs two syncs, one of them of the folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock

from attestlab.core import atomic_files
from attestlab.core.errors import HeadGuardMismatch, HeadGuardMissing, Unavailable
from attestlab.log.note.note import TreeHead

HEAD_GUARD = "head.guard"  # in the data folder of an installation
SLOT_BYTES = 4096
SLOTS = 2
# Equals a written slot from its second sector on, so that a first write torn between sectors leaves a valid slot.
EMPTY_SLOT = b"\n".rjust(SLOT_BYTES)
MAX_ABANDONED = 8  # as many given-up heads as fit into a slot; the oldest are dropped


@dataclass(frozen=True, slots=True)
class Remedy:
    """What an operator does before anything is signed again."""

    mismatch: str = field(repr=False)
    missing: str = field(repr=False)

    @classmethod
    def by_command(cls, command: str, accepts: str) -> Remedy:
        """Compose the remedies with the command line that accepts the records' head, and what it does."""
        return cls(
            "Nothing is signed. Restore the newest copy of the records; where it is lost for good, "
            f"`{command}` gives it up and records that.",
            f"Nothing is signed. Make sure that the records are the newest copy, then run `{command}`{accepts}.",
        )


REMEDY = Remedy.by_command("attestlab log accept-head", ", which shows their head and accepts it")
REMEDY_SHARED = Remedy.by_command(  # on PostgreSQL, whose records may be those of a standby that was behind
    "attestlab log accept-head --size SIZE --root HASH",
    " with the newest head, as /v1/log/head of a server that signed last, a witness or a follower shows it",
)


@dataclass(frozen=True, slots=True)
class GuardState:
    """A slot's content: the largest head that was signed, and the heads that an operator gave up.

    `epoch` counts the acceptances; the larger epoch is the newer state, whatever the size of its head.
    """

    head: TreeHead
    epoch: int = 0
    abandoned: tuple[TreeHead, ...] = ()

    @property
    def age(self) -> tuple[int, int]:
        """A sort key that grows with every write of the file."""
        return self.epoch, self.head.size


class HeadGuard:
    """The guard file; any number of processes may share it.

    `is_shared` says that other machines, with guards of their own, may use the same records.
    """

    def __init__(self, path: Path, *, is_shared: bool = False) -> None:
        self.path, self.is_shared = path, is_shared
        self.remedy = REMEDY_SHARED if is_shared else REMEDY
        self._lock = Lock()  # flock excludes other processes, not other threads
        self._last_head: TreeHead | None = None
        self._is_durable = False  # whether this process knows that the file's content is on the disk

    @property
    def last_head(self) -> TreeHead | None:
        """The head that this process last read or wrote, without reading the file."""
        return self._last_head

    def read(self) -> TreeHead | None:
        """Read the largest head signed here; None if the file is missing.

        Raises:
            HeadGuardMismatch: the file exists and both its slots are unreadable.
            Unavailable: the file cannot currently be opened or read.
        """
        state = self._read_state()
        head = None if state is None else state.head
        self._last_head = head if self._is_durable else None
        return head

    def ensure_durable(self) -> None:
        """Write and sync the newest slot again, unless this process knows that it is on the disk.

        After a failed sync the slot is only in the page cache, where every reader finds it, and repeating the sync of
        unchanged bytes succeeds without writing them. The process whose sync failed may have been killed since.

        Raises:
            HeadGuardMismatch: the file exists and both its slots are unreadable.
            Unavailable: the file cannot be written or synced.
        """
        if self._is_durable:
            return
        try:
            with self._open_locked(fcntl.LOCK_EX) as file:
                slots = _read_slots(file)
                newest = self._newest(slots)
                os.pwrite(file, _encode_slot(newest), slots.index(newest) * SLOT_BYTES)
                os.fdatasync(file)
        except FileNotFoundError:
            return
        except OSError as error:
            raise Unavailable(f"The head guard cannot be synced ({error.strerror}); nothing is signed.") from error
        self._is_durable = True

    def abandoned_heads(self) -> tuple[TreeHead, ...]:
        """The signed heads that an operator gave up by accepting older records; raises what `read` raises."""
        state = self._read_state()
        return () if state is None else state.abandoned

    def _read_state(self) -> GuardState | None:
        try:
            with self._open_locked(fcntl.LOCK_SH) as file:
                return self._newest(_read_slots(file))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Unavailable(f"The head guard cannot be read ({error.strerror}); nothing is signed.") from error

    def require_continues(self, head: TreeHead, root_at: Callable[[int], bytes]) -> None:
        """Require that the log may sign a successor of `head`; the caller holds the writer's lock.

        The rules and errors are those of the function `require_continues`.
        """
        self.ensure_durable()
        require_continues(self.read(), head, root_at, self.remedy)

    def start(self, head: TreeHead) -> None:
        """Guard the empty head of a log before its creation is committed, so that no log is ever without a guard.

        A guard of another empty log gives way: its creation was never committed, or it never had an entry.

        Raises:
            HeadGuardMismatch: the guard holds the head of a log that the records have lost.
            OSError: the file cannot be written.
        """
        guarded = self.read()
        if guarded is not None and guarded.size:
            require_continues(guarded, head, lambda _size: head.root, self.remedy)
        self.accept(head)

    def accept(self, head: TreeHead) -> None:
        """Guard `head` from now on, whatever the file held; a head given up by this stays recorded in the file.

        Raises:
            OSError: the file cannot be written.
        """
        try:
            with self._open_locked(fcntl.LOCK_EX) as file:
                slots = _read_slots(file)
                newest = max((state for state in slots if state is not None), key=_age, default=None)
                slot = 0 if newest is None else 1 - slots.index(newest)
                os.pwrite(file, _encode_slot(_accepting_state(newest, head)), slot * SLOT_BYTES)
                os.fdatasync(file)
        except FileNotFoundError:
            _create_file(self.path, GuardState(head))

    def advance(self, head: TreeHead) -> None:
        """Make `head` durable, which must precede its publication; an older head changes nothing.

        Creates the file if it is missing: the caller required `head` to continue the guarded head.

        Raises:
            HeadGuardMismatch: another tree of this size was signed.
            OSError: the file cannot be written; then `head` must not be published.
        """
        try:
            with self._open_locked(fcntl.LOCK_EX) as file:
                slots = _read_slots(file)
                newest = self._newest(slots)
                if _is_newer(head, newest.head, self.remedy):
                    older_slot = 1 - slots.index(newest)
                    newest = replace(newest, head=head)
                    self._is_durable = False
                    os.pwrite(file, _encode_slot(newest), older_slot * SLOT_BYTES)
                    os.fdatasync(file)
                    self._is_durable = True
        except FileNotFoundError:
            _create_file(self.path, GuardState(head))
            self.advance(head)
        else:
            self._last_head = newest.head if self._is_durable else None

    def damaged_slots(self) -> list[int]:
        """The numbers of the slots that are neither empty nor valid, after a torn write or tampering."""
        try:
            with self._open_locked(fcntl.LOCK_SH) as file:
                raw = [os.pread(file, SLOT_BYTES, slot * SLOT_BYTES) for slot in range(SLOTS)]
        except FileNotFoundError:
            return []
        return [slot for slot, state in enumerate(raw) if state != EMPTY_SLOT and _decode_slot(state) is None]

    @contextmanager
    def _open_locked(self, lock: int) -> Iterator[int]:
        """Open and lock the file. Opening it each time keeps it correct after a fork or a replaced file."""
        with self._lock:
            file = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(file, lock)
                yield file
            finally:
                os.close(file)

    def _newest(self, slots: list[GuardState | None]) -> GuardState:
        readable = [state for state in slots if state is not None]
        if not readable:
            raise _mismatch(f"The head guard {self.path.name} is unreadable.", self.remedy)
        return max(readable, key=_age)


def require_continues(
    guarded: TreeHead | None, head: TreeHead, root_at: Callable[[int], bytes], remedy: Remedy
) -> None:
    """Require that `head` is, or begins with, the guarded tree.

    A crash after the commit and before the guard's write leaves the guard behind;
    then the records' tree must have the guarded root at the guarded size (`root_at`).
    A caller without the writer's lock must read the guard first and the records after
    it, because a running log is ahead of its guard and never behind.

    Raises:
        HeadGuardMissing: there is no guard, so the tree, even an empty one, may be older than one that was signed.
        HeadGuardMismatch: the records hold an older or another tree.
    """
    if guarded is None:
        raise HeadGuardMissing(
            f"The head guard is missing, so these records of {head.size} entries may be an older copy. "
            f"{remedy.missing}",
            details={"reason": "head_guard_missing"},
        )
    if guarded == head:
        return
    if guarded.origin != head.origin:
        message = f"The head guard belongs to the log {guarded.origin!r}, the records to {head.origin!r}."
        raise _mismatch(message, remedy)
    if guarded.size > head.size:
        raise _mismatch(f"The records end at size {head.size}, but size {guarded.size} was signed.", remedy)
    if (head.root if guarded.size == head.size else root_at(guarded.size)) != guarded.root:
        message = f"The records hold another tree of size {guarded.size} than the one that was signed."
        raise _mismatch(message, remedy)


def _accepting_state(state: GuardState | None, head: TreeHead) -> GuardState:
    if state is None:
        return GuardState(head)
    lost = () if state.head.origin != head.origin else (state.head,)
    return GuardState(head, state.epoch + 1, (*state.abandoned, *lost)[-MAX_ABANDONED:])


def _age(state: GuardState) -> tuple[int, int]:
    return state.age


def _is_newer(head: TreeHead, newest: TreeHead, remedy: Remedy) -> bool:
    if head.origin != newest.origin or (head.size == newest.size and head.root != newest.root):
        raise _mismatch(f"Another tree of size {newest.size} was signed as {newest.origin!r}.", remedy)
    return head.size > newest.size


def _mismatch(message: str, remedy: Remedy) -> HeadGuardMismatch:
    return HeadGuardMismatch(f"{message} {remedy.mismatch}", details={"reason": "head_guard_mismatch"})


def _read_slots(file: int) -> list[GuardState | None]:
    """The state in each slot; None for a slot that is empty or torn."""
    return [_decode_slot(os.pread(file, SLOT_BYTES, slot * SLOT_BYTES)) for slot in range(SLOTS)]


def _encode_slot(state: GuardState) -> bytes:
    """Encode a slot: a checksum and the state as a line of JSON, padded with spaces to the block."""
    members: dict[str, object] = {"origin": state.head.origin, "size": state.head.size, "root": state.head.root.hex()}
    if state.epoch:
        abandoned = [[head.size, head.root.hex()] for head in state.abandoned]
        members |= {"epoch": state.epoch, "abandoned": abandoned}
    content = json.dumps(members).encode()
    if len(content) > SLOT_BYTES * 3 // 4:
        raise ValueError("the origin is too long for the head guard")
    return _pad_slot(content)


def _pad_slot(content: bytes) -> bytes:
    return (hashlib.sha256(content).hexdigest().encode() + b" " + content).ljust(SLOT_BYTES - 1) + b"\n"


def _decode_slot(slot: bytes) -> GuardState | None:
    content = slot.strip().partition(b" ")[2]
    if slot != _pad_slot(content):
        return None
    members = json.loads(content)
    origin = members["origin"]
    head = TreeHead(origin, members["size"], bytes.fromhex(members["root"]))
    abandoned = (TreeHead(origin, size, bytes.fromhex(root)) for size, root in members.get("abandoned", ()))
    return GuardState(head, members.get("epoch", 0), tuple(abandoned))


def _create_file(path: Path, state: GuardState) -> None:
    """Create the file atomically; if another process created it first, that file stays."""
    with atomic_files.open_draft(path) as (draft, file):
        file.write(_encode_slot(state) + EMPTY_SLOT)
        file.flush()
        os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
    atomic_files.fsync_dir(path.parent)
