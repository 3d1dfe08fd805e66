"""Comments of cases over real HTTP, on either database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.orgs.rules import Plan
from attestlab.risk.enforcement.comments import LISTED, MAX_COMMENTS
from support.orgs import TenantClients, read_audit_trail
from support.risk import add_signal, get, post

pytestmark = pytest.mark.one_world


def open_case(key: httpx.Client, entity_id: str = "sofia") -> str:
    return str(add_signal(key, score=90, entity_id=entity_id, details={"device": "pc-7"})["case_id"])


def comment(key: httpx.Client, case_id: str, text: object) -> httpx.Response:
    return key.post(f"/v1/risk/cases/{case_id}/comments", json={"text": text})


def get_own_id(key: httpx.Client) -> str:
    return str(key.get("/v1/me").json()["credential"]["id"])


def list_texts(case: dict[str, Any]) -> list[str]:
    return [each["text"] for each in case["comments"]]


@pytest.mark.both_engines
def test_a_case_has_its_comments_with_writer_and_time(
    key: httpx.Client, tenant_clients: TenantClients, clock: FixedClock
) -> None:
    case_id = open_case(key)
    assert (get(key, f"cases/{case_id}")["comments"], get(key, f"cases/{case_id}")["comment_count"]) == ([], 0)
    first = post(key, f"cases/{case_id}/comments", {"text": "  Called her: no answer.\nAgain at 5. "}, status=201)
    clock.advance(timedelta(minutes=5))
    second = post(key, f"cases/{case_id}/comments", {"text": "She confirmed the login."}, status=201)
    case = get(key, f"cases/{case_id}")

    assert (case["comments"], case["comment_count"]) == ([first, second], 2)
    assert first["text"] == "Called her: no answer.\nAgain at 5."
    assert first["created_by"] == second["created_by"] == get_own_id(key)
    assert first["created_at"] < second["created_at"]
    assert read_audit_trail(tenant_clients.lab, first["id"]) == [("risk_case_comment.add", "API_KEY")]


@pytest.mark.both_engines
def test_lists_groups_and_entities_have_the_newest_comments_of_each_case(key: httpx.Client) -> None:
    talked, quiet = open_case(key), open_case(key, "emil")
    for number in range(LISTED + 2):
        comment(key, talked, f"Call {number}")
    newest = ["Call 2", "Call 3", "Call 4"]
    listed = {each["id"]: each for each in get(key, "cases")["items"]}
    (group,) = get(key, "cases/groups", by="device")["items"]
    (of_entity,) = get(key, "entities/user/sofia")["cases"]

    assert (list_texts(listed[talked]), listed[talked]["comment_count"]) == (newest, LISTED + 2)
    assert (list_texts(listed[quiet]), listed[quiet]["comment_count"]) == ([], 0)
    assert [list_texts(each) for each in group["sample"] if each["id"] == talked] == [newest]
    assert list_texts(of_entity) == newest
    assert len(get(key, f"cases/{talked}")["comments"]) == LISTED + 2


def test_a_resolved_case_takes_comments_and_keeps_those_it_has(key: httpx.Client) -> None:
    case_id = open_case(key)
    comment(key, case_id, "The device is new.")
    resolved = post(key, f"cases/{case_id}/resolve", {"outcome": "fraud"})
    assert comment(key, case_id, "The bank confirmed it.").status_code == 201

    assert list_texts(resolved) == ["The device is new."]
    assert list_texts(get(key, f"cases/{case_id}")) == ["The device is new.", "The bank confirmed it."]


@pytest.mark.parametrize("text", ["", " \n ", "x" * 2_001, None, 7], ids=["empty", "blank", "long", "null", "number"])
def test_a_comment_has_1_to_2000_characters(key: httpx.Client, text: object) -> None:
    case_id = open_case(key)
    refused = comment(key, case_id, text)

    assert (refused.status_code, refused.json()["code"]) == (400, "VALIDATION_ERROR"), refused.text
    assert "/text" in refused.text, refused.text
    assert comment(key, case_id, "x" * 2_000).status_code == 201
    assert get(key, f"cases/{case_id}")["comment_count"] == 1


def test_a_case_has_at_most_200_comments(key: httpx.Client, tenant_clients: TenantClients) -> None:
    case_id = open_case(key)
    lab, writer = tenant_clients.lab, tenant_clients.lab.orgs.service_caller(tenant_clients.tenant.tenant_id)
    with lab.storage.write() as tx:
        for number in range(MAX_COMMENTS):
            lab.risk.comments.add(UUID(case_id), f"Call {number}", caller=writer, tx=tx)
    refused = comment(key, case_id, "One more")

    assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT")
    assert "has 200 comments" in refused.json()["message"]
    assert get(key, f"cases/{case_id}")["comment_count"] == MAX_COMMENTS


def test_a_case_of_another_tenant_takes_no_comment(key: httpx.Client, tenant_clients: TenantClients) -> None:
    case_id = open_case(key)
    lab = tenant_clients.lab
    other = lab.orgs.create_tenant("Curious", plan=Plan.FREE)
    with TenantClients(lab, tenant_clients.url, other).with_key() as stranger:
        assert comment(stranger, case_id, "Hello").status_code == 404
    assert get(key, f"cases/{case_id}")["comments"] == []
