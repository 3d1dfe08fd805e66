"""Shared parts of the commands: options, exit codes, one-line errors, results on stdout, messages on stderr."""

from __future__ import annotations

import json
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from attestlab.core.error_text import text_without_values
from attestlab.core.errors import AttestLabError, HeadGuardMismatch
from attestlab.core.standard_output import emit, print_stderr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

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
        "--database-url", envvar="ATTESTLAB_DATABASE_URL", help="SQLite or PostgreSQL URL; default: SQLite in --data."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")]
Host = Annotated[str, typer.Option(help="Address to listen on.")]


@contextmanager
def report_errors() -> Iterator[None]:
    """Report errors of this package, the disk, the network and the database as one line and an exit code."""
    try:
        yield
    except HeadGuardMismatch as error:
        fail(error.message, COULD_NOT_CHECK)
    except AttestLabError as error:
        fail(error.message, UNUSABLE)
    except OSError as error:
        fail(str(error), UNUSABLE)
    except Exception as error:
        if not is_database_error(error):
            raise
        text = text_without_values(error).partition("\n")[0] or type(error).__name__
        fail(f"The records cannot be used: {text}", UNUSABLE)


def load_settings(data: Path, database_url: str | None, *, env: str = "sandbox") -> Settings:
    """Load the settings of a command: its options, then the environment."""
    from attestlab.settings import Settings, Stage

    if env not in list(Stage):
        fail(f"Unknown environment {env!r}. Valid environments: sandbox, production.", UNUSABLE)
    try:
        return Settings(data=data, database_url=database_url, env=Stage(env))
    except ValueError as error:  # pydantic's, of an environment variable
        fail(f"A setting cannot be used. {error}", UNUSABLE)


@contextmanager
def open_installation(data: Path, database_url: str | None) -> Iterator[Installation]:
    """Open an installation for a command and close it at the end of the block."""
    from attestlab.installation import Installation

    lab = Installation.open(load_settings(data, database_url))
    try:
        yield lab
    finally:
        lab.close()


def warn_about_shared_folder(folder: Path) -> None:
    """Warn if other users could replace the files of an installation."""
    from attestlab.core import atomic_files

    if atomic_files.is_writable_by_others(folder):
        print_stderr(
            f"Warning: other users can write to {folder} (mode {folder.stat().st_mode & 0o7777:04o}), "
            f"and so replace its keys and records. Run chmod 700 {folder}."
        )


@contextmanager
def progress_on_stderr(label: str, *, is_shown: bool) -> Iterator[Callable[[int, int], None]]:
    """Show the progress of a task in a line that is erased at its end; only on a terminal."""
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


def is_database_error(error: Exception) -> bool:
    """Whether an error comes from SQLAlchemy or a driver, or means that a database's driver is not installed."""
    kinds = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    if isinstance(error, ModuleNotFoundError):
        frames = (frame for frame, _line in traceback.walk_tb(error.__traceback__))
        importers = ("sqlalchemy.", "attestlab.core.db.postgresql")
        return any(str(frame.f_globals.get("__name__")).startswith(importers) for frame in frames)
    return not kinds.isdisjoint(("sqlalchemy", "sqlite3", "psycopg"))


def fail(message: str, code: int) -> NoReturn:
    """Print an error message and exit with `code`."""
    print_stderr(f"attestlab: {message}")
    raise typer.Exit(code)


def announce(url: str) -> None:
    """Print that a server is ready, unless it was started without standard output."""
    if sys.stdout is not None:
        emit(f"ready {url}")


def print_values(values: Mapping[str, object], as_json: bool) -> None:
    """Print a result as aligned lines, or as one JSON object."""
    if as_json:
        emit(json.dumps(values))
        return
    width = max(map(len, values))
    for name, value in values.items():
        emit(f"{name:<{width}}  {value}")
