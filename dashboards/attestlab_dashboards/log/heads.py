"""Tree heads that a browser keeps, in the notation of addresses and of its storage."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final, NamedTuple

MAX_INDEX: Final = 2**63 - 1

_HEAD = r"(?P<size>0|[1-9][0-9]{0,18})\.(?P<root>[0-9a-f]{64})"
_SEEN = rf"(?P<head>{_HEAD})\.(?P<key>[0-9a-f]{{8}})\.(?P<at>[0-9]{{1,11}})"


class KeptHead(NamedTuple):
    """A tree head that this browser kept: the number of entries and the root (64 hex digits)."""

    size: int
    root: str

    def __str__(self) -> str:
        return f"{self.size}.{self.root}"

    @classmethod
    def parse(cls, text: str) -> KeptHead:
        """Parse `size.root`.

        Raises:
            ValueError: it is none.
        """
        found = re.fullmatch(_HEAD, text, re.ASCII)
        if found is None or int(found["size"]) > MAX_INDEX:
            raise ValueError(text)
        return cls(int(found["size"]), found["root"])


class SeenHead(NamedTuple):
    """The tree head that this browser saw at its last look, the key that signed it (8 hex digits), and when."""

    head: KeptHead
    key_id: str
    at: datetime

    def __str__(self) -> str:
        return f"{self.head}.{self.key_id}.{int(self.at.timestamp())}"

    @classmethod
    def parse(cls, text: str) -> SeenHead:
        """Parse what the browser remembers.

        Raises:
            ValueError: it is none.
        """
        found = re.fullmatch(_SEEN, text, re.ASCII)
        if found is None:
            raise ValueError(text)
        return cls(KeptHead.parse(found["head"]), found["key"], datetime.fromtimestamp(int(found["at"]), UTC))
