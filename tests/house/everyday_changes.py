"""The everyday changes of CONTRIBUTING, as edits of files; `everyday_changes.toml` lists them."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from house.measures import ROOT

from attestlab.migrations import HEAD
from mutants.running import write_source

LIST = Path(__file__).parent / "everyday_changes.toml"


class Edit(NamedTuple):
    """One replacement; `old` occurs exactly once in the file. Without `old`, the file is new."""

    file: str
    new: str
    old: str = ""

    def apply(self, tree: Path) -> None:
        """Make it in a copy of the project.

        Raises:
            FileExistsError: a file that is to be new exists.
            ValueError: the old text occurs never, or more than once.
        """
        if not self.old:
            with (tree / self.file).open("x") as file:
                file.write(self.new)
            return
        text = (tree / self.file).read_text()
        if (count := text.count(self.old)) != 1:
            raise ValueError(f"{self.old!r} occurs {count} times in {self.file}; correct {LIST.name}.")
        write_source(tree / self.file, text.replace(self.old, self.new))


@dataclass(frozen=True)
class Change:
    """A change: the name of its row in CONTRIBUTING, its edits, and the tests that notice a forgotten file.

    `generated` are the files that a command writes after the edits, each with the module and arguments of the command.
    """

    row: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]
    generated: Mapping[str, Sequence[str]]

    @property
    def files(self) -> list[str]:
        """The files that its edits touch, tests included."""
        return list(dict.fromkeys(edit.file for edit in self.edits))

    @property
    def required_files(self) -> list[str]:
        """The files of which none may be left out: all but those of tests."""
        return [*(file for file in self.files if not file.startswith("tests/")), *self.generated]

    @property
    def named_paths(self) -> set[str]:
        """The paths that its row in CONTRIBUTING names: the required files, and of new ones the folder."""
        new = {edit.file for edit in self.edits if not edit.old}
        return {f"{Path(file).parent}/" if file in new else file for file in self.required_files}

    def make(self, tree: Path, *, without: str | None = None) -> None:
        """Make the change in a copy of the project, but for the edits of one file."""
        for edit in self.edits:
            if edit.file != without:
                edit.apply(tree)

    def generate(self, tree: Path, *, without: str | None = None) -> None:
        """Run the commands that write the generated files, but for one; where a command fails, its file stays old."""
        paths = os.pathsep.join(str(tree / folder) for folder in (".", "dashboards", "tests"))
        for file, command in self.generated.items():
            if file != without:
                environment = {**os.environ, "PYTHONPATH": paths}
                subprocess.run([sys.executable, "-m", *command], cwd=tree, env=environment, check=False)


def read_changes() -> list[Change]:
    """Read the list; a new migration follows the newest, whatever its number."""
    text = LIST.read_text().replace("{NEWEST}", HEAD).replace("{NEXT}", f"{int(HEAD) + 1:04}")
    return [
        Change(
            row=table["row"],
            edits=tuple(Edit(**edit) for edit in table["edit"]),
            tests=tuple(table["tests"]),
            generated=table.get("generated", {}),
        )
        for table in tomllib.loads(text)["change"]
    ]


def read_rows() -> dict[str, str]:
    """Read the table of CONTRIBUTING: the files of each change by its name."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("| change | files |\n")[2].partition("\n\n")[0]
    cells = (line.strip("| ").split(" | ") for line in section.splitlines()[1:])
    return {name.strip(): files for name, files in cells}
