"""`CellPage`: one page of the dashboards, and the windows of a notebook that show it or one of its panes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from markupsafe import Markup

from attestlab import Lab
from attestlab.core.errors import NotFound
from attestlab_dashboards import frame
from attestlab_dashboards.cell import views_loop
from attestlab_dashboards.container_style import compose_style
from attestlab_dashboards.conversation import MAX_FIELDS, PageCaller, PageConversation, PageMessage
from attestlab_dashboards.explore_call import write_explore_call
from attestlab_dashboards.page_list import find_page
from attestlab_dashboards.pages import AnyPage, AnyPane, Facts
from attestlab_dashboards.safe import html
from attestlab_dashboards.state import PageState
from attestlab_dashboards.together.parts import make_shared_parts


@dataclass(eq=False)
class CellWindow:
    """A place that shows a page, or the pane `key` of it: a widget, or a component of Panel."""

    send: Callable[[PageMessage], None]
    key: str = ""
    is_in_sight: bool = False

    def deliver(self, message: PageMessage) -> None:
        """Send a message of the page, unless it is about what the window does not show."""
        match message:
            case {"do": "panes", "panes": [{"key": str(key)}]} if self.key not in ("", key):
                return  # each message has one pane
            case _:
                self.send(message)


class CellPage:
    """A page for the caller of a lab. It loads what is in sight. Its methods run on the loop of the views.

    `folder` is the address below which the service serves the pages, or nothing.
    """

    def __init__(self, page: AnyPage, lab: Lab, facts: Facts, *, folder: str) -> None:
        self._page = page
        self._facts = facts
        self._folder = folder
        self._windows: list[CellWindow] = []
        caller = PageCaller(
            facts=facts, lab=lab, open_unattended_lab=lambda: lab, on_ended=self._end, has_downloads=False
        )
        self.conversation = PageConversation(
            page, caller, self._broadcast, shared=make_shared_parts(page, has_downloads=False), shown=frozenset()
        )

    @property
    def path(self) -> str:
        """The page, such as `risk`."""
        return self._page.path

    def open_window(self, send: Callable[[PageMessage], None], key: str = "") -> CellWindow:
        """Open a window, which shows the page once it says that it is in sight."""
        window = CellWindow(send, key)
        self._windows.append(window)
        return window

    def close_window(self, window: CellWindow) -> None:
        """Close a window: nothing is loaded for it any more."""
        self._windows.remove(window)
        self._show_panes_in_sight()

    def begin_load(self, pane: AnyPane, state: PageState) -> Future[object]:
        """Begin to load what a pane shows, from any thread; windows show the same answer."""
        return views_loop.begin(lambda: self.conversation.load(pane, state))

    def receive(self, window: CellWindow, message: PageMessage) -> None:
        """Handle a message of a window; each of its values may be hostile."""
        window.send({"do": "heard", "n": message.get("n")})
        match message:
            case {"hello": True}:
                self._show_in(window)
            case {"sight": bool(is_seen)}:
                window.is_in_sight = is_seen
                self._show_panes_in_sight()
            case {"follow": str(address)}:
                self._follow(address)
            case {"hello": _}:
                pass  # a window of a browser, which this is not
            case _:
                self.conversation.receive(message)

    def show(self, state: PageState) -> None:
        """Draw a state in the windows that are open."""
        self.conversation.show(state)

    def _show_in(self, window: CellWindow) -> None:
        window.is_in_sight = True
        window.send({"do": "cell", "style": compose_style(self._page.path), "folder": self._folder})
        window.send({"do": "frame", "html": self.draw_frame(window.key)})
        self._show_panes_in_sight(again=True)

    def draw_frame(self, key: str) -> Markup:
        """Draw the page before it has loaded anything, or the pane of a key; an empty key is the page."""
        pane = next((each for each in self._page.panes if each.key == key), None)
        if pane is None or not self._page.is_open_to(self._facts):
            return frame.draw(self._page, self.conversation.state, self._facts)
        return frame.draw_alone(pane)

    def _show_panes_in_sight(self, *, again: bool = False) -> None:
        keys = {each.key for each in self._windows if each.is_in_sight}
        self.conversation.show_panes(None if "" in keys else frozenset(keys), again=again)

    def _follow(self, address: str) -> None:
        """Follow a link: within the page, or to another one, which the person is shown how to open."""
        parts = urlsplit(address)
        path = parts.path.partition("/")[0] or self._page.path
        try:
            page = find_page(path)
        except NotFound:
            return
        if page is self._page and "/" not in parts.path:
            self.conversation.receive({"address": f"?{parts.query}"})
            return
        state, _ = page.state.from_query(dict(parse_qsl(parts.query[:4_000])[:MAX_FIELDS]))
        call = write_explore_call(page.path, state)
        self.conversation.notify(
            html(
                'In the next cell: <code>{call}</code> <button type="button" data-copy="{call}">Copy</button>',
                call=call,
            ),
            tone="info",
        )

    def _broadcast(self, message: PageMessage) -> None:
        for window in self._windows:
            window.deliver(message)

    def _end(self) -> None:
        self.conversation.end()
