"""Parts of answers that people of a tenant share: with equal rights, for seconds, and as fresh as their window."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from attestlab import Lab
from attestlab.core.errors import AuthInvalid, Unavailable
from attestlab_dashboards.common_loads import MAX_AGE_S, MAX_PARTS, CommonLoads, SharingWindow, share_load
from support.timeouts import WAIT_TIMEOUT_S


@dataclass
class Caller:
    """A lab whose caller has these scopes, until their session ends."""

    scopes: tuple[str, ...] = ("policies:read",)
    has_ended: bool = False

    def me(self) -> Any:
        if self.has_ended:
            raise AuthInvalid()
        return SimpleNamespace(tenant_id="acme", roles=["ANALYST"], credential=SimpleNamespace(scopes=self.scopes))


@dataclass
class Office:
    """The windows of one process with one clock; `loaded` has the names of those who loaded themselves."""

    time: float = 100.0
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.loads = CommonLoads(lambda: self.time)

    def open(self, caller: Caller | None = None) -> SharingWindow:
        return SharingWindow(cast(Lab, caller or Caller()), self.loads)

    def ask(self, window: SharingWindow, name: str, question: str = "A") -> str:
        def load() -> str:
            self.loaded.append(name)
            return f"{question} for {name}"

        with window.use():
            return share_load(question, load)


def test_people_with_equal_rights_share_a_part_for_seconds() -> None:
    office = Office()
    ann, ben = office.open(), office.open()

    assert office.ask(ann, "Ann") == "A for Ann"
    office.time += MAX_AGE_S
    assert office.ask(ben, "Ben") == "A for Ann"
    assert office.ask(ben, "Ben", "B") == "B for Ben"
    office.time += 0.1
    assert office.ask(ben, "Ben") == "A for Ben"


def test_other_rights_a_later_window_and_one_that_wrote_load_again() -> None:
    office = Office()
    office.ask(office.open(), "Ann")
    office.ask(office.open(Caller(scopes=())), "other")
    office.time += 0.1
    later = office.open()
    office.ask(later, "later")
    office.time += 0.1
    later.since = office.time  # it wrote something
    office.ask(later, "writer")

    assert office.loaded == ["Ann", "other", "later", "writer"]


def test_outside_of_a_window_nothing_is_shared() -> None:
    assert [share_load("A", lambda each=each: each) for each in (1, 2)] == [1, 2]


def test_a_session_that_has_ended_gets_nothing() -> None:
    office = Office()
    office.ask(office.open(), "Ann")
    with pytest.raises(AuthInvalid):
        office.ask(office.open(Caller(has_ended=True)), "Ben")


def load_slowly(office: Office, window: SharingWindow, begun: Event, end: Callable[[], str]) -> str:
    def load() -> str:
        begun.set()
        return end()

    with window.use():
        return share_load("A", load)


@pytest.mark.parametrize("fails", [False, True])
def test_who_waits_gets_the_part_or_loads_after_a_failure(fails: bool) -> None:
    office, begun, may_end = Office(), Event(), Event()

    def end() -> str:
        assert may_end.wait(WAIT_TIMEOUT_S)
        if fails:
            raise Unavailable("It is busy.")
        return "A for Ann"

    ann, ben = office.open(), office.open()
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(load_slowly, office, ann, begun, end)
        assert begun.wait(WAIT_TIMEOUT_S)
        second = threads.submit(office.ask, ben, "Ben")
        office.time += 60
        may_end.set()
        assert second.result(WAIT_TIMEOUT_S) == ("A for Ben" if fails else "A for Ann")
        assert isinstance(first.exception(WAIT_TIMEOUT_S), Unavailable) is fails


def test_the_parts_asked_for_longest_ago_are_forgotten() -> None:
    office = Office()
    window = office.open()
    for number in range(MAX_PARTS + 1):
        office.ask(window, "Ann", f"question {number}")

    office.ask(window, "Ann", f"question {MAX_PARTS}")
    office.ask(window, "Ann", "question 0")

    assert len(office.loaded) == MAX_PARTS + 2
