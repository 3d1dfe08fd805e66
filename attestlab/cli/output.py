"""What every command shares: exit codes, one line for every mistake, data on stdout and talk on stderr."""

from __future__ import annotations

import json
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from attestlab.core.error_text import text_without_values
from attestlab.core.errors import AttestLabError, HeadGuardMismatch
from attestlab.core.standard_output import emit, print_stderr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from attestlab.installation import Installation
    from attestlab.settings import Settings

OK, PROBLEMS, UNUSABLE, COULD_NOT_CHECK = 0, 1, 2, 3

Data = Annotated[
    Path,
    typer.Option(
        "--data", envvar="ATTESTLAB_DATA", help="Folder of records, keyring and head guard.", show_default=False
    ),
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url", envvar="ATTESTLAB_DATABASE_URL", help="SQLite or PostgreSQL; else SQLite in --data."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")]
Host = Annotated[str, typer.Option(help="Address to listen on.")]


@contextmanager
def reporting() -> Iterator[None]:
    """Turn our own errors, and those of disk, network and database, into one line and an exit code."""
    try:
        yield
    except HeadGuardMismatch as error:
        fail(error.message, COULD_NOT_CHECK)
    except AttestLabError as error:
        fail(error.message, UNUSABLE)
    except OSError as error:
        fail(str(error), UNUSABLE)
    except Exception as error:
        if not is_of_the_database(error):
            raise
        told = text_without_values(error).partition("\n")[0] or type(error).__name__
        fail(f"The records cannot be used: {told}", UNUSABLE)


def settings_of(data: Path, database_url: str | None, *, env: str = "sandbox") -> Settings:
    """The settings of a command: its options, then the environment."""
    from attestlab.settings import Settings, Stage

    if env not in list(Stage):
        fail(f"{env!r} is no environment; choose sandbox or production.", UNUSABLE)
    try:
        return Settings(data=data, database_url=database_url, env=Stage(env))
    except ValueError as error:  # pydantic's, of an environment variable
        fail(f"A setting cannot be used. {error}", UNUSABLE)


@contextmanager
def opened(data: Path, database_url: str | None) -> Iterator[Installation]:
    """The installation that a command works on, closed at its end."""
    from attestlab.installation import Installation

    lab = Installation.open(settings_of(data, database_url))
    try:
        yield lab
    finally:
        lab.close()


def warn_of_shared_folder(folder: Path) -> None:
    """Warn where other users could replace the files of an installation."""
    from attestlab.core import atomic_files

    if atomic_files.is_writable_by_others(folder):
        print_stderr(
            f"Warning: other users can write to {folder} (mode {folder.stat().st_mode & 0o7777:04o}), "
            f"and so replace its keys and records; run chmod 700 {folder}."
        )


@contextmanager
def progress_on_stderr(label: str, *, is_shown: bool) -> Iterator[Callable[[int, int], None]]:
    """Show how many parts of a task are done, in one line that vanishes at its end; only on a terminal."""
    if not is_shown or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _done, _of: None
        return

    def show_line(done: int, of: int) -> None:
        sys.stderr.write(f"\r{label}  {100 * done // of:3} %")
        sys.stderr.flush()

    try:
        yield show_line
    finally:
        sys.stderr.write("\r\x1b[K")


def is_of_the_database(fault: Exception) -> bool:
    """Whether SQLAlchemy or a driver raised it, or the driver of a database was not found."""
    kinds = {kind.__module__.partition(".")[0] for kind in type(fault).__mro__}
    if isinstance(fault, ModuleNotFoundError):
        frames = (frame for frame, _line in traceback.walk_tb(fault.__traceback__))
        importers = ("sqlalchemy.", "attestlab.core.db.postgresql")
        return any(str(frame.f_globals.get("__name__")).startswith(importers) for frame in frames)
    return not kinds.isdisjoint(("sqlalchemy", "sqlite3", "psycopg"))


def fail(message: str, code: int) -> NoReturn:
    print_stderr(f"attestlab: {message}")
    raise typer.Exit(code)


def announce(url: str) -> None:
    """Say that a server is ready; one that was started without standard output has no reader."""
    if sys.stdout is not None:
        emit(f"ready {url}")


def show(values: dict[str, Any], as_json: bool) -> None:
    if as_json:
        emit(json.dumps(values))
        return
    width = max(map(len, values))
    for name, value in values.items():
        emit(f"{name:<{width}}  {value}")
