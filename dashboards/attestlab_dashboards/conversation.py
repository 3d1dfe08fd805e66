"""`PageConversation`: what a page and its browser tell each other, whatever carries their messages.

It loads panes in threads, and sends their markup. `view.py` carries the messages in a document of Panel, `cell` in a
notebook.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import param
from markupsafe import Markup

from attestlab import Lab
from attestlab.client.asynchronous.calls import VerbCancelled
from attestlab.core.errors import AttestLabError, AuthInvalid
from attestlab_dashboards import frame, icons, suggestions
from attestlab_dashboards.answers import Answers, run_in_thread, run_verb
from attestlab_dashboards.common_answers import CommonAnswers, SharingAnswers
from attestlab_dashboards.pages import NO_SHARED_PARTS, AnyAction, AnyPage, AnyPane, Facts, SharedParts
from attestlab_dashboards.safe import html
from attestlab_dashboards.state import PageState

MAX_VALUE_CHARS: Final = 1_000_000
MAX_QUERY_CHARS: Final = 4_000
MAX_FIELDS: Final = 32
MAX_SPAN_CHARS: Final = 80  # of the time that the charts show, from/to
PROGRESS_AFTER_S: Final = 1.0  # a shorter load shows none
PROGRESS_INTERVAL_S: Final = 1.0
WAITING_INTERVAL_S: Final = 20.0  # after which the badges of the navigation are counted again
MAX_MEMORY_CHARS: Final = 1_000  # of what a browser remembers of a page
_log = logging.getLogger(__name__)


PageMessage = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class PageCaller:
    """Who looks at a page, with the lab that the page asks as this person or program.

    `open_unattended_lab` opens the lab for what the page asks by itself; `on_ended` is called when the service no
    longer accepts the caller. `common` are the answers that callers with equal rights share; `has_downloads` is whether
    the page's address serves files of its rows.
    """

    facts: Facts
    lab: Lab
    open_unattended_lab: Callable[[], Lab]
    on_ended: Callable[[], None]
    common: CommonAnswers | None = None
    has_downloads: bool = True


class PageConversation(param.Parameterized):
    """A page with its state, for one caller. All its methods run on one event loop.

    `number` counts the states that were asked for. An answer to an older one is dropped, unless the parts of the
    state that it depends on are the same.
    """

    state = param.Parameter(doc="The state of the page, which events replace.")
    number = param.Integer(default=0, doc="The number of the state, from 1.")

    def __init__(
        self,
        page: AnyPage,
        caller: PageCaller,
        send: Callable[[PageMessage], None],
        pages: Sequence[AnyPage] = (),
        shared: SharedParts = NO_SHARED_PARTS,
        shown: frozenset[str] | None = None,
        **params: Any,
    ) -> None:
        """Begin with the first state of the page; `send` sends a message after all that were sent before it.

        `shown` are the panes that are drawn, by default all (`show_panes`).
        """
        super().__init__(state=page.state.from_query({})[0], **params)
        self._page = page
        self._panes = (*page.panes, *shared.panes)
        self._actions = {**page.actions, **shared.actions}
        self._shared = shared
        self._span = ""
        self._caller = caller
        self._send = send
        self._counted = [each for each in pages if each.count_waiting and each.is_open_to(caller.facts)]
        self._watching: asyncio.Task[None] | None = None
        self._lab = caller.lab
        self._answers = Answers(self._lab) if caller.common is None else SharingAnswers(self._lab, caller.common)
        self._tasks: set[asyncio.Task[None]] = set()
        self._memory = ""
        self._shown = shown
        self._drawn: set[str] = set()  # the panes that were sent for the state of `number`

    @cached_property
    def _unattended_lab(self) -> Lab:
        return self._caller.open_unattended_lab()

    def end(self) -> None:
        """Say that the session of the caller has ended."""
        self.close()
        self._send({"do": "ended"})

    def close(self) -> None:
        """Break off what still loads: the session has ended, or the page is closed."""
        for task in self._tasks:
            task.cancel()
        self._answers.cancel()

    def receive(self, message: Mapping[str, Any]) -> None:
        """Handle a message of the browser; each of its values may be hostile."""
        match message:
            case {"hello": str(query)}:
                self._open(query, message.get("memory"))
            case {"address": str(query)}:
                self.show(self._read_query(query)[0], address=None)
            case {"cancel": True}:
                self._answers.cancel()
            case {"notes": str(span)} if len(span) <= MAX_SPAN_CHARS and self._shared.may_read_notes(
                self._caller.facts
            ):
                self._span = span
                self._start(self._show_notes())
            case {"find": str(text)} if text.strip():
                self._start(self._suggest(text))
            case {"ev": "retry", "v": str(key)}:
                self._retry(key)
            case {"ev": "reset"}:
                self.show(self._read_query("")[0])
            case {"ev": str(name), "v": str(value)} if name in self._page.events and len(value) <= MAX_VALUE_CHARS:
                self.show(self._page.events[name](self.state, value))
            case {"act": str(name), "fields": dict(fields)} if name in self._actions and len(fields) <= MAX_FIELDS:
                self._start(self._act(self._actions[name], _texts(fields)))

    def show_panes(self, keys: frozenset[str] | None, *, again: bool = False) -> None:
        """Draw these panes alone from now on, or all; one that was left out is loaded once it is drawn.

        What was sent for this state is not sent `again`, unless a window is new.
        """
        self._shown = keys
        if again:
            self._drawn.clear()
        if self.number == 0:
            self.show(self.state)
        else:
            self._start(self._draw(self.state, self.number))

    async def load(self, pane: AnyPane, state: PageState) -> Any:
        """Return what a pane shows for a state, which is asked for once.

        Raises:
            AttestLabError: the service refused, or failed.
            VerbCancelled: the person cancelled it.
        """
        return await self._answers.load(pane, state)

    def _retry(self, key: str) -> None:
        for pane in self._panes:
            if pane.key == key:
                self._answers.forget(pane, self.state)
        self.show(self.state, address=None)

    def _open(self, query: str, memory: object) -> None:
        """Draw the page for its address; a browser that connects again gets everything again.

        `memory` is what the browser remembers of its last visit, so the first one of this window counts.
        """
        if not self._memory and isinstance(memory, str):
            self._memory = memory[:MAX_MEMORY_CHARS]
        state, left_out = self._read_query(query)
        self._send({"do": "frame", "html": frame.draw(self._page, state, self._caller.facts)})
        self.show(state, address="replace")
        self._watch_waiting()
        if left_out:
            self.notify(frame.describe_left_out(left_out), tone="info")

    def _read_query(self, query: str) -> tuple[PageState, tuple[str, ...]]:
        try:
            pairs = parse_qsl(query.removeprefix("?")[:MAX_QUERY_CHARS], max_num_fields=MAX_FIELDS)
        except ValueError:  # too many of them
            pairs = []
        state, left_out = self._page.state.from_query(dict(pairs))
        return (state if self._page.recall is None else self._page.recall(state, self._memory)), left_out

    def show(self, state: PageState, *, address: str | None = "push") -> None:
        """Draw a state, and put it into the address of the window."""
        self.param.update(state=state, number=self.number + 1)
        self._drawn.clear()
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
        chips = {"key": "chips", "html": self._page.chips(state, self._caller.facts)}
        self._send({"do": "panes", "panes": [chips]})
        self._start(self._draw(state, self.number))

    async def _draw(self, state: PageState, number: int) -> None:
        is_open = self._page.is_open_to(self._caller.facts)
        keys = {pane.key for pane in self._panes} if self._shown is None else self._shown
        panes = [pane for pane in self._panes if is_open and pane.key in keys - self._drawn]
        await asyncio.gather(*(self._draw_pane(pane, state, number) for pane in panes))
        if number == self.number:
            self._send({"do": "ready", "number": number})

    async def _draw_pane(self, pane: AnyPane, state: PageState, number: int) -> None:
        markup = await self._content_of(pane, state, number)
        if number == self.number and markup is not None:
            self._drawn.add(pane.key)
            self._send({"do": "panes", "panes": [{"key": pane.key, "html": markup}]})

    async def _content_of(self, pane: AnyPane, state: PageState, number: int) -> Markup | None:
        """Load and draw a pane; None if the state has changed while it waited."""
        if pane.scope and pane.scope not in self._caller.facts.scopes:
            return frame.draw_forbidden(pane, self._caller.facts)
        progress = asyncio.ensure_future(self._show_progress(pane, state, number))
        try:
            return await self._load_and_draw(pane, state, number)
        except VerbCancelled:
            return None if pane.is_optional else frame.draw_cancelled(pane)
        except AuthInvalid:
            self._caller.on_ended()
            return None
        except AttestLabError as error:
            return _draw_unread(pane, error)
        except Exception:
            reference = secrets.token_hex(8)
            _log.exception("pane %s failed, reference %s", pane.key, reference)
            return frame.draw_failure(pane, reference)
        finally:
            progress.cancel()

    async def _show_progress(self, pane: AnyPane, state: PageState, number: int) -> None:
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

    async def _load_and_draw(self, pane: AnyPane, state: PageState, number: int) -> Markup | None:
        data = await self._answers.load(pane, state)
        if number != self.number:
            return None
        if pane.remember is not None and (memory := pane.remember(data, state)):
            self._send({"do": "remember", "text": memory})
        tools = frame.PaneTools(self._page.path, has_downloads=self._caller.has_downloads)
        return await run_in_thread(lambda: frame.draw_pane(tools, pane, data, state))

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
        self._caller.on_ended()

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
            self._caller.on_ended()
        except (AttestLabError, VerbCancelled):
            self._send({"do": "found", "text": text, "html": ""})
        else:
            self._send({"do": "found", "text": text, "html": markup})

    async def _show_notes(self) -> None:
        """Send the annotations of the time that the charts show; what cannot be read leaves them as they are."""
        span = self._span
        try:
            markup = await run_verb(lambda: self._shared.draw_notes(self._lab, self._caller.facts, span))
        except AuthInvalid:
            self._caller.on_ended()
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
            self._caller.on_ended()
            return
        except AttestLabError as error:
            self.notify(frame.describe_error(error), tone="bad")
            return
        self._answers.clear()
        self.notify(notice.text)
        self._watch_waiting()
        if self._span:
            self._start(self._show_notes())
        self.show(self.state if notice.state is None else notice.state)

    def notify(self, text: Markup, *, tone: str = "good") -> None:
        """Show a sentence over the page."""
        box = html(
            '<span>{text}</span><button type="button" aria-label="Close">{icon}</button>',
            text=text,
            icon=icons.draw("cross"),
        )
        self._send({"do": "notice", "tone": tone, "html": box})

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
