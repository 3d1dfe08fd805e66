"""`DashboardView`: a page in one browser window. It loads panes in threads and sends their markup to the browser."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from contextvars import Context
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import parse_qsl, urlencode

import panel as pn
import param
from markupsafe import Markup

from attestlab import Lab
from attestlab.client.asynchronous.calls import VerbCancelled
from attestlab.core.errors import AttestLabError, AuthInvalid
from attestlab_dashboards import assets, frame, icons, suggestions
from attestlab_dashboards.answers import run_in_thread, run_verb
from attestlab_dashboards.common_answers import SharingAnswers
from attestlab_dashboards.pages import NO_SHARED_PARTS, AnyAction, AnyPage, AnyPane, SharedParts
from attestlab_dashboards.safe import html
from attestlab_dashboards.sessions import BrowserSession

MAX_VALUE_CHARS: Final = 1_000_000
MAX_QUERY_CHARS: Final = 4_000
MAX_FIELDS: Final = 32
MAX_SPAN_CHARS: Final = 80  # of the time that the charts show, from/to
PROGRESS_AFTER_S: Final = 1.0  # a shorter load shows none
PROGRESS_INTERVAL_S: Final = 1.0
WAITING_INTERVAL_S: Final = 20.0  # after which the badges of the navigation are counted again
MAX_MEMORY_CHARS: Final = 1_000  # of what a browser remembers of a page
_log = logging.getLogger(__name__)


class Bridge(pn.custom.JSComponent):
    """The browser's side of a page: it shows markup, and sends events."""

    _esm: ClassVar = Path(assets.FOLDER / "bridge.js")

    def __init__(self, on_message: Callable[[Mapping[str, Any]], None], **params: Any) -> None:
        super().__init__(**params)
        self._on_message = on_message

    def send(self, message: Mapping[str, object]) -> None:
        """Send a message to the browser, after all that were sent before it.

        Panel sends at once what comes from the document that the server is processing, and lost or reordered such
        messages when they met another write. Outside of its context, each waits for the lock of the document.
        """
        asyncio.get_running_loop().call_soon(self._send_msg, message, context=Context())

    def _handle_msg(self, data: object) -> None:
        if isinstance(data, dict):
            self._on_message(data)


