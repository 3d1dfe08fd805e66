"""The filters of the page: the role of people, whether they and the keys have access, and when they used it."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from attestlab.orgs.rules import Role
from attestlab_dashboards import widgets
from attestlab_dashboards.access.state import AccessState
from attestlab_dashboards.access.words import STATE_WORDS, USE_WORDS
from attestlab_dashboards.pages import Facts
from attestlab_dashboards.safe import NOTHING, html, join


def draw_filters(state: AccessState, _facts: Facts) -> Markup:
    """Draw the filters, and the way back to all if one is set."""
    uses = [
        widgets.chip(words, ev="use", v=use, pressed=state.use == use, removable=state.use == use)
        for use, words in USE_WORDS.items()
    ]
    reset = widgets.chip("Reset", ev="clear", v="all", pressed=False, removable=True)
    return join(
        [
            _draw_choice("Role", "role", ((str(role), str(role).replace("_", " ")) for role in Role), state.role),
            _draw_choice("Access", "state", STATE_WORDS.items(), state.state),
            *uses,
            reset if state.active_filters else NOTHING,
        ]
    )


def _draw_choice(label: str, ev: str, values: Iterable[tuple[str, str]], chosen: str) -> Markup:
    return html(
        '<label class="chip is-choice{on}">{label}: <select data-ev="{ev}" data-key="choice:{ev}">{options}'
        "</select></label>",
        on=" on" if chosen else "",
        label=label,
        ev=ev,
        options=widgets.option_list([("", "all"), *values], chosen),
    )


def draw_nothing_found(what: str, state: AccessState) -> Markup:
    """Draw what stands where the filters leave nothing, with the way back."""
    reset = widgets.button("Reset all", ev="clear", v="all", primary=True)
    return widgets.empty(f"No {what} matches", f"None has this {' and '.join(state.active_filters)}.", reset)


def draw_closed(what: str) -> Markup:
    """Draw what stands where the viewer's role does not see keys or sessions."""
    why = html("Owners and admins see the {what} of the tenant. Ask one of them.", what=what)
    return widgets.state("lock", "", f"Your role does not see {what}", why)
