"""What each test costs: processor seconds, with child processes, of one run on a quiet machine (`tests/costs.tsv`).

`make all` writes the file. It lists tests of `LISTED_FROM_S` and more; a test that is not listed counts as cheap.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

LISTED_FROM_S = 0.03
FILE = Path(__file__).parents[1] / "costs.tsv"
FOLDER = "GATE_FOLDER"
"""Names the environment variable with the folder that the plugin of pytest writes to."""


class Form(StrEnum):
    """How tests are run; many tests have a bounded and a full form."""

    BOUNDED = "bounded"
    FULL = "full"
    NOTEBOOK = "notebook"


Costs = Mapping[Form, Mapping[str, float]]
"""The cost of each test in each form; tests are pytest's node ids, notebooks are files."""


@dataclass
class Measured:
    """What a run of pytest measured: the cost of each test that ran, and the tests that were skipped."""

    costs: dict[str, float] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)


def read_costs(file: Path = FILE) -> Costs:
    """Read the file; without it, every test counts as cheap."""
    found: dict[Form, dict[str, float]] = {form: {} for form in Form}
    if file.exists():
        for line in file.read_text().splitlines()[1:]:
            seconds, form, test = line.split("\t", 2)
            found[Form(form)][test] = float(seconds)
    return found


def write_costs(costs: Costs, file: Path = FILE) -> None:
    """Write what costs at least `LISTED_FROM_S`, with two digits, so that noise changes few lines."""
    lines = [
        (test, form.value, f"{seconds:.2g}")
        for form, tests in costs.items()
        for test, seconds in tests.items()
        if seconds >= LISTED_FROM_S
    ]
    text = "".join(f"{seconds}\t{form}\t{test}\n" for test, form, seconds in sorted(lines))
    file.write_text(f"seconds\tform\ttest\n{text}")


def update_costs(listed: Mapping[str, float], measured: Measured) -> dict[str, float]:
    """Return the costs after a complete run of a form; a test that was skipped keeps what is listed."""
    kept = {test: seconds for test, seconds in listed.items() if test in measured.skipped}
    return measured.costs | kept


def read_measured(folder: Path) -> Measured:
    """Read what the plugin wrote, and charge each shared fixture to the tests of its module that use it."""
    measured = Measured()
    fixtures: dict[tuple[str, str], float] = defaultdict(float)
    users: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in read_lines(folder):
        if "test" in line:
            test = _name(line["test"])
            measured.costs[test] = measured.costs.get(test, 0.0) + line["cpu_s"]
            module = test.partition("::")[0]
            for name in ("", *line["fixtures"]):
                users[module, name].append(test)
        elif "fixture" in line:
            fixtures[line["module"], line["fixture"]] += line["cpu_s"]
        elif "skipped" in line:
            measured.skipped.add(_name(line["skipped"]))
    for (module, name), seconds in fixtures.items():
        payers = users[module, name] or users[module, ""]  # all, where a fixture was asked for by another
        for test in payers:
            measured.costs[test] += seconds / len(payers)
    return measured


def read_lines(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of every process of a run."""
    for file in sorted(folder.glob("*.jsonl")):
        with file.open() as lines:
            yield from map(json.loads, lines)


def _name(node: str) -> str:
    """A notebook is one test: its cells depend on each other."""
    path, _, _ = node.partition("::")
    return path if path.endswith(".ipynb") else node
