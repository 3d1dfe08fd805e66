"""The filters of the page: one row of chips, each a choice of the browser's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from attestlab.issuers.rules import IssuerStatus
from attestlab_dashboards import widgets
from attestlab_dashboards.issuers.state import YESTERDAY, IssuerState
from attestlab_dashboards.issuers.words import RISKS, TIERS, write_word
from attestlab_dashboards.pages import Facts
from attestlab_dashboards.ranges import draw_own_range
from attestlab_dashboards.safe import NOTHING, html, join

_RANGES: Final = {
    YESTERDAY: "yesterday",
    "7d": "7 days",
    "30d": "30 days",
    "90d": "90 days",
    "365d": "a year",
}
_CHANGED: Final = "Changed since first mint"


def draw_filters(state: IssuerState, _facts: Facts) -> Markup:
    """Draw the filters, and the way back to all issuers if one is set."""
    return join(
        [
            draw_choice("Status", "status", [status.value for status in IssuerStatus], state.status),
            draw_choice("Tier", "tier", TIERS[::-1], state.tier),
            draw_choice("Risk", "risk", RISKS, state.risk),
            _draw_country(state.jurisdiction),
            NOTHING if state.changed else widgets.chip(_CHANGED, ev="changed", v="1", pressed=False),
            _draw_range(state),
            draw_own_range("range", state.own_range),
            widgets.set_filters((name, _describe_filter(state, name)) for name in _list_set(state)),
        ]
    )


def _list_set(state: IssuerState) -> list[str]:
    return [*state.active_filters, *(["range"] if state.own_range else [])]


def _draw_range(state: IssuerState) -> Markup:
    """Draw the choice of the time over which failed verifications are counted."""
    shown = [*_RANGES.items(), *([(state.range, "own range")] if state.own_range else [])]
    return html(
        '<label class="chip is-choice">Failed checks: <select data-ev="range" data-key="choice:range">{options}'
        "</select></label>",
        options=widgets.option_list(shown, state.range),
    )


def _describe_filter(state: IssuerState, name: str) -> str:
    if name == "range" and state.own_range:
        return f"Failed checks: {state.own_range.words}"
    return _CHANGED if name == "changed" else f"{name.capitalize()}: {write_filter(state, name)}"


def draw_choice(label: str, ev: str, values: Sequence[str], chosen: str) -> Markup:
    """Draw a chip that is a list to choose from, `all` first."""
    return html(
        '<label class="chip is-choice{on}">{label}: <select data-ev="{ev}" data-key="choice:{ev}">{options}'
        "</select></label>",
        on=" on" if chosen else "",
        label=label,
        ev=ev,
        options=widgets.option_list([("", "all"), *((value, write_word(value)) for value in values)], chosen),
    )


def _draw_country(chosen: str) -> Markup:
    return html(
        '<label class="chip is-choice{on}">Jurisdiction: <input type="text" data-ev="jurisdiction" '
        'data-key="choice:jurisdiction" value="{chosen}" placeholder="all" size="3" maxlength="2" '
        'title="Two letters of ISO 3166-1, such as CH; empty for all" autocomplete="off" spellcheck="false"></label>',
        on=" on" if chosen else "",
        chosen=chosen,
    )


def draw_nothing_found(state: IssuerState) -> Markup:
    """Draw what stands where the filters leave no issuer: which they are, and the ways back."""
    if not state.active_filters:
        return widgets.empty("No issuer yet", html("Register one with <code>lab.issuers.create(name, domain)</code>."))
    named = " and ".join(
        "changed since its first mint" if name == "changed" else f"{name} {write_filter(state, name)}"
        for name in state.active_filters
    )
    drops = [
        widgets.button(f"Drop {name}", ev="clear", v=name)
        for name in (state.active_filters if len(state.active_filters) > 1 else ())
    ]
    return widgets.empty(
        "No issuer matches",
        f"None has {named}.",
        join([*drops, widgets.button("Reset all", ev="clear", v="all", primary=True)]),
    )


def write_filter(state: IssuerState, name: str) -> str:
    """Write the value of a filter for people."""
    value = str(getattr(state, name))
    return value if name == "jurisdiction" else write_word(value)
