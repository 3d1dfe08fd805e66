"""A spool: an unnamed temporary file for the media of a request, which is too large for memory.

No other process can open it by name, and it is gone when the process ends, however it ends.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryFile

from attestlab.core.errors import Unavailable


class Spool:
    """An unnamed temporary file; it is closed with the last reference to it."""

    def __init__(self) -> None:
        try:
            self._file = TemporaryFile(buffering=0)  # noqa: SIM115  # open as long as this object
        except OSError as error:
            raise _report(error) from error

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()

    def write(self, raw: bytes) -> None:
        """Append bytes.

        Raises:
            Unavailable: the folder for temporary files takes no more.
        """
        rest = memoryview(raw)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise _report(error) from error

    @property
    def path(self) -> Path:
        """The path by which a process of the same user can open the file while this object lives."""
        return Path(f"/proc/{os.getpid()}/fd/{self._file.fileno()}")


def _report(error: OSError) -> Unavailable:
    return Unavailable(f"The server's folder for temporary files takes no more: {error.strerror}. Retry later.")
