"""The API reference: every operation and property has its words, and generators of clients can use the document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from attestlab.server.api_reference import load_vocabulary
from attestlab.server.app import all_routes
from attestlab.web.health import health_routes
from attestlab.web.metrics import Metrics, metrics_routes
from attestlab.web.openapi.document import describe, openapi_routes
from attestlab.web.routing.routes import Route
from attestlab.webhooks.event_types import list_type_names

JsonObject = dict[str, Any]
VERBS = re.compile(
    r"(accept|activate|add|analyze|annotate|approve|archive|assign|attach|change|check|choose|comment|complete|compromise|create|"
    r"decline|delete|deliver|deprecate|detach|download|end|evaluate|execute|export|find|forget|get|introspect|invite|kill|list|load|make|"
    r"mint|normalize|open|preview|publish|put|query|record|recover|redact|refresh|register|reject|remove|reopen|replace|report|"
    r"resend|reset|resolve|resume|review|revoke|rotate|save|scan|search|send|set|shadow|sign|simulate|start|schedule|supersede|suspend|terminate|update|upload|verify)_[a-z_]+"
)


def every_route() -> list[Route]:
    """The routes of a running server."""
    routes = [*all_routes(), *health_routes({}), *metrics_routes(Metrics())]
    return [*routes, *openapi_routes(routes, title="AttestLab", version="1")]


@pytest.fixture(scope="module")
def document() -> JsonObject:
    found: JsonObject = json.loads(
        describe(every_route(), title="AttestLab", version="1", vocabulary=load_vocabulary())
    )
    return found


@pytest.fixture(scope="module")
def operations(document: JsonObject) -> list[JsonObject]:
    return [operation for item in document["paths"].values() for operation in item.values()]


def schemas_within(value: object) -> Iterator[JsonObject]:
    """Every schema and part of a schema, however deep."""
    if isinstance(value, dict):
        yield value
        for part in value.values():
            yield from schemas_within(part)
    elif isinstance(value, list):
        for part in value:
            yield from schemas_within(part)


def all_schemas(document: JsonObject) -> Iterator[JsonObject]:
    yield from schemas_within(document["components"]["schemas"])
    for operation in (operation for item in document["paths"].values() for operation in item.values()):
        for parameter in operation["parameters"]:
            yield from schemas_within(parameter["schema"])
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for body in bodies:
            for media in body.get("content", {}).values():
                yield from schemas_within(media["schema"])


def test_the_description_is_valid(document: JsonObject) -> None:
    assert document["openapi"].startswith("3.1.")
    assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []


def test_every_operation_has_a_summary_and_a_description(operations: list[JsonObject]) -> None:
    short = [each["operationId"] for each in operations if len(each["description"].split()) < 8 or not each["summary"]]

    assert short == []


def test_operation_ids_are_verbs_with_objects(operations: list[JsonObject]) -> None:
    assert [each["operationId"] for each in operations if not VERBS.fullmatch(each["operationId"])] == []


def test_every_property_has_a_meaning(document: JsonObject) -> None:
    without = [
        f"{name}.{member}"
        for name, schema in document["components"]["schemas"].items()
        for member, part in schema.get("properties", {}).items()
        if not part.get("description")
    ]

    assert without == []


def test_every_parameter_has_a_meaning(operations: list[JsonObject]) -> None:
    without = [
        f"{each['operationId']}.{parameter['name']}"
        for each in operations
        for parameter in each["parameters"]
        if not parameter.get("description")
    ]

    assert without == []


def test_names_of_schemas_are_words(document: JsonObject) -> None:
    """No Python path, no brackets of a generic, and no suffix of our own classes."""
    schemas = document["components"]["schemas"]

    assert [name for name in schemas if not re.fullmatch(r"([A-Z][a-z0-9]*)+", name)] == []
    assert [name for name in schemas if name.endswith(("Out", "In"))] == []
    assert [name for name, schema in schemas.items() if schema["title"] != name] == []


def test_closed_sets_of_texts_are_named(document: JsonObject) -> None:
    """An anonymous enum becomes a class per property in a generated client."""
    named = {id(schema) for schema in document["components"]["schemas"].values()}
    anonymous = [each for each in all_schemas(document) if "enum" in each and id(each) not in named]

    assert anonymous == []


def test_every_schema_is_used(document: JsonObject) -> None:
    used = {each["$ref"].rpartition("/")[2] for each in all_schemas(document) if "$ref" in each}
    used |= {"Error"}

    assert set(document["components"]["schemas"]) - used == set()


def test_codes_of_the_contract_are_closed(document: JsonObject) -> None:
    schemas = document["components"]["schemas"]

    def named(schema: str, member: str) -> str:
        part = schemas[schema]["properties"][member]
        return str(part.get("items", part)["$ref"].rpartition("/")[2])

    assert named("Error", "code") == "ErrorCode"
    assert named("VerificationResponse", "verdict") == "Verdict"
    assert named("VerificationResponse", "reasons") == "ReasonCode"
    assert named("Attestation", "status") == "AttestationStatus"
    assert named("Key", "status") == "KeyStatus"
    assert set(schemas["ErrorCode"]["enum"]) >= {"VALIDATION_ERROR", "CONFLICT", "RATE_LIMIT_EXCEEDED"}
    assert "key_rotated" in schemas["ReasonCode"]["enum"]


def test_a_field_that_may_be_null_lists_null_as_a_type(document: JsonObject) -> None:
    assert [each for each in all_schemas(document) if each.get("nullable")] == []


def test_every_body_has_a_media_type(operations: list[JsonObject]) -> None:
    media_types = {
        name for each in operations for response in each["responses"].values() for name in response.get("content", {})
    }

    assert media_types
    assert [name for name in media_types if "*" in name] == []


def test_every_response_declares_its_headers(document: JsonObject, operations: list[JsonObject]) -> None:
    shared = [response["headers"] for response in document["components"]["responses"].values()]
    responses = [response for each in operations for response in each["responses"].values()]
    own = [response["headers"] for response in responses if "$ref" not in response]

    for headers in [*shared, *own]:
        assert {"X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining"} <= set(headers)


def test_references_resolve(document: JsonObject) -> None:
    references = sorted({each["$ref"] for each in schemas_within(document) if "$ref" in each})

    assert references
    assert [reference for reference in references if not is_component(document, reference)] == []


def is_component(document: JsonObject, reference: str) -> bool:
    """Whether a reference leads to a component that is not empty."""
    start, components, kind, name = reference.split("/")
    return (start, components) == ("#", "components") and bool(document["components"].get(kind, {}).get(name))


def test_every_type_of_events_is_a_webhook(document: JsonObject) -> None:
    webhooks = document["webhooks"]

    assert list(webhooks) == list(list_type_names())
    for name, item in webhooks.items():
        media = item["post"]["requestBody"]["content"]["application/json"]
        Draft202012Validator(media["schema"]).validate(media["example"])
        assert media["schema"]["properties"]["type"]["const"] == name
        assert {each["name"] for each in item["post"]["parameters"]} >= {"X-Service-Signature", "webhook-signature"}


def test_common_generators_of_clients_can_read_the_description(document: JsonObject) -> None:
    """Each of these once made a client that does not compile, or lost its types (`make clients` tries them)."""
    own = {operation["tags"][0] for item in document["paths"].values() for operation in item.values()}
    received = {item["post"]["tags"][0] for item in document["webhooks"].values()}
    assert own & received == set(), "a generator names one file after the tag of both"
    assert [each for each in list_parts(document["webhooks"]) if each.get("$ref", "").count("/parameters/")] == []
    parts = [*list_parts(document["components"]["schemas"]), *list_parts(document["paths"])]
    assert [each for each in parts if "$ref" in each and isinstance(each.get("default"), dict)] == []
    assert [each for each in parts if each.get("type") == "null" and "description" in each] == []
    assert [
        each
        for each in parts
        if each.get("type") == "integer" and each.get("maximum", 2**31) >= 2**31 and each.get("format") != "int64"
    ] == []
    names = {name for name, schema in document["components"]["schemas"].items() if schema.get("type") == "object"}
    assert [name for name in names if f"New{name}" in names] == [], "Go's constructor of one is named like the other"


def list_parts(value: Any) -> Iterator[JsonObject]:
    """Every object within a description, but for its examples."""
    if isinstance(value, dict):
        yield value
        for name, part in value.items():
            if name not in ("example", "examples"):
                yield from list_parts(part)
    elif isinstance(value, list):
        for part in value:
            yield from list_parts(part)
