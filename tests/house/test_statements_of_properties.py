"""A property test states what holds of the result; one that only calls the product fails for no wrong result."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from pathlib import Path

import pytest
from house.measures import nodes, source, tree

TESTS = Path(__file__).parents[1]
EXCEPTIONS: dict[str, str] = {}  # path::name of a property whose statement this search does not see: the reason
STATEMENTS = {"raises", "fail"}  # calls that fail a test if they are not satisfied
Function = ast.FunctionDef | ast.AsyncFunctionDef


def has_statement(function: Function, stating: Set[str] = frozenset()) -> bool:
    """Whether a function asserts, itself or by one of the functions `stating`; an error that it raises is no statement.

    A method does not count: one of the product may have the name of a function that asserts.
    """
    return any(
        isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and is_statement(node.func, stating))
        for node in ast.walk(function)
    )


def is_statement(called: ast.expr, stating: Set[str]) -> bool:
    if isinstance(called, ast.Attribute):
        return called.attr in STATEMENTS
    return isinstance(called, ast.Name) and called.id in STATEMENTS | stating


def find_stating(functions: list[Function], stating: Set[str] = frozenset()) -> Set[str]:
    """Find the names of the functions that assert, those that only call one of them included."""
    found = stating | {each.name for each in functions if has_statement(each, stating)}
    return found if found == stating else find_stating(functions, found)


def functions_of(path: Path) -> list[Function]:
    return [node for node in nodes(path) if isinstance(node, Function)]


def is_property(function: Function) -> bool:
    """Whether hypothesis chooses arguments of the function, or of one that is defined in it."""
    inner = [node for node in ast.walk(function) if isinstance(node, Function)]
    decorators = [ast.unparse(each) for node in inner for each in node.decorator_list]
    return any(each.startswith(("given(", "hypothesis.given(")) or ".given(" in each for each in decorators)


def silent_properties(module: ast.Module, stating: Set[str] = frozenset()) -> Iterator[str]:
    """Find the property tests of a module that state nothing; `stating` are functions of others that do."""
    named = find_stating([node for node in ast.walk(module) if isinstance(node, Function)], stating)
    groups = [module, *(node for node in module.body if isinstance(node, ast.ClassDef))]
    for function in (node for group in groups for node in group.body if isinstance(node, Function)):
        is_test = function.name.startswith("test_") and is_property(function)
        if is_test and not has_statement(function, named):
            yield function.name


def test_each_property_states_what_holds_of_its_result() -> None:
    """State the form, bounds and types of a result, what reading it again gives, and the fault of what is refused."""
    shared = find_stating([each for path in sorted((TESTS / "support").rglob("*.py")) for each in functions_of(path)])
    modules = [path for path in sorted(TESTS.rglob("test_*.py")) if "given" in source(path)]
    found = {f"{path.relative_to(TESTS)}::{name}" for path in modules for name in silent_properties(tree(path), shared)}

    assert len(modules) > 30
    assert found == set(EXCEPTIONS)


@pytest.mark.parametrize(
    ("body", "is_silent"),
    [
        ("parse(x)", True),
        ("with suppress(ValidationFailed): parse(x)", True),
        ("lab.check(x)", True),
        ("assert parse(x) == x", False),
        ("with pytest.raises(ValidationFailed): parse(x)", False),
        ("outer(x)", False),
        ("elsewhere(x)", False),
    ],
)
def test_silent_property_is_recognised(body: str, is_silent: bool) -> None:
    helpers = "def check(x): assert x\ndef outer(x): check(x)\n"
    module = ast.parse(f"{helpers}@settings(deadline=None)\n@given(st.text())\ndef test_it(x):\n    {body}\n")

    assert list(silent_properties(module, {"elsewhere"})) == ["test_it"] * is_silent


def test_property_within_a_test_is_judged_with_it() -> None:
    inner = "def test_it():\n    @given(st.text())\n    def send(x): found.extend(call(x))\n    send()\n"

    assert list(silent_properties(ast.parse(inner))) == ["test_it"]
    assert list(silent_properties(ast.parse(f"{inner}    assert found == []\n"))) == []
