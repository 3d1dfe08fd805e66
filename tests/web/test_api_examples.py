"""The examples of the API reference: a test sends each request to a running lab and judges what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from attestlab.installation import Installation
from attestlab.server.api_reference import load_vocabulary
from support.access import open_access_scenario
from support.api_tour.recording import JsonObject, TourRecorder
from support.api_tour.stations import STATIONS
from support.in_process_server import make_client, serve_in_thread

pytestmark = pytest.mark.one_world

# Operations that no lab on its own can answer with a success, or whose response would repeat the document.
WITHOUT_EXAMPLE = {"get_witnessed_checkpoint", "get_openapi", "get_security_txt", "record_stripe_event"}
BINARY = {"get_tile", "get_logo", "get_page_asset", "get_badge", "get_favicon", "get_shared_open_badge"}
BINARY |= {"get_blog_medium", "get_blog_feed"}
TOO_LONG = {"get_metrics", "get_first_page", "find_attestation", "get_api_reference"}
TOO_LONG |= {"get_invitation_page", "send_invitation_form", "find_badge"}
TOO_LONG |= {"get_billing_page", "get_billing_change_page", "send_billing_change"}
TOO_LONG |= {f"get_{page}_page" for page in ("inbox", "inbox_item", "portfolio", "protect", "reset", "settings")}
TOO_LONG |= {f"get_{page}_page" for page in ("signin", "signup", "verify")}
TOO_LONG |= {f"send_{page}_form" for page in ("reset", "signup", "verify")}
REDIRECTS = {f"send_{page}_form" for page in ("inbox_item", "protect", "signin", "signout")}
# Every response has these; they are HTTP's own, or protect browsers.
UNDECLARED = {
    *("date", "content-type", "content-length", "connection", "transfer-encoding", "x-content-type-options"),
    *("content-security-policy", "referrer-policy", "cross-origin-resource-policy", "cross-origin-opener-policy"),
    *("permissions-policy", "x-frame-options", "x-robots-tag"),
}


@pytest.fixture(scope="module")
def tour(shared_lab: Installation) -> Iterator[TourRecorder]:
    with serve_in_thread(shared_lab) as url:
        with make_client(url) as client:
            document = client.get("/openapi.json").json()
        with open_access_scenario(shared_lab, url) as access:
            taken = TourRecorder(access, document)
            for station in STATIONS:
                station(taken)
            yield taken


@pytest.fixture(scope="module")
def examples() -> Mapping[str, JsonObject]:
    return load_vocabulary().examples


def response_schema(document: JsonObject, operation: JsonObject, response: httpx.Response) -> JsonObject | None:
    """The schema of what came back, with the components that it refers to; None without a body."""
    declared = operation["responses"][str(response.status_code)]
    if "$ref" in declared:
        declared = document["components"]["responses"][declared["$ref"].rpartition("/")[2]]
    media_type = response.headers.get("content-type", "").partition(";")[0]
    if not media_type.endswith("json"):
        assert media_type in declared.get("content", {}) or not response.content, media_type
        return None
    return {**declared["content"][media_type]["schema"], "components": document["components"]}


def faults(schema: JsonObject, value: object) -> list[str]:
    return [f"{error.json_path}: {error.message[:120]}" for error in Draft202012Validator(schema).iter_errors(value)]


def test_every_operation_is_called_with_success(tour: TourRecorder) -> None:
    assert set(tour.operations) - set(tour.examples) == WITHOUT_EXAMPLE


def test_responses_are_as_described(tour: TourRecorder) -> None:
    wrong = {}
    for name, response in tour.responses.items():
        if name in tour.operations:
            schema = response_schema(tour.document, tour.operations[name][2], response)
            if schema is not None and (found := faults(schema, response.json())):
                wrong[name] = found

    assert wrong == {}


def test_errors_are_as_described(tour: TourRecorder) -> None:
    schema = {**tour.document["components"]["schemas"]["Error"], "components": tour.document["components"]}
    errors = {name: response for name, response in tour.responses.items() if name.isdecimal()}

    assert {name: found for name, error in errors.items() if (found := faults(schema, error.json()))} == {}
    assert set(errors) == {"400", "401", "402", "403", "404", "409", "410", "413", "415", "422", "429"}


def test_response_headers_are_declared(tour: TourRecorder) -> None:
    undeclared = {}
    for name, response in tour.responses.items():
        if name in tour.operations:
            declared = tour.operations[name][2]["responses"][str(response.status_code)]["headers"]
            strange = set(response.headers) - UNDECLARED - {header.lower() for header in declared}
            if strange:
                undeclared[name] = strange

    assert undeclared == {}


def test_requests_of_the_examples_are_those_that_were_sent(
    tour: TourRecorder, examples: Mapping[str, JsonObject]
) -> None:
    """Apart from ids and secrets, which each lab has its own; `make examples` writes them again."""
    assert set(examples) == set(tour.examples)
    different = [
        name
        for name, taken in tour.examples.items()
        if outline(taken.get("request")) != outline(examples[name].get("request"))
    ]

    assert different == []


def outline(value: Any) -> Any:
    """The members of an object without the values."""
    if isinstance(value, dict):
        return {name: outline(part) for name, part in value.items()}
    return [outline(part) for part in value] if isinstance(value, list) else type(value).__name__


def test_examples_are_as_described(tour: TourRecorder, examples: Mapping[str, JsonObject]) -> None:
    wrong: dict[str, list[str]] = {}
    for name, (_, _, operation) in tour.operations.items():
        for place, media in examples_of(operation):
            if found := faults({**media["schema"], "components": tour.document["components"]}, media["example"]):
                wrong[f"{name} {place}"] = found

    assert wrong == {}


def examples_of(operation: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """The examples in one operation, each with its schema."""
    for parameter in operation["parameters"]:
        if "example" in parameter:
            yield parameter["name"], parameter
    for place in (operation.get("requestBody", {}), *operation["responses"].values()):
        for media_type, media in place.get("content", {}).items():
            if "example" in media:
                yield media_type, media


def test_every_operation_has_an_example_of_each_body(tour: TourRecorder) -> None:
    without = []
    for name, (_, _, operation) in tour.operations.items():
        (status, success), *_ = operation["responses"].items()
        bodies = [operation["requestBody"]] if "requestBody" in operation else []
        bodies += [success] if status != "204" and name not in BINARY | TOO_LONG | REDIRECTS else []
        shown = [any("example" in media for media in body["content"].values()) for body in bodies]
        if not all(shown):
            without.append(name)

    assert set(without) == WITHOUT_EXAMPLE


def test_path_parameters_have_examples(tour: TourRecorder) -> None:
    without = [
        f"{name} {parameter['name']}"
        for name, (_, _, operation) in tour.operations.items()
        for parameter in operation["parameters"]
        if parameter["in"] == "path" and "example" not in parameter
    ]

    assert without == []
