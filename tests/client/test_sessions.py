"""A lab that acts for a person renews the session, for threads too, and says when it has ended."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier

import httpx
import pytest

import attestlab
from attestlab.client.lab import Lab
from attestlab.core.clock import FixedClock
from attestlab.core.errors import AuthInvalid, Unavailable
from attestlab.embedded.opening import serve
from attestlab.identity.rules import ACCESS_TOKEN_TTL_S, REFRESH_TOKEN_TTL
from attestlab.installation import Installation
from attestlab.settings import Settings
from support.in_process_server import serve_in_thread
from support.timeouts import WAIT_TIMEOUT_S

OVER_AN_HOUR = timedelta(seconds=ACCESS_TOKEN_TTL_S + 60)
THREADS = 6


class World:
    """An installation with a clock that moves by hand, and its owner's address and password."""

    def __init__(self, folder: Path) -> None:
        self.clock = FixedClock(datetime(2026, 11, 21, 12, tzinfo=UTC))
        self.installation, made = Installation.init(Settings(data=folder, database_url=None), clock=self.clock)
        shown = made.public()
        self.email, self.password = shown["owner_email"], shown["owner_password"]

    def sign_in(self, lab: Lab) -> Lab:
        """The lab for the owner."""
        return lab.as_(self.email, password=self.password)

    def count_refresh_tokens(self) -> int:
        """How many refresh tokens the service has issued."""
        with self.installation.storage.read() as connection:
            return int(connection.exec_driver_sql("SELECT count(*) FROM refresh_tokens").scalar_one())


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "lab")


@pytest.fixture(params=["in process", "over HTTP"])
def lab(world: World, request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A lab through each door, whose service has the clock of the test."""
    if request.param == "in process":
        with serve(world.installation) as opened:
            yield opened
        return
    with serve_in_thread(world.installation) as url, attestlab.connect(url) as connected:
        yield connected
    world.installation.close()


def test_a_person_stays_signed_in_for_days(world: World, lab: Lab) -> None:
    person = world.sign_in(lab)
    for _ in range(3):
        world.clock.advance(REFRESH_TOKEN_TTL - timedelta(days=1))

        assert person.me().email == world.email
        assert person.issuers.create("Registrar", "registrar.example").name == "Registrar"  # a write, too


def test_threads_share_one_renewal(world: World, lab: Lab) -> None:
    person, at_once = world.sign_in(lab), Barrier(THREADS)
    world.clock.advance(OVER_AN_HOUR)

    def ask() -> str | None:
        at_once.wait(WAIT_TIMEOUT_S)
        return person.me().email

    with ThreadPoolExecutor(THREADS) as threads:
        answers = [each.result(WAIT_TIMEOUT_S) for each in [threads.submit(ask) for _ in range(THREADS)]]

    assert answers == [world.email] * THREADS
    assert world.count_refresh_tokens() == 2  # of the sign-in, and of one renewal


def test_a_session_that_was_idle_too_long_says_what_to_do(world: World, lab: Lab) -> None:
    person = world.sign_in(lab)
    world.clock.advance(REFRESH_TOKEN_TTL + timedelta(days=1))

    with pytest.raises(AuthInvalid) as caught:
        person.me()

    assert caught.value.__notes__ == ["The session has ended. Sign in again: lab.as_(address, password=...)."]


def test_a_renewal_that_broke_off_is_repeated_as_the_same_request(world: World) -> None:
    """The service has given the next tokens; the answer was lost on its way."""
    with serve_in_thread(world.installation) as url, attestlab.connect(url, sleep=lambda pause_s: None) as lab:
        person = world.sign_in(lab)
        world.clock.advance(OVER_AN_HOUR)
        lost = LosingTransport(lab._door.http._transport)
        lab._door.http._transport = lost

        with pytest.raises(Unavailable):
            person.me()

        lost.is_losing = False
        assert person.me().email == world.email
        assert lost.lost > 1
    world.installation.close()


class LosingTransport(httpx.BaseTransport):
    """A connection that breaks after the service has received a renewal."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self.inner, self.is_losing, self.lost = inner, True, 0

    def close(self) -> None:
        """Close the connections."""
        self.inner.close()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and lose the answer of a renewal."""
        response = self.inner.handle_request(request)
        if self.is_losing and request.url.path == "/v1/auth/refresh":
            response.read()
            response.close()
            self.lost += 1
            raise httpx.ReadError("the connection was reset", request=request)
        return response
