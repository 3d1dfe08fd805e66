"""Plans: the one table of all limits that depend on the plan (SPEC, Limits by tier; CONTRACT section 2).

`None` is unlimited. The limits of ENTERPRISE are agreed with each tenant: the plan has no limits by default, and the
operator sets them one by one, as for any tenant.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any

from attestlab.core.errors import ValidationFailed
from attestlab.orgs.rules import AddOn, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """The limits of a tenant; each field is a count, or None without a limit."""

    requests_per_minute: int | None
    attestations_per_day: int | None
    verifications_per_day: int | None
    issuers: int | None
    keys_per_issuer: int | None
    webhook_endpoints: int | None
    agents: int | None
    policies: int | None  # archived ones do not count
    versions_per_policy: int | None
    policy_attributes: int | None
    verification_profiles: int | None
    attestation_packs: int | None
    receipt_types: int | None  # those with an active version
    versions_per_receipt_type: int | None
    has_endpoint_limits: bool  # whether limits of single endpoints apply, such as 100 mints a minute


PLANS: dict[Plan, Allowance] = {
    Plan.FREE: Allowance(
        requests_per_minute=60,
        attestations_per_day=100,
        verifications_per_day=100,
        issuers=2,
        keys_per_issuer=2,
        webhook_endpoints=1,
        agents=3,
        policies=10,
        versions_per_policy=100,
        policy_attributes=20,
        verification_profiles=5,
        attestation_packs=100,
        receipt_types=10,
        versions_per_receipt_type=100,
        has_endpoint_limits=True,
    ),
    Plan.STARTER: Allowance(
        requests_per_minute=300,
        attestations_per_day=10_000,
        verifications_per_day=1_000,
        issuers=10,
        keys_per_issuer=5,
        webhook_endpoints=3,
        agents=25,
        policies=50,
        versions_per_policy=500,
        policy_attributes=50,
        verification_profiles=25,
        attestation_packs=1_000,
        receipt_types=50,
        versions_per_receipt_type=500,
        has_endpoint_limits=True,
    ),
    Plan.PROFESSIONAL: Allowance(
        requests_per_minute=1_000,
        attestations_per_day=100_000,
        verifications_per_day=10_000,
        issuers=50,
        keys_per_issuer=10,
        webhook_endpoints=10,
        agents=250,
        policies=250,
        versions_per_policy=2_000,
        policy_attributes=200,
        verification_profiles=100,
        attestation_packs=10_000,
        receipt_types=250,
        versions_per_receipt_type=2_000,
        has_endpoint_limits=True,
    ),
    Plan.ENTERPRISE: Allowance(
        requests_per_minute=None,
        attestations_per_day=None,
        verifications_per_day=None,
        issuers=None,
        keys_per_issuer=None,
        webhook_endpoints=25,
        agents=None,
        policies=None,
        versions_per_policy=None,
        policy_attributes=None,
        verification_profiles=None,
        attestation_packs=None,
        receipt_types=None,
        versions_per_receipt_type=None,
        has_endpoint_limits=False,
    ),
}
RAISED_BY: dict[AddOn, tuple[str, int]] = {  # the limit that an add-on raises, and by how much a unit
    AddOn.EXTRA_VERIFICATIONS: ("verifications_per_day", 10_000),
    AddOn.EXTRA_ISSUERS: ("issuers", 5),
    AddOn.EXTRA_AGENTS: ("agents", 25),
    AddOn.WEBHOOK_PACK: ("webhook_endpoints", 5),
}
MAX_DIGITS = 9  # of a limit; a larger one would not limit anything
ADJUSTABLE = tuple(field.name for field in fields(Allowance) if field.name != "has_endpoint_limits")


@lru_cache(maxsize=1024)
def allowance_for(plan: str, adjusted: str | None = None, addons: str | None = None) -> Allowance:
    """Return the allowance of a plan with the operator's adjustments and the add-ons of the tenant, as stored.

    >>> allowance_for("FREE").issuers, allowance_for("FREE", '{"issuers": 5}').issuers
    (2, 5)
    >>> allowance_for("FREE", '{"issuers": 5}', '{"extra_issuers": 2}').issuers
    15
    """
    allowed = replace(PLANS[Plan(plan)], **(json.loads(adjusted) if adjusted else {}))
    return replace(allowed, **_raise_limits(allowed, decode_addons(addons)))


def _raise_limits(allowed: Allowance, addons: Mapping[AddOn, int]) -> dict[str, Any]:
    """Return the limits that add-ons raise; one that is unlimited remains so."""
    raised: dict[str, Any] = {}  # one of the fields is no number
    for addon, (name, units) in RAISED_BY.items():
        limit: int | None = getattr(allowed, name)
        if limit is not None and addon in addons:
            raised[name] = limit + units * addons[addon]
    return raised


def decode_addons(stored: str | None) -> dict[AddOn, int]:
    """Decode the quantities of a tenant's add-ons.

    >>> decode_addons('{"extra_issuers": 2}'), decode_addons(None)
    ({<AddOn.EXTRA_ISSUERS: 'extra_issuers'>: 2}, {})
    """
    return {AddOn(key): quantity for key, quantity in json.loads(stored or "{}").items()}


def encode_addons(quantities: Mapping[AddOn, int]) -> str | None:
    """Encode the quantities of a tenant's add-ons; None if there is none."""
    return json.dumps(dict(quantities), sort_keys=True) if quantities else None


def encode_adjustments(changes: Mapping[str, int | None]) -> str | None:
    """Validate and encode the limits that the operator sets for one tenant.

    Raises:
        ValidationFailed: a limit is unknown or negative.
    """
    for name, value in changes.items():
        if name not in ADJUSTABLE:
            raise ValidationFailed.of(
                name, "unknown", f"Unknown limit '{name}'. Valid limits: {', '.join(ADJUSTABLE)}."
            )
        if value is not None and value < 0:
            raise ValidationFailed.of(name, "negative", f"{name} must be 0 or more, or none.")
    return json.dumps(dict(changes), sort_keys=True) if changes else None


def parse_limits(assignments: Iterable[str]) -> dict[str, int | None]:
    """Parse limits as the command line takes them.

    Raises:
        ValidationFailed: an assignment is not `name=count` or `name=none`.

    >>> parse_limits(["issuers=5", "agents=none"])
    {'issuers': 5, 'agents': None}
    """
    limits: dict[str, int | None] = {}
    for assignment in assignments:
        name, _, value = assignment.partition("=")
        if value != "none" and not (value.isascii() and value.isdigit() and len(value) <= MAX_DIGITS):
            message = (
                f"{assignment[:60]!r} is no limit. Write NAME=COUNT with at most {MAX_DIGITS} digits, such as "
                "issuers=5, or NAME=none for no limit."
            )
            raise ValidationFailed.of(name, "count", message)
        limits[name] = None if value == "none" else int(value)
    return limits


def public_limits(allowed: Allowance) -> dict[str, int | bool | None]:
    """Return the limits by name."""
    return asdict(allowed)
