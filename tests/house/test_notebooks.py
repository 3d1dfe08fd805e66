"""The notebooks as files: the facade alone, short cells that a sentence explains, an assertion a section, executed."""

from __future__ import annotations

import ast
import itertools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.demo_caches import use_demo_caches

FOLDER = Path(__file__).parents[2] / "notebooks"
BOOKS = sorted(FOLDER.glob("*.ipynb"))
NAMES = [
    "00_tour",
    "01_risk_signals",
    "02_policy_simulation",
    "03_transparency_log",
    "04_issuer_governance",
    "05_agents",
    "06_your_data",
    "07_an_evening_on_call",
]
DOORS = {"demo", "open", "connect", "AttestLabError"}  # of attestlab, all that a notebook uses
RECEIVERS = {"attestlab.webhooks"}  # of which a receiver of webhooks takes `verify`
MAX_LINES = 6
MAX_STILL_BYTES = 300_000
WITHOUT_VIEWS = {"00_tour", "06_your_data"}
Cell = dict[str, Any]
every_book = pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.stem)


def read_cells(book: Path) -> list[Cell]:
    cells: list[Cell] = json.loads(book.read_text())["cells"]
    return [{**cell, "source": "".join(cell["source"])} for cell in cells]


def code_of(book: Path) -> list[Cell]:
    return [cell for cell in read_cells(book) if cell["cell_type"] == "code"]


def is_magic(line: str) -> bool:
    return line.startswith("%")


def parse_code(cell: Cell) -> ast.Module:
    lines = [line for line in cell["source"].splitlines() if not is_magic(line)]
    return ast.parse("" if cell["source"].startswith("%%") else "\n".join(lines))


def imported_modules(tree: ast.AST) -> set[str]:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {alias.name for node in found if isinstance(node, ast.Import) for alias in node.names} | {
        str(node.module) for node in found if isinstance(node, ast.ImportFrom)
    }


def test_there_are_eight_notebooks() -> None:
    assert [book.stem for book in BOOKS] == NAMES


@every_book
def test_a_notebook_imports_the_facade_alone(book: Path) -> None:
    imported = set().union(*(imported_modules(parse_code(cell)) for cell in code_of(book)))

    foreign = {name for name in imported if name.partition(".")[0] not in sys.stdlib_module_names}
    assert foreign - RECEIVERS == {"attestlab", "pandas"}


@every_book
def test_a_notebook_uses_the_doors_of_the_package_only(book: Path) -> None:
    used = {
        node.attr
        for cell in code_of(book)
        for node in ast.walk(parse_code(cell))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "attestlab"
    }

    assert used - DOORS == set()


@every_book
def test_a_sentence_comes_before_each_short_cell(book: Path) -> None:
    cells = read_cells(book)

    assert [cell["source"] for cell in code_of(book) if len(cell["source"].strip().splitlines()) > MAX_LINES] == []
    pairs = itertools.pairwise(cells)
    assert [now["source"] for last, now in pairs if last["cell_type"] == now["cell_type"] == "code"] == []


@every_book
def test_each_section_asserts_what_it_says(book: Path) -> None:
    sections: dict[str, int] = {}
    section = ""
    for cell in read_cells(book):
        if cell["cell_type"] == "code":
            sections[section] = sections.get(section, 0) + cell["source"].count("assert ")
        else:
            section = next(iter(re.findall(r"^## (\d+\. .*)$", cell["source"], re.MULTILINE)[-1:]), section)

    numbered = {name: count for name, count in sections.items() if name}
    assert len(numbered) >= 6
    assert [name for name, count in numbered.items() if not count] == []


@every_book
def test_the_first_cell_asks_and_the_last_leads_on(book: Path) -> None:
    cells = read_cells(book)

    assert [word for word in ("**Question.**", "**Data.**", "**Time.**") if word not in cells[0]["source"]] == []
    assert cells[-1]["source"].startswith("## Next")
    assert re.search(r"/dash/(risk|policy|log|issuers|agents)\b", cells[-1]["source"])


@every_book
def test_a_notebook_is_committed_executed_with_its_pictures(book: Path) -> None:
    code = code_of(book)
    outputs = [output for cell in code for output in cell["outputs"]]

    assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)]
    assert [output for output in outputs if output["output_type"] == "error"] == []
    drawn = sum("plots.draw_" in cell["source"] or ".plot(" in cell["source"] for cell in code)
    assert drawn == sum("image/png" in output.get("data", {}) for output in outputs) > 0


@every_book
def test_a_notebook_stores_the_still_of_its_view_alone(book: Path) -> None:
    views = [cell for cell in code_of(book) if ".explore(" in cell["source"]]

    assert bool(views) == (book.stem not in WITHOUT_VIEWS)
    for cell in views:
        assert cell["metadata"]["tags"] == ["nbval-ignore-output"]  # a still has the time of its run
        (output,) = cell["outputs"]
        assert set(output["data"]) == {"text/plain", "text/html"}
        still = "".join(output["data"]["text/html"])
        assert "<section" in still
        assert len(still.encode()) <= MAX_STILL_BYTES
    assert "widgets" not in json.loads(book.read_text())["metadata"]


@every_book
def test_a_notebook_has_no_times_of_its_run(book: Path) -> None:
    assert [cell["id"] for cell in read_cells(book) if "execution" in cell["metadata"]] == []


@pytest.mark.soak
def test_executing_a_notebook_changes_its_outputs_alone(tmp_path: Path) -> None:
    """`make notebooks` on a copy: each text but the outputs is byte for byte what was committed."""
    book = copy_executed(tmp_path)
    committed = (FOLDER / book.name).read_text()

    assert without_outputs(book.read_text()) == without_outputs(committed)
    assert [[*map(output_kind, cell["outputs"])] for cell in code_of(book)] == [
        [*map(output_kind, cell["outputs"])] for cell in code_of(FOLDER / book.name)
    ]


def copy_executed(folder: Path) -> Path:
    """Copy the tour, and execute the copy with the Makefile's own command."""
    shutil.copy(FOLDER / "00_tour.ipynb", folder)
    recipe = re.findall(r"^notebooks: .*\n\t(.*)", (FOLDER.parent / "Makefile").read_text(), re.MULTILINE)[0]
    command = recipe.replace("$(BIN)", str(Path(sys.executable).parent)).replace("notebooks/", f"{folder}/")
    with use_demo_caches():
        subprocess.run(command, shell=True, check=True, cwd=folder)
    return folder / "00_tour.ipynb"


def without_outputs(text: str) -> str:
    """The text of a notebook with empty outputs, and without the version of Python that ran it."""
    book = json.loads(text)
    for cell in book["cells"]:
        if "outputs" in cell:
            cell["outputs"] = []
    del book["metadata"]["language_info"]["version"]
    assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"
    return json.dumps(book)


def output_kind(output: dict[str, Any]) -> object:
    return output["output_type"], sorted(output.get("data", ()))


@every_book
def test_outputs_name_no_machine(book: Path) -> None:
    outputs = json.dumps([cell["outputs"] for cell in code_of(book)])

    assert re.findall(r"/(?:home|root|tmp|work|Users)/[\w.-]+", outputs) == []
