"""Annotations over real HTTP: what happened at a time is written, listed by period and removed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest

from attestlab.annotations import rules
from attestlab.core.clock import FixedClock
from attestlab.orgs.rules import Plan, Scope
from support.orgs import TenantClients, read_audit_trail

pytestmark = pytest.mark.one_world

CAMPAIGN = {"at": "2026-11-02T09:00:00.000Z", "until": "2026-11-09T09:00:00.000Z", "text": "Campaign of partner X"}


def annotate(client: httpx.Client, **changes: Any) -> dict[str, Any]:
    given = {name: value for name, value in {**CAMPAIGN, **changes}.items() if value is not None}
    answer = client.post("/v1/annotations", json=given)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def list_texts(client: httpx.Client, **period: str) -> list[str]:
    answer = client.get("/v1/annotations", params=period)
    assert answer.status_code == 200, answer.text
    return [each["text"] for each in answer.json()["items"]]


@pytest.mark.both_engines
def test_one_is_written_listed_by_period_and_removed(
    key: httpx.Client, tenant_clients: TenantClients, clock: FixedClock
) -> None:
    made = annotate(key)
    clock.advance(timedelta(seconds=1))
    credential = key.get("/v1/me").json()["credential"]["id"]
    assert made == {
        **{"id": made["id"], **CAMPAIGN},
        **{"created_by": credential, "created_at": made["created_at"]},
    }
    annotate(key, at="2026-11-05T09:00:00Z", until=None, text="New login page")

    day = {"from": "2026-11-05T09:00:00Z", "to": "2026-11-05T09:00:01Z"}
    assert list_texts(key) == list_texts(key, **day) == ["New login page", CAMPAIGN["text"]]
    assert list_texts(key, **{"to": "2026-11-05T09:00:00Z"}) == [CAMPAIGN["text"]]
    assert list_texts(key, **{"to": "2026-11-02T09:00:00Z"}) == []
    assert list_texts(key, **{"from": "2026-11-08T09:00:00Z"}) == [CAMPAIGN["text"]]
    assert list_texts(key, **{"from": "2026-11-09T09:00:00Z"}) == []

    assert key.delete(f"/v1/annotations/{made['id']}").status_code == 204
    assert key.delete(f"/v1/annotations/{made['id']}").status_code == 404
    assert list_texts(key) == ["New login page"]
    trail = read_audit_trail(tenant_clients.lab, made["id"])
    assert trail == [("annotation.add", "API_KEY"), ("annotation.remove", "API_KEY")]


def test_its_author_an_owner_and_an_admin_remove_an_annotation(tenant_clients: TenantClients) -> None:
    author, other = (tenant_clients.person("analyst")[1] for _ in range(2))
    with author, other, tenant_clients.person("admin")[1] as admin, tenant_clients.owner() as owner:
        for allowed in (author, admin, owner):
            path = f"/v1/annotations/{annotate(author)['id']}"
            refused = other.delete(path)
            assert (refused.status_code, refused.json()["details"]["required_roles"]) == (403, ["admin", "owner"])
            assert allowed.delete(path).status_code == 204


def test_readers_of_risk_read_and_only_writers_write(tenant_clients: TenantClients, key: httpx.Client) -> None:
    made = annotate(key)
    with tenant_clients.person("member")[1] as member, tenant_clients.with_key(Scope.ISSUERS_READ) as other_key:
        assert list_texts(member) == [CAMPAIGN["text"]]
        for refused in (
            member.post("/v1/annotations", json=CAMPAIGN),
            member.delete(f"/v1/annotations/{made['id']}"),
            other_key.get("/v1/annotations"),
        ):
            assert (refused.status_code, refused.json()["code"]) == (403, "PERMISSION_DENIED")


def test_another_tenant_finds_and_removes_nothing(tenant_clients: TenantClients, key: httpx.Client) -> None:
    made = annotate(key)
    other = tenant_clients.lab.orgs.create_tenant("Curious", plan=Plan.FREE)
    with tenant_clients.owner(other) as stranger:
        assert list_texts(stranger) == []
        assert stranger.delete(f"/v1/annotations/{made['id']}").status_code == 404
    assert list_texts(key) == [CAMPAIGN["text"]]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", ""),
        ("text", "x" * 201),
        ("text", "two\nlines"),
        ("at", "yesterday"),
        ("at", "2026-11-02T09:00:00"),
        ("until", "2026-11-02T09:00:00Z"),
        ("until", "2026-11-01T09:00:00Z"),
    ],
    ids=["empty", "long", "lines", "word", "no offset", "same", "reversed"],
)
def test_what_is_no_annotation_is_refused_at_its_field(key: httpx.Client, field: str, value: str) -> None:
    refused = key.post("/v1/annotations", json={**CAMPAIGN, field: value})
    assert (refused.status_code, refused.json()["code"]) == (400, "VALIDATION_ERROR"), refused.text
    assert [each["field"] for each in refused.json()["details"]["fields"]] == [f"/{field}"]
    assert list_texts(key) == []


def test_a_tenant_has_as_many_annotations_as_the_limit(key: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rules.MAX_ANNOTATIONS == 5_000
    monkeypatch.setattr(rules, "MAX_ANNOTATIONS", 2)
    made = annotate(key)
    annotate(key)
    refused = key.post("/v1/annotations", json=CAMPAIGN)
    assert (refused.status_code, refused.json()["details"]["limit"]) == (409, 2)
    assert len(list_texts(key)) == 2
    assert key.delete(f"/v1/annotations/{made['id']}").status_code == 204
    annotate(key)
