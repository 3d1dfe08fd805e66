"""Endpoints and events of webhooks."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import httpx
from jsonschema import Draft202012Validator, FormatChecker

from attestlab.core.encoding import parse_time, parse_uuid
from attestlab.core.errors import ValidationFailed
from attestlab.webhooks.event_types import list_event_types
from attestlab.webhooks.rules import MAX_DATA_BYTES

URL = "https://receiver.example.com/hooks"
FORMATS = FormatChecker(formats=())
FORMATS.checks("uuid", raises=ValidationFailed)(lambda value: not isinstance(value, str) or bool(parse_uuid(value)))
FORMATS.checks("date-time", raises=ValidationFailed)(
    lambda value: not isinstance(value, str) or bool(parse_time(value))
)
EVERYTHING = ["attestation.*", "issuer.*", "key.*", "team.*", "risk.*", "security.*"]


def create_endpoint(client: httpx.Client, **changes: Any) -> dict[str, Any]:
    """Creates an endpoint; the response, which has its secret."""
    body = {"name": "A receiver", "url": URL, "event_filters": EVERYTHING, **changes}
    response = client.post("/v1/webhooks/endpoints", json=body)
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    return made


def create_delivery(client: httpx.Client) -> str:
    """Sends a test delivery to a new endpoint, which is unreachable; returns the delivery's id."""
    endpoint = create_endpoint(client)
    client.post("/v1/webhooks/test-delivery", json={"endpoint_id": endpoint["id"]}).raise_for_status()
    (delivery,) = client.get(f"/v1/webhooks/endpoints/{endpoint['id']}/deliveries").json()["items"]
    found: str = delivery["id"]
    return found


@cache
def _validators() -> dict[str, Draft202012Validator]:
    """The validator of each type, with formats, that refuses members of `data` that its schema does not declare."""
    return {
        each.type: Draft202012Validator(_closed(each.schema), format_checker=FORMATS) for each in list_event_types()
    }


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    data = schema["properties"]["data"]
    closed = {**data, "additionalProperties": False} if "properties" in data else data
    return {**schema, "properties": {**schema["properties"], "data": closed}}


def find_event_faults(envelope: dict[str, Any]) -> list[str]:
    """What a published event has that its schema does not allow or does not declare."""
    validator = _validators()[envelope["type"]]
    faults = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(envelope)]
    if len(json.dumps(envelope.get("data"))) > MAX_DATA_BYTES:
        faults.append("the data is too large")
    return faults
