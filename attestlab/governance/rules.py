"""Rules of issuer governance: who may request, approve and execute changes of an issuer (CONTRACT section 4).

One user requests, others approve, and the tenant executes. An approver is accountable, so no
user approves their own request, and an irreversible change needs two approvals.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Final, NamedTuple

from attestlab.core.errors import Conflict, PermissionDenied, ValidationFailed
from attestlab.issuers.rules import IssuerStatus, RiskRating, TrustTier
from attestlab.orgs.role_rules import MANAGERS
from attestlab.orgs.rules import Caller, Role

REQUESTERS = MANAGERS
PLATFORM_APPROVERS = (Role.REVIEWER, Role.SUPER_ADMIN)


class RequestType(StrEnum):
    """Type of a governance request."""

    SUSPEND_ISSUER = "SUSPEND_ISSUER"
    REVOKE_ISSUER = "REVOKE_ISSUER"
    REINSTATE_ISSUER = "REINSTATE_ISSUER"
    CHANGE_TRUST_TIER = "CHANGE_TRUST_TIER"
    CHANGE_RISK_RATING = "CHANGE_RISK_RATING"


class RequestStatus(StrEnum):
    """Status of a request: PENDING turns APPROVED with the last required approval; REJECTED and EXECUTED are final."""

    PENDING = "PENDING"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"
    EXECUTED = "EXECUTED"


class GovernedValues(NamedTuple):
    """The values of an issuer that requests change; in a requested change, None leaves a value as it is."""

    status: IssuerStatus | None = None
    trust_tier: TrustTier | None = None
    risk_rating: RiskRating | None = None


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
_WISHES: Final = {
    RequestType.SUSPEND_ISSUER: "suspended",
    RequestType.REVOKE_ISSUER: "revoked",
    RequestType.REINSTATE_ISSUER: "reinstated",
    RequestType.CHANGE_TRUST_TIER: "given another trust tier",
    RequestType.CHANGE_RISK_RATING: "given another risk rating",
}
# A tenant may approve changes that protect relying parties (four-eyes principle), but not changes that raise trust.
_TENANT_MAY_APPROVE = frozenset({RequestType.SUSPEND_ISSUER, RequestType.REVOKE_ISSUER})


def require_target(kind: RequestType, tier: TrustTier | None, rating: RiskRating | None) -> None:
    """Require the new tier or rating exactly for requests that change it.

    Raises:
        ValidationFailed: the new value is missing, or not allowed for this type of request.
    """
    for field, value, applies_to in (
        ("new_trust_tier", tier, RequestType.CHANGE_TRUST_TIER),
        ("new_risk_rating", rating, RequestType.CHANGE_RISK_RATING),
    ):
        if (value is not None) != (kind is applies_to):
            problem = "is required for" if kind is applies_to else "is not allowed in"
            raise ValidationFailed.of(f"/{field}", "target", f"{field} {problem} a {kind.value} request.")


def approvals_needed(kind: RequestType, tier: TrustTier | None) -> int:
    """Return the number of approvals that a request needs, in addition to the requester.

    >>> approvals_needed(RequestType.REVOKE_ISSUER, None)
    2
    >>> approvals_needed(RequestType.CHANGE_TRUST_TIER, TrustTier.VERIFIED)
    1
    """
    return 2 if kind is RequestType.REVOKE_ISSUER or tier is TrustTier.ENTERPRISE else 1


def requested_values(kind: RequestType, tier: str | None, rating: str | None) -> GovernedValues:
    """Return the values that a request gives the issuer."""
    if kind in _TO:
        return GovernedValues(status=_TO[kind])
    if tier is not None:
        return GovernedValues(trust_tier=TrustTier(tier))
    return GovernedValues(risk_rating=RiskRating(rating or ""))


def require_possible(kind: RequestType, *, status: IssuerStatus, current: GovernedValues, new: GovernedValues) -> None:
    """Reject a change that the issuer's current status does not allow, or that would change nothing.

    Raises:
        Conflict: the change is not possible; `details.issuer_status` is the current status.
    """
    if status not in _FROM[kind]:
        message = f"The issuer is {status.value.lower()}, so it cannot be {_WISHES[kind]}."
        raise Conflict(message, details={"issuer_status": status.value})
    if all(value in (None, now) for value, now in zip(new, current, strict=True)):
        raise Conflict("The issuer already has the requested values.", details={"issuer_status": status.value})


def is_platform(caller: Caller) -> bool:
    """Return whether the caller approves for the platform, that is for all tenants."""
    return not caller.roles.isdisjoint(PLATFORM_APPROVERS)


def require_may_approve(kind: RequestType, *, requested_by: str, tenant_id: object, caller: Caller) -> None:
    """Reject an approval by a caller who may not give it.

    Raises:
        PermissionDenied: it is the caller's own request, or requires a reviewer of the platform.
    """
    if caller.actor_id == requested_by:
        raise PermissionDenied("You cannot approve your own request.", details={"reason": "own_request"})
    if is_platform(caller):
        return
    is_of_the_tenant = caller.tenant_id == tenant_id and not caller.roles.isdisjoint(REQUESTERS)
    if not (is_of_the_tenant and kind in _TENANT_MAY_APPROVE):
        needed = [role.value for role in PLATFORM_APPROVERS]
        raise PermissionDenied(
            f"Only the platform approves that an issuer is {_WISHES[kind]}.", details={"required_roles": needed}
        )


def require_open(status: RequestStatus) -> None:
    """Reject further action on a request that is final.

    Raises:
        Conflict: the request is REJECTED or EXECUTED, see `details.status`.
    """
    if status in (RequestStatus.REJECTED, RequestStatus.EXECUTED):
        raise Conflict(f"The request is {status.value}. Create a new one.", details={"status": status.value})


def require_not_approved_by(approvers: Collection[str], caller: Caller) -> None:
    """Reject a second approval by the same user.

    Raises:
        Conflict: the caller has already approved the request.
    """
    if caller.actor_id in approvers:
        raise Conflict("You have already approved this request.", details={"reason": "already_approved"})


def require_approved(status: RequestStatus, *, given: int, needed: int) -> None:
    """Reject the execution of a request that is not approved.

    Raises:
        Conflict: approvals are missing, or the request is final.
    """
    require_open(status)
    if status is not RequestStatus.APPROVED:
        details = {"status": status.value, "approvals": given, "approvals_needed": needed}
        raise Conflict(f"The request has {given} of {needed} required approvals.", details=details)
