"""A tenant's billing: the middle of a month, and what a sweeper of a server does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from attestlab.attestations.events import VerificationCompleted
from attestlab.attestations.rules import Verdict
from attestlab.core.clock import FixedClock
from attestlab.core.ids import new_id
from attestlab.core.records import outbox
from attestlab.installation import Installation
from attestlab.orgs import usage
from attestlab.orgs.rules import Caller

BILLING = "/v1/billing"
MIDDLE = datetime(2026, 12, 16, 12, tzinfo=UTC)
"""Half of December, whose 31 days make every price of these tests even: 15.5 of 31 days are left."""


def sweep(lab: Installation) -> None:
    """Do once what a server's sweeper does every few seconds."""
    found, has_more = lab.billing.find_thresholds(), lab.billing.has_due_renewals()
    with lab.storage.write() as tx:
        lab.billing.publish_thresholds(tx, found=found)
    while has_more:
        with lab.storage.write() as tx:
            has_more = lab.billing.renew_due(tx)


def go_to_next_month(lab: Installation, clock: FixedClock) -> None:
    """Let the month end, and the sweeper notice it."""
    clock.advance((clock.now().replace(day=1) + timedelta(days=32)).replace(day=1, hour=0) - clock.now())
    sweep(lab)


def use_verifications(lab: Installation, payer: Caller, times: int) -> None:
    """Count verifications of the tenant's attestations, with the event that stands for them all."""
    now = lab.clock.now()
    minute = now.replace(second=0, microsecond=0)
    event = VerificationCompleted(new_id(now), Verdict.VALID.value, count=times, minute=minute)
    with lab.storage.write() as tx:
        usage.count_use(tx, payer.tenant_id, usage.VERIFICATIONS, at=now, times=times)
        outbox.publish(tx, payer.tenant_id, event, at=now)


def read(client: httpx.Client, what: str, **query: str) -> dict[str, Any]:
    """Read a resource of billing."""
    answer = client.get(f"{BILLING}/{what}", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def change_plan(client: httpx.Client, plan: str) -> dict[str, Any]:
    """Change the plan."""
    answer = client.post(f"{BILLING}/subscription", json={"plan": plan})
    assert answer.status_code == 200, answer.text
    changed: dict[str, Any] = answer.json()
    return changed


def attach(client: httpx.Client, key: str, quantity: int = 1) -> httpx.Response:
    """Attach an add-on."""
    return client.post(f"{BILLING}/addons/attach", json={"addon_key": key, "quantity": quantity})


def detach(client: httpx.Client, key: str) -> httpx.Response:
    """Detach an add-on."""
    return client.post(f"{BILLING}/addons/detach", json={"addon_key": key})


def amounts(client: httpx.Client) -> list[int]:
    """The amounts of the tenant's invoices, oldest first."""
    return [each["amount_minor"] for each in reversed(read(client, "invoices")["items"])]
