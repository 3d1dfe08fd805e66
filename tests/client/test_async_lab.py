"""The async twin: the verbs, fields and results of the lab that waits; many at a time; a cancelled one stops."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import attestlab
from attestlab.client.asynchronous.calls import VerbThreads
from attestlab.client.asynchronous.twins import NOT_AWAITED, AsyncHandle, AsyncRows
from attestlab.client.lab import Lab
from attestlab.core.errors import AttestLabError, AuthInvalid, Conflict, NotFound, Unavailable, ValidationFailed
from attestlab.orgs.rules import Plan
from support.awaiting_lab import AwaitingLab, find_plain
from support.lab_walk import describe, walk_through
from support.server_process import ServerProcess
from support.timeouts import WAIT_TIMEOUT_S

ISSUER = "0193b5a0-7f3c-7abc-8def-0123456789ab"
Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
ROUNDS_TO_CANCEL = 10  # of the event loop; a wait that is broken off ends in its next ones, whatever time they take


@pytest.fixture(scope="module")
def keys(running: ServerProcess) -> list[str]:
    """The API keys of two new tenants."""
    installation = running.open_lab()
    made = [installation.orgs.create_tenant(name, plan=Plan.ENTERPRISE).api_key for name in ("Waits", "Awaits")]
    installation.close()
    return made


@pytest.fixture(scope="module")
def lab(running: ServerProcess, keys: list[str]) -> Iterator[Lab]:
    with attestlab.connect(running.url, keys[0]) as connected:
        yield connected


def test_the_async_twin_leads_to_the_same_results(
    running: ServerProcess, keys: list[str], lab: Lab, tmp_path: Path
) -> None:
    with asyncio.Runner() as runner:
        twin = runner.run(_connect(running.url, keys[1]))
        awaited = [describe(find_plain(each)) for each in walk_through(AwaitingLab(twin, runner), "twin", tmp_path)]  # type: ignore[arg-type]  # it has the face of a lab
        runner.run(twin.close())

    assert awaited == [describe(each) for each in walk_through(lab, "twin", tmp_path)]


async def _connect(url: str, key: str) -> Any:
    return await attestlab.connect_async(url, key)


def test_the_async_twin_has_the_same_public_surface(running: ServerProcess, keys: list[str], lab: Lab) -> None:
    async def compare() -> None:
        async with attestlab.connect_async(running.url, keys[0]) as twin:
            assert dir(twin) == [name for name in dir(lab) if name not in NOT_AWAITED]
            nouns = [name for name in dir(lab) if not callable(getattr(lab, name))]
            for noun in nouns:
                assert {*dir(getattr(twin, noun))} ^ {*dir(getattr(lab, noun))} <= {"count", *NOT_AWAITED}, noun
                assert isinstance(getattr(twin, noun), AsyncRows), noun
            assert len(nouns) >= 11

    asyncio.run(compare())


def test_the_async_twin_knows_the_time_of_the_service(running: ServerProcess, lab: Lab) -> None:
    async def read_time() -> datetime:
        async with attestlab.connect_async(running.url) as twin:
            return await twin.now()

    assert lab.now() <= asyncio.run(read_time()) <= lab.now()


def test_every_verb_is_awaited_or_iterated_or_lazy(running: ServerProcess, keys: list[str], lab: Lab) -> None:
    async def list_verbs() -> set[str]:
        async with attestlab.connect_async(running.url, keys[0]) as twin:
            nouns = [getattr(twin, name) for name in dir(lab) if not callable(getattr(lab, name))]
            found = {(each, name) for each in (twin, *nouns) for name in dir(each) if name not in ("columns", "rows")}
            verbs = {name: getattr(each, name) for each, name in found if inspect.isfunction(getattr(each, name))}
            return {name for name, verb in verbs.items() if not inspect.iscoroutinefunction(verb)}

    assert asyncio.run(list_verbs()) == {"sql", "list", "checkpoints", "events", "review"}


def test_a_verb_keeps_its_documentation_and_signature(running: ServerProcess, keys: list[str], lab: Lab) -> None:
    async def look() -> None:
        async with attestlab.connect_async(running.url, keys[0]) as twin:
            assert inspect.signature(twin.mint) == inspect.signature(lab.mint)
            assert twin.mint.__doc__ == lab.mint.__doc__

    asyncio.run(look())


def test_rows_lists_and_objects_are_awaited(running: ServerProcess, keys: list[str]) -> None:
    async def use() -> None:
        async with attestlab.connect_async(running.url, keys[0]) as twin:
            issuer = await twin.issuers.create("Asynchronous", "async.example")
            minted = await twin.attestations.mint_many(
                [{"issuer": issuer, "schema": "degree", "claims": {"student_name": str(n)}} for n in range(3)]
            )
            again = await twin.attestations[minted[0]]
            assert (isinstance(issuer, AsyncHandle), again.id, repr(again)) == (True, minted[0].id, repr(again))
            assert again == await twin.attestations[again.id]
            bundle = await again.bundle()
            assert (await bundle.verify()).verdict == (await twin.verify(bundle)).verdict == "VALID"
            assert "not_checked" in dir(await twin.verify(bundle)), "a bundle is verified here, without the service"
            frame = await twin.attestations.df()
            assert len(frame) == await twin.attestations.count() == len([each async for each in twin.attestations.rows])
            assert (await twin.sql("select count(*) n from attestations").arrow()).to_pylist() == [{"n": len(frame)}]
            assert "schema_id" in await twin.attestations.columns
            assert [each.id async for each in twin.attestations.list(issuer_id=issuer)] == [
                each.id for each in reversed(minted)
            ]
            listed = twin.attestations.list(issuer_id=issuer)
            assert (await anext(listed)).id == (await listed[0]).id == minted[2].id
            assert [each.id for each in await listed[1:3]] == [minted[1].id, minted[0].id]
            assert (await (await listed[0]).verify()).verdict == "VALID", "what a list has are twins"
            assert await listed.count() == len(await listed.df()) == 3
            assert len([each async for each in listed]) == 2, "the loop continues after the first"

    asyncio.run(use())


def test_an_iteration_that_is_left_early_leaves_nothing_open(running: ServerProcess, keys: list[str]) -> None:
    async def leave() -> list[object]:
        async with attestlab.connect_async(running.url, keys[0]) as twin:
            await twin.issuers.create("Logged", "logged.example")
            rows = aiter(twin.log.rows)
            assert (await anext(rows))["log_index"] == 0
            await rows.aclose()  # type: ignore[attr-defined]  # an async generator
            return [each for each in twin._http._transport._pool.connections if not each.is_idle()]

    assert asyncio.run(leave()) == []


def test_an_iteration_that_is_left_early_is_closed_in_a_worker_thread() -> None:
    ended_in: list[threading.Thread] = []

    def read() -> Generator[int]:
        try:
            yield from itertools.count()  # so a page never ends the rows, and each stands between two pages
        finally:
            ended_in.append(threading.current_thread())

    rows = read()  # kept here: Python ends a generator that lost its last name, in the thread of the loop

    async def leave() -> None:
        threads = VerbThreads()
        iteration = aiter(AsyncRows(rows, threads))
        assert await anext(iteration) == 0
        await iteration.aclose()  # type: ignore[attr-defined]  # an async generator
        assert inspect.getgeneratorstate(rows) == inspect.GEN_CLOSED
        threads.close()

    asyncio.run(leave())
    assert ended_in != [threading.current_thread()]


@asynccontextmanager
async def lab_on(answer: Answer) -> AsyncIterator[tuple[Any, list[str]]]:
    """An async lab on a server that greets, and answers each further request by `answer`; with the requests."""
    met: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                met.append(head.decode().split(" ")[1])
                if len(met) == 1:
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                else:
                    await answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            met.append("left")
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    url, longer_s = f"http://{host}:{port}", 2.0 * WAIT_TIMEOUT_S
    async with attestlab.connect_async(url, "al_live_x", timeout_s=longer_s) as lab:
        yield lab, met
    server.close()


def test_verbs_of_one_lab_run_at_the_same_time() -> None:
    body = b'{"code": "NOT_FOUND", "message": "No such thing.", "details": {}}'
    meeting = asyncio.Barrier(8)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await meeting.wait()  # so none is answered before the last one is here
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    async def run() -> None:
        async with lab_on(answer) as (lab, _):
            errors = await asyncio.gather(*(lab.attestations[ISSUER] for _ in range(8)), return_exceptions=True)
            assert [type(error) for error in errors] == [NotFound] * 8

    asyncio.run(asyncio.wait_for(run(), WAIT_TIMEOUT_S))


async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer nothing until the client has left."""
    if not await reader.read(1):
        raise ConnectionError


