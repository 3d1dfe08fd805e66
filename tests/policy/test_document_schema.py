"""The JSON Schema of a policy document, and the parser: both refuse the same documents, as far as a schema can say."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker
from pydantic import TypeAdapter

from attestlab.core.errors import ValidationFailed
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.formats.toml import parse_body
from attestlab.policy.language.attributes import Op
from attestlab.policy.shapes import PolicyIn, PolicyOut, PolicyVersionOut
from attestlab.server.api_reference import load_vocabulary
from attestlab.web.openapi.schemas import build_schemas
from support.policies.documents import REGISTRY, make_condition, make_document, make_rule
from support.policies.strategies import json_policies
from support.property_tests import examples

# The codes of the faults that docs/policies.md lists as those that no schema states.
BEYOND_A_SCHEMA = {
    "unknown_attribute",
    "operator",
    "wrong_type",
    "out_of_domain",
    "not_unique",
    "too_large",
    "int_type",
}
ID = "0193b5a0-7f3c-7abc-8def-0123456789ab"
PLAIN = make_condition("trust_tier", "eq", "BASIC")
TEST = {"name": "t", "context": {"trust_tier": "BASIC"}, "allowed": True, "matched_rules": ["r0"]}
HEADS: list[dict[str, Any]] = [
    {},
    {"target_type": "ISSUER", "target_id": ID},
    {"target_id": None, "mode": "MONITOR", "tests": [TEST], "version": 3, "status": "DRAFT"},
]
JUNK = [None, True, 0, 1.0, 1.5, -1, 10**7, "", "BASIC", "x" * 1_100, [], ["BASIC"], [1, True], {}, PLAIN, ID, "ALLOW"]
MEMBERS = ["all", "any", "not", "attr", "op", "value", "target_id", "tests", "status", "toml", "surprise"]


@cache
def read_schema() -> dict[str, Any]:
    """The schema of a submitted policy, with the components that it refers to, as `/openapi.json` has them."""
    body = (("create_policy", "body"), "validation", TypeAdapter(PolicyIn))
    schemas, components = build_schemas([body], load_vocabulary())
    return {**schemas["create_policy", "body"], "components": {"schemas": components}}


@cache
def make_validator() -> Draft202012Validator:
    Draft202012Validator.check_schema(read_schema())
    return Draft202012Validator(read_schema(), format_checker=FormatChecker())


def parse(document: object) -> set[str]:
    """The codes of the faults for which the parser refuses a document."""
    try:
        bind(parse_body(document), REGISTRY)
    except ValidationFailed as error:
        return {fault.code for fault in error.fields}
    return set()


def list_places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every value within a document but its own."""
    if place:
        yield place
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from list_places(part, (*place, key))


@st.composite
def damaged_documents(draw: st.DrawFn) -> dict[str, Any]:
    """A policy, of which up to two values are replaced, removed, or given one more member."""
    document = copy.deepcopy({**draw(json_policies(most=2)), **draw(st.sampled_from(HEADS))})
    for _ in range(draw(st.integers(0, 2))):
        places = list(list_places(document))
        if not places:
            break
        *before, last = draw(st.sampled_from(places))
        part: Any = document
        for key in before:
            part = part[key]
        change = draw(st.sampled_from(["replace", "replace", "remove", "add"]))
        if change == "replace":
            part[last] = copy.deepcopy(draw(st.sampled_from(JUNK)))
        elif change == "remove":
            del part[last]
        elif isinstance(part, dict):
            part[draw(st.sampled_from(MEMBERS))] = copy.deepcopy(draw(st.sampled_from(JUNK)))
    return document


@pytest.mark.more_in_soak
@settings(max_examples=examples(20, many=1_000))
@given(document=damaged_documents())
def test_schema_and_parser_agree(document: dict[str, Any]) -> None:
    codes = parse(document)

    if make_validator().is_valid(document):
        assert codes <= BEYOND_A_SCHEMA
    else:
        assert codes


