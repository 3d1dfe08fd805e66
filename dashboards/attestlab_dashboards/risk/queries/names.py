"""Names of issuers, which signals name by id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attestlab import Lab
from attestlab.core.errors import PermissionDenied
from attestlab.risk.rules import EntityType
from attestlab_dashboards.risk.state import RiskState, read_entity_key

_NAMES: Final = "SELECT id, name FROM issuers WHERE list_contains($ids, id)"


def load_chip_names(lab: Lab, state: RiskState) -> dict[str, str]:
    """Return the name of the issuer that the page is about, by its id; empty if it is about no issuer."""
    entity = read_entity_key(state.about) if state.about else None
    return load_issuer_names(lab, [entity.id]) if entity is not None and entity.type is EntityType.ISSUER else {}


def load_issuer_names(lab: Lab, ids: Iterable[str]) -> dict[str, str]:
    """Return the names of issuers by id; empty for a person who may not read issuers."""
    wanted = sorted(set(ids))
    if not wanted:
        return {}
    try:
        return {str(row["id"]): str(row["name"]) for row in lab.sql(_NAMES, {"ids": wanted})}
    except PermissionDenied:
        return {}
