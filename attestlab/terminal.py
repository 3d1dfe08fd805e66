"""What every command shares: exit codes, one line for every mistake, data on stdout and talk on stderr."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from attestlab.core.errors import AttestLabError, HeadGuardMismatch

if TYPE_CHECKING:
    from collections.abc import Iterator

OK, PROBLEMS, UNUSABLE, COULD_NOT_CHECK = 0, 1, 2, 3

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")]
Host = Annotated[str, typer.Option(help="Address to listen on.")]


@contextmanager
def reporting() -> Iterator[None]:
    """Turn our own errors, and those of disk, network and database, into one line and an exit code."""
    try:
        yield
    except HeadGuardMismatch as fault:
        fail(fault.message, COULD_NOT_CHECK)
    except AttestLabError as fault:
        fail(fault.message, UNUSABLE)
    except OSError as fault:
        fail(str(fault), UNUSABLE)
    except Exception as fault:
        if not is_of_the_database(fault):
            raise
        fail(f"The records cannot be used: {str(fault).splitlines()[0]}", UNUSABLE)


def is_of_the_database(fault: Exception) -> bool:
    """Whether it comes from SQLAlchemy, which is loaded by now if it does, or is a driver that is not there."""
    kinds = {kind.__module__.partition(".")[0] for kind in type(fault).__mro__}
    return "sqlalchemy" in kinds or isinstance(fault, ModuleNotFoundError)


def fail(message: str, code: int) -> NoReturn:
    talk(f"attestlab: {message}")
    raise typer.Exit(code)


def talk(message: str) -> None:
    print(message, file=sys.stderr)


def announce(url: str) -> None:
    print(f"ready {url}", flush=True)


def show(values: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(values), flush=True)
        return
    width = max(map(len, values))
    for name, value in values.items():
        print(f"{name:<{width}}  {value}", flush=True)
