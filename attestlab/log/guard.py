"""The head guard: the largest tree this installation ever signed, kept outside of the records and their backups.

A restored backup brings back an older tree. Signing a second tree of a size that
was signed before would be a fork that no one can undo, so whoever signs compares
the records with this file first.

The file has two slots of one disk block each, and a new head overwrites the slot
of the older one in place: a write torn by a crash spoils only that slot and the
other still tells the head before. It costs one `fdatasync`, where writing a new
file and renaming it costs two syncs, one of them of the folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from attestlab.core import folders
from attestlab.core.errors import HeadGuardMismatch, Unavailable
from attestlab.log.notes import TreeHead

SLOT_BYTES = 4096
SLOTS = 2
# Like a head from its second sector on, so that a first write torn between sectors leaves one or the other.
EMPTY_SLOT = b"\n".rjust(SLOT_BYTES)
REMEDY = "Nothing is signed. Restore the newest copy of the records; never mint on an older one."


class HeadGuard:
    """The guard file; any number of processes may share it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()  # flock is between processes only
        self._known: TreeHead | None = None

    @property
    def known(self) -> TreeHead | None:
        """The head this process last read or wrote here, without looking at the file."""
        return self._known

    def read(self) -> TreeHead | None:
        """The largest head signed here; None where none ever was.

        Raises:
            HeadGuardMismatch: the file exists and both its slots are unreadable.
            Unavailable: the file cannot be opened or read at the moment.
        """
        try:
            with self._opened(fcntl.LOCK_SH) as file:
                self._known = self._newest(_slots(file))
        except FileNotFoundError:
            self._known = None
        except OSError as fault:
            raise Unavailable(f"The head guard cannot be read ({fault.strerror}); nothing is signed.") from fault
        return self._known

    def require(self, head: TreeHead, root_at: Callable[[int], bytes]) -> None:
        """Let `head` pass as what may be signed upon; for whoever holds the writer's lock. See `require_continues`."""
        require_continues(self.read(), head, root_at)

    def advance(self, head: TreeHead) -> None:
        """Make `head` durable before it is shown to anyone; an older one changes nothing.

        Raises:
            HeadGuardMismatch: another tree of this size was signed.
            OSError: the file cannot be written; then `head` must not be shown.
        """
        try:
            with self._opened(fcntl.LOCK_EX) as file:
                slots = _slots(file)
                newest = self._newest(slots)
                if _is_news(head, newest):
                    older_slot = 1 - slots.index(newest)
                    os.pwrite(file, _encoded(head), older_slot * SLOT_BYTES)
                    os.fdatasync(file)
                    newest = head
        except FileNotFoundError:
            _create(self.path, head)
            self.advance(head)
        else:
            self._known = newest

    def damaged_slots(self) -> list[int]:
        """The slots that hold neither a head nor nothing: after a crash in the middle of a write, or tampering."""
        try:
            with self._opened(fcntl.LOCK_SH) as file:
                raw = [os.pread(file, SLOT_BYTES, slot * SLOT_BYTES) for slot in range(SLOTS)]
        except FileNotFoundError:
            return []
        return [slot for slot, held in enumerate(raw) if held != EMPTY_SLOT and _decoded(held) is None]

    @contextmanager
    def _opened(self, lock: int) -> Iterator[int]:
        """The file, locked. It is opened each time, so that a fork or a replaced file confuses nobody."""
        with self._lock:
            file = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(file, lock)
                yield file
            finally:
                os.close(file)

    def _newest(self, slots: list[TreeHead | None]) -> TreeHead:
        readable = [head for head in slots if head is not None]
        if not readable:
            raise _mismatch(f"The head guard {self.path.name} is unreadable.")
        return max(readable, key=lambda head: head.size)


def require_continues(guarded: TreeHead | None, head: TreeHead, root_at: Callable[[int], bytes]) -> None:
    """Let `head` pass if it is, or begins with, the guarded tree.

    A crash after the commit and before the guard's write leaves the guard behind;
    then the records' tree must have the guarded root at the guarded size (`root_at`).
    Whoever does not hold the writer's lock reads the guard first and the records after
    it, because a log at work is ahead of its guard and never behind.

    Raises:
        HeadGuardMismatch: the records hold an older or another tree.
    """
    if guarded is None or guarded == head:
        return
    if guarded.origin != head.origin:
        raise _mismatch(f"The head guard belongs to the log {guarded.origin!r}, the records to {head.origin!r}.")
    if guarded.size > head.size:
        raise _mismatch(f"The records end at size {head.size}, but size {guarded.size} was signed.")
    if (head.root if guarded.size == head.size else root_at(guarded.size)) != guarded.root:
        raise _mismatch(f"The records hold another tree of size {guarded.size} than the one that was signed.")


def _is_news(head: TreeHead, newest: TreeHead) -> bool:
    if head.origin != newest.origin or (head.size == newest.size and head.root != newest.root):
        raise _mismatch(f"Another tree of size {newest.size} was signed as {newest.origin!r}.")
    return head.size > newest.size


def _mismatch(message: str) -> HeadGuardMismatch:
    return HeadGuardMismatch(f"{message} {REMEDY}", details={"reason": "head_guard_mismatch"})


def _slots(file: int) -> list[TreeHead | None]:
    """What each slot tells; None for one that is empty or torn."""
    return [_decoded(os.pread(file, SLOT_BYTES, slot * SLOT_BYTES)) for slot in range(SLOTS)]


def _encoded(head: TreeHead) -> bytes:
    """One slot: a checksum and the head as a line of JSON, padded with spaces to the block."""
    said = json.dumps({"origin": head.origin, "size": head.size, "root": head.root.hex()}).encode()
    if len(said) > SLOT_BYTES // 2:
        raise ValueError("the origin is too long for the head guard")
    return _slot(said)


def _slot(said: bytes) -> bytes:
    return (hashlib.sha256(said).hexdigest().encode() + b" " + said).ljust(SLOT_BYTES - 1) + b"\n"


def _decoded(slot: bytes) -> TreeHead | None:
    said = slot.strip().partition(b" ")[2]
    if slot != _slot(said):
        return None
    members = json.loads(said)
    return TreeHead(members["origin"], members["size"], bytes.fromhex(members["root"]))


def _create(path: Path, head: TreeHead) -> None:
    """Make the file whole or not at all; when another process was faster, its file stays."""
    beginning = path.with_name(f"{path.name}.{os.getpid()}.new")
    with beginning.open("wb") as file:
        file.write(_encoded(head) + EMPTY_SLOT)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(beginning, path)
    except FileExistsError:
        pass
    finally:
        beginning.unlink()
    folders.sync(path.parent)
