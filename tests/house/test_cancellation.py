"""No wait swallows a cancellation: `asyncio.wait_for` does on Python 3.11, `asyncio.timeout` does not.

A loop that waits with `wait_for` for an event may run after it was cancelled, and a server that stops would wait for
it. So our own code has `asyncio.timeout` alone, and the tests never give an event's `wait()` to `wait_for`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = ("attestlab", "dashboards", "benchmarks")
REMEDY = "write `async with asyncio.timeout(seconds): await ...`"


def find_wait_for(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls of asyncio's `wait_for`, by either name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("asyncio.wait_for", "wait_for"):
            yield node


def waits_for_an_event(call: ast.Call) -> bool:
    awaited = call.args[0] if call.args else None
    return isinstance(awaited, ast.Call) and isinstance(awaited.func, ast.Attribute) and awaited.func.attr == "wait"


def places(*folders: str) -> Iterator[tuple[str, ast.Call]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for call in find_wait_for(ast.parse(path.read_text())):
                yield f"{path.relative_to(ROOT)}:{call.lineno}", call


def test_no_code_of_ours_calls_wait_for() -> None:
    found = [place for place, _ in places(*OURS)]
    assert not found, f"{', '.join(found)}: {REMEDY}"


def test_no_test_waits_for_an_event_with_wait_for() -> None:
    found = [place for place, call in places("tests") if waits_for_an_event(call)]
    assert not found, f"{', '.join(found)}: {REMEDY}"


@pytest.mark.parametrize("line", ["await asyncio.wait_for(self._wake_up.wait(), 1)", "await wait_for(over.wait(), 1)"])
def test_the_search_finds_a_wait_for_an_event(line: str) -> None:
    (call,) = find_wait_for(ast.parse(f"async def late(self):\n    {line}\n"))
    assert waits_for_an_event(call)
