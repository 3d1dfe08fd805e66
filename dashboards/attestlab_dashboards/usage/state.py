"""`UsageState`: what the usage page shows, all of it in its address."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from attestlab.orgs.rules import AddOn, Plan
from attestlab_dashboards.parameters import Value, choice, page_number
from attestlab_dashboards.ranges import DayRange, read_range
from attestlab_dashboards.state import PageState

METERS: Final = ("verifications", "attestations")  # what is counted by the UTC day
SPANS: Final = (90, 7, 30, 365)  # days
YESTERDAY: Final = "yesterday"
FILTERS: Final = ("meter", "days", "range")
ADDONS: Final = tuple(addon.value for addon in AddOn if addon is not AddOn.PRIORITY_SUPPORT)  # those that raise a limit
PLANS: Final = tuple(plan.value for plan in Plan if plan is not Plan.ENTERPRISE)  # the operator agrees that one


def _read_range(text: str) -> str:
    return text if text == YESTERDAY else read_range(text)


class UsageState(PageState):
    """What the usage page shows."""

    meter = choice(*METERS, doc="What is counted by the day.")
    days = choice(*SPANS, doc="The number of days that the chart shows, up to today.")
    range = Value("", read=_read_range, doc="The own days that the chart shows instead, yesterday or from/to.")
    offer = choice("", *PLANS, *ADDONS, doc="The plan or add-on whose effects are listed; empty for none.")
    page = page_number(doc="The page of the invoices.")

    @property
    def own_range(self) -> DayRange | None:
        """The days of an own range, None for those that end today and for yesterday."""
        return DayRange.parse(self.range) if self.range not in ("", YESTERDAY) else None

    def find_days(self, today: date) -> DayRange:
        """Find the days that the chart shows, as of today."""
        if self.own_range is not None:
            return self.own_range
        if self.range == YESTERDAY:
            return DayRange(today - timedelta(days=1), today - timedelta(days=1))
        return DayRange(today - timedelta(days=self.days - 1), today)
