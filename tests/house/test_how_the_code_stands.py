"""The house style where a machine can tell (types, format and imports are `make check`'s)."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "attestlab").rglob("*.py"))
MODULE_LINES = 400
DRAWERS = {"utils.py", "util.py", "helpers.py", "common.py", "misc.py"}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(ROOT)))
def test_a_module_says_what_it_is_for_and_holds_one_idea(module: Path):
    """Its first lines name its purpose, and the standard it follows; beyond 400 lines there are two."""
    text = module.read_text()

    assert ast.get_docstring(ast.parse(text)), "no docstring"
    assert len(text.splitlines()) <= MODULE_LINES


def test_no_module_is_a_drawer():
    """Every line has an obvious home; a name that fits anything is none."""
    assert [module for module in MODULES if module.name in DRAWERS] == []


def test_functions_are_short():
    """The median stays where a function can be read at a glance."""
    lengths = sorted(
        (node.end_lineno or 0) - node.lineno + 1
        for module in MODULES
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )

    assert 5 <= lengths[len(lengths) // 2] <= 13
