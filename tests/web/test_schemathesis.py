"""Schemathesis, which makes requests of the description alone, finds no response that contradicts it.

Every operation gets valid requests, and those with a body or a query also invalid ones, which must be rejected.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.failures import FailureGroup
from schemathesis.schemas import BaseSchema

from attestlab.installation import Installation
from support.access import AccessScenario, open_access_scenario
from support.in_process_server import make_client, serve_in_thread
from support.timeouts import WAIT_TIMEOUT_S

pytestmark = pytest.mark.one_world

load_all_checks()
CONFORMANCE = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
]
CHECKED = CHECKS.get_by_names([*CONFORMANCE, "negative_data_rejection"])
WITHOUT_A_GENERATOR = {
    "load_past_logins",
    "record_risk_signals",
    "report_agent_events",
}  # schemathesis writes no NDJSON
WITH_AN_OUTCOME_PER_ITEM = {"/v1/attestations/batch"}  # an invalid item does not reject the request


@pytest.fixture(scope="module")
def access(shared_lab: Installation) -> Iterator[AccessScenario]:
    with serve_in_thread(shared_lab) as url, open_access_scenario(shared_lab, url) as made:
        yield made


@pytest.fixture(scope="module")
def description(access: AccessScenario) -> BaseSchema:
    with make_client(access.url) as client:
        return schemathesis.openapi.from_dict(client.get("/openapi.json").json())


def credential_for(access: AccessScenario, operation: APIOperation) -> dict[str, str]:
    """The headers of one who may call the operation."""
    security = operation.definition.raw["security"]
    if not security:
        return {}
    account, is_for_people = access.account, "apiKey" not in security[0]
    client = account.consumer if "consumer" in operation.path else account.signed_in
    headers = (client if is_for_people else account.with_key).headers
    return {name: headers[name] for name in ("X-API-Key", "Authorization") if name in headers}


def modes_of(operation: APIOperation) -> list[GenerationMode]:
    """Whether an operation has something that could be invalid."""
    raw = operation.definition.raw
    has_input = "requestBody" in raw or any(each["in"] == "query" for each in raw["parameters"])
    return [GenerationMode.POSITIVE, *([GenerationMode.NEGATIVE] if has_input else [])]


def find_contradictions(access: AccessScenario, operation: APIOperation, mode: GenerationMode, count: int) -> list[str]:
    """Send `count` requests, and return what was wrong with their responses."""
    headers, found = credential_for(access, operation), []
    checks = CHECKS.get_by_names(CONFORMANCE) if operation.path in WITH_AN_OUTCOME_PER_ITEM else CHECKED

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def send(case: Case) -> None:
        try:
            case.call_and_validate(access.url, headers=headers, checks=checks, timeout=WAIT_TIMEOUT_S)
        except FailureGroup as group:
            found.extend(f"{case.as_curl_command()[:300]}: {failure}" for failure in group.exceptions)

    send()
    return found


def test_no_response_contradicts_the_description(
    access: AccessScenario, description: BaseSchema, is_long: bool
) -> None:
    found = []
    for result in description.get_all_operations():
        operation = result.ok()
        if operation.definition.raw["operationId"] in WITHOUT_A_GENERATOR:
            continue
        for mode in modes_of(operation):
            found += find_contradictions(access, operation, mode, 10 if is_long else 1)

    assert found == []
