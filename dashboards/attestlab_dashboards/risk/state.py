"""The state of the risk explorer: everything that its address carries. What is not acceptable is left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from attestlab.core.errors import ValidationFailed
from attestlab.risk.rules import NAME_PATTERN, Entity, EntityType
from attestlab_dashboards.addresses import change_state, one_of, read_time, whole_number, write_time
from attestlab_dashboards.risk.windows import DEFAULT_WINDOW, WINDOWS, TimeWindow

SORTS: Final = ("score", "signals", "escalated", "seen")
CASE_STATES: Final = ("open", "resolved", "all")
MAX_PAGE: Final = 100_000
MAX_BURST: Final = 100_000
MAX_DEPTH: Final = 3
FILTERS: Final = ("source", "type", "kind", "min_score", "max_score", "since", "until", "about")
PERIOD: Final = ("window", *FILTERS)
_NAME: Final = re.compile(NAME_PATTERN)


@dataclass(frozen=True)
class RiskState:
    """What the risk explorer shows.

    `about` narrows everything to one entity, `entity` is the one of the open drawer, `graph` that of the graph; each
    is `type:id`. `since` and `until` are the selected part of the window. The fields `rule_...` are the what-if.
    """

    window: str = DEFAULT_WINDOW
    source: str = ""
    type: str = ""
    kind: str = ""
    min_score: int = 0
    max_score: int = 100
    since: datetime | None = None
    until: datetime | None = None
    about: str = ""
    by: str = "source"
    sort: str = "-escalated"
    page: int = 1
    entity: str = ""
    signal: str = ""
    graph: str = ""
    depth: int = 1
    cases: str = "open"
    cases_page: int = 1
    rule_score: float | None = None
    rule_source: str = ""
    rule_burst: int = 0

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> tuple[RiskState, tuple[str, ...]]:
        """Read the query of an address; returns the state, and the names that were left out. It never raises."""
        values: dict[str, object] = {}
        left_out: list[str] = []
        for name, text in query.items():
            try:
                field = _FIELDS[name]
                values[field] = _READERS[field](text)
            except (KeyError, ValueError, OverflowError, ValidationFailed):
                left_out.append(name)
        left_out += [_NAMES[field] for field in _find_conflicts(values)]
        kept = {field: value for field, value in values.items() if _NAMES[field] not in left_out}
        return replace(cls(), **kept), tuple(left_out)  # type: ignore[arg-type]  # the readers have the fields' types

    def to_query(self) -> dict[str, str]:
        """Write the state as the query of an address, without what is the default."""
        changed = {field.name: getattr(self, field.name) for field in fields(self)}
        return {_NAMES[field]: _write(value) for field, value in changed.items() if value != getattr(_DEFAULTS, field)}

    def change(self, **changes: str) -> RiskState:
        """Return the state with other values, given as in an address; the same state if one is not acceptable."""
        return change_state(self, **changes)

    def only(self, *names: str) -> RiskState:
        """Return a state that has these fields alone, such as the key of what was loaded for them."""
        return replace(_DEFAULTS, **{name: getattr(self, name) for name in names})

    @property
    def shown_window(self) -> TimeWindow:
        """The window of time."""
        return WINDOWS[self.window]

    @property
    def active_filters(self) -> tuple[str, ...]:
        """The filters that are set: `source`, `type`, `kind`, `score`, `time` and `about`."""
        named = {"min_score": "score", "max_score": "score", "since": "time", "until": "time"}
        found = [named.get(name, name) for name in FILTERS if getattr(self, name) != getattr(_DEFAULTS, name)]
        return tuple(dict.fromkeys(found))


def read_entity_key(text: str) -> Entity:
    """Read an entity from `type:id`.

    Raises:
        ValidationFailed: it is none.
    """
    kind, _, entity_id = text.partition(":")
    return Entity.of(kind, entity_id)


def write_entity_key(entity: Entity) -> str:
    """Write an entity as `type:id`."""
    return f"{entity.type.value}:{entity.id}"


def _find_conflicts(values: Mapping[str, object]) -> list[str]:
    """Return the fields whose values contradict each other: a selection needs two ends, in their order."""
    since, until = values.get("since"), values.get("until")
    ends = [name for name in ("since", "until") if name in values]
    if len(ends) == 1 or (isinstance(since, datetime) and isinstance(until, datetime) and since >= until):
        return ends
    low, high = values.get("min_score", 0), values.get("max_score", 100)
    if isinstance(low, int) and isinstance(high, int) and low > high:
        return [name for name in ("min_score", "max_score") if name in values]
    return []


def _read_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(text)
    return text


def _read_key(text: str) -> str:
    return write_entity_key(read_entity_key(text))


def _read_score(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,2})?", text, re.ASCII) or float(text) > 100:
        raise ValueError(text)
    return float(text)


def _write(value: object) -> str:
    if isinstance(value, datetime):
        return write_time(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    "window": one_of(*WINDOWS),
    "source": _read_name,
    "type": _read_name,
    "kind": one_of(*EntityType),
    "min_score": whole_number(0, 100),
    "max_score": whole_number(0, 100),
    "since": read_time,
    "until": read_time,
    "about": _read_key,
    "by": one_of("source", "type"),
    "sort": one_of(*(f"-{name}" for name in SORTS), *SORTS),
    "page": whole_number(1, MAX_PAGE),
    "entity": _read_key,
    "signal": lambda text: str(UUID(text)),
    "graph": _read_key,
    "depth": whole_number(1, MAX_DEPTH),
    "cases": one_of(*CASE_STATES),
    "cases_page": whole_number(1, MAX_PAGE),
    "rule_score": _read_score,
    "rule_source": _read_name,
    "rule_burst": whole_number(0, MAX_BURST),
}
_DEFAULTS: Final = RiskState()
_NAMES: Final = {field: {"since": "from", "until": "to"}.get(field, field) for field in _READERS}
_FIELDS: Final = {name: field for field, name in _NAMES.items()}
