"""The words in which a client learns why DuckDB rejects its query; they name no file of the server."""

from __future__ import annotations

import re

import duckdb
import pyarrow as pa

from attestlab.core.errors import ValidationFailed
from attestlab.lake import views

MAX_REASON_CHARS = 300
CONVERSION_ERRORS = (pa.ArrowException, ArithmeticError, RecursionError, TypeError, ValueError)
"""The errors of a value that Python, pyarrow or DuckDB cannot convert: a parameter, or a value of a row."""

_KIND = re.compile(r"^[A-Z][A-Za-z ]*(?: Error|Exception): ")
_LINE = re.compile(r"\nLINE (\d+):")
_MISSING_TABLE = re.compile(r'Table with name "?(.+?)"? does not exist')
_PATH = re.compile(r"(?:/[^\s/'\"]+){2,}")
_INTRODUCTIONS: tuple[tuple[type[duckdb.Error], str], ...] = (
    (duckdb.ParserException, "This is not SQL"),
    (duckdb.SyntaxException, "This is not SQL"),
    (duckdb.CatalogException, "The query names something that does not exist"),
    (duckdb.BinderException, "The query does not fit the data sets"),
)
_NO_ACCESS = (duckdb.PermissionException, duckdb.IOException, duckdb.HTTPException)


def explain_error(error: duckdb.Error, query: str) -> ValidationFailed:
    """Return the error of a request for an error of DuckDB: what is wrong, and in which line of the query."""
    text = str(error)
    line = _LINE.search(text)
    place = f" (line {line[1]})" if line else ""
    return ValidationFailed.of("/sql", "query", f"{_explain(error, text, query)}{place}.")


def explain_conversion(error: Exception) -> ValidationFailed:
    """Return the error of a request for a value that cannot be converted."""
    return ValidationFailed.of("/sql", "query", f"The query cannot be run: {str(error)[:MAX_REASON_CHARS]}")


def _explain(error: duckdb.Error, text: str, query: str) -> str:
    if isinstance(error, _NO_ACCESS):
        return (
            "A query reads data sets only; it cannot open files or addresses."
            " In Python, read the file into a frame, and name the frame: lab.sql(query, mine=frame)"
        )
    if isinstance(error, (duckdb.InternalException, duckdb.FatalException)):
        return "DuckDB failed at this query; write it in another way"
    if missing := _MISSING_TABLE.search(text):
        return f"There is no data set {_shorten(missing[1], query)}. There are {', '.join(views.BY_NAME)}"
    reason = _shorten(_KIND.sub("", text.partition(chr(10))[0]), query)
    if isinstance(error, duckdb.OutOfMemoryException):
        return f"The query needs more memory than DuckDB may use ({reason}); select fewer rows, or group them"
    introduction = next((words for kind, words in _INTRODUCTIONS if isinstance(error, kind)), "The query failed")
    return f"{introduction}: {reason}"


def _shorten(reason: str, query: str) -> str:
    """Shorten a reason, without the paths that the client does not know."""
    known = _PATH.sub(lambda path: path[0] if path[0] in query else "(a file)", reason)
    return known[:MAX_REASON_CHARS].rstrip(" .!")
