"""Shared parts of the commands: options, exit codes, one-line errors, results on stdout, messages on stderr."""

from __future__ import annotations

import errno
import json
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from attestlab.cli.numbers import whole_number
from attestlab.core.error_text import text_without_values
from attestlab.core.errors import AttestLabError, HeadGuardMismatch
from attestlab.core.extras import explain, require_extra
from attestlab.core.standard_output import emit, print_stderr

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from attestlab.installation import Installation
    from attestlab.settings import Settings

OK, PROBLEMS, UNUSABLE, COULD_NOT_CHECK = 0, 1, 2, 3
INTERRUPTED = 130  # as shells show a process that SIGINT ended
_COLUMN_GAP = "  "

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
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Port = Annotated[
    int,
    typer.Option(parser=whole_number(0, 65535), metavar="PORT", help="Port to listen on; 0 takes a free one."),
]
Host = Annotated[str, typer.Option(help="Address to listen on.")]


@contextmanager
def report_errors(*, after_interrupt: str = "") -> Iterator[None]:
    """Report errors of this package, the disk, the network and the database as one line and an exit code.

    `after_interrupt` says what Ctrl-C leaves behind, or what to do then.
    """
    try:
        yield
    except HeadGuardMismatch as error:
        fail(error.message, COULD_NOT_CHECK)
    except AttestLabError as error:
        fail(error.message, UNUSABLE)
    except OSError as error:
        fail(explain_os_error(error), UNUSABLE)
    except KeyboardInterrupt:
        fail(f"Interrupted. {after_interrupt}".rstrip(), INTERRUPTED)
    except Exception as error:
        missing = explain(error) if isinstance(error, ModuleNotFoundError) else None
        if missing is not None:
            fail(missing.message, UNUSABLE)
        if not is_database_error(error):
            raise
        text = text_without_values(error).partition("\n")[0] or type(error).__name__
        fail(f"The records cannot be used: {text}", UNUSABLE)


def explain_os_error(error: OSError) -> str:
    """Explain an error of the disk or the network: which file, why, and what to do."""
    remedies = {
        errno.ENOENT: "Check the path.",
        errno.EACCES: "Let this user read and write it, or choose another one.",
        errno.ENOSPC: "Free some space, then run the command again.",
        errno.ENOTDIR: "Choose a folder.",
        errno.EISDIR: "Choose a file.",
        errno.EROFS: "Choose a place that can be written.",
    }
    if error.filename is None or error.errno not in remedies:
        return str(error)
    return f"{error.filename}: {error.strerror}. {remedies[error.errno]}"


@contextmanager
def report_listening_errors(host: str, port: int) -> Iterator[None]:
    """Report a port or address that cannot be listened on, with what to do."""
    try:
        yield
    except OSError as error:
        reasons = {
            errno.EADDRINUSE: f"Port {port} of {host} is in use. Stop the program that has it, or choose another one "
            "with --port (0 takes a free one).",
            errno.EACCES: f"Port {port} is reserved for root. Choose one from 1024 with --port.",
            errno.EADDRNOTAVAIL: f"{host} is no address of this machine. Choose one with --host.",
        }
        if error.errno not in reasons:
            raise
        fail(reasons[error.errno], UNUSABLE)


def load_settings(data: Path, database_url: str | None, *, env: str = "sandbox") -> Settings:
    """Load the settings of a command: its options, then the environment."""
    require_extra("server")
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
    settings = load_settings(data, database_url)
    from attestlab.installation import Installation

    lab = Installation.open(settings)
    try:
        yield lab
    finally:
        lab.close()


def require_folder(folder: Path) -> None:
    """Fail unless the data folder exists, because a server would make an empty installation for a misspelt name."""
    if not folder.is_dir():
        fail(f"There is no folder {folder}. Create an installation: attestlab init --data {folder}", UNUSABLE)


def warn_about_shared_folder(folder: Path) -> None:
    """Warn if other users could replace the files of an installation."""
    from attestlab.core import atomic_files

    if atomic_files.is_writable_by_others(folder):
        print_stderr(
            f"Warning: other users can write to {folder} (mode {folder.stat().st_mode & 0o7777:04o}), "
            f"and so replace its keys and records. Run chmod 700 {folder}."
        )


def is_database_error(error: Exception) -> bool:
    """Whether an error comes from SQLAlchemy or a driver, or means that a database's driver is not installed."""
    kinds = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    if isinstance(error, ModuleNotFoundError):
        frames = (frame for frame, _line in traceback.walk_tb(error.__traceback__))
        return any(str(frame.f_globals.get("__name__")).startswith("sqlalchemy.") for frame in frames)
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
        emit(f"{name:<{width}}{_COLUMN_GAP}{_show(value)}")


def print_items(items: Sequence[Mapping[str, object]], as_json: bool) -> None:
    """Print a list as a table with a line of names, or as one JSON object with `items`; they have the same members."""
    if as_json:
        emit(json.dumps({"items": items}))
        return
    if not items:
        return
    lines = [list(items[0]), *([_show(value) for value in item.values()] for item in items)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        emit(_COLUMN_GAP.join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True)).rstrip())


def _show(value: object) -> str:
    """Show a value to people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)
