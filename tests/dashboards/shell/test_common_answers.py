"""Answers that people of a tenant share: with equal rights, for seconds, and never older than the page that asks."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

import attestlab
from attestlab import Lab
from attestlab.client.asynchronous.calls import VerbCancelled
from attestlab.core.errors import AuthInvalid, Unavailable
from attestlab_dashboards.answers import run_in_thread
from attestlab_dashboards.common_answers import CommonAnswers, SharingAnswers
from attestlab_dashboards.common_loads import MAX_AGE_S
from attestlab_dashboards.page_list import PAGES
from attestlab_dashboards.pages import AnyPane, Pane
from attestlab_dashboards.rights import RIGHTS_AGE_S
from attestlab_dashboards.safe import NOTHING
from support.timeouts import WAIT_TIMEOUT_S

PANE_THREADS = 16
ACME, BETA = UUID(int=1), UUID(int=2)


@dataclass
class Caller:
    """A lab whose caller has these rights; each question to the service is counted by the name of who asked."""

    name: str
    tenant_id: UUID = ACME
    roles: tuple[str, ...] = ("ANALYST",)
    scopes: tuple[str, ...] = ("risk:read",)
    has_ended: bool = False
    rights_read: int = 0
    may_tell: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.may_tell.set()

    def me(self) -> Any:
        self.rights_read += 1
        assert self.may_tell.wait(WAIT_TIMEOUT_S)
        if self.has_ended:
            raise AuthInvalid()
        return SimpleNamespace(
            tenant_id=self.tenant_id, roles=self.roles, credential=SimpleNamespace(scopes=self.scopes)
        )


@dataclass
class Team:
    """The windows of one process, its clock, and who was asked; a load waits until its name is in `may_end`."""

    time: float = 100.0
    asked: Counter[str] = field(default_factory=Counter)
    errors: dict[str, Exception] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.common = CommonAnswers(lambda: self.time)
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.loop = loop = asyncio.get_running_loop()

        def load(lab: Caller, state: Any) -> str:
            self.asked[lab.name] += 1
            asyncio.run_coroutine_threadsafe(self.may_end.wait(), loop).result(WAIT_TIMEOUT_S)
            if lab.name in self.errors:
                raise self.errors[lab.name]
            return f"{state.word} for {lab.name}"

        self.pane = make_pane(load, is_common=True)
        self.own = make_pane(load, is_common=False)

    def open(self, caller: Caller) -> SharingAnswers:
        return SharingAnswers(cast(Lab, caller), self.common)

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT_S):
            while not condition():
                await asyncio.sleep(0.002)


def make_pane(load: Any, *, is_common: bool) -> Pane[Any, Any]:
    return Pane(key="who", load=load, draw=lambda _data, _state: NOTHING, reads=("word",), is_common=is_common)


def asks(word: str) -> Any:
    return SimpleNamespace(word=word)


def run(story: Callable[[Team], Coroutine[Any, Any, None]]) -> None:
    async def tell() -> None:
        await asyncio.wait_for(story(Team()), WAIT_TIMEOUT_S)

    asyncio.run(tell())


def test_people_with_equal_rights_share_an_answer_for_seconds() -> None:
    async def story(team: Team) -> None:
        ann, ben = team.open(Caller("Ann")), team.open(Caller("Ben"))
        assert await ann.load(team.pane, asks("A")) == "A for Ann"
        team.time += MAX_AGE_S
        assert await ben.load(team.pane, asks("A")) == "A for Ann"
        assert await ben.load(team.pane, asks("B")) == "B for Ben"
        assert await ann.load(team.own, asks("C")) == "C for Ann"
        assert await ben.load(team.own, asks("C")) == "C for Ben"
        ben.clear()
        assert await ben.load(team.pane, asks("A")) == "A for Ben"

    run(story)


def test_an_answer_is_shared_while_it_loads_and_ages_from_its_end() -> None:
    async def story(team: Team) -> None:
        ann, ben = team.open(Caller("Ann")), team.open(Caller("Ben"))
        cleo = team.open(Caller("Cleo"))
        team.may_end.clear()
        loads = [asyncio.ensure_future(each.load(team.pane, asks("A"))) for each in (ann, ben)]
        await team.wait_until(lambda: team.asked.total() == 1)
        team.time += 60
        team.may_end.set()
        assert await asyncio.gather(*loads) == ["A for Ann"] * 2
        team.time += MAX_AGE_S + 0.1
        assert await cleo.load(team.pane, asks("A")) == "A for Cleo"

    run(story)


@pytest.mark.parametrize(
    "other",
    [
        Caller("Ben", tenant_id=BETA),
        Caller("Ben", roles=("ANALYST", "ADMIN")),
        Caller("Ben", scopes=()),
        Caller("Ben", scopes=("risk:read", "users:read")),
    ],
    ids=["tenant", "role", "no scope", "more scopes"],
)
def test_other_rights_get_another_answer(other: Caller) -> None:
    async def story(team: Team) -> None:
        ann, ben = team.open(Caller("Ann")), team.open(other)
        assert await ann.load(team.pane, asks("A")) == "A for Ann"
        assert await ben.load(team.pane, asks("A")) == "A for Ben"

    run(story)


def test_rights_that_changed_count_from_the_next_click_on() -> None:
    async def story(team: Team) -> None:
        ann, caller = team.open(Caller("Ann", scopes=())), Caller("Ben")
        ben = team.open(caller)
        assert await ben.load(team.pane, asks("A")) == "A for Ben"
        caller.scopes = ()
        team.time += RIGHTS_AGE_S + 0.1
        await ann.load(team.pane, asks("B"))
        assert await ben.load(team.pane, asks("B")) == "B for Ann"
        assert caller.rights_read == 2

    run(story)


def test_rights_that_take_long_are_read_once_for_a_click() -> None:
    async def story(team: Team) -> None:
        caller = Caller("Ann")
        ann = team.open(caller)
        caller.may_tell.clear()
        first = asyncio.ensure_future(ann.load(team.pane, asks("A")))
        await team.wait_until(lambda: caller.rights_read == 1)
        team.time += 60
        second = asyncio.ensure_future(ann.load(team.pane, asks("B")))
        await asyncio.sleep(0.02)
        caller.may_tell.set()
        assert await asyncio.gather(first, second) == ["A for Ann", "B for Ann"]
        assert caller.rights_read == 1

    run(story)


def test_rights_that_could_not_be_read_are_read_again_by_the_next_click() -> None:
    async def story(team: Team) -> None:
        caller = Caller("Ann", has_ended=True)
        ann = team.open(caller)
        with pytest.raises(AuthInvalid):
            await ann.load(team.pane, asks("A"))
        caller.has_ended = False
        assert await ann.load(team.pane, asks("A")) == "A for Ann"

    run(story)


def test_a_click_whose_rights_take_long_can_be_cancelled() -> None:
    async def story(team: Team) -> None:
        caller = Caller("Ann")
        ann = team.open(caller)
        caller.may_tell.clear()
        loading = asyncio.ensure_future(ann.load(team.pane, asks("A")))
        await team.wait_until(lambda: caller.rights_read == 1)
        ann.cancel()
        with pytest.raises(VerbCancelled):
            await loading
        caller.may_tell.set()
        assert team.asked.total() == 0

    run(story)


def test_who_opens_a_page_or_writes_sees_what_is_there_now() -> None:
    async def story(team: Team) -> None:
        ann, ben = team.open(Caller("Ann")), team.open(Caller("Ben"))
        await ann.load(team.pane, asks("A"))
        team.time += 0.1
        cleo = team.open(Caller("Cleo"))
        assert await cleo.load(team.pane, asks("A")) == "A for Cleo"
        team.time += 0.1
        ben.forget(team.pane, asks("A"))
        assert await ben.load(team.pane, asks("A")) == "A for Ben"

    run(story)


def test_a_session_that_has_ended_gets_no_answer_of_others() -> None:
    async def story(team: Team) -> None:
        ann, ben = team.open(Caller("Ann")), team.open(Caller("Ben", has_ended=True))
        await ann.load(team.pane, asks("A"))
        with pytest.raises(AuthInvalid):
            await ben.load(team.pane, asks("A"))

    run(story)


@pytest.mark.parametrize("error", [AuthInvalid(), Unavailable("It is busy."), RuntimeError()])
def test_what_fails_for_another_person_is_asked_again(error: Exception) -> None:
    async def story(team: Team) -> None:
        ann, ben = team.open(Caller("Ann")), team.open(Caller("Ben"))
        team.errors["Ann"] = error
        team.may_end.clear()
        failing = asyncio.ensure_future(ann.load(team.pane, asks("A")))
        await team.wait_until(lambda: team.asked["Ann"] == 1)
        waiting = asyncio.ensure_future(ben.load(team.pane, asks("A")))
        await asyncio.sleep(0.02)
        team.may_end.set()
        assert await waiting == "A for Ben"
        with pytest.raises(type(error)):
            await failing

    run(story)


def test_a_wait_is_cancelled_without_the_load_of_the_other_person() -> None:
    async def story(team: Team) -> None:
        ann, ben = team.open(Caller("Ann")), team.open(Caller("Ben"))
        team.may_end.clear()
        loading = asyncio.ensure_future(ann.load(team.pane, asks("A")))
        await team.wait_until(lambda: team.asked["Ann"] == 1)
        waiting = asyncio.ensure_future(ben.load(team.pane, asks("A")))
        await team.wait_until(lambda: bool(ben._waits))
        ben.cancel()
        with pytest.raises(VerbCancelled):
            await waiting
        team.may_end.set()
        assert await loading == "A for Ann"
        assert team.asked == {"Ann": 1}

    run(story)


def test_rights_are_read_while_all_threads_load() -> None:
    async def story(team: Team) -> None:
        team.may_end.clear()
        busy = [asyncio.ensure_future(run_in_thread(partial(wait_for, team))) for _ in range(PANE_THREADS)]
        caller = Caller("Ann")
        loading = asyncio.ensure_future(team.open(caller).load(team.pane, asks("A")))
        await team.wait_until(lambda: caller.rights_read == 1)
        assert team.asked.total() == 0
        team.may_end.set()
        assert await loading == "A for Ann"
        await asyncio.gather(*busy)

    def wait_for(team: Team) -> None:
        asyncio.run_coroutine_threadsafe(team.may_end.wait(), team.loop).result(WAIT_TIMEOUT_S)

    run(story)


@pytest.fixture(scope="module")
def impersonal_lab(caches: None) -> Iterator[Lab]:
    """The demo, through a lab that says which rights its caller has, and not who it is."""

    def tell_rights(lab: Lab) -> Any:
        me = read(lab)
        return SimpleNamespace(
            tenant_id=me.tenant_id, roles=me.roles, credential=SimpleNamespace(scopes=me.credential.scopes)
        )

    read = Lab.me
    with attestlab.demo() as lab, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lab, "me", tell_rights)
        yield lab


COMMON = [(page, pane) for page in PAGES for pane in page.panes if pane.is_common]


@pytest.mark.parametrize(("page", "pane"), COMMON, ids=[f"{page.path}-{pane.key}" for page, pane in COMMON])
def test_the_answer_of_a_common_pane_does_not_depend_on_who_asks(impersonal_lab: Lab, page: Any, pane: AnyPane) -> None:
    pane.load(impersonal_lab, page.state.from_query({})[0])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
def test_panes_with_one_load_agree_whether_it_is_common(page: Any) -> None:
    loads: dict[Any, set[bool]] = {}
    for pane in page.panes:
        loads.setdefault(pane.load, set()).add(pane.is_common)
    assert [load.__qualname__ for load, found in loads.items() if len(found) > 1] == []
