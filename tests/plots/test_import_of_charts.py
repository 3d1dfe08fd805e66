"""Charts are loaded by the first chart alone, and name the extra that they need."""

from __future__ import annotations

import subprocess
import sys

import pytest

CHARTS = {"holoviews", "hvplot", "matplotlib", "pandas", "attestlab.plots"}
WITHOUT = """
import sys
sys.modules["holoviews"] = None
import attestlab
try:
    {statement}
except attestlab.AttestLabError as error:
    assert isinstance(error, ImportError)
    print(error.message)
"""


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("statement", ["import attestlab", "import attestlab; attestlab.Lab; dir(attestlab)"])
def test_the_package_and_its_facade_load_no_charts(statement: str) -> None:
    assert set(run(f"import sys; {statement}; print(*sys.modules)").split()) & CHARTS == set()


@pytest.mark.parametrize("statement", ["attestlab.plots", "import attestlab.plots", "from attestlab import plots"])
def test_without_the_extra_charts_name_it(statement: str) -> None:
    said = run(WITHOUT.format(statement=statement))

    assert "holoviews" in said
    assert said.endswith("Install it: pip install 'attestlab[notebook]'\n")


def test_charts_are_found_like_other_public_names() -> None:
    assert run("import attestlab; print(attestlab.plots.draw_bars.__name__, 'plots' in dir(attestlab))") == (
        "draw_bars True\n"
    )
