"""Usage of a month, and the events when a share of a limit is used."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import delete, update

from attestlab.billing.integrity import find_inconsistencies
from attestlab.billing.store import thresholds
from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.orgs.plans import Allowance
from attestlab.orgs.rules import Caller, Plan
from support.billing import BILLING, MIDDLE, attach, change_plan, go_to_next_month, read, sweep, use_verifications
from support.orgs import TenantClients
from support.outbox import read_events


def reached(lab: Installation, payer: Caller) -> list[tuple[str, int]]:
    """The thresholds that were published: resource and percent."""
    events: list[tuple[str, Any]] = read_events(lab, payer)
    found = [data for kind, data in events if kind == "billing.usage.threshold"]
    return [(data["resource"], data["threshold_percent"]) for data in found]


def items(client: httpx.Client, **query: str) -> dict[str, dict[str, Any]]:
    return {each["resource"]: each for each in read(client, "usage", **query)["items"]}


@pytest.mark.both_engines
def test_usage_of_today_and_of_each_day(
    lab: Installation, client: httpx.Client, clock: FixedClock, payer: Caller
) -> None:
    use_verifications(lab, payer, 30)
    clock.advance(timedelta(days=1))
    use_verifications(lab, payer, 80)
    client.post("/v1/issuers", json={"name": "One", "domain": "one.example"})

    found = read(client, "usage")

    assert (found["period_start"], found["period_end"]) == ("2026-12-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z")
    by_name = items(client)
    assert by_name["verifications"] == {
        "resource": "verifications",
        "used": 80,
        "limit": 100,
        "remaining": 20,
        "percent": 80,
        "resets_at": "2026-12-18T00:00:00.000Z",
    }
    assert (by_name["attestations"]["used"], by_name["issuers"]["used"], by_name["issuers"]["percent"]) == (0, 1, 50)
    assert by_name["issuers"]["resets_at"] is None
    assert len(found["daily"]) == 17
    assert found["daily"][-2:] == [
        {"day": "2026-12-16", "verifications": 30, "attestations": 0},
        {"day": "2026-12-17", "verifications": 80, "attestations": 0},
    ]


def test_usage_without_a_limit_has_no_percent(lab: Installation, client: httpx.Client, payer: Caller) -> None:
    lab.billing.set_plan(payer.tenant_id, Plan.ENTERPRISE, {})

    shown = items(client)["verifications"]

    assert (shown["limit"], shown["remaining"], shown["percent"]) == (None, None, None)


def test_a_past_month_shows_its_busiest_day(
    lab: Installation, client: httpx.Client, clock: FixedClock, payer: Caller
) -> None:
    use_verifications(lab, payer, 30)
    clock.advance(timedelta(days=1))
    use_verifications(lab, payer, 20)
    go_to_next_month(lab, clock)

    past = read(client, "usage", period="2026-12")

    assert [(each["resource"], each["used"]) for each in past["items"]] == [("verifications", 30), ("attestations", 0)]
    assert len(past["daily"]) == 31
    assert items(client)["verifications"]["used"] == 0


@pytest.mark.parametrize("period", ["2027-01", "2026-13", "december", "", "2026-12-01"])
def test_a_month_that_is_none_or_yet_to_come_is_refused(client: httpx.Client, period: str) -> None:
    refused = client.get(f"{BILLING}/usage", params={"period": period})

    assert refused.status_code == 400
    assert [each["field"] for each in refused.json()["details"]["fields"]] == ["/period"]


@pytest.mark.both_engines
def test_each_threshold_of_a_day_is_published_once(
    lab: Installation, client: httpx.Client, clock: FixedClock, payer: Caller
) -> None:
    for times, published in ((79, []), (1, [80]), (5, [80]), (10, [80, 90]), (20, [80, 90, 100]), (9, [80, 90, 100])):
        use_verifications(lab, payer, times)
        sweep(lab)
        sweep(lab)
        assert [percent for _, percent in reached(lab, payer)] == published
    clock.advance(timedelta(days=1))
    use_verifications(lab, payer, 80)
    sweep(lab)

    assert [percent for _, percent in reached(lab, payer)] == [80, 90, 100, 80]


def test_a_jump_publishes_the_highest_threshold(
    lab: Installation, clock: FixedClock, payer: Caller, client: httpx.Client
) -> None:
    use_verifications(lab, payer, 99)
    sweep(lab)

    ((kind, data),) = [each for each in read_events(lab, payer) if each[0] == "billing.usage.threshold"]
    assert data == {
        "resource": "verifications",
        "threshold_percent": 90,
        "used": 99,
        "limit": 100,
        "period_start": "2026-12-16T00:00:00.000Z",
        "reached_at": "2026-12-16T12:00:00.000Z",
    }
    assert kind == "billing.usage.threshold"


def test_use_just_before_midnight_is_not_forgotten(lab: Installation, clock: FixedClock, payer: Caller) -> None:
    clock.advance(timedelta(hours=11, minutes=59))
    use_verifications(lab, payer, 95)
    clock.advance(timedelta(minutes=2))

    sweep(lab)

    assert reached(lab, payer) == [("verifications", 90)]


def test_counts_reach_thresholds_with_the_write_that_makes_one_more(
    lab: Installation, client: httpx.Client, payer: Caller
) -> None:
    change_plan(client, "STARTER")
    for number in range(9):
        client.post("/v1/issuers", json={"name": f"Issuer {number}", "domain": f"i{number}.example"})

    assert reached(lab, payer) == [("issuers", 80), ("issuers", 90)]


def test_a_smaller_limit_reaches_thresholds_too(lab: Installation, client: httpx.Client, payer: Caller) -> None:
    attach(client, "extra_issuers")
    for number in range(3):
        client.post("/v1/issuers", json={"name": f"Issuer {number}", "domain": f"i{number}.example"})
    assert reached(lab, payer) == []

    client.post(f"{BILLING}/addons/detach", json={"addon_key": "extra_issuers"})

    assert reached(lab, payer) == [("issuers", 100)]


def test_a_count_warns_again_in_the_next_month(
    lab: Installation, client: httpx.Client, clock: FixedClock, payer: Caller
) -> None:
    def register(number: int) -> None:
        client.post("/v1/issuers", json={"name": f"Issuer {number}", "domain": f"i{number}.example"})

    register(0)
    register(1)
    assert reached(lab, payer) == [("issuers", 100)]
    go_to_next_month(lab, clock)
    attach(client, "extra_issuers")
    for number in range(2, 6):
        register(number)

    assert reached(lab, payer) == [("issuers", 100), ("issuers", 80)]


def test_a_count_that_stays_publishes_nothing_again(lab: Installation, client: httpx.Client, payer: Caller) -> None:
    for number in range(2):
        client.post("/v1/issuers", json={"name": f"Issuer {number}", "domain": f"i{number}.example"})

    lab.billing.set_plan(payer.tenant_id, Plan.FREE, {})

    assert reached(lab, payer) == [("issuers", 100)]


def test_a_refused_write_reaches_nothing(lab: Installation, client: httpx.Client, payer: Caller) -> None:
    for number in range(3):
        client.post("/v1/issuers", json={"name": f"Issuer {number}", "domain": f"i{number}.example"})

    assert reached(lab, payer) == [("issuers", 100)]


def test_another_tenants_use_is_not_shown(lab: Installation, clients: TenantClients, payer: Caller) -> None:
    other = lab.orgs.create_tenant("Another", plan=Plan.FREE)
    use_verifications(lab, lab.orgs.service_caller(other.tenant_id), 90)
    sweep(lab)

    with clients.owner() as client:
        assert items(client)["verifications"]["used"] == 0
    assert reached(lab, payer) == []
    assert lab.clock.now() == MIDDLE


def test_receipt_types_are_counted_and_reach_thresholds(lab: Installation, client: httpx.Client, payer: Caller) -> None:
    """FREE has ten; a further version of one counts nothing."""
    for number in range(8):
        body = {"name": f"type{number}", "version": "1.0.0", "schema": {"type": "object"}}
        client.post("/v1/receipt-types", json=body).raise_for_status()
    client.post("/v1/receipt-types", json={**body, "version": "1.1.0"}).raise_for_status()

    assert items(client)["receipt_types"] | {"resets_at": None} == {
        **{"resource": "receipt_types", "used": 8, "limit": 10, "remaining": 2, "percent": 80, "resets_at": None}
    }
    assert ("receipt_types", 80) in reached(lab, payer)
    effects = client.post(f"{BILLING}/subscription/preview", json={"plan": "STARTER"}).json()["effects"]
    (effect,) = (each for each in effects if each["resource"] == "receipt_types")
    assert (effect["used"], effect["limit_before"], effect["limit_after"]) == (8, 10, 50)


def test_every_limit_of_a_plan_is_among_the_entitlements(client: httpx.Client) -> None:
    assert set(read(client, "entitlements")["limits"]) == {each.name for each in fields(Allowance)}


class Undone(Exception):
    """Ends a transaction, which is rolled back."""


@pytest.mark.both_engines
@pytest.mark.parametrize("column", ["threshold_percent", "reached_at", "resource", None])
def test_a_threshold_that_no_event_reports_is_found(
    lab: Installation, clock: FixedClock, payer: Caller, column: str | None
) -> None:
    use_verifications(lab, payer, 85)
    sweep(lab)
    with lab.storage.read() as connection:
        assert list(find_inconsistencies(connection)) == []
    changes = {"threshold_percent": 90, "reached_at": clock.now() + timedelta(microseconds=1), "resource": "issuers"}
    damage = delete(thresholds) if column is None else update(thresholds).values({column: changes[column]})

    with suppress(Undone), lab.storage.write() as tx:
        tx.exec(damage)
        found = list(find_inconsistencies(tx.connection))
        raise Undone

    assert {place.split()[0] for place, _ in found} == {"threshold"}
