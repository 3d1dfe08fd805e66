"""How many agents may act, and for how many no person answers: one sentence."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab.orgs.rules import Scope
from attestlab_dashboards.agents.overview import FleetCounts, load_overview
from attestlab_dashboards.agents.state import FILTERS, AgentsState
from attestlab_dashboards.agents.words import plural
from attestlab_dashboards.formats import count
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import html, join


def draw_answer(counts: FleetCounts, state: AgentsState) -> Markup:
    """Answer the question of the page."""
    if not counts.agents:
        return html("There is <b>no agent</b>{here}.", here=" with these filters" if state.active_filters else "")
    of = plural(counts.agents, "agent") + (" that match" if state.active_filters else "")
    return join(
        [
            html(
                "<b>{active} of {of}</b> may act, in {trees}.",
                active=count(counts.active),
                of=of,
                trees=plural(counts.trees, "tree"),
            ),
            _draw_owners(counts),
            html("<b>{working}</b> are working now.", working=count(counts.working))
            if counts.working != 1
            else html("<b>1</b> is working now."),
        ],
        html(" "),
    )


def _draw_owners(counts: FleetCounts) -> Markup:
    if not counts.ownerless:
        return html("A person answers for <b>each</b> of them.")
    return html("No person answers for <b>{ownerless}</b> of them.", ownerless=count(counts.ownerless))


PANE: Final = Pane(
    key="answer",
    load=load_overview,
    draw=draw_answer,
    reads=FILTERS,
    scope=Scope.AGENTS_READ.value,
    is_common=True,
)
