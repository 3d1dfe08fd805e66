"""A closed lab says so: each verb raises an error of ours in one line, whichever door the lab came from."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from embedded.test_junk_arguments import (
    LISTINGS,
    NOUNS,
    SKIPPED,
    consume,
    list_verbs,
    make_listing,
    make_subjects,
    make_values,
    sign_in,
    sign_in_at,
)

import attestlab
from attestlab.client.lab import Lab
from attestlab.core.errors import AttestLabError
from attestlab.orgs.rules import Plan
from support.new_labs import open_new_lab
from support.server_process import ServerProcess

USES: dict[str, Callable[[Any], object]] = {  # of what a verb lists
    **{"len": len, "bool": bool, "list": list, "next": next, "reversed": reversed, "repr": repr},
    **{"[0]": lambda found: found[0], "[:3]": lambda found: found[:3], "card": lambda found: found._repr_html_()},
    **{name: lambda found, name=name: getattr(found, name)() for name in ("df", "pl", "arrow", "close")},  # type: ignore[misc]
}


def call_verb(verb: Callable[..., Any], values: dict[str, Any]) -> Any:
    """Call a verb with right values for what it needs."""
    parameters = inspect.signature(verb).parameters.values()
    needed = [each for each in parameters if each.default is each.empty and each.kind not in (2, 4)]
    given = [values[each.name] for each in needed if each.kind < 2]
    return verb(*given, **{each.name: values[each.name] for each in needed if each.kind == each.KEYWORD_ONLY})


def name_foreign(call: Callable[[], object], name: str) -> list[str]:
    """Name a call whose error is not ours, or has several lines."""
    try:
        call()
    except AttestLabError as error:
        return [f"{name}: {str(error)!r}"] if "\n" in str(error) else []
    except Exception as error:
        return [f"{name}: {type(error).__name__}: {error!s:.200}"]
    return []


def list_calls(subjects: dict[str, Any], values: dict[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    for of, subject in subjects.items():
        for name, verb in list_verbs(subject):
            yield f"{of}.{name}", lambda verb=verb: consume(call_verb(verb, values))  # type: ignore[misc]
    for noun in NOUNS:
        held = subjects[noun]
        for what, ask in (("len", len), ("[:3]", lambda each: each[:3]), ("for", lambda each: next(iter(each), None))):
            if what != "len" or hasattr(held, "__len__"):
                yield f"{what} {noun}", lambda held=held, ask=ask: consume(ask(held))  # type: ignore[misc]
        yield f"show {noun}", lambda held=held: (repr(held), held._repr_html_())  # type: ignore[misc]
    for name in LISTINGS:
        for what, ask in USES.items():
            yield f"{what} {name}", lambda name=name, ask=ask: ask(make_listing(subjects["lab"], name))  # type: ignore[misc]
    yield "show lab", lambda: (repr(subjects["lab"]), subjects["lab"]._repr_html_())


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Lab]:
    with open_new_lab(tmp_path / "lab") as lab:
        yield lab


@pytest.fixture
def connected(running: ServerProcess) -> Iterator[Lab]:
    installation = running.open_lab()
    key = installation.orgs.create_tenant("Closes", plan=Plan.ENTERPRISE).api_key
    installation.close()
    with attestlab.connect(running.url, key) as lab:
        yield lab


def name_foreign_calls(lab: Lab, person: Lab, folder: Path) -> list[str]:
    """Close a lab, and name its verbs and objects that do not say so in an error of ours."""
    subjects = make_subjects(lab, person)
    values = make_values(subjects, folder)
    lab.close()
    calls = list(list_calls(subjects, values))
    assert len(calls) > 150
    return [fault for name, call in calls for fault in name_foreign(call, name)]


def test_a_closed_lab_of_this_process_says_so(local: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert name_foreign_calls(local, sign_in(local, local._door.installation), tmp_path) == []  # type: ignore[attr-defined]


def test_a_closed_lab_over_http_says_so(
    running: ServerProcess, connected: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert name_foreign_calls(connected, sign_in_at(running, connected), tmp_path) == []


def test_a_closed_async_lab_says_so(running: ServerProcess, tmp_path: Path) -> None:
    installation = running.open_lab()
    key = installation.orgs.create_tenant("Closes later", plan=Plan.ENTERPRISE).api_key
    installation.close()

    async def call_all() -> list[str]:
        with attestlab.connect(running.url, key) as lab:
            values = make_values(make_subjects(lab, sign_in_at(running, lab)), tmp_path)
        twin = await attestlab.connect_async(running.url, key)
        await twin.close()
        found = []
        for noun in ("", *NOUNS):
            subject = getattr(twin, noun) if noun else twin
            for name in (name for name in dir(subject) if name not in SKIPPED | {"count"}):
                verb = getattr(type(subject._held), name, None)
                if inspect.isfunction(verb):
                    found += await name_foreign_await(getattr(subject, name), values, f"{noun}.{name}")
        for name in LISTINGS:
            listed = make_listing(twin, name)
            for ask in (listed.count, listed.df, lambda listed=listed: listed[0], lambda listed=listed: listed[:3]):
                found += await name_foreign_await(ask, {}, name)
        return found

    assert asyncio.run(call_all()) == []


async def name_foreign_await(verb: Callable[..., Any], values: dict[str, Any], name: str) -> list[str]:
    try:
        result = call_verb(verb, values)
        if inspect.isawaitable(result):
            await result
        elif isinstance(result, AsyncIterator):
            await anext(result, None)
    except AttestLabError as error:
        return [f"{name}: {str(error)!r}"] if "\n" in str(error) else []
    except Exception as error:
        return [f"{name}: {type(error).__name__}: {error!s:.200}"]
    return []
