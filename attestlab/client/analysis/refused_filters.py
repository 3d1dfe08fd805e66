"""A reader such as `df` reads all there is; given a filter, it says where filters go."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attestlab.client import arguments
from attestlab.core.errors import ValidationFailed
from attestlab.core.suggestions import find_nearest


def refuse_filters(filters: Mapping[str, object], verb: str, remedy: str) -> None:
    """Refuse the filters of a call, which reads all there is.

    Args:
        filters: the keywords of the call that its verb does not have.
        verb: its name.
        remedy: where they go.

    Raises:
        ValidationFailed: there are some.
    """
    if filters:
        shown = ", ".join(map(arguments.show, list(filters)[:5]))
        raise ValidationFailed(f"{verb} takes no {shown}: it reads all there is. {remedy}")


def point_to_list(noun: str, filters: Mapping[str, object], known: Collection[str]) -> str:
    """Say how a noun is filtered by its list and by SQL.

    Args:
        noun: as a person calls it, such as `lab.signals`.
        filters: what a person asked for.
        known: the filters of the list.
    """
    by_sql = f'{noun}.sql("select * from this where ...").df()'
    name, value = next(iter(filters.items()))
    found = name if name in known else find_nearest(name, known)
    if found is None:
        listed = f"; {noun}.list filters by {', '.join(known)}" if known else ""
        return f"Write a query: {by_sql}{listed}."
    return f"Filter the list: {noun}.list({found}={arguments.show(value)}).df(), or write a query: {by_sql}."
