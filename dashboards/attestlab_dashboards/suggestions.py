"""The suggestions of the search in the bar: what a text finds while a person types it, the page's own types first."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import groupby
from typing import Final, LiteralString
from urllib.parse import urlencode

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.handles.findings import FoundHandle
from attestlab.core.errors import NotFound
from attestlab.portal.rules import SearchKind, parse_search
from attestlab.search.rules import MAX_TEXT_LENGTH, FoundType
from attestlab_dashboards.safe import html, join

MAX_SUGGESTIONS: Final = 12
_HEADINGS: Final[Mapping[str, str]] = {
    "entity": "Entities",
    "case": "Cases",
    "issuer": "Issuers",
    "key": "Keys",
    "policy": "Policies",
    "decision": "Decisions",
    "attestation": "Attestations",
    "person": "People",
    "page": "Pages",
}
_FIRST: Final[Mapping[str, tuple[FoundType, ...]]] = {
    "risk": (FoundType.CASE, FoundType.ENTITY),
    "policy": (FoundType.POLICY, FoundType.DECISION),
    "log": (FoundType.ATTESTATION,),
    "issuers": (FoundType.ISSUER, FoundType.KEY, FoundType.PERSON),
}


def suggest(lab: Lab, text: str, *, page: str) -> Markup:
    """Search what a person has typed, and draw what it finds, with the types of the page at `page` first."""
    types = list(dict.fromkeys((*_FIRST.get(page, ()), *FoundType)))
    found = lab.search(text[:MAX_TEXT_LENGTH], types=types, limit=MAX_SUGGESTIONS)
    return _draw_unattested(text) if not found and _is_unattested(lab, text) else draw(found, text)


def _is_unattested(lab: Lab, text: str) -> bool:
    """Whether a text is a whole SHA-256 with which the log has neither a document nor a leaf."""
    term = parse_search(text)
    if term.kind is not SearchKind.SHA256:
        return False
    for name in (term.value, f"sha256:{term.value}"):
        with suppress(NotFound):
            lab.log.lookup(name)
            return False
    return True


def _draw_unattested(text: str) -> Markup:
    said = html("<b>Not attested</b> No issuer has attested this document in the log.")
    return _draw_way_to_log(said, text, tone=" bad")


def _draw_way_to_log(said: Markup, text: str, *, tone: LiteralString = "") -> Markup:
    """Draw what is said of a text without suggestions, as the one option: it asks the log, as Enter does."""
    return html(
        '<a role="option" aria-selected="false" tabindex="-1" class="none{tone}" href="{address}">'
        '<span class="said">{said}</span></a>',
        tone=tone,
        address=f"log?{urlencode({'q': text})}",
        said=said,
    )


def draw(found: Records[FoundHandle], text: str) -> Markup:
    """Draw the suggestions, grouped by type, or in neutral words that there are none."""
    if not found:
        return _draw_way_to_log(html("Nothing that you may read has “{text}”. Enter asks the log.", text=text), text)
    groups = [
        html(
            '<div role="group" aria-label="{name}"><b>{name}</b>{options}</div>',
            name=_HEADINGS[kind],
            options=join(map(_draw_option, each)),
        )
        for kind, each in groupby(found, _get_type)
    ]
    more = html('<p class="none">There is more. Type another character.</p>') if found.truncated else Markup()
    return html("{groups}{more}", groups=join(groups), more=more)


def _get_type(found: FoundHandle) -> str:
    return found.type


def _draw_option(found: FoundHandle) -> Markup:
    """Draw a suggestion as a link, relative to the page, so that it works below any prefix."""
    return html(
        '<a role="option" aria-selected="false" tabindex="-1" href="{address}"><span>{title}</span>'
        "<small>{subtitle}</small></a>",
        address=found.url.removeprefix("/dash/"),
        title=found.title,
        subtitle=found.subtitle,
    )
