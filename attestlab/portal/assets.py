"""The files of the page: template, style, script and icon, read once.

Style and script are inlined into the page and allowed in its policy by their SHA-256
(CSP level 3, hash sources), so no other script can run and no other host is contacted.
The icon is served separately, under a name that changes with its content.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Final, NamedTuple

FOLDER: Final = files("attestlab.portal") / "assets"


class Asset(NamedTuple):
    """A file that is served separately."""

    content: bytes
    media_type: str


def read_text(name: str) -> str:
    """Read the text of an asset file."""
    return (FOLDER / name).read_text(encoding="utf-8")


def csp_hash(content: str) -> str:
    """Build the CSP source expression that allows exactly this inline text."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _hashed_name(stem: str, suffix: str) -> str:
    digest = hashlib.sha256((FOLDER / f"{stem}.{suffix}").read_bytes()).hexdigest()
    return f"{stem}-{digest[:16]}.{suffix}"


ICON: Final = _hashed_name("icon", "svg")
ASSETS: Final[Mapping[str, Asset]] = {ICON: Asset((FOLDER / "icon.svg").read_bytes(), "image/svg+xml")}
