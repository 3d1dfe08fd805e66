"""The answer sentence and the tiles: how many issuers are trusted, and how many attestations that has changed for."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import ago, count, percent
from attestlab_dashboards.issuers.queries.overview import TOP, IssuerOverview, StandingCounts, load_overview
from attestlab_dashboards.issuers.queries.requests import OpenRequests, load_open_requests
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.issuers.words import plural
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import Kpi


class IssuerSummary(NamedTuple):
    """What the answer, the tiles and the matrix show, so that one load serves them all."""

    overview: IssuerOverview
    requests: OpenRequests


def load_summary(lab: Lab, state: IssuerState) -> IssuerSummary:
    """Load the counts and the open requests."""
    return IssuerSummary(load_overview(lab, state), load_open_requests(lab, state))


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


def write_limit(days: int) -> str:
    """Write the age limit of keys."""
    return "a year" if days == 365 else f"{days} days"


def draw_tiles(summary: IssuerSummary, state: IssuerState) -> Markup:
    """Draw the tiles."""
    total = summary.overview.total
    return widgets.kpi_strip(
        [
            Kpi(
                label="Active issuers",
                value=_of(total.active, total.issuers),
                note=f"{count(total.suspended)} suspended, {count(total.revoked)} revoked",
            ),
            Kpi(label="Minted, 30 days", value=count(total.mints), note=write_concentration(total)),
            Kpi(
                label="Got worse",
                value=count(total.worse),
                note=f"{percent(total.worse, total.attestations)} of {plural(total.attestations, 'attestation')}",
            ),
            Kpi(
                label="Old keys",
                value=_of(total.old_keys, total.keys),
                note=f"in use for over {write_limit(state.age_limit)}",
            ),
            _draw_waiting(summary.requests),
        ]
    )


def write_concentration(total: StandingCounts) -> str:
    """Write how much of the mints the largest issuers have."""
    if not total.mints:
        return "no mint"
    largest = min(TOP, sum(1 for _ in total.names))
    who = "one issuer" if largest == 1 else f"{largest} issuers"
    return f"{percent(total.top_mints, total.mints)} by {who}"


def _draw_waiting(requests: OpenRequests) -> Kpi:
    if not requests.are_visible:
        return Kpi(label="Waiting for approval", value="not shown", note="your role does not see requests")
    pending = [request for request in requests.requests if request.status == "PENDING"]
    ready = len(requests.requests) - len(pending)
    oldest = min((request.created_at for request in pending), default=None)
    note = f"{count(ready)} approved, to execute" if ready else "none to execute"
    if oldest is not None:
        note = f"the oldest from {ago(oldest, requests.now)}"
    return Kpi(label="Waiting for approval", value=count(len(pending)), note=note)


def _of(part: int, whole: int) -> Markup:
    return html("{part} <small>of {whole}</small>", part=count(part), whole=count(whole))
