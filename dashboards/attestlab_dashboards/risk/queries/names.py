"""Names of issuers, which signals name by id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attestlab import Lab
from attestlab.core.errors import PermissionDenied

_NAMES: Final = "SELECT id, name FROM issuers WHERE list_contains($ids, id)"


def load_issuer_names(lab: Lab, ids: Iterable[str]) -> dict[str, str]:
    """Return the names of issuers by id; empty for a person who may not read issuers."""
    wanted = sorted(set(ids))
    if not wanted:
        return {}
    try:
        return {str(row["id"]): str(row["name"]) for row in lab.sql(_NAMES, {"ids": wanted})}
    except PermissionDenied:
        return {}
