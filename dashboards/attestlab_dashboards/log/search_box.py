"""The search box of the page."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab.portal.rules import SearchKind, parse_search
from attestlab_dashboards import icons
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.pages import Facts
from attestlab_dashboards.safe import NOTHING, html
from attestlab_dashboards.widgets import pill

_KINDS: Final = {
    SearchKind.INDEX: "log index",
    SearchKind.SHA256: "hash",
    SearchKind.ATTESTATION: "id",
    SearchKind.NOTHING: "name of a key or issuer",
}


def draw_search_box(state: LogState, _facts: Facts) -> Markup:
    """Draw the one search box of the page; what it recognises is decided by the text alone."""
    return html(
        '<div class="lg-find" data-drop="find">{icon}<label class="al-hidden" for="lg-find">Search the log</label>'
        '<input id="lg-find" type="text" data-ev="find" data-key="lg-find" data-search value="{find}" '
        'maxlength="300" autocomplete="off" spellcheck="false" '
        'placeholder="Index, id, hash, key or issuer, or drop a file">'
        '{recognised}<label class="btn sm lg-file">{document}<span>Choose a file</span>'
        '<input type="file" class="al-hidden" data-hash="find" aria-label="Choose a file to hash and search"></label>'
        "</div>",
        icon=icons.draw("search"),
        find=state.find,
        recognised=_draw_recognised(state),
        document=icons.draw("document"),
    )


def _draw_recognised(state: LogState) -> Markup:
    if not state.find:
        return NOTHING
    return pill(f"recognised as {_KINDS[parse_search(state.find).kind]}", "good", "check")
