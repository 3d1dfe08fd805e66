"""Long loads: what a window cancels is broken off at the service, and what waits never begins."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from httpx._transports import default

from attestlab import Lab
from attestlab.client.asynchronous.calls import VerbCancelled
from attestlab_dashboards.answers import Answers, run_in_thread, run_verb
from attestlab_dashboards.configuration import Configuration
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING
from attestlab_dashboards.service import PersonalDoor
from support.timeouts import WAIT_TIMEOUT_S

TOKENS = {"access_token": "a", "refresh_token": "r", "expires_in": 3600, "refresh_expires_in": 3600}
POLICY = {"toml": 'name = "x"'}


def make_pane(load: Any, key: str = "replay") -> Pane[Any, Any]:
    return Pane(key=key, load=load, draw=lambda _data, _state: NOTHING, reads=("key",), is_long=True)


class KeyedState:
    def __init__(self, key: object) -> None:
        self.key = key


@asynccontextmanager
async def serve_slowly(folder: Path) -> AsyncIterator[tuple[Configuration, list[str]]]:
    """A service that signs people in, and answers no other request; with what it received."""
    met: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.decode().split(" ")[1]
                met.append(path)
                length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
                await reader.readexactly(int(length.partition(b":")[2]))
                if path == "/v1/auth/login":
                    body = json.dumps(TOKENS).encode()
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        except (asyncio.IncompleteReadError, ConnectionError):
            met.append("left")
        finally:
            writer.close()

    socket = str(folder / "api.sock")
    server = await asyncio.start_unix_server(serve, socket)
    configuration = Configuration(
        api_socket=socket, own_socket="", public_url="http://x.example", stage="demo", address_requests_per_minute=60
    )
    yield configuration, met
    server.close()


async def open_door(configuration: Configuration) -> PersonalDoor:
    email = "ann@x.example"
    return await run_in_thread(lambda: PersonalDoor.sign_in(configuration, email, "p", address="127.0.0.1"))


async def wait_until(condition: Any) -> None:
    async with asyncio.timeout(WAIT_TIMEOUT_S):
        while not condition():
            await asyncio.sleep(0.005)


def test_a_cancelled_load_leaves_the_service(tmp_path: Path) -> None:
    async def run() -> list[str]:
        async with serve_slowly(tmp_path) as (configuration, met):
            door = await open_door(configuration)
            answers = Answers(door.cancellable_lab())
            pane = make_pane(lambda lab, _state: lab.policies.simulate(POLICY))
            loading = asyncio.ensure_future(answers.load(pane, KeyedState(1)))
            await wait_until(lambda: "/v1/policies/simulate" in met)
            answers.cancel()
            with pytest.raises(VerbCancelled):
                await asyncio.wait_for(loading, WAIT_TIMEOUT_S)
            await wait_until(lambda: "left" in met)
            door.close()
            return met

    assert asyncio.run(run()) == ["/v1/auth/login", "/v1/policies/simulate", "left"]


def test_the_doors_of_a_person_load_no_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their socket carries no TLS; the system's certificates take 0.8 MiB each time, on the event loop as well."""
    created: list[object] = []
    create = default.create_ssl_context
    monkeypatch.setattr(default, "create_ssl_context", lambda *given, **named: created.append(create(*given, **named)))

    async def run() -> None:
        async with serve_slowly(tmp_path) as (configuration, _met):
            door = await open_door(configuration)
            door.cancellable_lab()
            door.close()

    asyncio.run(run())
    assert [cast(ssl.SSLContext, each).get_ca_certs() for each in created] == [[], []]


def test_a_load_that_waits_for_its_turn_never_begins() -> None:
    begun: list[object] = []

    async def run() -> list[object]:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()

        def load(_lab: Lab, state: KeyedState) -> None:
            begun.append(state.key)
            asyncio.run_coroutine_threadsafe(stop.wait(), loop).result()

        answers, pane = Answers(cast(Lab, None)), make_pane(load)
        loads = [asyncio.ensure_future(answers.load(pane, KeyedState(key))) for key in range(6)]
        await wait_until(lambda: len(begun) == 4)
        answers.cancel()
        stop.set()
        return list(await asyncio.gather(*loads, return_exceptions=True))

    found = asyncio.run(run())
    assert sorted(map(str, begun)) == ["0", "1", "2", "3"]
    assert found[:4] == [None] * 4
    assert [type(each) for each in found[4:]] == [VerbCancelled, VerbCancelled]


def test_a_cancelled_load_can_be_run_again() -> None:
    async def run() -> object:
        answers, pane = Answers(cast(Lab, None)), make_pane(lambda _lab, state: state.key)
        answers.cancel()
        return await answers.load(pane, KeyedState("again")), await run_verb(lambda: "action")

    assert asyncio.run(run()) == ("again", "action")
