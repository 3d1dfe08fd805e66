"""The script of a view in a bare page with the marks of notebooks: it is light or dark as they are."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Final, cast

import pytest
from playwright.sync_api import Browser, Locator, expect

from attestlab import Lab
from attestlab_dashboards.cell.explorer import Explorer
from attestlab_dashboards.cell.widget import PageWidget
from attestlab_dashboards.conversation import PageMessage
from support.browser import needs_chromium, open_browser
from support.timeouts import WAIT_TIMEOUT_S

pytestmark = needs_chromium
SHOW: Final = """async ([script, messages]) => {
  const module = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  let receive;
  const model = { on: (_kind, receiver) => { receive = receiver; }, send: () => {} };
  module.default.render({ model, el: document.querySelector("#view") });
  messages.forEach((message) => receive(message));
}"""
# Of Visual Studio Code and Colab: the part of the page, its attribute, and the mode that it stands for.
MARKS: Final = (
    ("body", "data-vscode-theme-kind", "vscode-dark", "dark"),
    ("body", "data-vscode-theme-kind", "vscode-light", "light"),
    ("body", "data-vscode-theme-kind", "vscode-high-contrast", "dark"),
    ("body", "data-vscode-theme-kind", "vscode-high-contrast-light", "light"),
    ("html", "theme", "dark", "dark"),
    ("html", "theme", "light", "light"),
)
SET: Final = "(part, [name, value]) => part.setAttribute(name, value)"


@pytest.fixture
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture
def drawn(owner: Lab) -> list[PageMessage]:
    """All messages of a view until it is drawn."""
    view = cast(Explorer, owner.explore("risk", days=7))
    messages: queue.Queue[PageMessage] = queue.Queue()
    view._receive(view._cell.open_window(messages.put), {"hello": True, "n": 1})
    return list(iter(lambda: messages.get(timeout=WAIT_TIMEOUT_S), {"do": "ready", "number": 1}))


def require_theme(view: Locator, part: str, name: str, value: str, theme: str) -> None:
    """The view follows a mark that the page gets, against what the system prefers."""
    system = "light" if theme == "dark" else "dark"
    view.page.emulate_media(color_scheme=system)
    expect(view).to_have_css("color-scheme", system)
    view.page.locator(part).evaluate(SET, [name, value])
    expect(view).to_have_css("color-scheme", theme)


def test_a_view_is_light_or_dark_as_its_notebook(browser: Browser, drawn: list[PageMessage]) -> None:
    for mark in MARKS:
        page = browser.new_page()
        page.set_content('<!doctype html><html><body><div id="view"></div></body></html>')
        page.evaluate(SHOW, [PageWidget._esm, drawn])
        view = page.locator("#view")
        expect(view).to_contain_text("Entities affected")
        require_theme(view, *mark)
        page.close()
