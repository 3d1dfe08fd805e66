"""A still as one HTML file: no script, no other host, light or dark as the reader's system is, at most 300 kB."""

from __future__ import annotations

from functools import cache
from typing import Final

from markupsafe import Markup

from attestlab_dashboards import assets, safe, shell
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.stills.bounds import MAX_PAGE_BYTES, leave_out
from attestlab_dashboards.stills.drawing import Still
from attestlab_dashboards.stills.elements import Element

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_DARK: Final = ":root[data-theme=dark]{"


def write_still(still: Still) -> str:
    """Write a still as the text of an HTML file.

    Panes that the file has no room for, from the last one on, are one line each.
    """
    panes = dict(still.panes)
    document = _draw_document(still, panes)
    for key in reversed(list(still.panes)):
        if len(document.encode()) <= MAX_PAGE_BYTES:
            break
        panes[key] = leave_out(MAX_PAGE_BYTES)
        document = _draw_document(still, panes)
    return str(document)


def _draw_document(still: Still, panes: dict[str, Element]) -> Markup:
    return html(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        '<title>{title}</title>{style}</head><body class="al-still">{body}</body></html>\n',
        policy=_POLICY,
        title=f"{still.name} · {still.tenant} · AttestLab",
        style=_compose_style(still.page),
        body=_draw_body(still, panes),
    )


def _draw_body(still: Still, panes: dict[str, Element]) -> Markup:
    cards = join(_draw_card(key, still.spans[key], pane) for key, pane in panes.items() if key in still.spans)
    others = join(pane.write() for key, pane in panes.items() if key not in (*still.spans, "answer", "kpis"))
    return html(
        '<main class="al-w"><div class="al-brand">{logo}<span>{caption}</span></div>'
        '<header class="head"><h1 class="q">{question}</h1>'
        '<div class="answer" data-pane="answer">{answer}</div></header>'
        '<div data-pane="kpis">{kpis}</div><div class="al-grid">{cards}</div>{others}{foot}</main>',
        logo=shell.LOGO,
        caption=still.caption,
        question=still.question,
        answer=_write(panes, "answer"),
        kpis=_write(panes, "kpis"),
        cards=cards,
        others=others,
        foot=_draw_foot(still.address),
    )


def _write(panes: dict[str, Element], key: str) -> Markup:
    return panes[key].write() if key in panes else NOTHING


def _draw_card(key: str, span: int, pane: Element) -> Markup:
    return html(
        '<section class="al-card span-{span}" id="pane-{key}" data-pane="{key}">{pane}</section>',
        span=span,
        key=key,
        pane=pane.write(),
    )


def _draw_foot(address: str) -> Markup:
    if not address:
        return NOTHING
    return html(
        '<p class="al-foot">A still of <a href="{address}">{address}</a>, where these numbers are up to date.</p>',
        address=address,
    )


@cache
def _compose_style(page: str) -> Markup:
    """Compose the style sheets of a page for a document that follows the theme of the system."""
    tokens, look, own, stills = map(assets.read_text, ("tokens.css", "look.css", f"{page}.css", "stills.css"))
    light, _, dark = tokens.partition(_DARK)
    schemes = f"{light}@media (prefers-color-scheme:dark){{:root{{{dark}}}"
    return safe.style(schemes, look.replace(":host{", ".al-still{"), own.replace(":host", ".al-still"), stills)
