"""Copies the notebooks of this version, which the wheel has, into a folder of the user."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attestlab.cli.output import JsonOption, print_values, report_errors
from attestlab.core.errors import Conflict, ValidationFailed
from attestlab.core.extras import require_extra
from attestlab.core.standard_output import print_stderr
from attestlab.core.version import VERSION

_PACKAGE = Path(__file__).parents[1]


def notebooks(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for the copies; created if it is missing.")],
    as_json: JsonOption = False,
) -> None:
    """Copy the notebooks into a folder; a file there that differs is never overwritten.

    Exit status: 0 all are there, 2 a file there differs (nothing is copied), or one was not written (run it again).

    Example: attestlab notebooks my-notebooks
    """
    with report_errors():
        require_extra("notebook")
        copied = copy_notebooks(folder)
    print_values({"folder": str(folder), "files": len(copied)}, as_json)
    print_stderr(f"Open them: jupyter lab {folder}")


def copy_notebooks(folder: Path) -> list[Path]:
    """Copy the notebooks, or nothing; returns the copies.

    Raises:
        ValidationFailed: the folder is a file.
        Conflict: files in it differ from those of this version.
    """
    if folder.exists() and not folder.is_dir():
        raise ValidationFailed(f"{folder} is a file. Name a folder for the notebooks.")
    sources = _list_sources()
    differing = [file.name for file in sources if _differs(folder / file.name, file)]
    if differing:
        raise Conflict(
            f"{folder} has files that differ from those of attestlab {VERSION}: {', '.join(differing)}. "
            "Rename them, or name another folder."
        )
    folder.mkdir(parents=True, exist_ok=True)
    return [_copy(file, folder / file.name) for file in sources]


def _copy(original: Path, copy: Path) -> Path:
    """Copy a file whole; a part of one would count as changed by the user when the command runs again."""
    from attestlab.core.atomic_files import write_atomically  # late, because not every system has its locks

    with write_atomically(copy) as file:
        file.write(original.read_bytes())
    return copy


def _list_sources() -> list[Path]:
    installed = _PACKAGE / "notebooks"
    home = installed if installed.is_dir() else _PACKAGE.parent / "notebooks"  # a clone has them beside the package
    return sorted(home.glob("*.ipynb"))


def _differs(copy: Path, original: Path) -> bool:
    return copy.exists() and (not copy.is_file() or copy.read_bytes() != original.read_bytes())