class DashboardView(pn.viewable.Viewer):
    """A page with its state, for one signed-in browser.

    `number` counts the states that were asked for. An answer to an older one is dropped, unless the parts of the
    state that it depends on are the same.
    """

    state = param.Parameter(doc="The state of the page, which events replace.")
    number = param.Integer(default=0, doc="The number of the state, from 1.")

    def __init__(
        self,
        page: AnyPage,
        session: BrowserSession,
        on_ended: Callable[[], None],
        pages: Sequence[AnyPage] = (),
        shared: SharedParts = NO_SHARED_PARTS,
        **params: Any,
    ) -> None:
        super().__init__(state=page.state.from_query({})[0], **params)
        self._page = page
        self._panes = (*page.panes, *shared.panes)
        self._actions = {**page.actions, **shared.actions}
        self._shared = shared
        self._span = ""
        self._session = session
        self._on_ended = on_ended
        self._counted = [each for each in pages if each.count_waiting and each.is_open_to(session.facts)]
        self._watching: asyncio.Task[None] | None = None
        self._lab = session.door.cancellable_lab() if page.has_long_loads else session.door.lab()
        self._answers = SharingAnswers(self._lab, session.common)
        self._tasks: set[asyncio.Task[None]] = set()
        self._memory = ""
        sheets = [assets.address(name) for name in ("look.css", f"{page.path}.css")]
        self._bridge = Bridge(self._receive, stylesheets=sheets, sizing_mode="stretch_width")

    def __panel__(self) -> Bridge:
        return self._bridge

    @cached_property
    def _unattended_lab(self) -> Lab:
        return self._session.door.unattended_lab()

    def end(self) -> None:
        """Show the sign-in page, because the session has ended."""
        self.close()
        self._send({"do": "ended"})

    def close(self) -> None:
        """Break off what still loads: the session has ended, or the window is closed."""
        for task in self._tasks:
            task.cancel()
        self._answers.cancel()

    def _receive(self, message: Mapping[str, Any]) -> None:
        """Handle a message of the browser; each of its values may be hostile."""
        match message:
            case {"hello": str(query)}:
                self._open(query, message.get("memory"))
            case {"address": str(query)}:
                self._show(self._read_query(query)[0], address=None)
            case {"cancel": True}:
                self._answers.cancel()
            case {"notes": str(span)} if len(span) <= MAX_SPAN_CHARS and self._shared.may_read_notes(
                self._session.facts
            ):
                self._span = span
                self._start(self._show_notes())
            case {"find": str(text)} if text.strip():
                self._start(self._suggest(text))
            case {"ev": "retry", "v": str(key)}:
                self._retry(key)
            case {"ev": "reset"}:
                self._show(self._read_query("")[0])
            case {"ev": str(name), "v": str(value)} if name in self._page.events and len(value) <= MAX_VALUE_CHARS:
                self._show(self._page.events[name](self.state, value))
            case {"act": str(name), "fields": dict(fields)} if name in self._actions and len(fields) <= MAX_FIELDS:
                self._start(self._act(self._actions[name], _texts(fields)))

    def _retry(self, key: str) -> None:
        for pane in self._panes:
            if pane.key == key:
                self._answers.forget(pane, self.state)
        self._show(self.state, address=None)

    def _open(self, query: str, memory: object) -> None:
        """Draw the page for its address; a browser that connects again gets everything again.

        `memory` is what the browser remembers of its last visit, so the first one of this window counts.
        """
        if not self._memory and isinstance(memory, str):
            self._memory = memory[:MAX_MEMORY_CHARS]
        state, left_out = self._read_query(query)
        self._send({"do": "frame", "html": frame.draw(self._page, state, self._session.facts)})
        self._show(state, address="replace")
        self._watch_waiting()
        if left_out:
            self._notify(frame.describe_left_out(left_out), tone="info")

    def _read_query(self, query: str) -> tuple[Any, tuple[str, ...]]:
        try:
            pairs = parse_qsl(query.removeprefix("?")[:MAX_QUERY_CHARS], max_num_fields=MAX_FIELDS)
        except ValueError:  # too many of them
            pairs = []
        state, left_out = self._page.state.from_query(dict(pairs))
        return (state if self._page.recall is None else self._page.recall(state, self._memory)), left_out

    def _show(self, state: Any, *, address: str | None = "push") -> None:
        """Draw a state, and put it into the address of the window."""
        self.param.update(state=state, number=self.number + 1)
        self._send({"do": "busy", "number": self.number})  # may arrive after `ready`
        if address is not None:
            query = urlencode(state.to_query())
            self._send(
                {
                    "do": "address",
                    "query": f"?{query}" if query else "",
                    "title": title_of(self._page),
                    "replace": address == "replace",
                }
            )
        chips = {"key": "chips", "html": self._page.chips(state, self._session.facts)}
        self._send({"do": "panes", "panes": [chips]})
        self._start(self._draw(state, self.number))

    async def _draw(self, state: Any, number: int) -> None:
        panes = self._panes if self._page.is_open_to(self._session.facts) else ()
        await asyncio.gather(*(self._draw_pane(pane, state, number) for pane in panes))
        if number == self.number:
            self._send({"do": "ready", "number": number})

    async def _draw_pane(self, pane: AnyPane, state: Any, number: int) -> None:
        markup = await self._content_of(pane, state, number)
        if number == self.number and markup is not None:
            self._send({"do": "panes", "panes": [{"key": pane.key, "html": markup}]})

    async def _content_of(self, pane: AnyPane, state: Any, number: int) -> Markup | None:
        """Load and draw a pane; None if the state has changed while it waited."""
        if pane.scope and pane.scope not in self._session.facts.scopes:
            return frame.draw_forbidden(pane, self._session.facts)
        progress = asyncio.ensure_future(self._show_progress(pane, state, number))
        try:
            return await self._load_and_draw(pane, state, number)
        except VerbCancelled:
            return None if pane.is_optional else frame.draw_cancelled(pane)
        except AuthInvalid:
            self._on_ended()
            return None
        except AttestLabError as error:
            return _draw_unread(pane, error)
        except Exception:
            reference = secrets.token_hex(8)
            _log.exception("pane %s failed, reference %s", pane.key, reference)
            return frame.draw_failure(pane, reference)
        finally:
            progress.cancel()

    async def _show_progress(self, pane: AnyPane, state: Any, number: int) -> None:
        """Show for how long a long load has run, until it is cancelled because the load has ended."""
        if not pane.is_long or not pane.question:
            return
        await asyncio.sleep(PROGRESS_AFTER_S)
        began, expected = time.monotonic() - PROGRESS_AFTER_S, ""
        if pane.expects is not None:
            with suppress(AttestLabError, VerbCancelled):
                expected = await run_verb(partial(pane.expects, self._lab, state))
        while number == self.number:
            drawn = frame.draw_progress(pane, expected, time.monotonic() - began)
            self._send({"do": "panes", "panes": [{"key": pane.key, "html": drawn}]})
            await asyncio.sleep(PROGRESS_INTERVAL_S)

    async def _load_and_draw(self, pane: AnyPane, state: Any, number: int) -> Markup | None:
        data = await self._answers.load(pane, state)
        if number != self.number:
            return None
        if pane.remember is not None and (memory := pane.remember(data, state)):
            self._send({"do": "remember", "text": memory})
        return await run_in_thread(lambda: frame.draw_pane(self._page.path, pane, data, state))

    def _watch_waiting(self) -> None:
        """Count now and then again and again what waits for the person, instead of what counted before."""
        if self._watching is not None:
            self._watching.cancel()
        self._watching = self._start(self._count_forever()) if self._counted else None

    async def _count_forever(self) -> None:
        with suppress(AuthInvalid):
            while True:
                for page in self._counted:
                    await self._count_waiting(page)
                await asyncio.sleep(WAITING_INTERVAL_S)
        self._on_ended()

    async def _count_waiting(self, page: AnyPage) -> None:
        """Send the badge of a page; what cannot be counted leaves it as it is.

        Raises:
            AuthInvalid: the session has ended.
        """
        assert page.count_waiting is not None  # `_counted` has no other page
        try:
            number = await run_verb(partial(page.count_waiting, self._unattended_lab))
        except AuthInvalid:
            raise
        except (AttestLabError, VerbCancelled):
            return
        self._send({"do": "badge", "path": page.path, "number": number})

    async def _suggest(self, text: str) -> None:
        """Send what a text finds while a person types it; a text that the service refuses finds nothing."""
        try:
            markup = await run_verb(lambda: suggestions.suggest(self._lab, text, page=self._page.path))
        except AuthInvalid:
            self._on_ended()
        except (AttestLabError, VerbCancelled):
            self._send({"do": "found", "text": text, "html": ""})
        else:
            self._send({"do": "found", "text": text, "html": markup})

    async def _show_notes(self) -> None:
        """Send the annotations of the time that the charts show; what cannot be read leaves them as they are."""
        span = self._span
        try:
            markup = await run_verb(lambda: self._shared.draw_notes(self._lab, self._session.facts, span))
        except AuthInvalid:
            self._on_ended()
        except (AttestLabError, VerbCancelled) as error:
            _log.warning("annotations of %s: %s", span, error)
        else:
            if span == self._span:
                self._send({"do": "notes", "html": markup})

    async def _act(self, action: AnyAction, fields: Mapping[str, str]) -> None:
        state = self.state
        try:
            notice = await run_verb(lambda: action.run(self._lab, state, fields))
        except AuthInvalid:
            self._on_ended()
            return
        except AttestLabError as error:
            self._notify(frame.describe_error(error), tone="bad")
            return
        self._answers.clear()
        self._notify(notice.text)
        self._watch_waiting()
        if self._span:
            self._start(self._show_notes())
        self._show(self.state if notice.state is None else notice.state)

    def _notify(self, text: Markup, *, tone: str = "good") -> None:
        box = html(
            '<span>{text}</span><button type="button" aria-label="Close">{icon}</button>',
            text=text,
            icon=icons.draw("cross"),
        )
        self._send({"do": "notice", "tone": tone, "html": box})

    def _send(self, message: Mapping[str, object]) -> None:
        self._bridge.send(message)

    def _start(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _draw_unread(pane: AnyPane, error: AttestLabError) -> Markup | None:
    """Draw why a pane could not be read; None leaves what is drawn already."""
    if pane.draw_unread is not None:
        return pane.draw_unread(error)
    return None if pane.is_optional else frame.draw_error(pane, error)


def title_of(page: AnyPage) -> str:
    """Return the title of a page's window."""
    return f"{page.name} · AttestLab"


def _texts(fields: Mapping[Any, Any]) -> dict[str, str]:
    return {str(name): str(value)[:MAX_VALUE_CHARS] for name, value in fields.items()}
