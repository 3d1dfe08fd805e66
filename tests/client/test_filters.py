"""The typed filters of the facade are those of the routes, and its options of a mint those of the body."""

from __future__ import annotations

import inspect

import pytest

from attestlab.attestations.shapes import MintIn
from attestlab.cli.python_reference import NOUNS
from attestlab.client.collections import filters
from attestlab.client.collections.attestations import MintOptions
from attestlab.client.collections.base import _WIRE_NAMES, Collection
from attestlab.client.collections.decisions import _CONDITIONS
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
    fields = {} if route.query is None else route.query.model_fields
    of_route = {field.alias or name for name, field in fields.items()} - PAGING

    assert {_WIRE_NAMES.get(name, name) for name in names_of_filters(kind)} == of_route, (
        "correct its class in attestlab/client/collections/filters.py"
    )


def test_the_filters_of_decisions_are_those_of_its_query() -> None:
    assert names_of_filters(NOUNS["decisions"]) == set(_CONDITIONS)


def test_the_options_of_a_mint_are_the_members_of_its_body() -> None:
    """Issuer, schema and claims are arguments; the facade hashes a document and does not send it."""
    members = MintIn.model_fields.keys() - {"issuer_id", "schema_id", "claims", "payload_b64url"}

    assert set(MintOptions.__annotations__) == members, "correct it in attestlab/client/collections/attestations.py"
