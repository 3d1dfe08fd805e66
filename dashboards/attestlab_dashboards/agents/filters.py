"""The filters of the page: the state and type of agents, and the finding that the review was narrowed to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from attestlab.agents.rules import AgentStatus, AgentType
from attestlab.portal.rules import shorten_middle
from attestlab_dashboards import widgets
from attestlab_dashboards.agents.state import AgentsState
from attestlab_dashboards.agents.words import FINDING_WORDS
from attestlab_dashboards.pages import Facts
from attestlab_dashboards.safe import html, join

_LABELS: Final = {"status": "State", "kind": "Type"}


def draw_filters(state: AgentsState, _facts: Facts) -> Markup:
    """Draw the filters, and the way back to all agents if one is set."""
    return join(
        [
            _draw_choice("status", list(map(str, AgentStatus)), state.status),
            _draw_choice("kind", list(map(str, AgentType)), state.kind),
            widgets.set_filters((name, _write_filter(state, name)) for name in state.active_filters),
        ]
    )


def _write_filter(state: AgentsState, name: str) -> str:
    match name:
        case "finding":
            return FINDING_WORDS[state.finding]
        case "tree":
            return f"Tree of {shorten_middle(state.tree, 8, 4)}"
        case _:
            return f"{_LABELS[name]}: {getattr(state, name)}"


def _draw_choice(ev: str, values: Sequence[str], chosen: str) -> Markup:
    return html(
        '<label class="chip is-choice{on}">{label}: <select data-ev="{ev}" data-key="choice:{ev}">{options}'
        "</select></label>",
        on=" on" if chosen else "",
        label=_LABELS[ev],
        ev=ev,
        options=widgets.option_list([("", "all"), *((value, value) for value in values)], chosen),
    )


def draw_nothing_found(state: AgentsState) -> Markup:
    """Draw what stands where the filters leave no agent, with the way back."""
    if not state.active_filters:
        call = html('Register one with <code>lab.agents.register("Invoice reader", scopes=["docs:read"])</code>.')
        return widgets.empty("No agent yet", call)
    drops = [widgets.button(f"Drop {name}", ev="clear", v=name) for name in state.active_filters]
    shown = drops if len(drops) > 1 else []
    return widgets.empty(
        "No agent matches",
        f"None has this {' and '.join(state.active_filters)}.",
        join([*shown, widgets.button("Reset all", ev="clear", v="all", primary=True)]),
    )
