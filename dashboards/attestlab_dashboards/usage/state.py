"""`UsageState`: what the usage page shows, all of it in its address."""

from __future__ import annotations

from typing import Final

from attestlab.orgs.rules import AddOn, Plan
from attestlab_dashboards.parameters import choice, page_number
from attestlab_dashboards.state import PageState

METERS: Final = ("verifications", "attestations")  # what is counted by the UTC day
SPANS: Final = (90, 30, 365)  # days
ADDONS: Final = tuple(addon.value for addon in AddOn if addon is not AddOn.PRIORITY_SUPPORT)  # those that raise a limit
PLANS: Final = tuple(plan.value for plan in Plan if plan is not Plan.ENTERPRISE)  # the operator agrees that one


class UsageState(PageState):
    """What the usage page shows."""

    meter = choice(*METERS, doc="What is counted by the day.")
    days = choice(*SPANS, doc="The number of days that the chart shows, up to today.")
    offer = choice("", *PLANS, *ADDONS, doc="The plan or add-on whose effects are listed; empty for none.")
    page = page_number(doc="The page of the invoices.")
