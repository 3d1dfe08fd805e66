"""The path prefix of a service: the path below which a proxy serves it, such as `/attest`; empty at a host's root."""

from __future__ import annotations

import re
from typing import Final

FORWARDED_PREFIX: Final = "X-Forwarded-Prefix"  # the header in which a proxy names the path that it removed
MAX_PREFIX_CHARS: Final = 128
_PREFIX: Final = re.compile(r"(?:/[A-Za-z0-9_~-]+)*")


def parse_path_prefix(text: str) -> str:
    """Parse a path prefix, without the slash that may end it.

    It becomes part of cookies and redirects, so it has no character that means something there: no dot, percent sign,
    host, empty segment or control character.

    >>> [parse_path_prefix(each) for each in ("/attest", "/lab/attest/", "/", "")]
    ['/attest', '/lab/attest', '', '']

    Raises:
        ValueError: it is no such path.
    """
    prefix = text.removesuffix("/")
    if len(prefix) > MAX_PREFIX_CHARS or not _PREFIX.fullmatch(prefix):
        raise ValueError(
            f"{text[:MAX_PREFIX_CHARS]!r} is no path prefix. A path prefix begins with a slash, has segments of "
            f"letters, digits, '-', '_' and '~', and at most {MAX_PREFIX_CHARS} characters, such as '/attest'."
        )
    return prefix
