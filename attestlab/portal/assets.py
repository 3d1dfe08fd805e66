"""The files of the pages: styles, scripts, icons and the viewer of the API reference, read once.

They are served under names that change with their content, so that a browser may keep them.
No page has a script in its text; a style that is (an issuer's colours) is allowed
by its SHA-256 (CSP level 3, hash sources).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from attestlab.core.errors import NotFound

FOLDER: Final = files("attestlab.portal") / "assets"
_MEDIA_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "ico": "image/x-icon",
    "txt": "text/plain; charset=utf-8",
}


class Asset(NamedTuple):
    """A file of the pages."""

    content: bytes
    media_type: str


@cache
def read_asset(name: str) -> Asset:
    """Read a file of the folder by its own name, such as `page.css`."""
    return Asset((FOLDER / name).read_bytes(), _MEDIA_TYPES[name.rpartition(".")[2]])


@cache
def public_name(name: str) -> str:
    """Build the name under which a file is served: its own, with the beginning of its SHA-256."""
    stem, _, suffix = name.rpartition(".")
    return f"{stem}-{hashlib.sha256(read_asset(name).content).hexdigest()[:16]}.{suffix}"


def find_asset(served_name: str) -> Asset:
    """Find a file by the name under which it is served.

    Raises:
        NotFound: no file has this name.
    """
    name = _served_names().get(served_name)
    if name is None:
        raise NotFound("asset", served_name)
    return read_asset(name)


@cache
def _served_names() -> Mapping[str, str]:
    return {public_name(path.name): path.name for path in FOLDER.iterdir() if path.is_file()}


def csp_hash(content: str) -> str:
    """Build the CSP source expression that allows exactly this inline text."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
