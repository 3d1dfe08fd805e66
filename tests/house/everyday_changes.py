"""The everyday changes of CONTRIBUTING, as edits of files; `everyday_changes.toml` lists them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from house.measures import ROOT

from mutants.running import write_source

LIST = Path(__file__).parent / "everyday_changes.toml"


class Edit(NamedTuple):
    """One replacement; `old` occurs exactly once in the file."""

    file: str
    old: str
    new: str

    def apply(self, tree: Path) -> None:
        """Make it in a copy of the project.

        Raises:
            ValueError: the old text occurs never, or more than once.
        """
        text = (tree / self.file).read_text()
        if (count := text.count(self.old)) != 1:
            raise ValueError(f"{self.old!r} occurs {count} times in {self.file}; correct {LIST.name}.")
        write_source(tree / self.file, text.replace(self.old, self.new))


@dataclass(frozen=True)
class Change:
    """A change: the name of its row in CONTRIBUTING, its edits, and the tests that notice a forgotten file."""

    row: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]

    @property
    def files(self) -> list[str]:
        """The files that it touches, tests included."""
        return list(dict.fromkeys(edit.file for edit in self.edits))

    @property
    def named_files(self) -> list[str]:
        """The files that its row in CONTRIBUTING names: all but those of tests."""
        return [file for file in self.files if not file.startswith("tests/")]

    def make(self, tree: Path, *, without: str | None = None) -> None:
        """Make the change in a copy of the project, but for the edits of one file."""
        for edit in self.edits:
            if edit.file != without:
                edit.apply(tree)


def read_changes() -> list[Change]:
    """Read the list."""
    tables = tomllib.loads(LIST.read_text())["change"]
    return [
        Change(table["row"], tuple(Edit(**edit) for edit in table["edit"]), tuple(table["tests"])) for table in tables
    ]


def read_rows() -> dict[str, str]:
    """Read the table of CONTRIBUTING: the files of each change by its name."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("| change | files |\n")[2].partition("\n\n")[0]
    cells = (line.strip("| ").split(" | ") for line in section.splitlines()[1:])
    return {name.strip(): files for name, files in cells}
