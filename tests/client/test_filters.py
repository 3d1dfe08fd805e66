"""The typed filters of the facade are those of the routes, and a wrong one is refused by the call, before a read."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, cast

import pytest

from attestlab.attestations.shapes import MintIn
from attestlab.cli.python_reference import NOUNS
from attestlab.client.asynchronous.calls import VerbThreads
from attestlab.client.asynchronous.twins import AsyncCollection
from attestlab.client.collections import filters
from attestlab.client.collections.attestations import MintOptions
from attestlab.client.collections.base import Collection
from attestlab.client.collections.decisions import _CONDITIONS
from attestlab.core.errors import ValidationFailed
from attestlab.server.app import all_routes

PAGING = {"limit", "cursor", "offset"}
LISTS = {noun: kind for noun, kind in NOUNS.items() if issubclass(kind, Collection) and hasattr(kind, "path")}


def names_of_filters(kind: type) -> set[str]:
    """The names that a noun's `list` declares."""
    annotation = str(inspect.signature(kind.list).parameters["filters"].annotation)  # type: ignore[attr-defined]
    declared = getattr(filters, annotation.removeprefix("Unpack[").removesuffix("]"))
    return set(declared.__annotations__)


@pytest.mark.parametrize("noun", LISTS)
def test_the_filters_of_a_list_are_the_parameters_of_its_route(noun: str) -> None:
    kind = LISTS[noun]
    (route,) = (each for each in all_routes() if (each.method, each.path) == ("GET", kind.path))  # type: ignore[attr-defined]
    assert route.query is not None
    of_route = {field.alias or name for name, field in route.query.model_fields.items()} - PAGING

    assert {filters.OTHER_NAMES.get(name, name) for name in names_of_filters(kind)} == {
        filters.OTHER_NAMES.get(name, name) for name in of_route
    }, "correct its class in attestlab/client/collections/filters.py"
    assert issubclass(route.query, kind.query), "name its query in its collection"  # type: ignore[attr-defined]


def test_the_filters_of_decisions_are_those_of_its_query() -> None:
    assert names_of_filters(NOUNS["decisions"]) == set(_CONDITIONS)


@pytest.mark.parametrize("noun", LISTS)
def test_a_noun_describes_all_its_filters(noun: str) -> None:
    kind = LISTS[noun]

    described = filters.describe_filters(kind.list)  # type: ignore[attr-defined]

    assert set(described) == names_of_filters(kind)
    assert all(described.values())


def test_a_description_says_which_values_a_filter_takes() -> None:
    described = filters.describe_filters(NOUNS["cases"].list)  # type: ignore[attr-defined]

    assert described["outcome"] == "one of 'fraud', 'legitimate', 'inconclusive'"
    assert described["assignee_id"] == "an id"
    assert filters.describe_filters(NOUNS["signals"].list)["since"].startswith("a time")  # type: ignore[attr-defined]


def test_the_options_of_a_mint_are_the_members_of_its_body() -> None:
    """Issuer, schema and claims are arguments; the facade hashes a document and does not send it."""
    members = MintIn.model_fields.keys() - {"issuer_id", "schema_id", "claims", "payload_b64url"}

    assert set(MintOptions.__annotations__) == members, "correct it in attestlab/client/collections/attestations.py"


LISTED = {noun: kind for noun, kind in NOUNS.items() if hasattr(kind, "list")}
WRONG: dict[str, tuple[str, dict[str, object], str]] = {
    "misspelt": ("signals", {"min_scor": 9}, "'min_scor' is no filter of this list. Did you mean min_score?"),
    "misspelt, of decisions": ("decisions", {"alowed": True}, "Did you mean allowed?"),
    "misspelt, of the page": ("audit", {"cursor": "x"}, "'cursor' is no filter of this list"),
    "value": ("cases", {"status": "opened"}, "/status: Input should be 'open' or 'resolved'"),
    "type": ("signals", {"min_score": "high"}, "/min_score: Input should be a valid integer"),
    "type of an id": ("attestations", {"issuer_id": "Registrar"}, "/issuer_id: "),
    "type, of decisions": ("decisions", {"allowed": "yes"}, "allowed is a str. Pass True or False."),
    "limit of a value": ("signals", {"max_score": 900}, "/max_score: Input should be less than or equal to 100"),
    "text of a time": ("audit", {"since": "yesterday"}, "since='yesterday' is not a time"),
    "times exchanged": (
        "signals",
        {"since": "2026-02-01", "until": "2026-01-01"},
        "since=2026-02-01T00:00:00.000Z is after",
    ),
    "times exchanged, of decisions": ("decisions", {"since": "2026-02-01", "until": "2026-01-01"}, " is after until="),
    "numbers exchanged": ("signals", {"min_score": 9, "max_score": 3}, "min_score=9 is above max_score=3"),
}


def call_list(noun: str, given: dict[str, object]) -> None:
    """Call `list` of a noun that no service is behind: a read would fail otherwise."""
    cast(Any, LISTED[noun])(None).list(**given)


async def call_async_list(noun: str, given: dict[str, object]) -> None:
    twin = AsyncCollection(cast(Any, LISTED[noun])(None), VerbThreads())
    twin.list(**given)  # without `await`, as what it returns is read by `async for`


@pytest.mark.parametrize("noun", LISTED)
def test_an_unknown_filter_is_refused_by_the_call(noun: str) -> None:
    with pytest.raises(ValidationFailed, match="'zzz' is no filter of this list"):
        call_list(noun, {"zzz": 1})
    with pytest.raises(ValidationFailed, match="'zzz' is no filter of this list"):
        asyncio.run(call_async_list(noun, {"zzz": 1}))


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_filter_is_refused_by_the_call(wrong: str) -> None:
    noun, given, expected = WRONG[wrong]

    with pytest.raises(ValidationFailed) as caught:
        call_list(noun, given)

    assert expected in caught.value.message