async def later(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Ask the client to come back in twenty seconds."""
    writer.write(b"HTTP/1.1 503 Busy\r\nRetry-After: 20\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("answer", [never, later], ids=["during a request", "between two attempts"])
def test_a_cancelled_verb_stops_at_once(answer: Answer) -> None:
    async def run() -> list[str]:
        async with lab_on(answer) as (lab, met):
            verb = asyncio.ensure_future(lab.attestations[ISSUER])
            while len(met) < 2 or (answer is later and not list_sleeps()):
                await asyncio.sleep(0.01)  # until it waits for the answer, or between two attempts
            verb.cancel()
            with pytest.raises(asyncio.CancelledError):
                await verb
            for _ in range(ROUNDS_TO_CANCEL):
                await asyncio.sleep(0)
            assert list_sleeps() == []
            await asyncio.to_thread(lab._threads._threads.shutdown)  # what the verb's thread still sends has been sent
            while answer is never and "left" not in met:
                await asyncio.sleep(0.01)  # until the server notices
            return met[1:]

    left = ["left"] if answer is never else []
    assert asyncio.run(asyncio.wait_for(run(), WAIT_TIMEOUT_S)) == [f"/v1/attestations/{ISSUER}", *left]


def list_sleeps() -> list[object]:
    """List the waits of verbs between two attempts."""
    return [each for each in asyncio.all_tasks() if "coroutine object sleep" in repr(each.get_coro())]


def test_a_closed_lab_and_one_of_another_loop_say_so(running: ServerProcess) -> None:
    async def close() -> Any:
        lab = await attestlab.connect_async(running.url)
        await lab.close()
        await lab.close()
        with pytest.raises(Conflict, match="closed"):
            await lab.log.head()
        return lab

    lab = asyncio.run(close())
    with pytest.raises(Conflict, match="another event loop"):
        asyncio.run(lab.log.head())


def test_a_held_object_does_not_stop_the_loop(running: ServerProcess) -> None:
    async def use_without_await() -> None:
        async with attestlab.connect_async(running.url) as lab:
            with pytest.raises(Conflict, match="Await its verb"):
                lab._held.log.head()

    asyncio.run(use_without_await())


def test_what_cannot_be_connected_is_refused(running: ServerProcess) -> None:
    async def connect(url: str, key: str | None = None) -> None:
        async with attestlab.connect_async(url, key):
            raise AssertionError

    with pytest.raises(ValidationFailed, match="not the address of a service"):
        attestlab.connect_async("attest.example.org")
    with pytest.raises(AuthInvalid):
        asyncio.run(connect(running.url, "al_live_wrong"))
    with pytest.raises(Unavailable, match="No service answers"):
        asyncio.run(connect("http://127.0.0.1:1"))


def test_errors_are_those_of_the_lab_that_waits(running: ServerProcess, lab: Lab, keys: list[str]) -> None:
    async def fail() -> AttestLabError:
        async with attestlab.connect_async(running.url, keys[0]) as twin:
            with pytest.raises(AttestLabError) as caught:
                await twin.attestations[ISSUER]
            return caught.value

    with pytest.raises(NotFound) as waited:
        lab.attestations[ISSUER]
    assert asyncio.run(fail()).message == waited.value.message
