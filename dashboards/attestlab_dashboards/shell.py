"""The shell around every page: bar, navigation and skeleton, as HTML that is painted before any script has arrived.

Links are relative to a page, whose address is always the folder of the dashboards and one name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from attestlab.portal.rules import initials
from attestlab_dashboards import assets, icons
from attestlab_dashboards.pages import AnyPage, Facts
from attestlab_dashboards.safe import NOTHING, html, join

PREFIX: Final = "/dash"
LOGO: Final = html(
    '<svg viewBox="0 0 24 24" aria-hidden="true"><rect class="tile" width="24" height="24" rx="6"/>'
    '<path class="line" d="M12 6v5M7 18.4v-3.6h10v3.6M12 11v3.6"/><circle class="knot" cx="12" cy="5.8" r="2"/></svg>'
)


def draw_head() -> Markup:
    """Draw what stands in the head of every page: icon, style sheets, and the theme before the first paint."""
    return html(
        '<link rel="icon" type="image/svg+xml" href="{icon}"><meta name="color-scheme" content="light dark">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<script src="{theme}"></script><script src="{tips}"></script>'
        '<script src="{syntax}"></script><script src="{marks}"></script>'
        '<link rel="stylesheet" href="{tokens}"><link rel="stylesheet" href="{shell}">'
        '<link rel="stylesheet" href="{floating}">',
        icon=assets.address("icon.svg"),
        theme=assets.address("theme.js"),
        tips=assets.address("tips.js"),
        syntax=assets.address("syntax.js"),
        marks=assets.address("marks.js"),
        tokens=assets.address("tokens.css"),
        shell=assets.address("shell.css"),
        floating=assets.address("floating.css"),
    )


def draw_shell(page: AnyPage, pages: Sequence[AnyPage], facts: Facts) -> Markup:
    """Draw bar, navigation, skeleton and the place of notices."""
    return html(
        '<a class="al-skip" href="#al-here">Skip to the content</a>{bar}{nav}{skeleton}'
        '<div id="al-notices" aria-live="polite"></div>',
        bar=_draw_bar(facts),
        nav=_draw_navigation(page, pages),
        skeleton=_draw_skeleton(page),
    )


def _draw_bar(facts: Facts) -> Markup:
    return html(
        '<header class="al-bar"><a class="al-logo" href="../" aria-label="AttestLab">{logo}<span>AttestLab</span></a>'
        '<span class="slash" aria-hidden="true">/</span><span class="al-tenant">{tenant}</span>'
        '<span class="al-env {stage}">{stage}</span>'
        '<form class="al-find" role="search" action="log"><label>{glass}'
        '<input id="al-search" name="q" type="search" autocomplete="off" maxlength="500" role="combobox"'
        ' aria-expanded="false" aria-controls="al-found" aria-autocomplete="list"'
        ' aria-label="Find anything by name, id or hash" placeholder="Name, id, hash or index">'
        '<kbd>/</kbd></label><div id="al-found" role="listbox" aria-label="Suggestions" hidden></div></form>'
        '<button type="button" class="al-ib" id="al-theme" aria-label="Dark theme" aria-pressed="false">{theme}'
        "</button>"
        '<details class="al-me"><summary aria-label="{person}, {roles}">{initials}</summary><div>'
        "<b>{person}</b><span>{email}</span><span>{roles}</span>"
        '<form method="post" action="sign-out"><button type="submit">{out}Sign out</button></form>'
        "</div></details></header>",
        logo=LOGO,
        tenant=facts.tenant,
        stage=facts.stage,
        glass=icons.draw("search"),
        theme=icons.draw("theme"),
        person=facts.person,
        email=facts.email,
        roles=", ".join(sorted(facts.roles)) or "no role",
        initials=initials(facts.person),
        out=icons.draw("out"),
    )


def _draw_navigation(page: AnyPage, pages: Sequence[AnyPage]) -> Markup:
    links = join(
        html(
            '<a href="{path}"{current}>{icon}{name}</a>',
            path=other.path,
            current=html(' aria-current="page"') if other is page else NOTHING,
            icon=icons.draw(other.icon),
            name=other.name,
        )
        for other in pages
    )
    return html(
        '<nav class="al-nav" aria-label="Dashboards">{links}<span class="gap"></span>'
        '<a class="opt" href="../docs">{icon}API</a></nav>',
        links=links,
        icon=icons.draw("api"),
    )


def _draw_skeleton(page: AnyPage) -> Markup:
    cards = join(
        html(
            '<div class="al-sk-card" style="grid-column:span {span}"><h2>{question}</h2><i class="sk"></i></div>',
            span=pane.span,
            question=pane.question,
        )
        for pane in page.panes
        if pane.question
    )
    return html(
        '<div id="al-skeleton" aria-hidden="true"><div class="al-w"><h1>{question}</h1><i class="sk line"></i>'
        '<div class="al-sk-kpis"><i class="sk"></i></div><div class="al-sk-grid">{cards}</div></div></div>',
        question=page.question,
        cards=cards,
    )
