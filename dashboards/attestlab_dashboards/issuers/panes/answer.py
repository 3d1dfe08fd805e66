"""How many issuers are trusted, and how many attestations that has changed for: one sentence."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab.orgs.rules import Scope
from attestlab_dashboards.formats import count, percent, plural
from attestlab_dashboards.issuers.overview import BY_STANDING, IssuerSummary, StandingCounts, load_summary, write_limit
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join


def draw_answer(summary: IssuerSummary, state: IssuerState) -> Markup:
    """Answer the question of the page in one sentence."""
    total = summary.overview.total
    if not total.issuers:
        return html("There is <b>no issuer</b>{here}.", here=" with these filters" if state.active_filters else "")
    return join([_draw_trust(total, state), _draw_worse(total), _draw_old_keys(total, state)], html(" "))


def _draw_trust(total: StandingCounts, state: IssuerState) -> Markup:
    of = "issuers that match" if state.active_filters else "issuers" if total.issuers != 1 else "issuer"
    return html("We trust <b>{active} of {all} {of}</b>.", active=count(total.active), all=count(total.issuers), of=of)


def _draw_worse(total: StandingCounts) -> Markup:
    if not total.worse:
        return html("<b>None</b> stands worse than when it signed.")
    return html(
        "<b>{issuers}</b> worse than when {they} signed, which concerns <b>{worse} ({share})</b>.",
        issuers=f"{count(total.worse_issuers)} {'stands' if total.worse_issuers == 1 else 'stand'}",
        they="it" if total.worse_issuers == 1 else "they",
        worse=plural(total.worse, "attestation"),
        share=percent(total.worse, total.attestations),
    )


def _draw_old_keys(total: StandingCounts, state: IssuerState) -> Markup:
    if not total.keys:
        return NOTHING
    return html(
        "<b>{old} of {keys}</b> in use {are} older than {limit}.",
        old=count(total.old_keys),
        keys=plural(total.keys, "key"),
        are="is" if total.old_keys == 1 else "are",
        limit=write_limit(state.age_limit),
    )


PANE: Final = Pane(
    key="answer",
    load=load_summary,
    draw=draw_answer,
    reads=BY_STANDING,
    scope=Scope.ISSUERS_READ.value,
)
