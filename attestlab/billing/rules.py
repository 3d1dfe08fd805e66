"""Rules of billing: periods, prices and thresholds (CONTRACT 11.6).

Money is integers in the currency's minor unit (ISO 4217). A period is a calendar month in UTC. A charge for the rest
of a month is the month's price times the seconds that remain, divided by the seconds of the month and rounded down, so
that the charges of a month never exceed its price.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple
from uuid import UUID

from attestlab.core.encoding import quote
from attestlab.core.errors import Conflict, ValidationFailed
from attestlab.orgs.rules import AddOn, Plan

MAX_QUANTITY: Final = 1000  # of one add-on
SWITCHES: Final = frozenset({AddOn.PRIORITY_SUPPORT})  # add-ons of which more units would change nothing
THRESHOLDS: Final = (80, 90, 100)  # percent
_MONTH: Final = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")
_SECOND: Final = timedelta(seconds=1)
_WITHOUT_MINOR_UNIT: Final = frozenset({"CLP", "ISK", "JPY", "KRW", "PYG", "UGX", "VND", "XAF", "XOF"})  # ISO 4217


class SubscriptionStatus(StrEnum):
    """The state of a subscription; it is active as long as the tenant exists."""

    ACTIVE = "active"


class InvoiceStatus(StrEnum):
    """The state of an invoice: a draft is computed and never stored."""

    DRAFT = "draft"
    OPEN = "open"
    PAID = "paid"
    VOID = "void"


class Provider(StrEnum):
    """Who collects the payments; `embedded` is the service itself, which collects none."""

    EMBEDDED = "embedded"
    STRIPE = "stripe"
    PAYSTACK = "paystack"
    FLUTTERWAVE = "flutterwave"


class BillingPeriod(NamedTuple):
    """A calendar month in UTC: from its start until just before its end."""

    start: datetime
    end: datetime


class Line(NamedTuple):
    """A line of an invoice; `amount_minor` is the sum of all units."""

    description: str
    quantity: int
    unit_amount_minor: int
    amount_minor: int


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of a month; ENTERPRISE has none, because the operator agrees it with each tenant."""

    currency: str
    starter: int
    professional: int
    addon_unit: int

    def plan(self, plan: Plan) -> int | None:
        """Return the price of a plan a month, or None if it is agreed with the operator.

        >>> Prices("USD", 2900, 19900, 1000).plan(Plan.STARTER)
        2900
        """
        return {Plan.FREE: 0, Plan.STARTER: self.starter, Plan.PROFESSIONAL: self.professional}.get(plan)

    def is_dearer(self, plan: Plan, other: Plan) -> bool:
        """Whether a plan costs more than another; one without a price costs nothing here."""
        return (self.plan(plan) or 0) > (self.plan(other) or 0)

    def total(self, plan: Plan, addons: Mapping[AddOn, int]) -> int:
        """Return the sum of a plan and its add-ons a month.

        >>> Prices("USD", 2900, 19900, 1000).total(Plan.STARTER, {AddOn.EXTRA_ISSUERS: 2})
        4900
        """
        return (self.plan(plan) or 0) + self.addon_unit * sum(addons.values())


def month_of(at: datetime) -> BillingPeriod:
    """Return the period that contains a moment.

    >>> month_of(datetime(2026, 12, 31, 23, 59, tzinfo=UTC)).end.isoformat()
    '2027-01-01T00:00:00+00:00'
    """
    start = at.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return BillingPeriod(start, (start + timedelta(days=32)).replace(day=1))


def parse_month(text: str) -> BillingPeriod:
    """Parse a period as clients name it, such as 2026-11.

    Raises:
        ValidationFailed: it is no year with a month.
    """
    found = _MONTH.fullmatch(text)
    if found is None or not 1 <= int(found[1]) < 9999:
        message = f"{quote(text[:20])} is no month. Send a year and a month, such as 2026-11."
        raise ValidationFailed.of("/period", "month", message)
    return month_of(datetime(int(found[1]), int(found[2]), 1, tzinfo=UTC))


