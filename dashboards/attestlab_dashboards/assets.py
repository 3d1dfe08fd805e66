"""The style sheets and scripts of the dashboards, served under names that change with their content.

Their addresses are relative to a page, so they are the same below the path prefix of a proxy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

FOLDER: Final = Path(str(files("attestlab_dashboards") / "assets"))
ROUTE: Final = "assets/"
MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@cache
def address(name: str) -> str:
    """Return the address of a file of the folder, such as `look.css`, relative to a page."""
    stem, _, suffix = name.rpartition(".")
    digest = hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()
    return f"{ROUTE}{stem}-{digest[:16]}.{suffix}"


@cache
def list_served() -> Mapping[str, Path]:
    """Return the files by the names under which they are served."""
    return {address(path.name).removeprefix(ROUTE): path for path in FOLDER.iterdir() if path.suffix in MEDIA_TYPES}


def read_text(name: str) -> str:
    """Read a style sheet of the folder, to write it into a document."""
    return (FOLDER / name).read_text(encoding="utf-8")


@cache
def join_scripts(*names: str) -> str:
    """Join scripts of the folder into one module: the names that each declares are known to the ones after it."""
    return "\n".join(read_text(name) for name in names)
