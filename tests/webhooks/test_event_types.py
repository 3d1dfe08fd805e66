"""The catalogue of event types: complete, in the order of the specification, and as events are published."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from attestlab.core.events import Event
from attestlab.webhooks.event_fields import FIELDS
from attestlab.webhooks.event_types import SPECIFIED, EventType, list_event_types, list_type_names
from attestlab.webhooks.rules import EVENT_TYPE, MAX_DATA_BYTES, MAX_EVENT_TYPE_LENGTH
from support.orgs import TenantClients
from support.webhook_endpoints import find_event_faults

BY_TYPE = {each.type: each for each in list_event_types()}
MAX_BYTES_OF_OTHERS = 64  # of an id, a time or a number as JSON
MAX_BYTES_PER_CHARACTER = 6  # an escaped control character


def test_catalogue_has_every_event_class() -> None:
    declared = {name for name, kind in Event.catalogue.items() if kind.__module__.startswith("attestlab.")}

    assert set(list_type_names()) == declared
    assert len(SPECIFIED) == 32
    assert [each.type for each in list_event_types()][:32] == list(SPECIFIED)


def test_an_installation_loads_every_class() -> None:
    code = "import attestlab.installation; from attestlab.webhooks.event_types import *; print(len(list_event_types()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert int(done.stdout) == len(list_type_names())


@pytest.mark.parametrize("name", list_type_names())
def test_example_fits_its_schema(name: str) -> None:
    event_type = BY_TYPE[name]
    Draft202012Validator.check_schema(event_type.schema)

    assert find_event_faults(event_type.example) == []
    assert EVENT_TYPE.fullmatch(name)
    assert len(name) <= MAX_EVENT_TYPE_LENGTH
    assert event_type.category == name.partition(".")[0]
    assert event_type.description.endswith(".")


@pytest.mark.parametrize("name", [name for name in list_type_names() if name != "webhook.test"])
def test_schema_refuses_wrong_events(name: str) -> None:
    good = BY_TYPE[name].example
    first = next(iter(good["data"]))
    wrong: list[dict[str, Any]] = [
        {**good, "id": "not an id"},
        {**good, "created_at": "yesterday"},
        {member: value for member, value in good.items() if member != "data"},
        {**good, "data": {**good["data"], first: ["another type"]}},
        {**good, "data": {**good["data"], "undeclared": 1}},
    ]

    assert [find_event_faults(each) == [] for each in wrong] == [False] * len(wrong)


@pytest.mark.parametrize("name", list_type_names())
def test_data_is_bounded(name: str) -> None:
    """Even if every text had its greatest length."""
    members = BY_TYPE[name].schema["properties"]["data"].get("properties", {})
    bytes_of_members = [
        len(member) + MAX_BYTES_PER_CHARACTER * part.get("maxLength", MAX_BYTES_OF_OTHERS)
        for member, part in members.items()
    ]

    assert sum(bytes_of_members) < MAX_DATA_BYTES


def test_every_member_has_a_meaning_and_none_is_left_over() -> None:
    used = {member for each in list_event_types() for member in each.example["data"]} | {"minute"}
    declared = [each for name in list_type_names() for each in Event.catalogue[name].declared_fields().items()]
    by_classes = {name for name, _field in declared}

    assert FIELDS.keys() | by_classes == used, "webhooks/event_fields.py, or each class that has it, explains a member"
    assert FIELDS.keys() & by_classes == set(), "a member whose meaning differs is explained by its classes alone"
    assert len(set(declared)) == len(declared), "webhooks/event_fields.py explains what means the same in two classes"


def test_types_are_listed_over_http(tenant_clients: TenantClients) -> None:
    with tenant_clients.with_key() as key:
        listed = key.get("/v1/webhooks/event-types").json()["items"]
        keys = key.get("/v1/webhooks/event-types", params={"category": "key"}).json()["items"]

    assert [EventType(**each) for each in listed] == list(list_event_types())
    assert [each["type"] for each in keys] == [name for name in list_type_names() if name.startswith("key.")]
