"""The soak repeats the properties that try more examples there, and nothing that is the same in `make test`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from house.measures import source, tree

TESTS = Path(__file__).parents[1]
MARK, HOME = "more_in_soak", "support.property_tests"


def import_of_examples(module: ast.Module) -> set[str]:
    """The names under which a module has `examples` of support/property_tests.py."""
    imports = [node for node in ast.walk(module) if isinstance(node, ast.ImportFrom) and node.module == HOME]
    return {each.asname or each.name for node in imports for each in node.names if each.name == "examples"}


def names_that_depend_on(names: set[str], module: ast.Module) -> set[str]:
    """Those names, and the module's own that are defined with one of them, directly or through another name."""
    dependent, known = set(names), -1
    while known < len(dependent):
        known = len(dependent)
        dependent |= {name for node in module.body if names_in(node) & dependent for name in names_defined_by(node)}
    return dependent


def names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def names_defined_by(node: ast.stmt) -> set[str]:
    """A statement's function, class or variables; `Machine.TestCase.settings = ...` belongs to `Machine`."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {name for target in targets for name in names_in(target)}


def has_mark(node: ast.stmt) -> bool:
    """Whether a function or class is decorated with the mark, or the value of a variable has it."""
    is_decorated = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    marked: list[ast.AST] = [*node.decorator_list] if is_decorated else [node]
    return any(isinstance(each, ast.Attribute) and each.attr == MARK for top in marked for each in ast.walk(top))


def wrong_marks(module: ast.Module) -> Iterator[str]:
    """What to change in a module, by test. A module's `pytestmark` must not have the mark: it would repeat all."""
    dependent = names_that_depend_on(import_of_examples(module), module)
    for node in module.body:
        for name in sorted(names_defined_by(node)):
            if name.startswith(("test", "Test")) and name in dependent and not has_mark(node):
                yield f"{name} has more examples in the soak: mark it {MARK}"
            elif name not in dependent and has_mark(node):
                yield f"{name} is the same in the soak: take its mark {MARK} off"


def test_the_soak_repeats_the_properties_with_more_examples_only() -> None:
    modules = [path for path in TESTS.rglob("test_*.py") if HOME in source(path) or MARK in source(path)]

    wrong = [f"{path.relative_to(TESTS)}: {each}" for path in modules for each in wrong_marks(tree(path))]

    assert len(modules) > 10
    assert wrong == [], "\n".join(wrong)


def test_only_tests_ask_how_many_examples() -> None:
    """What another module made of it could reach a test unseen."""
    others = [path for path in TESTS.rglob("*.py") if not path.name.startswith("test_")]

    assert [path for path in others if import_of_examples(tree(path))] == []


ASKING = "from support.property_tests import examples\n"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("@settings(max_examples=examples(1, many=2))\ndef test_a(): ...", "test_a has more"),
        (
            "FEW = settings(max_examples=examples(1, many=2))\nSOME = settings(FEW)\n@SOME\ndef test_a(): ...",
            "test_a has",
        ),
        ("def test_a():\n    @settings(max_examples=examples(1, many=2))\n    def check(): ...", "test_a has more"),
        ("def number(): return examples(1, many=2)\ndef test_a(): number()", "test_a has more"),
        ("M.TestCase.settings = settings(max_examples=examples(1, many=2))\ntest_a = M.TestCase", "test_a has more"),
        ("class TestA:\n    settings = settings(max_examples=examples(1, many=2))", "TestA has more"),
        ("@pytest.mark.more_in_soak\n@settings(max_examples=7)\ndef test_a(): ...", "test_a is the same"),
        ("pytestmark = [pytest.mark.one_world, pytest.mark.more_in_soak]", "pytestmark is the same"),
        ("@pytest.mark.more_in_soak\n@settings(max_examples=examples(1, many=2))\ndef test_a(): ...", None),
        ("test_a = pytest.mark.more_in_soak(given(x)(lambda x: examples(1, many=2)))", None),
        ("@settings(max_examples=7)\ndef test_a(): simulation.examples()", None),
    ],
)
def test_a_wrong_mark_is_found(code: str, found: str | None) -> None:
    wrong = list(wrong_marks(ast.parse(ASKING + code)))

    assert [each[: len(found or "")] for each in wrong] == ([found] if found else [])
