"""The command that finds anything of a tenant, as the search in the bar of the dashboards does."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from attestlab.cli.doors import ApiKey, Folder, LabDoor, Tenant, UrlOption
from attestlab.cli.numbers import whole_number
from attestlab.cli.output import OK, PROBLEMS, DatabaseUrl, JsonOption, print_items, report_errors
from attestlab.core.standard_output import emit, print_stderr
from attestlab.search.rules import DEFAULT_ITEMS, MAX_ITEMS, FoundType

_TYPES = ", ".join(FoundType)


def search(
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS", help="The beginning of an id or hash, or a part of a name.")
    ],
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help=f"Only this type; may be repeated: {_TYPES}.", show_default=False),
    ] = None,
    limit: Annotated[
        int, typer.Option(parser=whole_number(1, MAX_ITEMS), metavar="COUNT", help="How many at most.")
    ] = DEFAULT_ITEMS,
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    tenant: Tenant = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Find anything of a tenant by the beginning of an id or hash, or by a part of a name.

    When there is more than --limit, a line on stderr says so, and in JSON `truncated`.

    Exit status: 0 found, 1 nothing has these words, 2 refused.

    Example: attestlab search canton archive --data lab
    """
    with report_errors(), LabDoor(data, url, api_key, database_url, tenant).open() as lab:
        found = lab.search(" ".join(words), types=types or None, limit=limit)
    items: list[dict[str, object]] = [each.to_dict() for each in found]
    if as_json:
        emit(json.dumps({"items": items, "truncated": found.truncated}))
    else:
        print_items(items, as_json=False)
    if found.truncated and not as_json:
        print_stderr(f"attestlab: There is more than {limit:,}. Raise --limit, or name a --type.")
    if not items and not as_json:
        print_stderr(f"attestlab: Nothing that you may read has {' '.join(words)!r}.")
    raise typer.Exit(OK if items else PROBLEMS)
