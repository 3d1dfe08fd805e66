"""`RiskState`: what the risk explorer shows, all of it in its address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

import param

from attestlab.risk.rules import NAME_PATTERN, Entity, EntityType
from attestlab_dashboards.parameters import Value, choice, matching, moment, object_id, page_number, sort_order
from attestlab_dashboards.risk.windows import DEFAULT_WINDOW, TimeWindow, find_window, read_comparison, read_window
from attestlab_dashboards.state import PageState

SORTS: Final = ("score", "signals", "change", "escalated", "seen")
LINKS: Final = ("device", "issuer", "ip", "case")
CASE_STATES: Final = ("open", "resolved", "all")
MAX_BURST: Final = 100_000
MAX_DEPTH: Final = 3
FILTERS: Final = ("source", "type", "kind", "min_score", "max_score", "since", "until", "about")
PERIOD: Final = ("window", *FILTERS)


def read_entity_key(text: str) -> Entity:
    """Read an entity from `type:id`.

    Raises:
        ValidationFailed: it is none.
    """
    kind, _, entity_id = text.partition(":")
    return Entity.of(kind, entity_id)


def write_entity_key(entity: Entity) -> str:
    """Write an entity as `type:id`."""
    return entity.key


def _entity(*, doc: str) -> Value[str]:
    return Value("", read=lambda text: read_entity_key(text).key, doc=doc)


def _name(*, doc: str) -> Value[str]:
    return Value("", read=matching(NAME_PATTERN), doc=doc)


class RiskState(PageState):
    """What the risk explorer shows. An entity is `type:id`; the parameters `rule_...` are the what-if."""

    NAMES_IN_ADDRESS: ClassVar[Mapping[str, str]] = {"since": "from", "until": "to"}
    filters = FILTERS
    together = ("since", "until")

    window = Value(
        DEFAULT_WINDOW, read=read_window, doc="The window of time, up to the newest signal, or an own range, from/to."
    )
    compare = Value(
        "",
        read=read_comparison,
        doc="The time that the window is compared with: before, or an own range, from/to; empty for none.",
    )
    source = _name(doc="The source of the signals; empty for all.")
    type = _name(doc="The type of the signals.")
    kind = choice("", *map(str, EntityType), doc="The kind of the entities that the signals are about.")
    min_score = param.Integer(default=0, bounds=(0, 100), doc="The lowest score of the signals.")
    max_score = param.Integer(default=100, bounds=(0, 100), doc="The highest score of the signals.")
    since = moment(doc="Where the selected part of the window begins.")
    until = moment(doc="Where the selected part of the window ends.")
    about = _entity(doc="The entity, type:id, that everything is narrowed to.")
    by = choice("source", "type", doc="What the series of the chart are.")
    sort = sort_order("-escalated", SORTS, doc="The column that sorts the entities")
    page = page_number(doc="The page of the entities.")
    entity = _entity(doc="The entity of the open drawer, type:id.")
    signal = object_id(doc="The signal that is open in the drawer.")
    graph = _entity(doc="The entity whose links are drawn, type:id; empty for the most suspicious one.")
    depth = param.Integer(default=1, bounds=(1, MAX_DEPTH), doc="How many links the graph goes from that entity.")
    queue = choice(*LINKS, doc="What groups the cases to decide; `case` shows them one by one.")
    group = _entity(doc="The group of the queue that is open: the entity, type:id, that links its cases.")
    cases = choice("", *CASE_STATES, doc="The cases that are listed; empty for none, as the queue has the open ones.")
    cases_page = page_number(doc="The page of the cases.")
    rule_score = param.Number(
        default=None, bounds=(0, 100), allow_None=True, doc="The score from which on the what-if escalates."
    )
    rule_source = _name(doc="The source whose signals alone the what-if escalates.")
    rule_burst = param.Integer(
        default=0, bounds=(0, MAX_BURST), doc="The number of signals of an entity with which the what-if escalates."
    )

    def find_conflicts(self) -> list[str]:
        """Find a selection without its two ends in their order, and scores that exclude each other."""
        if self.since is not None and self.until is not None and self.since >= self.until:
            return ["since", "until"]
        scores = self.list_changed(("min_score", "max_score")) if self.min_score > self.max_score else ()
        return [*super().find_conflicts(), *scores]

    @property
    def shown_window(self) -> TimeWindow:
        """The window of time."""
        return find_window(self.window)

    @property
    def active_filters(self) -> tuple[str, ...]:
        """The filters that are set: `source`, `type`, `kind`, `score`, `time` and `about`."""
        named = {"min_score": "score", "max_score": "score", "since": "time", "until": "time"}
        return tuple(dict.fromkeys(named.get(name, name) for name in super().active_filters))
