"""Export of the log as static files: a C2SP tlog-tiles tree that any web server can host.

Each file is written atomically (draft, fsync, rename), and tiles before the checkpoint
that needs them, so a server may serve the folder during an export. Full tiles never
change; a later export into the same folder writes only new files.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from attestlab.core import atomic_files
from attestlab.core.errors import Conflict, SignatureInvalid
from attestlab.core.terminal_bar import OnProgress
from attestlab.log.merkle import hashing
from attestlab.log.note.trust_policy import Checkpoint, TrustPolicy
from attestlab.log.results import SignedHead
from attestlab.log.service import Log

CHECKPOINT = "checkpoint"


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The size of the exported tree, and how many files were written."""

    size: int
    files: int


def _ignore_progress(_done: int, _of: int) -> None:
    """Report progress to no one."""


def export(log: Log, connection: Connection, folder: Path, *, progress: OnProgress = _ignore_progress) -> ExportResult:
    """Write the log into `folder`, which must be new, empty, or an earlier export of this log.

    Raises:
        Conflict: the folder holds other files, or another tree.
    """
    head = log.head(connection)
    exported = _previous_export_size(log, connection, folder, head)
    new = [name for name in hashing.tiles_of(head.size) if not _has_tile(exported, name)]
    for done, name in enumerate(new, 1):
        _write_file(folder / name.path, log.tile(connection, name))
        progress(done, len(new))
    _write_file(folder / CHECKPOINT, head.note.encode())
    return ExportResult(head.size, len(new) + 1)


def _has_tile(size: int, name: hashing.TileName) -> bool:
    """Whether a finished export of this size wrote this file; a partial tile belongs to one size only."""
    full = size >> hashing.TILE_HEIGHT * ((name.level or 0) + 1)
    return name.width == hashing.TILE_WIDTH and name.index < full


def _previous_export_size(log: Log, connection: Connection, folder: Path, head: SignedHead) -> int:
    """The size of the export in `folder`; 0 for none, or for one that ended before its checkpoint was written."""
    for place in (folder, *folder.rglob("*/")):
        atomic_files.remove_drafts(place)  # of an export that was killed
    found = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if CHECKPOINT not in found and found <= {"tile"}:
        return 0
    earlier = _read_previous_checkpoint(folder, log.vkey(connection))
    if earlier is None or earlier.size > head.size:
        raise Conflict(f"{folder.name} is not empty and holds no earlier export of this log; name another folder.")
    if log.consistency(connection, earlier.size, head.size).root1 != earlier.root:
        raise Conflict(f"{folder.name} holds another tree of this log; keep it as evidence and name another folder.")
    return earlier.size


def _read_previous_checkpoint(folder: Path, vkey: str) -> Checkpoint | None:
    try:
        note = (folder / CHECKPOINT).read_bytes().decode()
        return TrustPolicy.without_witnesses(vkey).verify_checkpoint(note)
    except (FileNotFoundError, UnicodeDecodeError, SignatureInvalid):
        return None


def _write_file(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_files.write_atomically(path) as file:
        file.write(content)
