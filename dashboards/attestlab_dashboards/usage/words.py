"""Words of the usage page: names of what a plan limits, limits, and changes of a plan."""

from __future__ import annotations

from datetime import date
from typing import Final

from attestlab.portal.rules import MONTHS
from attestlab_dashboards.formats import count
from attestlab_dashboards.usage.state import METERS, PLANS

_ADDONS: Final = {
    "extra_verifications": "extra verifications",
    "extra_issuers": "extra issuers",
    "extra_agents": "extra agents",
    "webhook_pack": "webhook pack",
}
NO_LIMIT: Final = "no limit"


def write_resource(name: str) -> str:
    """Write what a limit is about.

    >>> write_resource("verifications"), write_resource("webhook_endpoints"), write_resource("requests_per_minute")
    ('verifications a day', 'webhook endpoints', 'requests per minute')
    """
    words = name.replace("_", " ")
    return f"{words} a day" if name in METERS else words


def write_limit(limit: int | None) -> str:
    """Write a limit.

    >>> write_limit(5000), write_limit(None)
    ('5,000', 'no limit')
    """
    return NO_LIMIT if limit is None else count(limit)


def write_plan(plan: str) -> str:
    """Write a plan.

    >>> write_plan("STARTER")
    'Starter'
    """
    return plan.capitalize()


def write_change(change: str) -> str:
    """Write a plan, or one more unit of an add-on.

    >>> write_change("STARTER"), write_change("extra_issuers")
    ('Starter', 'One more unit of extra issuers')
    """
    return write_plan(change) if change in PLANS else f"One more unit of {_ADDONS[change]}"


def write_date(day: date, today: date) -> str:
    """Write a day; with the year unless it is that of today.

    >>> write_date(date(2026, 11, 24), date(2026, 11, 2)), write_date(date(2027, 1, 3), date(2026, 11, 2))
    ('24 Nov', '3 Jan 2027')
    """
    text = f"{day.day} {MONTHS[day.month - 1][:3]}"
    return text if day.year == today.year else f"{text} {day.year}"
