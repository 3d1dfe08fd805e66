"""Who may ask for what about an issuer, how many others must agree, and when it can be done (CONTRACT section 4).

One person asks, others approve, the tenant carries it out. Whoever approves answers for it, so
nobody approves what they asked for, and what cannot be taken back takes two.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

from attestlab.core.errors import Conflict, PermissionDenied, ValidationFailed
from attestlab.issuers.rules import IssuerStatus, RiskRating, TrustTier
from attestlab.orgs.rules import Caller, Role

REQUESTERS = (Role.OWNER, Role.ADMIN)
PLATFORM_APPROVERS = (Role.REVIEWER, Role.SUPER_ADMIN)


class RequestType(StrEnum):
    """What is asked for."""

    SUSPEND_ISSUER = "SUSPEND_ISSUER"
    REVOKE_ISSUER = "REVOKE_ISSUER"
    REINSTATE_ISSUER = "REINSTATE_ISSUER"
    CHANGE_TRUST_TIER = "CHANGE_TRUST_TIER"
    CHANGE_RISK_RATING = "CHANGE_RISK_RATING"


class RequestStatus(StrEnum):
    """PENDING becomes APPROVED with the last approval that it needs; REJECTED and EXECUTED are final."""

    PENDING = "PENDING"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"
    EXECUTED = "EXECUTED"


_FROM: dict[RequestType, frozenset[IssuerStatus]] = {
    RequestType.SUSPEND_ISSUER: frozenset({IssuerStatus.ACTIVE}),
    RequestType.REVOKE_ISSUER: frozenset({IssuerStatus.ACTIVE, IssuerStatus.SUSPENDED}),
    RequestType.REINSTATE_ISSUER: frozenset({IssuerStatus.SUSPENDED}),
    RequestType.CHANGE_TRUST_TIER: frozenset({IssuerStatus.ACTIVE, IssuerStatus.SUSPENDED}),
    RequestType.CHANGE_RISK_RATING: frozenset({IssuerStatus.ACTIVE, IssuerStatus.SUSPENDED}),
}
_TO: dict[RequestType, IssuerStatus] = {
    RequestType.SUSPEND_ISSUER: IssuerStatus.SUSPENDED,
    RequestType.REVOKE_ISSUER: IssuerStatus.REVOKED,
    RequestType.REINSTATE_ISSUER: IssuerStatus.ACTIVE,
}
# What protects relying parties the tenant may decide on its own, with four eyes; what raises trust it may not.
_TENANT_MAY_APPROVE = frozenset({RequestType.SUSPEND_ISSUER, RequestType.REVOKE_ISSUER})


def require_target(kind: RequestType, tier: TrustTier | None, rating: RiskRating | None) -> None:
    """A change names what it changes to, and nothing else does.

    Raises:
        ValidationFailed: it does not.
    """
    for field, value, of in (
        ("new_trust_tier", tier, RequestType.CHANGE_TRUST_TIER),
        ("new_risk_rating", rating, RequestType.CHANGE_RISK_RATING),
    ):
        if (value is not None) != (kind is of):
            said = "is required for" if kind is of else "has no place in"
            raise ValidationFailed.of(f"/{field}", "target", f"{field} {said} a {kind.value} request.")


def approvals_needed(kind: RequestType, tier: TrustTier | None) -> int:
    """How many must approve beside whoever asked.

    >>> approvals_needed(RequestType.REVOKE_ISSUER, None)
    2
    >>> approvals_needed(RequestType.CHANGE_TRUST_TIER, TrustTier.VERIFIED)
    1
    """
    return 2 if kind is RequestType.REVOKE_ISSUER or tier is TrustTier.ENTERPRISE else 1


def requested_changes(kind: RequestType, tier: str | None, rating: str | None) -> dict[str, Any]:
    """What the issuer becomes, as `Issuers.set_governance` takes it."""
    if kind in _TO:
        return {"status": _TO[kind]}
    return {"trust_tier": TrustTier(tier)} if tier is not None else {"risk_rating": RiskRating(rating or "")}


def require_possible(kind: RequestType, wanted: Mapping[str, Any], issuer: Mapping[str, Any]) -> None:
    """Refuse what the issuer's standing does not allow, or what it is already.

    Raises:
        Conflict: `details.issuer_status` is what it is now.
    """
    status = IssuerStatus(issuer["status"])
    if status not in _FROM[kind]:
        message = f"The issuer is {status.value}; {kind.value} is not possible."
        raise Conflict(message, details={"issuer_status": status.value})
    if all(issuer[name] == value for name, value in wanted.items()):
        raise Conflict("The issuer is that already.", details={"issuer_status": status.value})


def is_platform(caller: Caller) -> bool:
    """Whether the caller approves for the platform, for every tenant."""
    return not caller.roles.isdisjoint(PLATFORM_APPROVERS)


def require_may_approve(kind: RequestType, *, requested_by: str, tenant_id: object, caller: Caller) -> None:
    """Refuse an approval by somebody who may not give it.

    Raises:
        PermissionDenied: it is their own request, or takes a reviewer of the platform.
    """
    if caller.actor_id == requested_by:
        raise PermissionDenied("Nobody approves their own request.", details={"reason": "own_request"})
    if is_platform(caller):
        return
    is_of_the_tenant = caller.tenant_id == tenant_id and not caller.roles.isdisjoint(REQUESTERS)
    if not (is_of_the_tenant and kind in _TENANT_MAY_APPROVE):
        needed = [role.value for role in PLATFORM_APPROVERS]
        raise PermissionDenied(
            f"A {kind.value} request is approved by the platform.", details={"required_roles": needed}
        )


def require_open(status: RequestStatus) -> None:
    """Refuse to go on with what is over.

    Raises:
        Conflict: `details.status` says how it ended.
    """
    if status in (RequestStatus.REJECTED, RequestStatus.EXECUTED):
        raise Conflict(f"The request is {status.value}; make a new one.", details={"status": status.value})


def require_not_approved_by(approvers: Collection[str], caller: Caller) -> None:
    """One person is one approval.

    Raises:
        Conflict: they approved it already.
    """
    if caller.actor_id in approvers:
        raise Conflict("You approved this request already.", details={"reason": "already_approved"})


def require_approved(status: RequestStatus, *, given: int, needed: int) -> None:
    """Refuse to carry out what was not approved.

    Raises:
        Conflict: approvals are missing, or it is over.
    """
    require_open(status)
    if status is not RequestStatus.APPROVED:
        details = {"status": status.value, "approvals": given, "approvals_needed": needed}
        raise Conflict(f"{given} of {needed} approvals were given.", details=details)
