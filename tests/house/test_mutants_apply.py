"""The list of mutants is alive: each can be planted in the code as it is, and each promise has one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mutants.declared import DoesNotApply, Mutant, mutants

ROOT = Path(__file__).parents[2]
MUTANTS = mutants()
MIN_MUTANTS = 100


def test_each_mutant_applies_once_and_compiles() -> None:
    """A refactoring that moves the code moves its mutant too; one that cannot be imported proves nothing."""
    assert [fault for mutant in MUTANTS if (fault := _fault(mutant))] == []


def _fault(mutant: Mutant) -> str | None:
    try:
        planted = mutant.planted_in(ROOT)
        compile(planted, mutant.file, "exec")
    except (DoesNotApply, SyntaxError) as error:
        return f"{mutant.name}: {error}"
    return f"{mutant.name} changes nothing" if planted == (ROOT / mutant.file).read_text() else None


def test_the_nearest_tests_of_each_mutant_exist() -> None:
    assert [mutant.name for mutant in MUTANTS if not any(test.startswith("tests") for test in mutant.tests)] == []
    assert [(mutant.name, test) for mutant in MUTANTS for test in mutant.tests if not _exists(test)] == []


def _exists(test: str) -> bool:
    """Whether an argument for pytest that names a path, or a function in one, names something that is there."""
    if not test.startswith("tests"):
        return True
    path, _, name = test.partition("::")
    return (ROOT / path).exists() and (not name or f"def {name}(" in (ROOT / path).read_text())


def test_every_promise_has_a_mutant() -> None:
    """The promises are the bold sentences of the first list in docs/security.md."""
    promised = (ROOT / "docs" / "security.md").read_text().partition("## Promised")[2].partition("\n## ")[0]
    promises = re.findall(r"^- \*\*(.+?)\.\*\*", promised, re.MULTILINE)

    assert len(promises) >= 8
    assert [each for each in promises if not any(mutant.promise.startswith(each) for mutant in MUTANTS)] == []
    assert len(MUTANTS) >= MIN_MUTANTS


@pytest.mark.parametrize("old", ["nothing like this", "def "])
def test_mutant_with_absent_or_ambiguous_text_is_reported(old: str) -> None:
    mutant = Mutant("m", "p", "attestlab/core/strict_json.py", old, "", ("tests",))

    with pytest.raises(DoesNotApply, match="not once"):
        mutant.planted_in(ROOT)


def test_two_mutants_of_one_name_are_refused(tmp_path: Path) -> None:
    one = '[[mutant]]\nname = "m"\npromise = "p"\nfile = "f"\nold = "a"\nnew = "b"\ntests = ["tests"]\n'
    (tmp_path / "list.toml").write_text(one + one)

    with pytest.raises(ValueError, match="several mutants: m"):
        mutants(tmp_path)
