"""Whatever a person passes to a verb over HTTP, waiting or async: an answer, or an error of ours in one line."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from embedded.test_junk_arguments import (
    JUNK,
    LISTINGS,
    NOUNS,
    OBJECTS,
    SKIPPED,
    choose_junk,
    list_calls,
    list_foreign,
    list_foreign_indices,
    list_indices,
    make_listing,
    make_subjects,
    make_values,
    name_foreign,
    sign_in_at,
)

import attestlab
from attestlab.client.asynchronous.twins import AsyncRows
from attestlab.client.lab import Lab
from attestlab.orgs.rules import Plan
from support.property_tests import examples
from support.server_process import ServerProcess


@pytest.fixture(scope="module")
def key(running: ServerProcess) -> str:
    installation = running.open_lab()
    made = installation.orgs.create_tenant("Junk", plan=Plan.ENTERPRISE)
    installation.close()
    return made.api_key


@pytest.fixture(scope="module")
def lab(running: ServerProcess, key: str) -> Iterator[Lab]:
    with attestlab.connect(running.url, key) as connected:
        yield connected


@pytest.fixture(scope="module")
def subjects(lab: Lab, running: ServerProcess) -> dict[str, Any]:
    return make_subjects(lab, sign_in_at(running, lab))


@pytest.fixture(scope="module")
def valid(subjects: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return make_values(subjects, tmp_path_factory.mktemp("valid"))


@pytest.mark.more_in_soak
@pytest.mark.parametrize("of", ["lab", *NOUNS, *OBJECTS])
def test_a_verb_over_http_refuses_junk_in_one_line(
    subjects: dict[str, Any], valid: dict[str, Any], of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert list_foreign(of, subjects[of], valid, count=examples(1, many=len(JUNK))) == []


@pytest.mark.more_in_soak
@pytest.mark.parametrize("of", ["lab", *NOUNS])
def test_an_async_verb_refuses_junk_in_one_line(
    running: ServerProcess, key: str, valid: dict[str, Any], of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    count = examples(1, many=len(JUNK))

    async def call_all() -> list[str]:
        async with attestlab.connect_async(running.url, key) as twin:
            return await list_foreign_awaits(of, twin if of == "lab" else getattr(twin, of), valid, count)

    assert asyncio.run(call_all()) == []


def test_an_index_of_a_list_over_http_refuses_junk_in_one_line(lab: Lab, subjects: dict[str, Any]) -> None:
    found = {name: make_listing(lab, name) for name in LISTINGS}

    assert [fault for name, each in found.items() for fault in list_foreign_indices(name, each)] == []


def test_an_index_of_an_async_list_refuses_junk_in_one_line(running: ServerProcess, key: str) -> None:
    async def index_all() -> list[str]:
        async with attestlab.connect_async(running.url, key) as twin:
            return [fault for name in LISTINGS for fault in await list_foreign_index_awaits(twin, name)]

    assert asyncio.run(index_all()) == []


async def list_foreign_index_awaits(twin: Any, name: str) -> list[str]:
    found, foreign = make_listing(twin, name), []
    for junk in list_indices():
        try:
            await found[junk]
        except Exception as error:
            foreign += name_foreign(error, name, "index", junk)
    return foreign


async def list_foreign_awaits(of: str, subject: Any, valid: dict[str, Any], count: int) -> list[str]:
    """The calls of an async noun with junk whose errors are not ours, or have several lines."""
    foreign, number = [], 0
    for name in (name for name in dir(subject) if name not in SKIPPED | {"count"}):
        if not inspect.isfunction(getattr(type(subject._held), name, None)):
            continue
        for parameter, call in list_calls(getattr(subject, name), valid):
            number += 1
            for junk in choose_junk(number, count):
                try:
                    await consume(call(junk))
                except Exception as error:
                    foreign += name_foreign(error, f"{of}.{name}", parameter, junk)
    return foreign


async def consume(result: object) -> None:
    """Wait for what a verb returns, and read its first part."""
    if inspect.isawaitable(result):
        await consume(await result)
    elif isinstance(result, AsyncRows):
        await result.arrow()
    elif isinstance(result, AsyncIterator):
        await anext(result, None)