def prorate(amount_minor: int, at: datetime) -> int:
    """Return the part of a month's price that is due for the rest of the month, in whole seconds, rounded down.

    >>> prorate(2900, datetime(2026, 11, 16, tzinfo=UTC))
    1450
    """
    period = month_of(at)
    return amount_minor * ((period.end - at) // _SECOND) // ((period.end - period.start) // _SECOND)


def is_upgrade(current: Plan, wanted: Plan) -> bool:
    """Whether a plan is larger than the current one.

    >>> is_upgrade(Plan.FREE, Plan.STARTER), is_upgrade(Plan.STARTER, Plan.STARTER)
    (True, False)
    """
    plans = list(Plan)
    return plans.index(wanted) > plans.index(current)


def require_self_service(current: Plan, wanted: Plan) -> None:
    """Require that a tenant can choose a plan without the operator.

    Raises:
        Conflict: ENTERPRISE is agreed with the operator.
    """
    if wanted is Plan.ENTERPRISE and current is not Plan.ENTERPRISE:
        message = "ENTERPRISE has no fixed price. Agree it with the operator, who then sets it. Nothing was changed."
        raise Conflict(message, details={"reason": "contact_operator"})


def require_own_charge(provider: str | None) -> None:
    """Require that no other service charges the tenant, where alone it could then change what it pays for.

    Raises:
        Conflict: Stripe charges the tenant.
    """
    if provider == Provider.STRIPE:
        message = (
            "Stripe charges this tenant. Change plan and add-ons in its portal, to which POST /v1/billing/portal leads."
        )
        raise Conflict(f"{message} Nothing was changed.", details={"reason": "change_in_portal"})


def require_collection(*, is_production: bool, has_stripe: bool) -> None:
    """Require that what a tenant buys without the operator is paid for: in production only Stripe collects it.

    Raises:
        Conflict: the tenant buys it in Stripe's portal, or no payment provider is configured.
    """
    if not is_production:
        return
    if has_stripe:
        message = "Stripe charges tenants here. Buy it in its portal, to which POST /v1/billing/portal leads."
        raise Conflict(f"{message} Nothing was changed.", details={"reason": "change_in_portal"})
    message = "No payment provider is configured, so nothing can be bought here. Ask the operator for the change."
    raise Conflict(f"{message} Nothing was changed.", details={"reason": "provider_not_configured"})


def require_units(addon: AddOn, quantity: int, *, least: int, field: str) -> None:
    """Require a quantity of an add-on that a tenant can have: 1,000 units at most, and one of a switch.

    Raises:
        ValidationFailed: the quantity is below `least` or above the most; `field` points to it.
    """
    most = 1 if addon in SWITCHES else MAX_QUANTITY
    if least <= quantity <= most:
        return
    wanted = f"{most}, because it is on or off" if addon in SWITCHES else f"a quantity from {least} to {most:,}"
    message = f"{quantity:,} units of {addon} are not possible. Send {wanted}."
    raise ValidationFailed.of(field, "range", message)


def highest_threshold(used: int, limit: int | None) -> int | None:
    """Return the highest threshold that a use reached, in percent; None below the first one, or without a limit.

    >>> [highest_threshold(used, 10) for used in (7, 8, 9, 12)], highest_threshold(1, None), highest_threshold(0, 0)
    ([None, 80, 90, 100], None, None)
    """
    if limit is None or used == 0:
        return None
    return max((each for each in THRESHOLDS if used * 100 >= each * limit), default=None)


def percent_of(used: int, limit: int | None) -> int | None:
    """Return a use in whole percent of its limit, rounded down; None without a limit.

    >>> percent_of(2, 3), percent_of(0, 0), percent_of(5, None)
    (66, 100, None)
    """
    if limit is None:
        return None
    return 100 if limit == 0 else used * 100 // limit


def invoice_number(tenant_id: UUID, serial: int) -> str:
    """Return the number of a tenant's invoice; it reveals nothing about other tenants' invoices.

    >>> invoice_number(UUID(int=0xABC), 7)
    '00000ABC-0007'
    """
    return f"{tenant_id.hex[-8:].upper()}-{serial:04}"


def format_money(amount_minor: int, currency: str) -> str:
    """Format an amount in minor units for people.

    >>> format_money(123456, "USD"), format_money(-5, "EUR"), format_money(2900, "JPY")
    ('1,234.56 USD', '-0.05 EUR', '2,900 JPY')
    """
    if currency in _WITHOUT_MINOR_UNIT:
        return f"{amount_minor:,} {currency}"
    whole, rest = divmod(abs(amount_minor), 100)
    return f"{'-' if amount_minor < 0 else ''}{whole:,}.{rest:02} {currency}"
