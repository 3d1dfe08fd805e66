"""The row of filters under the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.risk.rules import EntityType
from attestlab_dashboards.pages import Facts, Pane
from attestlab_dashboards.risk.names import load_issuer_names
from attestlab_dashboards.risk.state import RiskState, read_entity_key
from attestlab_dashboards.risk.windows import WINDOWS
from attestlab_dashboards.risk.words import KINDS, SCORE_BANDS, kind_of, label_of, name_of, write_span
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.widgets import chip, option_list


def load_chip_names(lab: Lab, state: RiskState) -> dict[str, str]:
    """Return the name of the issuer that the page is about, by its id; empty if it is about no issuer."""
    entity = read_entity_key(state.about) if state.about else None
    return load_issuer_names(lab, [entity.id]) if entity is not None and entity.type is EntityType.ISSUER else {}


def draw_chips(state: RiskState, _facts: Facts) -> Markup:
    """Draw the filters before anything is loaded: an issuer is still called by its id."""
    return draw_named_chips({}, state)


def draw_named_chips(names: Mapping[str, str], state: RiskState) -> Markup:
    """Draw the windows, the choices of kind and score, and a removable chip for each other filter."""
    windows = (
        chip(window.label, ev="window", v=name, pressed=name == state.window) for name, window in WINDOWS.items()
    )
    kinds = [("", "all"), *((kind, words[0]) for kind, words in KINDS.items())]
    bands = [("0-100", "0 to 100"), *((band, band.replace("-", " to ")) for band in reversed(SCORE_BANDS))]
    scores = f"{state.min_score}-{state.max_score}"
    if scores not in dict(bands):
        bands.append((scores, scores.replace("-", " to ")))
    return html(
        '{windows}<span class="sep"></span>{choices}{removable}',
        windows=join(windows),
        choices=join(
            [_draw_select("Entity", "kind", state.kind, kinds), _draw_select("Score", "score", scores, bands)]
        ),
        removable=join(
            chip(label, ev="clear", v=name, pressed=True, removable=True)
            for name, label in _list_removable(state, names)
        ),
    )


def _list_removable(state: RiskState, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if state.source:
        yield "source", f"Source: {name_of(state.source)}"
    if state.type:
        yield "type", f"Type: {name_of(state.type)}"
    if state.since and state.until:
        yield "time", write_span(state.since, state.until)
    if state.about:
        entity = read_entity_key(state.about)
        yield "about", f"About {kind_of(entity.type)} {label_of(entity, names)}"


def _draw_select(label: str, ev: str, value: str, choices: Sequence[tuple[str, str]]) -> Markup:
    return html(
        '<select class="chip rk-select" data-ev="{ev}" data-key="choose:{ev}" aria-label="{label}">{choices}</select>',
        ev=ev,
        label=label,
        choices=option_list([(each, f"{label}: {words}") for each, words in choices], value),
    )


PANE: Final = Pane(
    key="chips",
    load=load_chip_names,
    draw=draw_named_chips,
    reads=("about",),
    is_optional=True,
)
