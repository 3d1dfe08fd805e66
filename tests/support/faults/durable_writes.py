"""Every file outside of the databases that must survive a power cut, written once, each in a separate folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from attestlab.core import atomic_files
from attestlab.core.crypto import keyring
from attestlab.core.crypto.keyring import Keyring
from attestlab.lake import parts
from attestlab.log.follower.state import FollowerState
from attestlab.log.head_guard import HeadGuard
from attestlab.log.merkle.hashing import EMPTY_ROOT
from attestlab.log.note.note import TreeHead
from attestlab.mail.messages import Message
from attestlab.mail.transports import Maildir


def _write_file(folder: Path) -> None:
    with atomic_files.write_atomically(folder / "whole") as file:
        file.write(b"whole")
    atomic_files.fsync_dir(folder)


def _write_lake_part(folder: Path) -> None:
    import pyarrow as pa

    parts.write_part(folder, 0, 1, pa.table({"seq": [0, 1]}))


WRITERS: dict[str, Callable[[Path], object]] = {
    "write_atomically": _write_file,
    "keyring": Keyring.create,
    "next_keyring": lambda folder: Keyring.create(folder, file_name=keyring.NEXT_FILE_NAME),
    "head_guard": lambda folder: HeadGuard(folder / "head.guard").advance(TreeHead("log.example/a", 0, EMPTY_ROOT)),
    "follower": lambda folder: FollowerState("", 0, 0, EMPTY_ROOT, "", 0).save(folder / "state"),
    "lake": _write_lake_part,
    "maildir": lambda folder: Maildir(folder).deliver(Message(UUID(int=1), "a@a.example", "b@b.example", b"Hi\r\n")),
}


def write_all(folder: str) -> None:
    """Write each file, in a folder that is named after its writer."""
    for name, write in WRITERS.items():
        (Path(folder) / name).mkdir()
        write(Path(folder) / name)
    keyring.activate_next(Path(folder) / "next_keyring")
