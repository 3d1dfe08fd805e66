"""The types of the async twin are those of the lab that waits, and what the twin does."""

from __future__ import annotations

import ast
import asyncio
import inspect
from pathlib import Path
from types import FunctionType

import pytest

import attestlab
from attestlab.cli import async_types
from attestlab.client.asynchronous import connecting
from attestlab.orgs.rules import Plan
from support.async_usage import mint_and_verify, read_rows
from support.server_process import ServerProcess

STUB = Path(connecting.__file__).with_name("typed_lab.pyi")


@pytest.fixture
def key(running: ServerProcess) -> str:
    """The API key of a new tenant."""
    installation = running.open_lab()
    made = installation.orgs.create_tenant("Typed", plan=Plan.ENTERPRISE)
    installation.close()
    return made.api_key


def read_classes() -> dict[str, dict[str, ast.stmt]]:
    """The members of each class of the stub, by name."""
    tree = ast.parse(STUB.read_text())
    kinds = [each for each in tree.body if isinstance(each, ast.ClassDef)]
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {kind.name: {each.name: each for each in kind.body if isinstance(each, functions)} for kind in kinds}


def test_the_stub_is_written_from_the_verbs() -> None:
    """`make reference` writes it again."""
    assert ast.dump(ast.parse(STUB.read_text())) == ast.dump(ast.parse(async_types.render_stub()))


def test_a_verb_is_typed_as_it_runs(running: ServerProcess, key: str) -> None:
    """What the stub awaits is a coroutine function of the twin, and the reverse; each noun is of its class."""
    classes = read_classes()
    (lab_kind,) = (each for each in ast.parse(STUB.read_text()).body if getattr(each, "name", "") == "AsyncLab")
    nouns = {
        str(ast.unparse(each.target)): str(ast.unparse(each.annotation))
        for each in ast.walk(lab_kind)
        if isinstance(each, ast.AnnAssign)
    }

    async def compare() -> None:
        async with attestlab.connect_async(running.url, key) as twin:
            assert set(nouns) == {name for name in dir(twin) if not callable(getattr(twin, name))}
            for owner, kind in [(twin, "AsyncLab"), *((getattr(twin, name), kind) for name, kind in nouns.items())]:
                typed = {name: each for name, each in classes[kind].items() if not name.startswith("__")}
                assert {*typed} == {name for name in dir(owner) if name not in nouns}, kind
                verbs = {name: each for name, each in typed.items() if name not in ("columns", "filters", "rows")}
                awaited = {name for name in verbs if inspect.iscoroutinefunction(getattr(owner, name))}
                assert awaited == {name for name, each in verbs.items() if isinstance(each, ast.AsyncFunctionDef)}, kind

    asyncio.run(compare())


def test_every_parameter_of_a_verb_has_the_type_of_the_verb() -> None:
    """One verb, compared by hand with the source: names, kinds, defaults and annotations."""
    (typed,) = (each for name, each in read_classes()["AsyncLab"].items() if name == "mint")
    waiting = ast.parse(inspect.getsource(attestlab.Lab)).body[0]
    assert isinstance(waiting, ast.ClassDef)
    (own,) = (each for each in waiting.body if isinstance(each, ast.FunctionDef) and each.name == "mint")

    assert isinstance(typed, ast.AsyncFunctionDef)
    assert ast.dump(typed.args) == ast.dump(own.args)


@pytest.mark.parametrize(("use", "wanted"), [(mint_and_verify, 1), (read_rows, 1)])
def test_the_typed_usage_runs(running: ServerProcess, key: str, use: FunctionType, wanted: int) -> None:
    if use is not mint_and_verify:
        asyncio.run(mint_and_verify(running.url, key))
    found = asyncio.run(use(running.url, key))

    assert (found if isinstance(found, int) else len(found)) == wanted
