"""The file system that a folder is on, from Linux's list of mounts (proc(5), `/proc/self/mountinfo`)."""

from __future__ import annotations

import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
NETWORK_FILE_SYSTEMS = frozenset(
    {"afs", "cifs", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"}
)
_MOUNT_POINT = 4  # the field of a line
_ESCAPED = re.compile(r"\\([0-7]{3})")


def find_network_file_system(path: Path) -> str | None:
    """Return the type of the network file system that a path is on; None on a local one, or where no list is.

    The path may not exist yet; then its folder counts.
    """
    try:
        mounts = MOUNTS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None
    kind = _find_type(path.resolve(), mounts)
    return kind if kind in NETWORK_FILE_SYSTEMS else None


def _find_type(path: Path, mounts: list[str]) -> str:
    """Return the type of the innermost mount that holds a path; of several at one place, the last covers the others."""
    found, depth = "", 0
    for line in mounts:
        fields, _, source = line.partition(" - ")
        point = Path(_ESCAPED.sub(lambda escaped: chr(int(escaped[1], 8)), fields.split()[_MOUNT_POINT]))
        if path.is_relative_to(point) and len(point.parts) >= depth:
            found, depth = source.split()[0], len(point.parts)
    return found
