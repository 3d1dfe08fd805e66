"""A page in one window: what the browser gets for each message, with loads that end when the test says so."""

from __future__ import annotations

import asyncio
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self, cast

import pytest
from markupsafe import Markup

from attestlab import Lab
from attestlab.client.asynchronous.calls import VerbCancelled
from attestlab.core.errors import AuthInvalid, Unavailable
from attestlab_dashboards.pages import DashboardPage, Facts, Pane
from attestlab_dashboards.safe import html
from attestlab_dashboards.sessions import BrowserSession
from attestlab_dashboards.view import Bridge, DashboardView
from support.timeouts import WAIT_TIMEOUT_S

FACTS = Facts("Ann", "ann@demo.example", "Demo", "", "demo", frozenset({"auditor"}), frozenset({"read"}))


@dataclass(frozen=True)
class WordState:
    """A page with one filter."""

    word: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str], /) -> tuple[Self, tuple[str, ...]]:
        return cls(query.get("word", "")), tuple(name for name in query if name != "word")

    def to_query(self) -> dict[str, str]:
        return {"word": self.word} if self.word else {}


class Loads:
    """Loads that wait until the test ends them, by the word that they are for."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self._ended: defaultdict[str, threading.Event] = defaultdict(threading.Event)

    def __call__(self, _lab: Lab, state: WordState) -> str:
        self.begun.append(state.word)
        assert self._ended[state.word].wait(WAIT_TIMEOUT_S)
        return state.word

    def end(self, word: str) -> None:
        self._ended[word].set()


def draw_word(word: str, _state: WordState) -> Markup:
    return html("{word}", word=word)


class Window:
    """A view, and what it sent to its browser."""

    def __init__(
        self,
        load: Callable[[Lab, WordState], str],
        *,
        draw: Callable[[str, WordState], Markup] = draw_word,
        page_scope: str = "",
        count_waiting: Callable[[Lab], int] | None = None,
        **options: Any,
    ) -> None:
        self.sent: list[Mapping[str, Any]] = []
        self.ended = 0
        pane = Pane(key="answer", load=load, draw=draw, reads=("word",), **options)
        page = DashboardPage(
            path="log",
            name="Words",
            question="Which word?",
            state=WordState,
            panes=(pane,),
            scope=page_scope,
            events={"word": lambda _, value: WordState(value)},
            count_waiting=count_waiting,
        )
        session = BrowserSession(
            "handle", cast(Any, SimpleNamespace(lab=lambda: None, unattended_lab=lambda: None)), FACTS, "127.0.0.1"
        )
        self.view = DashboardView(page, session, self._end, [page])
        self._bridge = self.view.__panel__()

    def _end(self) -> None:
        self.ended += 1

    def receive(self, message: object) -> None:
        self._bridge._handle_msg(message)

    async def wait(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT_S):
            while not condition():
                await asyncio.sleep(0)

    async def finish(self) -> None:
        """Wait for everything that was begun."""
        await asyncio.wait_for(asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()})), WAIT_TIMEOUT_S)

    def numbers(self) -> list[int]:
        return [message["number"] for message in self.sent if message["do"] == "ready"]

    def shown(self) -> list[Markup]:
        """What the pane showed, in order."""
        panes = [pane for message in self.sent if message["do"] == "panes" for pane in message["panes"]]
        return [pane["html"] for pane in panes if pane["key"] == "answer"]

    def badges(self) -> list[tuple[str, int]]:
        return [(message["path"], message["number"]) for message in self.sent if message["do"] == "badge"]

    def addresses(self) -> list[tuple[str, bool]]:
        return [(message["query"], message["replace"]) for message in self.sent if message["do"] == "address"]


@pytest.fixture
def open_window(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Window]:
    def opened(load: Callable[[Lab, WordState], str], **options: Any) -> Window:
        window = Window(load, **options)
        monkeypatch.setattr(Bridge, "send", lambda _, message: window.sent.append(message))
        return window

    return opened


def test_a_late_answer_to_an_old_filter_is_dropped(open_window: Callable[..., Window]) -> None:
    async def story() -> Window:
        loads = Loads()
        window = open_window(loads)
        window.receive({"hello": "?word=old"})
        await window.wait(lambda: loads.begun == ["old"])
        window.receive({"ev": "word", "v": "new"})
        loads.end("new")
        await window.wait(lambda: window.numbers() == [2])
        loads.end("old")
        await window.finish()
        return window

    window = asyncio.run(story())

    assert window.shown() == ["new"]
    assert window.numbers() == [2]


def test_the_navigation_counts_again_what_waits_until_the_window_is_closed(
    open_window: Callable[..., Window], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attestlab_dashboards.conversation.WAITING_INTERVAL_S", 0)
    counts = iter([2, Unavailable("The service does not answer."), 0])

    def count_waiting(_lab: Lab) -> int:
        match next(counts, 7):
            case int(number):
                return number
            case error:
                raise error

    async def story() -> Window:
        window = open_window(lambda _lab, state: state.word, count_waiting=count_waiting)
        window.receive({"hello": ""})
        await window.wait(lambda: len(window.badges()) > 2)
        window.view.close()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)
        return window

    badges = asyncio.run(story()).badges()
    assert badges[:3] == [("log", 2), ("log", 0), ("log", 7)]


def test_a_session_that_has_ended_is_noticed_by_the_next_count(open_window: Callable[..., Window]) -> None:
    def count_waiting(_lab: Lab) -> int:
        raise AuthInvalid

    async def story() -> Window:
        window = open_window(lambda _lab, state: state.word, count_waiting=count_waiting)
        window.receive({"hello": ""})
        await window.finish()
        return window

    assert asyncio.run(story()).ended == 1


def test_a_page_that_a_person_may_not_see_counts_nothing(open_window: Callable[..., Window]) -> None:
    async def story() -> Window:
        window = open_window(lambda _lab, state: state.word, page_scope="write", count_waiting=lambda _lab: 2)
        window.receive({"hello": ""})
        await window.finish()
        return window

    assert asyncio.run(story()).badges() == []


def test_a_page_without_its_scope_is_one_card_and_loads_nothing(open_window: Callable[..., Window]) -> None:
    async def story(page_scope: str) -> tuple[Window, list[str]]:
        loads = Loads()
        loads.end("")
        window = open_window(loads, page_scope=page_scope)
        window.receive({"hello": ""})
        await window.finish()
        return window, loads.begun

    refused, loaded = asyncio.run(story("write"))
    shown, loaded_with_scope = asyncio.run(story("read"))

    (frame,) = [message["html"] for message in refused.sent if message["do"] == "frame"]
    assert "Which word?" in frame
    assert "This needs the scope <code>write</code>. You have the role auditor. Ask an owner of Demo." in frame
    assert "data-pane" not in frame
    assert (loaded, refused.numbers()) == ([], [1])
    assert (loaded_with_scope, shown.shown()) == ([""], [""])


def test_markup_that_is_drawn_late_is_dropped(open_window: Callable[..., Window]) -> None:
    begun, ended = threading.Event(), threading.Event()

    def draw(word: str, state: WordState) -> Markup:
        if word == "old":
            begun.set()
            assert ended.wait(WAIT_TIMEOUT_S)
        return draw_word(word, state)

    async def story() -> Window:
        window = open_window(lambda _lab, state: state.word, draw=draw)
        window.receive({"hello": "?word=old"})
        await window.wait(begun.is_set)
        window.receive({"ev": "word", "v": "new"})
        await window.wait(lambda: window.numbers() == [2])
        ended.set()
        await window.finish()
        return window

    assert asyncio.run(story()).shown() == ["new"]


def test_an_answer_is_loaded_once_and_back_shows_it_again(open_window: Callable[..., Window]) -> None:
    async def story() -> tuple[Window, list[str]]:
        loads = Loads()
        window = open_window(loads)
        for word in ("old", "new"):
            loads.end(word)
        window.receive({"hello": "?word=old"})
        await window.finish()
        window.receive({"ev": "word", "v": "new"})
        await window.finish()
        window.receive({"address": "?word=old"})
        await window.finish()
        return window, loads.begun

    window, begun = asyncio.run(story())

    assert window.shown() == ["old", "new", "old"]
    assert begun == ["old", "new"]
    assert window.addresses() == [("?word=old", True), ("?word=new", False)]


def test_what_a_link_no_longer_has_is_named(open_window: Callable[..., Window]) -> None:
    async def story() -> Window:
        window = open_window(lambda _lab, state: state.word)
        window.receive({"hello": "?word=old&colour=red"})
        await window.finish()
        return window

    window = asyncio.run(story())

    assert window.addresses() == [("?word=old", True)]
    assert ["colour" in message["html"] for message in window.sent if message["do"] == "notice"] == [True]


def test_a_failure_of_ours_shows_a_reference_and_nothing_of_its_cause(
    open_window: Callable[..., Window], caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_lab: Lab, _state: WordState) -> str:
        raise RuntimeError("the inside of the server")

    async def story() -> Window:
        window = open_window(fail)
        window.receive({"hello": ""})
        await window.finish()
        return window

    (shown,) = asyncio.run(story()).shown()

    (reference,) = re.findall(r"<code>([0-9a-f]{16})</code>", shown)
    assert "inside" not in shown
    assert reference in caplog.text
    assert "the inside of the server" in caplog.text


def test_retry_loads_a_failed_pane_again(open_window: Callable[..., Window]) -> None:
    answers = iter([RuntimeError("once"), "word"])

    def load(_lab: Lab, _state: WordState) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def story() -> Window:
        window = open_window(load)
        window.receive({"hello": ""})
        await window.finish()
        window.receive({"ev": "retry", "v": "answer"})
        await window.finish()
        return window

    assert asyncio.run(story()).shown()[1:] == ["word"]


@pytest.mark.parametrize("error", [Unavailable("The service stops."), VerbCancelled("The verb was cancelled.")])
def test_an_optional_pane_that_fails_changes_nothing(open_window: Callable[..., Window], error: Exception) -> None:
    def fail(_lab: Lab, _state: WordState) -> str:
        raise error

    async def story(*, is_optional: bool) -> Window:
        window = open_window(fail, is_optional=is_optional)
        window.receive({"hello": ""})
        await window.finish()
        return window

    optional, usual = (asyncio.run(story(is_optional=each)) for each in (True, False))
    assert (optional.shown(), optional.numbers()) == ([], [1])
    assert len(usual.shown()) == 1


def test_an_optional_pane_may_say_why_it_could_not_be_read(open_window: Callable[..., Window]) -> None:
    def fail(_lab: Lab, _state: WordState) -> str:
        raise Unavailable("The service stops.")

    async def story() -> Window:
        window = open_window(fail, is_optional=True, draw_unread=lambda error: html("Why: {error}", error=str(error)))
        window.receive({"hello": ""})
        await window.finish()
        return window

    assert asyncio.run(story()).shown() == ["Why: The service stops."]


def test_a_pane_without_its_scope_is_not_even_loaded(open_window: Callable[..., Window]) -> None:
    loads = Loads()

    async def story() -> Window:
        window = open_window(loads, scope="issuers:read")
        window.receive({"hello": ""})
        await window.finish()
        return window

    (shown,) = asyncio.run(story()).shown()

    assert loads.begun == []
    assert "issuers:read" in shown


def test_an_ended_session_ends_the_window(open_window: Callable[..., Window]) -> None:
    def refuse(_lab: Lab, _state: WordState) -> str:
        raise AuthInvalid()

    async def story() -> Window:
        window = open_window(refuse)
        window.receive({"hello": ""})
        await window.finish()
        return window

    window = asyncio.run(story())

    assert window.ended == 1
    assert window.shown() == []


@pytest.mark.parametrize(
    "message",
    [
        *({}, [], "hello", None, {"hello": 1}, {"ev": "word", "v": 7}, {"ev": "word"}, {"ev": ["word"], "v": ""}),
        *({"ev": "unknown", "v": "x"}, {"ev": "word", "v": "x" * 1_000_001}, {"act": "unknown", "fields": {}}),
    ],
    ids=lambda message: str(message)[:30],
)
def test_a_message_that_no_page_of_ours_sends_changes_nothing(
    open_window: Callable[..., Window], message: object
) -> None:
    async def story() -> Window:
        window = open_window(lambda _lab, state: state.word)
        window.receive(message)
        return window

    assert asyncio.run(story()).sent == []


def test_an_address_with_too_many_parts_shows_the_first_state(open_window: Callable[..., Window]) -> None:
    async def story() -> Window:
        window = open_window(lambda _lab, state: state.word or "none")
        window.receive({"hello": "?word=x" + "".join(f"&n{number}=1" for number in range(100))})
        await window.finish()
        return window

    assert asyncio.run(story()).shown() == ["none"]
