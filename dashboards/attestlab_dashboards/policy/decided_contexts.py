"""What a text and the active version decide of contexts: each context once, for all panes and windows of decisions."""

from __future__ import annotations

import json
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from attestlab import Lab
from attestlab_dashboards.policy.queries import PolicyText
from attestlab_dashboards.policy.shared_loads import share

if TYPE_CHECKING:
    import pyarrow as pa
MAX_CONTEXTS: Final = 200_000  # of one text; as many as the rows of one pane
_Context = tuple[object, ...]


class Decided(NamedTuple):
    """Whether a context is allowed by the active version, and by the text."""

    by_active: bool
    by_text: bool


class DecidedContexts:
    """The decisions of one text and one active version, by the values of the attributes that they test."""

    def __init__(self, lab: Lab, about: PolicyText) -> None:
        self._lab = lab
        self._about = about
        self._lock = Lock()
        self._known: dict[_Context, Decided] = {}

    def decide(self, contexts: pa.Table) -> list[Decided]:
        """Decide each row of a table, which has a column for each attribute, and at least one.

        Without an active version both answers are those of the text.
        """
        rows: list[_Context] = [*zip(*(column.to_pylist() for column in contexts.columns), strict=True)]
        with self._lock:
            if len(self._known.keys() | set(rows)) > MAX_CONTEXTS:
                self._known.clear()
            places = {row: place for place, row in enumerate(rows) if row not in self._known}
            if places:
                decided = self._replay(contexts.take([*places.values()]))
                self._known |= dict(zip(places, decided, strict=True))
            return [self._known[row] for row in rows]

    def _replay(self, contexts: pa.Table) -> list[Decided]:
        about, policies = self._about, self._lab.policies
        after = policies.replay(about.source, contexts).df()["allowed"].to_list()
        before = after
        if about.active is not None and not about.is_active:
            before = policies.replay(about.active, contexts).df()["allowed"].to_list()
        return [*map(Decided, before, after)]


def find_decided(lab: Lab, about: PolicyText, paths: tuple[str, ...], run: int) -> DecidedContexts:
    """Find what was decided of a text; another `run` of it decides all contexts again."""
    key = ("decided", about.text, json.dumps(about.active, sort_keys=True), paths, run)
    return share(lab).get(key, lambda: DecidedContexts(lab, about))
