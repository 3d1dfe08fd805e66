"""No test gives up after the 5 s that httpx waits by default, or Playwright's 30 s: a busy machine takes longer."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CALLS = {"AsyncClient", "Client", "delete", "get", "head", "options", "patch", "post", "put", "request", "stream"}
Search = Callable[[ast.Module], Iterator[ast.Call]]


def find_impatient_calls(tree: ast.Module) -> Iterator[ast.Call]:
    """Find the calls of httpx, under any name that it was imported by, without a `timeout` of their own."""
    modules, functions = {"httpx"}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.asname for alias in node.names if alias.name == "httpx" and alias.asname}
        elif isinstance(node, ast.ImportFrom) and node.module == "httpx":
            functions |= {alias.asname or alias.name for alias in node.names if alias.name in CALLS}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and all(keyword.arg != "timeout" for keyword in node.keywords):
            match node.func:
                case ast.Attribute(ast.Name(module), name) if module in modules and name in CALLS:
                    yield node
                case ast.Name(name) if name in functions:
                    yield node


def find_impatient_profiles(tree: ast.Module) -> Iterator[ast.Call]:
    """Find where a test opens a profile of the browser itself, so that its windows have the default timeout."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "new_context":
            yield node


@pytest.mark.parametrize(
    ("search", "home"),
    [(find_impatient_calls, "support/patient_http.py"), (find_impatient_profiles, "support/browser.py")],
    ids=["httpx", "playwright"],
)
def test_no_test_calls_with_the_default_timeout(search: Search, home: str) -> None:
    found = [
        f"{path.relative_to(TESTS)}:{call.lineno}"
        for path in sorted(TESTS.rglob("*.py"))
        if path != TESTS / home and any(word in (text := path.read_text()) for word in ("httpx", "new_context"))
        for call in search(ast.parse(text))
    ]
    assert found == [], f"use {home}, or pass the timeout that the test is about"


@pytest.mark.parametrize(
    "lines",
    [
        "import httpx\nhttpx.get(url)",
        "import httpx\nasync def late():\n    async with httpx.AsyncClient(base_url=url) as client: ...",
        "import httpx as library\nlibrary.Client(verify=False)",
        "from httpx import Client as Opened\nwith Opened(): ...",
    ],
)
def test_search_finds_every_form_of_call(lines: str) -> None:
    assert len([*find_impatient_calls(ast.parse(lines))]) == 1


def test_search_finds_a_profile() -> None:
    assert len([*find_impatient_profiles(ast.parse("with windows.browser.new_context() as profile: ..."))]) == 1


@pytest.mark.parametrize("call", ["httpx.get(url, timeout=0.2)", "client.get(url)", "httpx.Response(200)"])
def test_search_leaves_other_calls_alone(call: str) -> None:
    assert [*find_impatient_calls(ast.parse(f"import httpx\n{call}"))] == []
