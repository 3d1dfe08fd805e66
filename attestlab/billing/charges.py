"""Charges: the lines of invoices, computed from prices and what is paid already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from attestlab.billing.rules import Line, Prices, prorate
from attestlab.orgs.rules import AddOn, Plan

ADDON_NAMES: Final[dict[AddOn, str]] = {
    AddOn.EXTRA_VERIFICATIONS: "Extra verifications",
    AddOn.EXTRA_ISSUERS: "Extra issuers",
    AddOn.EXTRA_AGENTS: "Extra agents",
    AddOn.WEBHOOK_PACK: "Webhook pack",
    AddOn.PRIORITY_SUPPORT: "Priority support",
}


def charge_month(prices: Prices, plan: Plan, addons: Mapping[AddOn, int]) -> list[Line]:
    """Return the lines of a whole month; what costs nothing has none.

    >>> prices = Prices("USD", 2900, 19900, 1000)
    >>> [line.amount_minor for line in charge_month(prices, Plan.FREE, {AddOn.EXTRA_AGENTS: 3})]
    [3000]
    """
    lines = [_line(f"Plan {plan.value}", 1, prices.plan(plan) or 0)]
    lines += [_line(ADDON_NAMES[addon], quantity, prices.addon_unit) for addon, quantity in addons.items()]
    return [line for line in lines if line.amount_minor]


def charge_plan(prices: Prices, covered: Plan, wanted: Plan, at: datetime) -> list[Line]:
    """Return the charge for a plan for the rest of the month, beyond the `covered` plan, which is paid."""
    difference = (prices.plan(wanted) or 0) - (prices.plan(covered) or 0)
    amount = prorate(max(0, difference), at)
    return [_line(f"Plan {wanted.value} instead of {covered.value}, rest of the month", 1, amount)] if amount else []


def charge_addons(
    prices: Prices, covered: Mapping[AddOn, int], wanted: Mapping[AddOn, int], at: datetime
) -> list[Line]:
    """Return the charges for add-ons for the rest of the month, beyond the `covered` units, which are paid."""
    unit = prorate(prices.addon_unit, at)
    more = {addon: quantity - covered.get(addon, 0) for addon, quantity in wanted.items()}
    return [
        _line(f"{ADDON_NAMES[addon]}, rest of the month", units, unit)
        for addon, units in more.items()
        if units > 0 and unit
    ]


def sum_lines(lines: Iterable[Line]) -> int:
    """Return the amount of an invoice with these lines."""
    return sum(line.amount_minor for line in lines)


def _line(description: str, quantity: int, unit_amount_minor: int) -> Line:
    return Line(description, quantity, unit_amount_minor, quantity * unit_amount_minor)
