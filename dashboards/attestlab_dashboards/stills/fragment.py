"""A still as a piece of markup among others, such as the output of a cell: nothing of it reaches what is around it.

Its rules are nested in one class, and its ids are its own. It follows the theme of the notebook that shows it. A place
that removes its style, such as a notebook that is not trusted, shows its words, and a line that says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from functools import cache
from typing import Final

from markupsafe import Markup

from attestlab_dashboards import assets, safe
from attestlab_dashboards.container_style import ask_for_container
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.stills.bounds import MAX_PAGE_BYTES, MAX_PANE_BYTES, fit_pane, leave_out
from attestlab_dashboards.stills.drawing import Still
from attestlab_dashboards.stills.elements import Element
from attestlab_dashboards.stills.needed_style import keep_needed

_ROOT: Final = "al-fragment"
_OWN_CLASSES: Final = frozenset(
    f"{_ROOT} al-w sub al-caption al-unstyled head q answer al-grid al-card al-left-out".split()
).union(f"span-{columns}" for columns in range(1, 13))
_DARK: Final = ":root[data-theme=dark]{"
_NOTEBOOK_DARK: Final = "[data-jp-theme-light=false] &,[data-vscode-theme-kind*=dark] &,[data-theme=dark] &,.dark &"
_NOTEBOOK_LIGHT: Final = "[data-jp-theme-light=true] &,[data-vscode-theme-kind*=light] &"
_KEYFRAMES: Final = re.compile(r"@keyframes \w+\{(?:[^{}]|\{[^{}]*\})*\}")
_COMMENTS: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_UNSTYLED: Final = (
    "This place shows the words alone, because it removed charts and colours. Where that is a notebook that is not "
    "trusted yet, the command Trust Notebook of JupyterLab shows all of it."
)
_KEEPS_SPACES: Final = frozenset({"pre", "code", "svg", "text"})  # elements whose content gets no further spaces
_REFERENCE: Final = re.compile(r"(url\(#)([^)]+)\)")


def write_fragment(still: Still, *, name: str, only: str = "") -> str:
    """Write a still as markup of at most 300 kB, or 60 kB where it is `only` one pane; `name` begins its ids.

    Panes that it has no room for, from the last one on, are one line each.
    """
    limit = MAX_PANE_BYTES if only else MAX_PAGE_BYTES
    panes = {key: _separate_words(_rename_ids(pane, name)) for key, pane in still.panes.items()}
    written = _draw(still, panes, only)
    if only and len(written.encode()) > limit and only in panes:
        room = limit - len(_draw(still, {}, only).encode())
        written = _draw(still, {only: fit_pane(panes[only], max_bytes=room)}, only)
    for key in reversed(list(panes)):
        if len(written.encode()) <= limit:
            break
        panes[key] = leave_out(limit)
        written = _draw(still, panes, only)
    return str(written)


def write_opening(page: str, frame: Element) -> str:
    """Write the frame of a page, or of one of its panes, which stands until its still is drawn."""
    style = _choose_rules(page, frame.walk(), frozenset())
    return str(html('<div class="{root}">{style}{frame}</div>', root=_ROOT, style=style, frame=frame.write()))


def _draw(still: Still, panes: dict[str, Element], only: str) -> Markup:
    body = _draw_pane(still, panes, only) if only else _draw_page(still, panes)
    return html(
        '<div class="{root}">{style}<div class="al-w"><p class="sub al-caption">{caption}</p>'
        '<p class="al-unstyled"><em>{unstyled}</em></p>{body}</div></div>',
        unstyled=_UNSTYLED,
        root=_ROOT,
        style=_choose_style(still, panes, only),
        caption=still.caption,
        body=body,
    )


def _draw_pane(still: Still, panes: dict[str, Element], key: str) -> Markup:
    if key not in panes:
        return NOTHING
    return _draw_card(key, 12, panes[key]) if key in still.spans else _draw_plain(panes, key)


def _draw_page(still: Still, panes: dict[str, Element]) -> Markup:
    cards = join(_draw_card(key, still.spans[key], pane) for key, pane in panes.items() if key in still.spans)
    others = join(pane.write() for key, pane in panes.items() if key not in (*still.spans, "answer", "kpis"))
    return html(
        '<header class="head"><h1 class="q">{question}</h1>{answer}</header>{kpis}'
        '<div class="al-grid">{cards}</div>{others}',
        question=still.question,
        answer=html('<div class="answer">{pane}</div>', pane=_draw_plain(panes, "answer")),
        kpis=_draw_plain(panes, "kpis"),
        cards=cards,
        others=others,
    )


def _draw_plain(panes: dict[str, Element], key: str) -> Markup:
    return html('<div data-pane="{key}">{pane}</div>', key=key, pane=panes[key].write()) if key in panes else NOTHING


def _draw_card(key: str, span: int, pane: Element) -> Markup:
    return html(
        '<section class="al-card span-{span}" data-pane="{key}">{pane}</section>', span=span, key=key, pane=pane.write()
    )


def _rename_ids(pane: Element, name: str) -> Element:
    """Begin each id of a pane, and what refers to it, with a name; returns the pane, which is changed."""
    for each in pane.walk():
        for attribute, value in each.attributes.items():
            if attribute == "id":
                each.attributes[attribute] = f"{name}-{value}"
            elif attribute == "href" and value.startswith("#"):
                each.attributes[attribute] = f"#{name}-{value[1:]}"
            elif "url(#" in value:
                each.attributes[attribute] = _REFERENCE.sub(rf"\g<1>{name}-\g<2>)", value)
    return pane


def _separate_words(part: Element) -> Element:
    """Put spaces between elements, so that their words stay apart without a style; returns the part, which is changed.

    JupyterLab removes the style of a notebook that a person did not run and does not trust.
    """
    if part.tag in _KEEPS_SPACES:
        return part
    spaced: list[Element | str] = []
    for child in part.children:
        if isinstance(child, Element):
            if spaced and isinstance(spaced[-1], Element):
                spaced.append(" ")
            _separate_words(child)
        spaced.append(child)
    part.children = spaced
    return part


def _choose_style(still: Still, panes: dict[str, Element], only: str) -> Markup:
    """Choose of the style of a page what its panes need, or the `only` one."""
    shown = {only: panes[only]} if only in panes else {} if only else panes
    return _choose_rules(still.page, (each for pane in shown.values() for each in pane.walk()), shown.keys())


def _choose_rules(page: str, elements: Iterable[Element], panes: Set[str]) -> Markup:
    classes = _OWN_CLASSES.union(*(each.classes for each in elements))
    themes, sheet = _compose_style(page)
    return safe.style(f".{_ROOT}{{container-type:inline-size;{themes}{keep_needed(sheet, classes, panes)}}}")


@cache
def _compose_style(page: str) -> tuple[str, str]:
    """Compose the style of a page inside of one class, for the width of the output and the theme of the notebook.

    Returns:
        The colours of both themes, and the rules.
    """
    tokens, look, own, stills = map(assets.read_text, ("tokens.css", "look.css", f"{page}.css", "stills.css"))
    light, _, dark = tokens.partition(_DARK)
    light, dark = light.partition(":root{")[2].rpartition("}")[0], dark.rpartition("}")[0]
    themes = (
        f"{light}}}@media (prefers-color-scheme:dark){{.{_ROOT}{{{dark}}}}}"
        f".{_ROOT}{{.al-unstyled{{display:none}}{_NOTEBOOK_LIGHT}{{{light}}}{_NOTEBOOK_DARK}{{{dark}}}"
    )
    sheet = ask_for_container(f"{look}\n{own}\n{stills}")
    sheet = _KEYFRAMES.sub("", sheet).replace(":host{", "&{").replace(":host", "&")
    # A rule for the id of a pane is one for its name, of the same weight.
    sheet = re.sub(r"#pane-(\w+)", r":is([data-pane=\1],#_)", sheet)
    return _COMMENTS.sub("", themes), _COMMENTS.sub("", sheet)
