"""Rules for the lifecycle of a policy (CONTRACT section 9).

A DRAFT has no effect. A SHADOW version is evaluated and reported. An ACTIVE version decides. ARCHIVED is final.
Versions never change: a new text is a new version, and the active version remains active.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

from attestlab.core.errors import Conflict, PermissionDenied, ValidationFailed
from attestlab.orgs.role_rules import MANAGERS
from attestlab.policy.language.document import Category, TargetType

ACTIVATORS = MANAGERS
DENIED_REASON = "policy_denied"


class PolicyStatus(StrEnum):
    """The lifecycle status of a policy or of one of its versions."""

    DRAFT = "DRAFT"
    SHADOW = "SHADOW"
    ACTIVE = "ACTIVE"
    ARCHIVED = "ARCHIVED"


def status_of(*, active_version: int | None, shadow_version: int | None) -> PolicyStatus:
    """Return the status of a policy that is not archived.

    >>> status_of(active_version=1, shadow_version=2), status_of(active_version=None, shadow_version=None)
    (<PolicyStatus.ACTIVE: 'ACTIVE'>, <PolicyStatus.DRAFT: 'DRAFT'>)
    """
    if active_version is not None:
        return PolicyStatus.ACTIVE
    return PolicyStatus.DRAFT if shadow_version is None else PolicyStatus.SHADOW


def status_of_version(
    version: int, *, status: str, active_version: int | None, shadow_version: int | None
) -> PolicyStatus:
    """Return the status of one version; a version that is neither active nor in shadow is a DRAFT."""
    if status == PolicyStatus.ARCHIVED:
        return PolicyStatus.ARCHIVED
    if version == active_version:
        return PolicyStatus.ACTIVE
    return PolicyStatus.SHADOW if version == shadow_version else PolicyStatus.DRAFT


def require_open(status: str) -> None:
    """Reject a change of an archived policy.

    Raises:
        Conflict: it is archived.
    """
    if status == PolicyStatus.ARCHIVED:
        raise Conflict("The policy is archived; create a new one.", details={"status": status})


def require_same_target(*, current: tuple[str, str, object], requested: tuple[Category, TargetType, object]) -> None:
    """Reject a version for another action or target than the policy's.

    Raises:
        ValidationFailed: the action or target differs.
    """
    names = ("category", "target_type", "target_id")
    for name, old, new in zip(names, current, requested, strict=True):
        if old != new:
            raise ValidationFailed.of(
                f"/{name}", "changed", f"The {name} of a policy cannot change from {old}; create another policy."
            )


def require_reachable(category: Category, target_type: TargetType) -> None:
    """Reject policies that would never be evaluated, so that authors do not rely on them.

    Raises:
        ValidationFailed: the policy is bound to a verification profile for another action than VERIFY; only
            verification evaluates profiles.
    """
    if target_type is TargetType.VERIFICATION_PROFILE and category is not Category.VERIFY:
        raise ValidationFailed.of(
            "/target_type",
            "never_asked",
            f"Profiles are evaluated for VERIFY only, so a policy of {category} would never be evaluated; "
            "bind it to an ISSUER or to TENANT_DEFAULT.",
        )


def require_passing(failing: Collection[str]) -> None:
    """Reject the activation of a policy that fails its own tests.

    Raises:
        Conflict: a test fails.
    """
    if failing:
        details = {"reason": "tests_failing", "failing_tests": list(failing)}
        raise Conflict(
            f"{len(failing)} of the policy's own tests fail; correct the rules or the tests.", details=details
        )


def require_acknowledged(dead: Iterable[str], acknowledged: Collection[str]) -> None:
    """Reject the activation of unacknowledged dead rules: a rule that no context matches is probably a mistake.

    Raises:
        Conflict: a dead rule is not acknowledged.
    """
    unsaid = sorted(set(dead) - set(acknowledged))
    if unsaid:
        details = {"reason": "dead_rules", "rules": unsaid}
        raise Conflict(
            f"Rules {', '.join(unsaid)} can never match. List them in `acknowledge` to activate anyway.",
            details=details,
        )


def is_single_person(author: str, actor: str, *, activators: int) -> bool:
    """Whether the author (or the user whose key wrote the version) activates it alone, because no other user can.

    Raises:
        PermissionDenied: another user can activate it.
    """
    if author != actor:
        return False
    if activators >= 2:
        raise PermissionDenied(
            "The author of this version, in person or by an API key, may not activate it; ask another owner or admin.",
            details={"reason": "second_person_required"},
        )
    return True


def make_denial(
    what: str,
    *,
    reasons: Sequence[str],
    matched_policy: str | None,
    matched_rule: str | None,
    matched_rules: Sequence[str],
    decision_id: str,
) -> PermissionDenied:
    """Build the error for callers of the tenant whose policies deny an operation (CONTRACT section 1).

    `matched_policy` decided, by its default if `matched_rule` is None.
    """
    decided = {"matched_policy": matched_policy, "matched_rule": matched_rule, "matched_rules": list(matched_rules)}
    details = {"reason": DENIED_REASON, **decided, "reasons": list(reasons)}
    why = "; ".join(reason.rstrip(". ") for reason in reasons)
    return PermissionDenied(
        f"Policies deny {what}: {why}. GET /v1/policies/decisions/{decision_id} shows what would have to change.",
        details={**details, "decision_id": decision_id},
    )


def make_external_denial(what: str, *, decision_id: str) -> PermissionDenied:
    """Build the error for all other callers: it reveals the denial, but nothing of the tenant's rules."""
    return PermissionDenied(
        f"The issuer's policies deny {what}; contact the issuer and quote {decision_id}.",
        details={"reason": DENIED_REASON, "decision_id": decision_id},
    )
