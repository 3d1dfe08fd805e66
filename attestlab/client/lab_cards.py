"""The cards of a lab and of its nouns: what is in them, as of when, the newest of it, and what to try next.

A card never raises: what cannot be read is a line that says why. A `repr` reads nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from attestlab.client.cards import CardRow, CardTone, draw_card, join, write_code, write_time
from attestlab.core.counting import plural
from attestlab.core.errors import AttestLabError, AuthRequired, PermissionDenied

if TYPE_CHECKING:
    from attestlab.client.handles.base import Handle
    from attestlab.identity.shapes import MeOut
    from attestlab.log.shapes import HeadOut

MAX_ITEMS: Final = 5  # of a noun's card
MAX_KINDS: Final = 4  # with their numbers in one line
MAX_MOVES: Final = 3
MAX_WORD: Final = 24  # characters without a space
_COUNTED: Final = ("attestations", "issuers", "signals", "cases", "decisions", "policies")
_HASH_CHARACTERS: Final = 8
_FIRST_MOVES: Final[Mapping[str, tuple[str, ...]]] = {
    "attestations": ("[0].verify()", ".df()"),
    "issuers": ("[0].blast_radius()", ".df()"),
    "log": (".head()", "[-1]"),
    "policies": ("[0].simulate().plot()", ".df()"),
    "decisions": ("[0].explain()", ".df()"),
    "signals": ('.plot("volume", by="source")', ".drift().plot()"),
    "cases": ('.list(status="open")', "[0].entity()"),
    "agents": (".review()", "[0].effective_scopes"),
    "webhooks": (".event_types()", "[0].deliveries()"),
    "billing": (".usage()", ".plans()"),
}
# The SQL of what divides the rows of a data set best.
KINDS: Final[Mapping[str, str]] = {
    "agents": "status",
    "attestations": "status",
    "audit": "actor_type",
    "cases": "status",
    "decisions": "case when allowed then 'ALLOW' else 'DENY' end",
    "delegations": "case when revoked_at is null then 'not revoked' else 'revoked' end",
    "issuers": "status",
    "policies": "status",
    "receipts": "status",
    "signals": "source",
}
_START: Final = (
    'lab.issuers.create("Registrar", "registrar.example")',
    'lab.signals.add("gateway", "behavior", 41, "user:u-1")',
    "lab.webhooks.event_types()",
)

_PUBLIC_MOVES: Final = ("lab.log.explore()", "lab.log[-1]", 'lab.verify("bundle.json")')

Read = Callable[[], Iterable[CardRow]]


class LabReads(NamedTuple):
    """The verbs of a lab that its card calls."""

    sql: Callable[[str], Iterable[Mapping[str, object]]]
    head: Callable[[], HeadOut]
    now: Callable[[], datetime]
    me: Callable[[], MeOut]


def draw_lab(lab: LabReads, place: str) -> str:
    """Draw the card of a lab, which it reads; without an API key that is the log, which is public."""
    counts: dict[str, int] = {}
    lab = lab._replace(me=cache(lab.me))
    try:
        lab.me()
    except AuthRequired:
        rows = collect_rows(lambda: _name_moment(lab))
        key = CardRow("API key", "none: attestlab.connect(url, api_key) shows a tenant")
        return draw_place(place, [*rows, key, *_list_moves(_PUBLIC_MOVES)])
    except AttestLabError:
        pass  # a line says why
    rows = collect_rows(lambda: _count_contents(lab, counts), lambda: _name_moment(lab), lambda: _name_caller(lab))
    return draw_place(place, [*rows, *_list_moves(choose_moves(counts))])


def draw_place(place: str, rows: Sequence[CardRow] = ()) -> str:
    """Draw the card of a lab with lines that were read before; an async lab reads none."""
    word = "DEMO" if place.startswith("demo") else "LAB"
    foot = join("All nouns and verbs: ", write_code("dir(lab)"))
    return draw_card(CardTone.CALM, word, place, rows, foot=foot)


def choose_moves(counts: Mapping[str, int]) -> list[str]:
    """Choose the three next things to try in a lab, by the numbers of what it has.

    >>> choose_moves({"signals": 40, "cases": 2, "attestations": 0})
    ['lab.signals.plot(by="source")', 'lab.cases.list(status="open")', 'lab.sql("show tables")']
    """
    fitting = {
        "signals": 'lab.signals.plot(by="source")',
        "cases": 'lab.cases.list(status="open")',
        "attestations": "lab.attestations[0].verify()",
        "policies": "lab.policies[0].simulate().plot()",
    }
    found = [move for name, move in fitting.items() if counts.get(name)]
    return [*found, 'lab.sql("show tables")'][:MAX_MOVES] if found else list(_START)


def draw_noun(
    name: str, about: str, place: str, verbs: Sequence[str], reads: Sequence[Read] = (), *, has_rows: bool = False
) -> str:
    """Draw the card of a noun.

    Args:
        name: of the noun in a lab, such as `signals`.
        about: what it is, in a sentence.
        place: the name of the service.
        verbs: what its class adds to those of every noun.
        reads: read the lines of its contents; without one the card reads nothing.
        has_rows: whether `df` reads it as a table.
    """
    rows = collect_rows(*reads)
    lines = [*rows, CardRow("Verbs", ", ".join(verbs) or None), CardRow("Place", place)]
    moves = _FIRST_MOVES.get(name, (".df()", "[0]") if has_rows else ("[0]", ".list()"))
    codes = [write_code(f"lab.{name}{move}") for move in moves]
    return draw_card(
        CardTone.CALM,
        name.replace("_", " ").upper(),
        about.replace("`", ""),
        lines,
        foot=join("Try ", codes[0], ", ", codes[1]),
    )


def collect_rows(*reads: Read) -> list[CardRow]:
    """Collect the lines of several readings; the first that fails is a line with its reason."""
    rows: list[CardRow] = []
    reason: str | None = None
    for read in reads:
        try:
            rows += read()
        except AttestLabError as error:
            reason = reason or error.message
    return [*rows, CardRow("Not read", reason)]


def write_kinds(counts: Sequence[tuple[object, int]]) -> str:
    """Write a total with its largest kinds.

    >>> write_kinds([("resolved", 1_200), ("open", 34)])
    '1,234: resolved 1,200, open 34'
    """
    total = f"{sum(count for _, count in counts):,}"
    kinds = [f"{'none' if name is None else name} {count:,}" for name, count in counts[:MAX_KINDS]]
    left = len(counts) - MAX_KINDS
    more = f" and {plural(left, 'other')}" if left > 0 else ""
    return f"{total}: {', '.join(kinds)}{more}" if len(counts) > 1 else total


def list_newest(items: Iterable[Handle], *, first: int = 0) -> Iterator[CardRow]:
    """Make a line of each object, with its position in the noun."""
    for position, item in enumerate(items, first):
        yield CardRow(f"[{position}]", write_item(item))


def write_item(item: Handle) -> str:
    """Write the shown fields of an object in one line; fields that are None, False or empty are left out."""
    parts = (_write_value(name, value) for name, value in item._list_shown())
    return " · ".join(part for part in parts if part)


def _write_value(name: str, value: object) -> str:
    label = name.replace("_", " ")
    if isinstance(value, bool):
        return label if value else ""
    if isinstance(value, int | float):
        return f"{label} {value:,.6g}"
    if isinstance(value, datetime):
        return write_time(value)
    if isinstance(value, list | tuple):
        return f"{label}: {len(value):,}" if value else ""
    if isinstance(value, Mapping):
        return ""
    return _shorten_hash(str(value.value if isinstance(value, Enum) else value), is_id=isinstance(value, UUID))


def _shorten_hash(text: str, *, is_id: bool) -> str:
    if is_id or text.startswith("sha256:"):
        return f"{text.removeprefix('sha256:')[:_HASH_CHARACTERS]}…"
    if len(text) > MAX_WORD and " " not in text:  # would make the card wider than a phone
        return f"{text[: MAX_WORD // 2]}…{text[-_HASH_CHARACTERS:]}"
    return text


def _count_contents(lab: LabReads, counts: dict[str, int]) -> Iterator[CardRow]:
    """Count the data sets into `counts`, and yield a line for each; one without permission says what it needs."""
    refused: dict[str, str] = {}
    counts |= _count_readable(lab, list(_COUNTED), refused)
    for name in _COUNTED:
        if name == "cases" and "cases" in counts:
            yield CardRow("Cases", f"{counts['cases']:,}, {counts['open']:,} open")
        elif name in counts:
            yield CardRow(name.capitalize(), f"{counts[name]:,}")
    if refused:
        yield CardRow("Not read", "; ".join(f"{name} needs {scope}" for name, scope in refused.items()))


def _count_readable(lab: LabReads, wanted: list[str], refused: dict[str, str]) -> dict[str, int]:
    """Count the data sets that the caller may read by one query; `refused` gets the scopes that others need."""
    while wanted:
        try:
            (found,) = lab.sql(_compose_counts(wanted))
            return {name: int(str(count)) for name, count in found.items()}
        except PermissionDenied as error:
            name = str(error.details.get("data_set"))
            if name not in wanted:
                raise
            refused[name] = str(error.details.get("required_scope"))
            wanted.remove(name)
    return {}


def _compose_counts(names: Sequence[str]) -> str:
    counts = [f"(select count(*) from {name}) as {name}" for name in names]
    if "cases" in names:
        counts.append("(select count(*) from cases where status = 'open') as open")
    return f"select {', '.join(counts)}"


def _name_moment(lab: LabReads) -> Iterator[CardRow]:
    head = lab.head()
    yield CardRow("Log", f"{plural(head.tree_size, 'entry', 'entries')}, signed {write_time(head.timestamp)}")
    yield CardRow("As of", write_time(lab.now()))


def _name_caller(lab: LabReads) -> Iterator[CardRow]:
    me = lab.me()
    yield CardRow("Caller", f"{me.email or me.name}, {me.tenant_name}, plan {me.plan}")


def _list_moves(moves: Iterable[str]) -> Iterator[CardRow]:
    for number, move in enumerate(moves):
        yield CardRow("Next" if number == 0 else "", write_code(move))
