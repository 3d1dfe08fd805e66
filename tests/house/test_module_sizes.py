"""The house style where a machine can tell (types, format and imports are `make check`'s)."""

import ast
from pathlib import Path

import pytest
from house.measures import MODULES, ROOT, function_median

MODULE_LINES = 400
DRAWERS = {"utils.py", "util.py", "helpers.py", "common.py", "misc.py"}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(ROOT)))
def test_module_has_a_docstring_and_at_most_400_lines(module: Path):
    """Its first lines name its purpose, and the standard it follows; beyond 400 lines there are two."""
    text = module.read_text()

    assert ast.get_docstring(ast.parse(text)), "no docstring"
    assert len(text.splitlines()) <= MODULE_LINES


def test_no_module_has_a_catch_all_name():
    """Every line has an obvious home; a name that fits anything is none."""
    assert [module for module in MODULES if module.name in DRAWERS] == []


def test_median_function_has_5_to_13_lines():
    """The median stays where a function can be read at a glance."""
    assert 5 <= function_median() <= 13
