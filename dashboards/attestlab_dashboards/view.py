"""`DashboardView`: a page in one browser window, as a document of Panel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import Any, ClassVar

import panel as pn

from attestlab_dashboards import assets
from attestlab_dashboards.conversation import PageCaller, PageConversation, PageMessage
from attestlab_dashboards.pages import NO_SHARED_PARTS, AnyPage, SharedParts
from attestlab_dashboards.sessions import BrowserSession


class Bridge(pn.custom.JSComponent):
    """The browser's side of a page: it shows markup, and sends events."""

    _esm: ClassVar = assets.join_scripts("bridge.js", "page.js")

    def __init__(self, on_message: Callable[[PageMessage], None], **params: Any) -> None:
        super().__init__(**params)
        self._on_message = on_message

    def send(self, message: PageMessage) -> None:
        """Send a message to the browser, after all that were sent before it.

        Panel sends at once what comes from the document that the server is processing, and lost or reordered such
        messages when they met another write. Outside of its context, each waits for the lock of the document.
        """
        asyncio.get_running_loop().call_soon(self._send_msg, message, context=Context())

    def _handle_msg(self, data: object) -> None:
        if isinstance(data, dict):
            self._on_message(data)


class DashboardView(pn.viewable.Viewer):
    """A page for one signed-in browser: the conversation about it, carried by a bridge."""

    def __init__(
        self,
        page: AnyPage,
        session: BrowserSession,
        on_ended: Callable[[], None],
        pages: Sequence[AnyPage] = (),
        shared: SharedParts = NO_SHARED_PARTS,
    ) -> None:
        super().__init__()
        sheets = [assets.address(name) for name in ("look.css", f"{page.path}.css")]
        caller = PageCaller(
            facts=session.facts,
            lab=session.door.cancellable_lab() if page.has_long_loads else session.door.lab(),
            open_unattended_lab=lambda: session.door.unattended_lab(),  # which few pages need
            on_ended=on_ended,
            common=session.common,
        )
        self._conversation = PageConversation(page, caller, self._send, pages, shared)
        self._bridge = Bridge(self._conversation.receive, stylesheets=sheets, sizing_mode="stretch_width")

    def __panel__(self) -> Bridge:
        return self._bridge

    def end(self) -> None:
        """Show the sign-in page, because the session has ended."""
        self._conversation.end()

    def close(self) -> None:
        """Break off what still loads: the session has ended, or the window is closed."""
        self._conversation.close()

    def _send(self, message: PageMessage) -> None:
        self._bridge.send(message)
