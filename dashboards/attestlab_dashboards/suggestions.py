"""The suggestions of the search in the bar: what a text finds while a person types it, the page's own types first."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.handles.findings import FoundHandle
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


def suggest(lab: Lab, text: str, *, page: str) -> Records[FoundHandle]:
    """Search what a person has typed, with the types of the page at `page` first."""
    types = list(dict.fromkeys((*_FIRST.get(page, ()), *FoundType)))
    return lab.search(text[:MAX_TEXT_LENGTH], types=types, limit=MAX_SUGGESTIONS)


def draw(found: Records[FoundHandle], text: str) -> Markup:
    """Draw the suggestions, grouped by type, or in neutral words that there are none."""
    if not found:
        return html('<p class="none">Nothing that you may read has “{text}”. Enter asks the log.</p>', text=text)
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
