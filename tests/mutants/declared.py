"""The list of mutants, read from `list/*.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).parent / "list"


class DoesNotApply(ValueError):
    """The old text of a mutant does not occur exactly once in its file."""


@dataclass(frozen=True)
class Mutant:
    """One fault; `file` is relative to the root of the tree, `tests` are arguments for pytest."""

    name: str
    promise: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def planted_in(self, tree: Path) -> str:
        """Return the text of the file with the fault in it.

        Raises:
            DoesNotApply: the old text occurs never, or more than once.
        """
        path = tree / self.file
        text = path.read_text() if path.is_file() else ""
        if (count := text.count(self.old)) != 1:
            raise DoesNotApply(
                f"{self.name}: the old text occurs {count} times in {self.file}, not once; "
                "write the mutant for the code as it is now."
            )
        return text.replace(self.old, self.new)


def mutants(folder: Path = LIST) -> list[Mutant]:
    """Return every mutant, in the order of the files and within them.

    Raises:
        ValueError: a table lacks a member or has another one, or two mutants have one name.
    """
    found = [mutant for path in sorted(folder.glob("*.toml")) for mutant in _read(path)]
    names = [mutant.name for mutant in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"These names are given to several mutants: {', '.join(twice)}.")
    return found


def _read(path: Path) -> Iterator[Mutant]:
    for table in tomllib.loads(path.read_text())["mutant"]:
        try:
            mutant = Mutant(**{**table, "tests": tuple(table["tests"])})
        except (KeyError, TypeError) as error:
            raise ValueError(f"{path.name}, mutant {table.get('name')!r}: {error}.") from error
        yield mutant
