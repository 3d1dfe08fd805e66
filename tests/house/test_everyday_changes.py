"""The table of everyday changes in CONTRIBUTING is complete: a file that is forgotten fails a test that names it."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from house.__main__ import list_changes
from house.everyday_changes import Change, read_changes, read_rows
from house.measures import ROOT

from mutants.running import PASSED, copies, first_failure, run_tests

CHANGES = read_changes()


def by_row(change: Change) -> str:
    return change.row.replace(" ", "_")


@pytest.mark.parametrize("change", CHANGES, ids=by_row)
def test_the_row_of_a_change_names_its_files(change: Change) -> None:
    named = re.findall(r"`([^`]+)`", read_rows()[change.row])

    assert change.named_paths == set(named), "CONTRIBUTING.md, table of everyday changes"


@pytest.mark.parametrize("change", CHANGES, ids=by_row)
def test_an_everyday_change_still_applies(change: Change, tmp_path: Path) -> None:
    before = {file: (ROOT / file).read_text() for file in change.files if (ROOT / file).exists()}
    for file in change.files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    for file, text in before.items():
        (tmp_path / file).write_text(text)

    change.make(tmp_path)

    assert [file for file in change.files if (tmp_path / file).read_text() == before.get(file)] == []


def test_make_house_counts_the_files_of_each_change() -> None:
    counts = dict(list_changes())

    assert counts["files of an event"] == "4, of which tests 1"
    assert len(counts) == len(CHANGES)


@pytest.mark.soak
@pytest.mark.parametrize("change", CHANGES, ids=by_row)
def test_a_forgotten_file_fails_a_test(change: Change, pytestconfig: pytest.Config) -> None:
    """In a copy of the project; the file that is left out is drawn by `--hypothesis-seed`."""
    seed = pytestconfig.getoption("--hypothesis-seed", default=None)
    forgotten = random.Random(f"{seed} {change.row}").choice(change.required_files)
    with copies(ROOT, 2) as free:
        whole, partial = free.get(), free.get()
        change.make(whole)
        change.generate(whole)
        change.make(partial, without=forgotten)
        change.generate(partial, without=forgotten)

        complete, incomplete = run_tests(whole, change.tests), run_tests(partial, change.tests)

    assert complete.returncode == PASSED, first_failure(complete.stdout)
    assert incomplete.returncode != PASSED, f"{forgotten} was left out, and {change.tests} pass"
