"""A disk that is really full: a small file system, filled to the last byte."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from support.faults.required import faults_are_required

SIZE = "32m"
BLOCK = bytes(64 * 1024)


class SmallDisk:
    """A tmpfs (Linux) at `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    @classmethod
    @contextmanager
    def mounted(cls, folder: Path) -> Iterator[SmallDisk]:
        """Mount one for the block; skips the test where this process may not mount, or fails it where it must run."""
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "tmpfs", str(folder)]
        try:
            allowed = subprocess.run(command, capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            allowed = False
        if not allowed:
            (pytest.fail if faults_are_required() else pytest.skip)("this process may not mount a tmpfs")
        try:
            yield cls(folder)
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)

    @contextmanager
    def full(self) -> Iterator[None]:
        """No byte fits any more, until the block ends."""
        try:
            for block in (BLOCK, b"\0"):
                with suppress(OSError), self._ballast.open("ab", buffering=0) as ballast:
                    while ballast.write(block):
                        pass
            yield
        finally:
            self._ballast.unlink()
