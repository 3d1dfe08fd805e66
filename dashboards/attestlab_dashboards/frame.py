"""What surrounds the panes of a page: headings, cards, tools, and the states that every pane can be in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup

from attestlab.core.errors import AttestLabError, PermissionDenied
from attestlab_dashboards import icons, widgets
from attestlab_dashboards.explore_call import write_rows_call
from attestlab_dashboards.pages import AnyPage, AnyPane, Facts
from attestlab_dashboards.safe import NOTHING, html, join, text
from attestlab_dashboards.state import PageState

_FORMATS = ("csv", "parquet", "json")
_PLACED = ("answer", "kpis", "chips", "primary")  # the other panes without a question are drawers and dialogs


def draw(page: AnyPage, state: PageState, facts: Facts) -> Markup:
    """Draw the page with empty panes: the question, the filters, and a skeleton for each card."""
    if not page.is_open_to(facts):
        return _draw_forbidden_page(page, facts)
    first = {pane.key: pane for pane in page.panes if not pane.question}
    cards = join(_draw_place(pane) for pane in page.panes if pane.question)
    drawers = join(html('<div data-pane="{key}"></div>', key=key) for key in first if key not in _PLACED)
    return html(
        '<div class="al-w"><header class="head"><div class="al-titleline"><h1 class="q">{question}</h1>'
        '<div class="al-controls"><div class="al-views-place" data-pane="views"></div><div data-pane="export"></div>'
        "{primary}</div></div>"
        '<p class="answer" data-pane="answer">{line}</p></header>'
        '<div class="chips filters" data-pane="chips" role="group" aria-label="Filters">{chips}</div>'
        '{kpis}<div class="al-grid">{cards}</div>{drawers}<div data-notes></div></div>',
        question=page.question,
        primary=html('<div data-pane="primary"></div>') if "primary" in first else NOTHING,
        line=html('<span class="sk line"></span>'),
        chips=page.chips(state, facts),
        kpis=html('<div data-pane="kpis"><div class="kpis sk-kpis"><i class="sk"></i></div></div>')
        if "kpis" in first
        else NOTHING,
        cards=cards,
        drawers=drawers,
    )


def draw_alone(pane: AnyPane) -> Markup:
    """Draw the frame of one pane without the others."""
    place = _draw_place(pane) if pane.question else html('<div data-pane="{key}"></div>', key=pane.key)
    return html('<div class="al-w"><div class="al-grid">{place}</div><div data-notes></div></div>', place=place)


class PaneTools(NamedTuple):
    """What the menu of a pane offers: code for the page at `path`, and files where its address serves them."""

    path: str
    has_downloads: bool = True


def draw_pane(tools: PaneTools, pane: AnyPane, data: Any, state: PageState) -> Markup:
    """Draw a pane with its heading and tools."""
    body = pane.draw(data, state)
    if not pane.question:
        return body
    line = _write_words(pane.reading, data, state)
    how = _write_words(pane.how, data, state)
    words = html('{line}<span class="al-how"> {how}</span>', line=line, how=how) if how else text(line)
    return html("{title}{body}", title=_draw_title(pane, words, _draw_tools(tools, pane, state)), body=body)


def _write_words(words: str | Callable[[Any, Any], str], data: Any, state: Any) -> str:
    return words if isinstance(words, str) else words(data, state)


def draw_forbidden(pane: AnyPane, facts: Facts) -> Markup:
    """Draw a pane that the person may not see: which scope it needs, and who can grant it."""
    return _in_card(pane, draw_refusal(pane.scope, facts))


def draw_error(pane: AnyPane, error: AttestLabError) -> Markup:
    """Draw a pane whose data the service refused or failed to give: the code, the request, and what to do."""
    if isinstance(error, PermissionDenied):
        return _in_card(pane, widgets.state("lock", "", "You may not see this", text(error)))
    buttons = join(
        [
            widgets.button("Retry", ev="retry", v=pane.key, primary=True),
            html(
                '<button type="button" class="btn sm" data-copy="{details}">Copy details</button>',
                details=_detail(error),
            ),
        ]
    )
    return _in_card(pane, widgets.state("warn", "bad", "This could not be read", describe_error(error), buttons))


def draw_failure(pane: AnyPane, reference: str) -> Markup:
    """Draw a pane that failed by our mistake; `reference` finds it in the log of the process."""
    why = html("This is our mistake; the log of the server has it under <code>{reference}</code>.", reference=reference)
    retry = widgets.button("Retry", ev="retry", v=pane.key, primary=True)
    return _in_card(pane, widgets.state("warn", "bad", "This could not be drawn", why, retry))


def draw_progress(pane: AnyPane, expected: str, seconds: float) -> Markup:
    """Draw a load that takes long: what it has to do, for how long it has run, and the button that cancels it."""
    why = html(
        "{expected} {seconds} s so far. The service does not know how much is done; it stops what takes too long.",
        expected=expected,
        seconds=f"{seconds:.0f}",
    )
    cancel = html(
        '<button type="button" class="btn sm" data-cancel data-key="cancel:{key}">Cancel</button>', key=pane.key
    )
    return _in_card(pane, widgets.state("clock", "", "This takes a while", why, cancel))


def draw_cancelled(pane: AnyPane) -> Markup:
    """Draw a pane whose load the person cancelled."""
    why = html("The request was broken off, and the service ends what it began for it.")
    again = widgets.button("Run it again", ev="retry", v=pane.key, primary=True)
    return _in_card(pane, widgets.state("cross", "", "Cancelled", why, again))


def describe_error(error: AttestLabError) -> Markup:
    """Describe an error in a sentence, with its code and request."""
    request_id = error.details.get("request_id")
    return html(
        "{message} <code>{code}</code>{request}",
        message=str(error),
        code=error.code,
        request=html(", request <code>{id}</code>", id=request_id) if request_id else NOTHING,
    )


def describe_left_out(names: Sequence[str]) -> Markup:
    """Describe the parts of a link that no longer exist."""
    return html(
        "{count} of the link's filters no longer {exist}: {names}.",
        count=len(names),
        exist="exists" if len(names) == 1 else "exist",
        names=", ".join(names)[:200],
    )


def _draw_forbidden_page(page: AnyPage, facts: Facts) -> Markup:
    """Draw the page for a person who may not see it: its question, and who can grant the scope."""
    return html(
        '<div class="al-w"><header class="head"><h1 class="q">{question}</h1></header>'
        '<section class="al-card al-alone">{refusal}</section></div>',
        question=page.question,
        refusal=draw_refusal(page.scope, facts),
    )


def draw_refusal(scope: str, facts: Facts) -> Markup:
    """Draw which scope a person lacks, and who can grant it."""
    why = html(
        "This needs the scope <code>{scope}</code>. You have the role {roles}. Ask an owner of {tenant}.",
        scope=scope,
        roles=", ".join(sorted(facts.roles)) or "of no one",
        tenant=facts.tenant,
    )
    return widgets.state("lock", "", "You may not see this", why)


def _draw_place(pane: AnyPane) -> Markup:
    return html(
        '<section class="al-card span-{span}" id="pane-{key}" data-pane="{key}" tabindex="-1" aria-label="{question}">'
        '<div class="ctitle"><h2>{question}</h2></div><i class="sk tall"></i></section>',
        span=pane.span,
        key=pane.key,
        question=pane.question,
    )


def _in_card(pane: AnyPane, body: Markup) -> Markup:
    return html("{title}{body}", title=_draw_title(pane, NOTHING, NOTHING), body=body) if pane.question else body


def _draw_title(pane: AnyPane, reading: Markup, tools: Markup) -> Markup:
    return html(
        '<div class="ctitle"><div><h2>{question}</h2><div class="sub">{reading}</div></div>{tools}</div>',
        question=pane.question,
        reading=reading,
        tools=tools,
    )


def _draw_tools(tools: PaneTools, pane: AnyPane, state: PageState) -> Markup:
    """Draw the menu of a pane: downloads of its rows, and the code that gives them."""
    items = [*_draw_downloads(tools, pane, state), *_draw_snippets(tools, pane, state)]
    if not items:
        return NOTHING
    return html(
        '<details class="al-tools" id="tools-{key}"><summary aria-label="Export {question}">{icon}</summary>'
        "<div>{items}</div></details>",
        key=pane.key,
        question=pane.question,
        icon=icons.draw("download"),
        items=join(items),
    )


def _draw_downloads(tools: PaneTools, pane: AnyPane, state: PageState) -> Iterator[Markup]:
    if pane.export is None or not tools.has_downloads:
        return
    query = urlencode({**state.to_query(), "pane": pane.key})
    for name in _FORMATS:
        yield html(
            '<a href="{path}/export?{query}&amp;format={format}" download>{label}</a>',
            path=tools.path,
            query=query,
            format=name,
            label="Parquet" if name == "parquet" else name.upper(),
        )


def _draw_snippets(tools: PaneTools, pane: AnyPane, state: PageState) -> Iterator[Markup]:
    snippets = {
        "Copy as a cell": None if pane.export is None else write_rows_call(tools.path, state, pane.key),
        "Copy as Python": pane.compose_python(state),
        "Copy SQL": pane.compose_sql(state),
    }
    for label, snippet in snippets.items():
        if snippet is not None:
            yield html('<button type="button" data-copy="{text}">{label}</button>', text=snippet, label=label)


def _detail(error: AttestLabError) -> str:
    return f"{error.code}: {error} (request {error.details.get('request_id', 'unknown')})"
