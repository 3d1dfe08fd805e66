"""Schedules of reports over real HTTP: a person sets, changes and ends them; what is no schedule is refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.orgs.rules import Plan
from support.orgs import TenantClients, read_audit_trail

pytestmark = pytest.mark.one_world

VIEW = {"name": "Logins of a month", "page": "risk", "query": "days=30&source=login"}


@pytest.fixture
def sofia(tenant_clients: TenantClients) -> Iterator[tuple[str, httpx.Client]]:
    user_id, client = tenant_clients.person("analyst")
    with client:
        yield user_id, client


def save(client: httpx.Client, **changes: Any) -> str:
    answer = client.post("/v1/views", json={**VIEW, **changes})
    assert answer.status_code == 201, answer.text
    return f"/v1/views/{answer.json()['id']}/schedule"


def read_schedules(client: httpx.Client) -> list[Any]:
    return [each["schedule"] for each in client.get("/v1/views").json()["items"]]


@pytest.mark.both_engines
def test_a_schedule_is_set_listed_replaced_and_ended(
    sofia: tuple[str, httpx.Client], tenant_clients: TenantClients, clock: FixedClock
) -> None:
    user_id, client = sofia
    path = save(client)
    weekly = {"weekday": 0, "hour": 8, "recipients": [user_id]}
    made = client.put(path, json=weekly)
    assert made.status_code == 200, made.text
    shown = made.json()["schedule"]
    assert {name: shown[name] for name in weekly} == weekly
    assert (shown["last_sent_at"], shown["last_error"]) == (None, None)
    due = datetime.fromisoformat(shown["next_at"])
    assert (due.weekday(), due.hour, due.minute) == (0, 8, 0)
    assert clock.now() < due <= clock.now() + timedelta(days=7)
    assert read_schedules(client) == [shown]

    daily = client.put(path, json={"hour": 0, "recipients": [user_id]}).json()["schedule"]
    assert (daily["weekday"], daily["hour"]) == (None, 0)
    assert datetime.fromisoformat(daily["next_at"]) <= clock.now() + timedelta(days=1)
    assert client.patch(path.removesuffix("/schedule"), json={"name": "Logins"}).json()["schedule"] == daily

    for _ in range(2):  # ending what has ended changes nothing
        assert client.delete(path).status_code == 204
    assert read_schedules(client) == [None]
    trail = read_audit_trail(tenant_clients.lab, path.split("/")[3])
    changed = [verb for verb, _ in trail if verb.startswith("view_schedule.")]
    assert changed == ["view_schedule.set", "view_schedule.set", "view_schedule.end"]
    assert client.put(path, json=weekly).json()["schedule"]["weekday"] == 0  # and can begin again


@pytest.mark.parametrize(
    ("field", "value", "at"),
    [
        ("weekday", 7, "/weekday"),
        ("weekday", -1, "/weekday"),
        ("weekday", "Monday", "/weekday"),
        ("hour", 24, "/hour"),
        ("hour", None, "/hour"),
        ("recipients", [], "/recipients"),
        ("recipients", ["sofia"], "/recipients/0"),
        ("until", "2027-01-01", "/until"),
    ],
    ids=["eighth day", "before Monday", "word", "hour 24", "no hour", "no recipient", "a name", "unknown field"],
)
def test_what_is_no_schedule_is_refused_at_its_field(
    sofia: tuple[str, httpx.Client], field: str, value: object, at: str
) -> None:
    user_id, client = sofia
    refused = client.put(save(client), json={"hour": 8, "recipients": [user_id], field: value})
    assert (refused.status_code, refused.json()["code"]) == (400, "VALIDATION_ERROR"), refused.text
    assert [each["field"] for each in refused.json()["details"]["fields"]] == [at]
    assert read_schedules(client) == [None]


def test_a_report_has_at_most_twenty_recipients(sofia: tuple[str, httpx.Client]) -> None:
    _, client = sofia
    refused = client.put(save(client), json={"hour": 8, "recipients": [str(uuid4()) for _ in range(21)]})
    assert refused.status_code == 400
    assert "20" in refused.text


def test_recipients_are_active_members_named_once(
    sofia: tuple[str, httpx.Client], tenant_clients: TenantClients
) -> None:
    user_id, client = sofia
    path, other = save(client), tenant_clients.lab.orgs.create_tenant("Curious", plan=Plan.FREE)
    with tenant_clients.owner(other) as stranger, tenant_clients.owner() as owner:
        strangers_id = stranger.get("/v1/me").json()["id"]
        invited = owner.post("/v1/users", json={"email": "sofia@friends.example", "role": "member"}).json()["id"]
    for named, reason in ((user_id, "named twice"), (invited, "is INVITED")):
        refused = client.put(path, json={"hour": 8, "recipients": [user_id, named]})
        assert (refused.status_code, refused.json()["details"]["fields"][0]["field"]) == (400, "/recipients/1")
        assert reason in refused.json()["message"]
    for unknown in (strangers_id, str(uuid4())):
        assert client.put(path, json={"hour": 8, "recipients": [user_id, unknown]}).status_code == 404
    assert read_schedules(client) == [None]


def test_only_who_may_change_a_view_schedules_it(
    sofia: tuple[str, httpx.Client], tenant_clients: TenantClients
) -> None:
    user_id, client = sofia
    private, shared = save(client), save(client, name="For all", shared=True)
    body = {"hour": 8, "recipients": [user_id]}
    with tenant_clients.owner() as owner, tenant_clients.with_key() as key:
        assert (owner.put(private, json=body).status_code, owner.delete(private).status_code) == (404, 404)
        assert (owner.put(shared, json=body).status_code, owner.delete(shared).status_code) == (403, 403)
        assert key.put(shared, json=body).status_code == 403
        for path in (private, shared):
            assert client.put(path, json=body).status_code == 200

        assert owner.delete(f"/v1/users/{user_id}").status_code in (200, 204)
        assert read_schedules(owner) == [None]  # they were its only recipient
        mine = owner.get("/v1/me").json()["id"]
        assert owner.put(shared, json={"hour": 9, "recipients": [mine]}).status_code == 200
        assert owner.delete(shared).status_code == 204


def test_a_deleted_view_sends_nothing_more(
    sofia: tuple[str, httpx.Client], tenant_clients: TenantClients, clock: FixedClock
) -> None:
    user_id, client = sofia
    path = save(client)
    client.put(path, json={"hour": 8, "recipients": [user_id]})
    client.delete(path.removesuffix("/schedule"))
    clock.advance(timedelta(days=2))
    with tenant_clients.lab.storage.read() as connection:
        due = tenant_clients.lab.views.schedules.list_due(connection.execute, limit=100)
    assert path.split("/")[3] not in map(str, due)
