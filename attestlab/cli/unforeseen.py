"""End of a command whose exception nothing handled: with status 3, since Python's own, 1, is that of a verdict.

Imports nothing that is not in Python itself or in `core`, because it reports packages that cannot be imported.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from attestlab.core.errors import MissingExtra
from attestlab.core.extras import explain, find_package
from attestlab.core.standard_output import OutputLost, emit, print_stderr

COULD_NOT_CHECK = 3
UNFORESEEN = "The command could not be completed, because of an error in this program. Please report it:"


@contextmanager
def end_without_verdict(*, as_json: bool) -> Iterator[None]:
    """Run a command; end the process with status 3 and one line if it raises what it did not foresee.

    A traceback precedes the line, unless a package cannot be imported, which no reader of a traceback can correct.
    """
    try:
        yield
    except (SystemExit, KeyboardInterrupt, OutputLost):
        raise
    except BaseException as error:  # Rust's panics, as of cryptography without cffi, are no `Exception`
        if isinstance(error, OSError) and error.filename is None:
            raise  # standard output, which `exit_on_lost_output` reports
        if _find_failed_import(error) is None:
            sys.excepthook(type(error), error, error.__traceback__)
        message = explain_unforeseen(error)
        if as_json:
            emit(json.dumps({"verdict": None, "error": message}))
        print_stderr(f"attestlab: {message}")
        sys.exit(COULD_NOT_CHECK)


def explain_unforeseen(error: BaseException) -> str:
    """Explain an exception that a command did not foresee: the package to install, or what to report."""
    missing = explain(error) if isinstance(error, ModuleNotFoundError) else None
    if missing is not None or isinstance(error, MissingExtra):
        return str(missing or error)
    text = f"{type(error).__name__}: {error}".rstrip(".: ")
    module = _find_failed_import(error)
    if module is None:
        return f"{UNFORESEEN} {text}"
    package = find_package(module)
    return (
        f"The package {package} cannot be imported: {text}. Install it again: pip install --force-reinstall {package}"
    )


def _find_failed_import(error: BaseException) -> str | None:
    """Find the module whose import an exception ended: the innermost whose body was running."""
    module = error.name if isinstance(error, ImportError) else None
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        name = frame.f_globals.get("__name__")
        if frame.f_code.co_name == "<module>" and name != "__main__":
            module = name
        trace = trace.tb_next
    return module
