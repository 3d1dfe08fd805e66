"""A server's sweeper begins months and publishes thresholds by itself."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from attestlab.billing.renewals import MAX_RENEWALS_PER_WRITE
from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Plan
from support.billing import use_verifications
from support.outbox import read_events, read_events_of_type
from support.sweeping import sweep_once


@pytest.mark.both_engines
def test_the_sweeper_publishes_thresholds(lab: Installation, payer: Caller) -> None:
    use_verifications(lab, payer, 80)

    asyncio.run(sweep_once(lab))

    assert [data["threshold_percent"] for kind, data in read_events(lab, payer) if "usage" in kind] == [80]


def test_the_sweeper_renews_all_subscriptions_that_are_due(lab: Installation, clock: FixedClock, payer: Caller) -> None:
    tenants = [lab.orgs.create_tenant(f"Tenant {number}", plan=Plan.FREE) for number in range(MAX_RENEWALS_PER_WRITE)]
    callers = [payer, *(lab.orgs.service_caller(tenant.tenant_id) for tenant in tenants)]
    for each in callers:
        lab.billing.change(Plan.STARTER, caller=each)
    clock.advance(timedelta(days=16))

    asyncio.run(sweep_once(lab))

    assert not lab.billing.has_due_renewals()
    amounts = [data["amount_minor"] for data in read_events_of_type(lab, "billing.invoice.created")]
    assert amounts == [1_450] * len(callers) + [2_900] * len(callers)
