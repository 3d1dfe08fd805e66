"""The row of filters under the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.risk.rules import EntityType
from attestlab_dashboards.issuer_names import load_issuer_names
from attestlab_dashboards.pages import Facts, Pane
from attestlab_dashboards.ranges import DayRange, draw_own_range, write_span
from attestlab_dashboards.risk.context import load_period
from attestlab_dashboards.risk.state import RiskState, read_entity_key
from attestlab_dashboards.risk.windows import BEFORE, WINDOWS
from attestlab_dashboards.risk.words import KINDS, SCORE_BANDS, kind_of, label_of, name_of
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.widgets import chip, option_list, set_filters


@dataclass(frozen=True)
class ChipFacts:
    """What chips name: the days of the window in words, and the issuer that the page is about, by its id."""

    days: str = ""
    names: Mapping[str, str] = field(default_factory=dict)


def load_chip_facts(lab: Lab, state: RiskState) -> ChipFacts:
    """Load them."""
    entity = read_entity_key(state.about) if state.about else None
    is_issuer = entity is not None and entity.type is EntityType.ISSUER
    period = load_period(lab, state.change(since="", until=""))
    return ChipFacts(
        write_span(period.start, period.end), load_issuer_names(lab, [entity.id]) if entity and is_issuer else {}
    )


def draw_chips(state: RiskState, _facts: Facts) -> Markup:
    """Draw the filters before anything is loaded: without dates, and an issuer is still called by its id."""
    return draw_named_chips(ChipFacts(), state)


def draw_named_chips(facts: ChipFacts, state: RiskState) -> Markup:
    """Draw the windows, the choices of kind and score, and a chip with a cross for each filter that is set."""
    kinds = [("", "all"), *((kind, words[0]) for kind, words in KINDS.items())]
    bands = [("0-100", "0 to 100"), *((band, band.replace("-", " to ")) for band in reversed(SCORE_BANDS))]
    scores = f"{state.min_score}-{state.max_score}"
    if scores not in dict(bands):
        bands.append((scores, scores.replace("-", " to ")))
    return html(
        '{windows}<span class="sep"></span>{choices}{own}{compare}{removable}',
        windows=join(_draw_window(name, facts, state) for name in WINDOWS),
        own=draw_own_range("window", state.shown_window.days),
        compare=_draw_comparison(state),
        choices=join(
            [_draw_select("Entity", "kind", state.kind, kinds), _draw_select("Score", "score", scores, bands)]
        ),
        removable=set_filters(_list_removable(state, facts.names)),
    )


def _draw_comparison(state: RiskState) -> Markup:
    """Draw the choice of a time to compare with: the one before, or as long a time from an own day on."""
    is_own = state.compare not in ("", BEFORE)
    before = chip("Previous period", ev="compare", v=BEFORE, pressed=state.compare == BEFORE)
    days = DayRange.parse(state.compare) if is_own else None
    return draw_own_range("compare", days, label="Compare", others=before)


def _draw_window(name: str, facts: ChipFacts, state: RiskState) -> Markup:
    """Draw a window to choose; the chosen one has its dates."""
    label, is_chosen = WINDOWS[name].label.capitalize(), name == state.window
    words = f"{label}: {facts.days}" if is_chosen and facts.days else label
    return chip(words, ev="window", v=name, pressed=is_chosen)


def _list_removable(state: RiskState, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if state.shown_window.days:
        yield "window", state.shown_window.days.words
    if state.compare:
        yield "compare", "Compared with the time before" if state.compare == BEFORE else _write_comparison(state)
    if state.since and state.until:
        yield "time", f"Selected: {write_span(state.since, state.until)}"
    if state.source:
        yield "source", f"Source: {name_of(state.source)}"
    if state.type:
        yield "type", f"Type: {name_of(state.type)}"
    if state.kind:
        yield "kind", f"Entity: {kind_of(state.kind)}"
    if "score" in state.active_filters:
        yield "score", f"Score {state.min_score} to {state.max_score}"
    if state.about:
        entity = read_entity_key(state.about)
        yield "about", f"About {kind_of(entity.type)} {label_of(entity, names)}"


def _write_comparison(state: RiskState) -> str:
    return f"Compared with {DayRange.parse(state.compare).words}"


def _draw_select(label: str, ev: str, value: str, choices: Sequence[tuple[str, str]]) -> Markup:
    return html(
        '<select class="chip rk-select" data-ev="{ev}" data-key="choose:{ev}" aria-label="{label}">{choices}</select>',
        ev=ev,
        label=label,
        choices=option_list([(each, f"{label}: {words}") for each, words in choices], value),
    )


PANE: Final = Pane(
    key="chips",
    load=load_chip_facts,
    draw=draw_named_chips,
    reads=("window", "about"),
    is_optional=True,
    is_common=True,
)
