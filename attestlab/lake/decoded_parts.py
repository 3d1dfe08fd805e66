"""Parts that were read several times, decoded and remembered in memory as long as their files are unchanged.

A page or a simulation asks a dozen queries about the same few parts, and decoding and checking them takes more than
half of the time of each. Only the parts of short data sets are remembered: of a long one, a query reads the columns
and row groups that it needs.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Final

import pyarrow as pa

from attestlab.core.file_caching import identify_file
from attestlab.lake.parts import LakePart, Parts

MAX_ROWS: Final = 250_000  # of a data set whose parts are remembered
MAX_BYTES: Final = 128 << 20  # of all remembered parts of a process
MAX_KEYS: Final = 1_000  # of parts that were read once

Decode = Callable[[LakePart], pa.Table]


class DecodedParts:
    """The parts that a process has read at least twice; the ones used longest ago are forgotten first.

    Threads may share it.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._tables: OrderedDict[Hashable, pa.Table | None] = OrderedDict()  # None: was read once
        self._bytes = 0
        self._lock = threading.Lock()

    def read(self, parts: Parts, variant: Hashable, decode: Decode) -> list[pa.Table] | None:
        """Return the tables of all parts; None if they are too long, or one of them was not read before.

        `variant` is everything besides the file that `decode` depends on: whose rows, and which columns.

        Raises:
            OSError: a part was removed before it was read.
        """
        if not parts.chain or parts.end > MAX_ROWS:
            return None
        keys = [(variant, part.path, *identify_file(part.path)) for part in parts.chain]
        if not self._note(keys):
            return None
        return [self._read(key, part, decode) for key, part in zip(keys, parts.chain, strict=True)]

    def _note(self, keys: Sequence[Hashable]) -> bool:
        """Note a read of these parts; return whether each was read before."""
        with self._lock:
            is_known = all(key in self._tables for key in keys)
            for key in keys:
                self._tables.setdefault(key, None)
                self._tables.move_to_end(key)
            while len(self._tables) > MAX_KEYS:
                self._forget_oldest()
        return is_known

    def _read(self, key: Hashable, part: LakePart, decode: Decode) -> pa.Table:
        with self._lock:
            found = self._tables.get(key)
        if found is None:
            found = decode(part)
            self._remember(key, found)
        return found

    def _remember(self, key: Hashable, table: pa.Table) -> None:
        with self._lock:
            known = self._tables.pop(key, None)
            self._bytes += table.nbytes - (0 if known is None else known.nbytes)
            self._tables[key] = table
            while self._bytes > self._max_bytes:
                self._forget_oldest()

    def _forget_oldest(self) -> None:
        _, table = self._tables.popitem(last=False)
        self._bytes -= 0 if table is None else table.nbytes


DECODED: Final = DecodedParts()
"""Those of this process."""
