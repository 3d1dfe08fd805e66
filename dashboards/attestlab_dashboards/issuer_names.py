"""Names of issuers, which signals name by id."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary

from attestlab import Lab
from attestlab.core.errors import PermissionDenied

_KEEP_S: Final = 60.0
_NAMES: Final = "SELECT id, name FROM issuers WHERE list_contains($ids, id)"


class IssuerNames:
    """Names of issuers by id, asked once a minute in a window: three panes name the same few, at every filter.

    The name of an id that is no issuer's is empty. Names belong to a lab, so no person gets what another may see.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = Lock()
        self._found: WeakKeyDictionary[Lab, dict[str, tuple[str, float]]] = WeakKeyDictionary()

    def load(self, lab: Lab, ids: Iterable[str]) -> dict[str, str]:
        """Return the names of those that have one; none for a person who may not read issuers."""
        wanted = set(ids)
        with self._lock:
            now = self._now()
            found = {id: each for id, each in self._found.get(lab, {}).items() if now < each[1]}
        missing = sorted(wanted - found.keys())
        if missing:
            named = _ask(lab, missing)
            found |= {id: (named.get(id, ""), now + _KEEP_S) for id in missing}
            with self._lock:
                self._found[lab] = found
        return {id: found[id][0] for id in wanted if found[id][0]}


def _ask(lab: Lab, ids: list[str]) -> dict[str, str]:
    try:
        return {str(row["id"]): str(row["name"]) for row in lab.sql(_NAMES, {"ids": ids})}
    except PermissionDenied:
        return {}


load_issuer_names: Final = IssuerNames().load
