"""The house style where a machine can tell (types, format and imports are `make check`'s)."""

import ast

from house.measures import MODULES, ROOT, function_median, source, tree

MODULE_LINES = 400
DRAWERS = {"utils.py", "util.py", "helpers.py", "common.py", "misc.py"}


def test_every_module_has_a_docstring():
    """Its first lines name its purpose, and the standard it follows."""
    without = [str(module.relative_to(ROOT)) for module in MODULES if not ast.get_docstring(tree(module))]

    assert without == [], f"say in their first lines what they are for: {without}"


def test_no_module_has_more_than_400_lines():
    """Beyond 400 lines there are two."""
    lengths = {str(module.relative_to(ROOT)): len(source(module).splitlines()) for module in MODULES}
    too_long = {module: lines for module, lines in lengths.items() if lines > MODULE_LINES}

    assert too_long == {}, f"divide them: {too_long}"


def test_no_module_has_a_catch_all_name():
    """Every line has an obvious home; a name that fits anything is none."""
    assert [module for module in MODULES if module.name in DRAWERS] == []


def test_median_function_has_5_to_13_lines():
    """The median stays where a function can be read at a glance."""
    assert 5 <= function_median() <= 13
