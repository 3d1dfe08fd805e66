"""Validation limits: a body with more errors than a response lists is cheap for both server and client."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from uuid import UUID

import httpx
import pytest
from pydantic import BaseModel

from attestlab.attestations.shapes import MintIn
from attestlab.core.errors import MAX_REPORTED_ERRORS, FieldError, ValidationFailed
from attestlab.core.strict_json import parse_json
from attestlab.policy.shapes import AttributesIn
from attestlab.server.app import all_routes
from attestlab.web.validation import validate_body
from support.processor_time import measure_least_s, require_linear
from support.raw_http import post_request
from support.sample_application import Claims, NoteIn, SampleServer

MANY = 75_000  # members that fit into 1 MiB


def members(count: int) -> dict[str, int]:
    return {f"k{number:05d}": 1 for number in range(count)}


def refusal(model: Any, document: object) -> ValidationFailed:
    with pytest.raises(ValidationFailed) as caught:
        validate_body(model, json.dumps(document).encode(), document)
    return caught.value


def test_a_response_lists_twenty_errors_and_counts_the_others(sample: SampleServer) -> None:
    with sample.connect() as connection:
        answer = connection.send(post_request("/v1/open/notes", json.dumps(members(MANY)).encode())).response()

    error = json.loads(answer.body)
    assert (answer.status, len(error["details"]["fields"])) == (400, 20)
    assert error["details"]["more_faults"] == MANY - 20
    assert error["details"]["fields"][0] == {
        "field": "/k00000",
        "code": "extra_forbidden",
        "message": "Unknown member.",
    }
    assert "74,980 more faults" in error["message"]
    assert len(answer.body) < 4096


def test_twenty_errors_are_all_listed(client: httpx.Client) -> None:
    details = client.post("/v1/open/notes", json={"text": "a", **members(20)}).json()["details"]

    assert [fault["field"] for fault in details["fields"]] == [f"/k{number:05d}" for number in range(20)]
    assert "more_faults" not in details


@pytest.mark.parametrize("count", [MAX_REPORTED_ERRORS, MAX_REPORTED_ERRORS + 1])
def test_a_missing_member_is_named_along_with_few_unknown_ones(count: int) -> None:
    """Many unknown members are rejected first; other errors are reported once those are removed."""
    fields = {fault.field for fault in refusal(NoteIn, members(count)).fields}

    assert ("/text" in fields) is (count <= MAX_REPORTED_ERRORS)


@pytest.mark.parametrize(
    ("model", "document", "place"),
    [
        (NoteIn, {"text": "a", "claims": {"name": "b", **members(100)}}, "/claims/k00000"),
        (AttributesIn, {"attributes": [{"path": "a", **members(50)}, members(50)]}, "/attributes/0/k00000"),
    ],
)
def test_unknown_members_of_nested_models_are_counted(model: Any, document: object, place: str) -> None:
    refused = refusal(model, document)

    assert refused.fields[0].field == place
    assert refused.details["more_faults"] == 80


def test_an_error_lists_twenty_errors_and_counts_the_rest() -> None:
    refused = ValidationFailed("no", [FieldError(f"/{number}", "c", "m") for number in range(25)], more=3)

    assert [one["field"] for one in refused.details["fields"]] == [f"/{number}" for number in range(20)]  # type: ignore[attr-defined]
    assert refused.details["more_faults"] == 5 + 3


def test_a_long_name_is_truncated_in_the_response(client: httpx.Client) -> None:
    answer = client.post("/v1/open/notes", json={"n" * 500_000: 1, "text": "a"})

    assert answer.status_code == 400
    assert answer.json()["details"]["fields"][0]["field"] == "/" + "n" * 64 + "..."
    assert len(answer.content) < 1024


def test_rejecting_many_members_costs_less_than_parsing_them() -> None:
    """pydantic would need eight times as long to create an error for each."""
    document = members(MANY)
    text = json.dumps(document).encode()

    def refuse() -> None:
        with pytest.raises(ValidationFailed):
            validate_body(Claims, text, document)

    refused_s, parsed_s = measure_least_s(refuse, lambda: parse_json(text))
    assert refused_s < parsed_s


def test_members_that_a_large_body_lacks_cost_less_than_parsing_it() -> None:
    """pydantic would build the whole body again for each of them."""
    document = {"unknown": [{"a": {}}] * (MANY // 3)}
    text = json.dumps(document).encode()

    def refuse() -> None:
        with pytest.raises(ValidationFailed):
            validate_body(MintIn, text, document)

    refused_s, parsed_s = measure_least_s(refuse, lambda: parse_json(text))
    assert refused_s < parsed_s


def test_a_large_body_is_judged_as_a_small_one() -> None:
    """Of every route's body, with each member missing, null, or of other types."""
    differing = {
        (model.__name__, json.dumps(document))
        for model in sorted(set(list_bodies()), key=lambda each: each.__name__)
        for document in list_documents(model)
        if judge(model, document, " " * 20_000) != judge(model, document, "")
    }

    assert differing == set()


def list_bodies() -> Iterator[type[BaseModel]]:
    for route in all_routes():
        if route.body is not None:
            yield route.body


def list_documents(model: type[BaseModel]) -> Iterator[dict[str, object]]:
    """Yield documents without members, and each member alone, of every JSON type."""
    yield {}
    for name, field in model.model_fields.items():
        for value in ({}, [{}, {}], [[]], None, 1, 1.0, -0.5, True, "2026-01-01T00:00:00Z", str(UUID(int=7)), "x"):
            yield {field.alias or name: value}


def judge(model: type[BaseModel], document: object, padding: str) -> object:
    try:
        return validate_body(model, json.dumps(document).encode() + padding.encode(), document)
    except ValidationFailed as error:
        return error.message, error.fields


def test_a_duplicate_member_is_found_in_one_pass() -> None:
    """Comparing 40,000 names pairwise would take half a minute."""

    def find_duplicate(count: int) -> Callable[[], object]:
        last = f"k{count - 1:05d}"
        text = f'{json.dumps(members(count))[:-1]},"{last}":2}}'.encode()
        with pytest.raises(ValidationFailed, match=last):
            parse_json(text)

        def find() -> None:
            with suppress(ValidationFailed):
                parse_json(text)

        return find

    require_linear(find_duplicate, 5_000)


@pytest.mark.parametrize("text", ["1," * 100_000 + "1", "[]," * 50_000 + "[]", '"a",' * 100_000 + '"b"'])
def test_a_body_has_at_most_a_hundred_thousand_values(client: httpx.Client, text: str) -> None:
    answer = client.post("/v1/open/notes", content=f'{{"text":[{text}]}}', headers={"Content-Type": "application/json"})

    assert answer.json()["details"]["fields"][0]["code"] == "too_many"


def test_commas_and_brackets_in_strings_are_not_counted(client: httpx.Client) -> None:
    assert client.post("/v1/open/notes", json={"text": "[{,}]" * 20_000, "stars": 1}).status_code == 200
