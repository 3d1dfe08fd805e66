"""Draws a page as a still: the same panes as in a window, loaded once and made inert."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import parse_qsl, urlencode

from markupsafe import Markup

from attestlab import Lab
from attestlab.core.errors import AttestLabError, AuthInvalid
from attestlab_dashboards import frame
from attestlab_dashboards.answers import Key, key_of
from attestlab_dashboards.formats import utc
from attestlab_dashboards.page_list import find_page
from attestlab_dashboards.pages import AnyPage, AnyPane, Facts
from attestlab_dashboards.safe import NOTHING
from attestlab_dashboards.state import PageState
from attestlab_dashboards.stills.bounds import fit_pane
from attestlab_dashboards.stills.elements import Element, parse
from attestlab_dashboards.stills.inert import make_inert

MAX_FIELDS: Final = 32
_LOADS_AT_ONCE: Final = 4
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Still:
    """A page as it was at a time: its panes by key, which need no script, and what it says in words.

    `sentences` are the answer of the page and one line for each of its key figures. `filters` are the words of the
    filters that are set.
    """

    page: str
    name: str
    question: str
    tenant: str
    at: datetime
    filters: tuple[str, ...]
    sentences: tuple[str, ...]
    panes: Mapping[str, Element]
    spans: Mapping[str, int]
    address: str

    @property
    def caption(self) -> str:
        """One line that names the page, the tenant, the time and the filters."""
        filters = f" Filters: {'; '.join(self.filters)}." if self.filters else ""
        return f"{self.name} of {self.tenant} at {utc(self.at)}.{filters}"


Load = Callable[[AnyPane, PageState], "Future[object]"]
"""Begins to load what a pane shows."""


def draw_still(lab: Lab, path: str, query: str = "", *, facts: Facts, url: str = "") -> Still:
    """Draw a page with the rights of the lab's caller.

    Args:
        lab: the facade, which is asked in threads.
        path: the page, such as `risk`.
        query: what stands after the `?` of its address; what no longer exists is ignored.
        facts: the caller and the tenant, of `facts.read_facts`.
        url: the address of the service, to which links lead; without it there are none.

    Raises:
        NotFound: there is no such page.
        AuthInvalid: the rights of the caller have ended.
    """
    page = find_page(path)
    state = page.state.from_query(dict(parse_qsl(query.removeprefix("?")[:4_096])[:MAX_FIELDS]))[0]
    with ThreadPoolExecutor(_LOADS_AT_ONCE, thread_name_prefix="still") as threads:

        def load(pane: AnyPane, state: PageState) -> Future[object]:
            return threads.submit(pane.load, lab, state)

        return draw_loaded(load, page, state, at=lab.now(), facts=facts, url=url)


def draw_loaded(
    load: Load, page: AnyPage, state: PageState, *, at: datetime, facts: Facts, url: str = "", only: str = ""
) -> Still:
    """Draw a state of a page whose panes `load` loads; `only` names the one pane that is drawn.

    Raises:
        AuthInvalid: the rights of the caller have ended.
    """
    folder = f"{url.rstrip('/')}/dash/" if url else ""
    is_open = page.is_open_to(facts)
    drawn = (
        _draw_panes(load, page, state, facts, only) if is_open else {"refusal": frame.draw_refusal(page.scope, facts)}
    )
    chips = drawn.pop("chips", NOTHING) or (page.chips(state, facts) if is_open else NOTHING)
    panes = {key: make_inert(markup, address=folder) for key, markup in drawn.items()}
    encoded = urlencode(state.to_query())
    return Still(
        page=page.path,
        name=page.name,
        question=page.question,
        tenant=facts.tenant,
        at=at,
        filters=tuple(_list_filters(parse(chips))),
        sentences=tuple(_list_sentences(panes)),
        panes={key: fit_pane(pane) for key, pane in panes.items() if _shows_anything(pane)},
        spans={pane.key: pane.span for pane in page.panes if pane.question},
        address=f"{folder}{page.path}{'?' if encoded else ''}{encoded}" if folder else "",
    )


def _draw_panes(load: Load, page: AnyPage, state: PageState, facts: Facts, only: str) -> dict[str, Markup]:
    loads: dict[Key, Future[object]] = {}
    shown = [pane for pane in page.panes if pane.key == only or not (only or pane.is_tool)]
    for pane in shown:
        if _may_load(pane, facts) and key_of(pane, state) not in loads:
            loads[key_of(pane, state)] = load(pane, state)
    return {
        pane.key: _draw_pane(page, pane, state, loads[key_of(pane, state)])
        if _may_load(pane, facts)
        else frame.draw_forbidden(pane, facts)
        for pane in shown
    }


def _may_load(pane: AnyPane, facts: Facts) -> bool:
    return not pane.scope or pane.scope in facts.scopes


def _draw_pane(page: AnyPage, pane: AnyPane, state: PageState, loaded: Future[object]) -> Markup:
    """Draw a pane, or why it cannot be drawn; one that only adds to the page is left out then."""
    try:
        return frame.draw_pane(frame.PaneTools(page.path), pane, loaded.result(), state)
    except AuthInvalid:
        raise
    except AttestLabError as error:
        return NOTHING if pane.is_optional else frame.draw_error(pane, error)
    except Exception:
        reference = secrets.token_hex(8)
        _log.exception("pane %s failed, reference %s", pane.key, reference)
        return frame.draw_failure(pane, reference)


def _shows_anything(pane: Element) -> bool:
    """Whether a pane has more than its title, such as words or a drawing."""
    bodies = [each for each in pane.children if not (isinstance(each, Element) and "ctitle" in each.classes)]
    body = Element(children=bodies)
    return bool(body.read_text()) or any(each.tag == "svg" for each in body.walk())


def _list_filters(chips: Element) -> Iterable[str]:
    """List the words of the chips that are set, and of the choices other than the first, which chooses nothing."""
    for each in chips.walk():
        if each.attributes.get("aria-pressed") == "true":
            yield each.read_text()
        elif each.tag == "select":
            _, *others = [option for option in each.walk() if option.tag == "option"]
            yield from (option.read_text() for option in others if "selected" in option.attributes)


def _list_sentences(panes: Mapping[str, Element]) -> Iterable[str]:
    """List what the page says in words: its answer, and each key figure with its note."""
    answer = panes.get("answer")
    if answer is not None and (words := answer.read_text()):
        yield words
    for tile in panes["kpis"].find("kpi") if "kpis" in panes else ():
        label, value, note = (" ".join(each.read_text() for each in tile.find(name)) for name in ("l", "v", "d"))
        yield f"{label}: {value} ({note})" if note else f"{label}: {value}"