ACCEPTED = [
    make_condition("key.age_days", "gt", 1.5),
    make_condition("note", "in", ["a", "b"]),
    make_condition("is_resident", "ne", True),
    make_condition("note", "exists", False),
    {"all": [PLAIN, {"any": [PLAIN, {"not": {"not": PLAIN}}]}]},
]
REFUSED = [
    make_condition("key.age_days", "gt", "1"),
    make_condition("key.age_days", "gt", [1]),
    make_condition("note", "in", "a"),
    make_condition("note", "in", []),
    make_condition("note", "not_in", [True]),
    make_condition("note", "in", ["a", 1]),
    make_condition("note", "eq", ["a"]),
    make_condition("note", "exists", "yes"),
    make_condition("note", "exists", None),
    make_condition("no note", "exists", True),
    make_condition("note", "like", "a"),
    {**PLAIN, "all": [PLAIN]},
    {"all": []},
    {"not": [PLAIN]},
    {},
]


@pytest.mark.parametrize("when", ACCEPTED)
def test_schema_and_parser_accept_a_condition(when: dict[str, Any]) -> None:
    document = make_document(make_rule("r", "DENY", when))

    assert (make_validator().is_valid(document), parse(document)) == (True, set())


@pytest.mark.parametrize("when", REFUSED)
def test_schema_and_parser_refuse_a_condition(when: dict[str, Any]) -> None:
    document = make_document(make_rule("r", "DENY", when))

    assert not make_validator().is_valid(document)
    assert parse(document)


@pytest.mark.parametrize(
    "body", [{"toml": 3}, {"toml": "", "name": "p"}, {}, [], make_document(make_rule("r", "DENY", PLAIN), target_id=ID)]
)
def test_schema_and_parser_refuse_a_body(body: object) -> None:
    assert not make_validator().is_valid(body)
    assert parse(body)


def test_each_operator_is_described() -> None:
    """A new one says which values it takes."""
    schemas = read_schema()["components"]["schemas"]
    ruled, rule = set(), schemas["PolicyComparison"]
    while rule:
        ruled |= {each["const"] for each in rule["if"]["properties"]["op"]["anyOf"]}
        rule = rule.get("else")

    assert schemas["PolicyOperator"]["enum"] == [*Op]
    assert ruled == {*Op}


def test_examples_are_valid() -> None:
    schemas = read_schema()["components"]["schemas"]
    [document], [condition] = schemas["PolicyDocument"]["examples"], schemas["PolicyCondition"]["examples"]
    [comparison] = schemas["PolicyComparison"]["examples"]

    for when in (condition, comparison):
        assert parse(make_document(make_rule("r", "DENY", when))) == set()
    assert parse(document) == set()
    assert make_validator().is_valid(document)


def test_responses_refer_to_the_same_schemas() -> None:
    """A generated client has one class for a rule that is sent and received."""
    shapes = {"policy": PolicyOut, "version": PolicyVersionOut}
    responses = [((name, "response"), "serialization", TypeAdapter(shape)) for name, shape in shapes.items()]
    _, components = build_schemas(responses, load_vocabulary())

    def refer(name: str) -> dict[str, str]:
        return {"$ref": f"#/components/schemas/{name}"}

    assert components["Policy"]["properties"]["rules"]["items"] == refer("PolicyRule")
    assert components["Policy"]["properties"]["tests"]["items"] == refer("PolicyTest")
    assert components["PolicyVersion"]["properties"]["document"]["$ref"] == refer("PolicyDocument")["$ref"]


def test_generators_of_clients_can_read_the_schemas() -> None:
    """Beside `properties`, they take compositions for inheritance; for `oneOf`, Go wants a library of others."""
    schemas = read_schema()["components"]["schemas"]

    assert [name for name, each in schemas.items() if "properties" in each and {"anyOf", "allOf"} & {*each}] == []
    assert [word for word in ("oneOf", "discriminator") if f'"{word}"' in json.dumps(schemas)] == []
