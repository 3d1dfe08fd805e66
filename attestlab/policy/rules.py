"""What may happen to a policy, and when (CONTRACT section 9).

DRAFT is written and does nothing. SHADOW is evaluated and told. ACTIVE decides. ARCHIVED is final.
Versions are never changed: a new text is a new version, and the one in force stays in force.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

from attestlab.core.errors import Conflict, PermissionDenied, ValidationFailed
from attestlab.orgs.rules import Role
from attestlab.policy.language.document import Category, TargetType

ACTIVATORS = (Role.OWNER, Role.ADMIN)
DENIED_REASON = "policy_denied"


class PolicyStatus(StrEnum):
    """How far a policy, or one of its versions, has come."""

    DRAFT = "DRAFT"
    SHADOW = "SHADOW"
    ACTIVE = "ACTIVE"
    ARCHIVED = "ARCHIVED"


def status_of(*, active_version: int | None, shadow_version: int | None) -> PolicyStatus:
    """The status of a policy that is not archived.

    >>> status_of(active_version=1, shadow_version=2), status_of(active_version=None, shadow_version=None)
    (<PolicyStatus.ACTIVE: 'ACTIVE'>, <PolicyStatus.DRAFT: 'DRAFT'>)
    """
    if active_version is not None:
        return PolicyStatus.ACTIVE
    return PolicyStatus.DRAFT if shadow_version is None else PolicyStatus.SHADOW


def status_of_version(version: int, *, status: str, active_version: int | None, shadow_version: int | None) -> str:
    """The status of one version: a version that is in nobody's way any more is a DRAFT again."""
    if status == PolicyStatus.ARCHIVED:
        return PolicyStatus.ARCHIVED.value
    if version == active_version:
        return PolicyStatus.ACTIVE.value
    return (PolicyStatus.SHADOW if version == shadow_version else PolicyStatus.DRAFT).value


def require_open(status: str) -> None:
    """An archived policy stays as it was.

    Raises:
        Conflict: it is archived.
    """
    if status == PolicyStatus.ARCHIVED:
        raise Conflict("The policy is archived; make a new one.", details={"status": status})


def require_same_target(*, current: tuple[str, str, object], requested: tuple[Category, TargetType, object]) -> None:
    """A version is for the action and the target of those before it.

    Raises:
        ValidationFailed: it names others.
    """
    names = ("category", "target_type", "target_id")
    for name, old, new in zip(names, current, requested, strict=True):
        if old != new:
            raise ValidationFailed.of(
                f"/{name}", "changed", f"The {name} of a policy stays {old}; make another policy."
            )


def require_reachable(category: Category, target_type: TargetType) -> None:
    """A policy that nobody would ever ask is not written: whoever did would think that it decides.

    Raises:
        ValidationFailed: only who verifies names a profile, so a profile has no other policies.
    """
    if target_type is TargetType.VERIFICATION_PROFILE and category is not Category.VERIFY:
        raise ValidationFailed.of(
            "/target_type",
            "never_asked",
            f"A verification profile is asked about VERIFY alone, so a policy of {category} would never be asked; "
            "bind it to an ISSUER or to TENANT_DEFAULT.",
        )


def require_passing(failing: Collection[str]) -> None:
    """A policy that fails its own tests is not switched on.

    Raises:
        Conflict: some fail.
    """
    if failing:
        details = {"reason": "tests_failing", "failing_tests": list(failing)}
        raise Conflict(f"{len(failing)} of the policy's own tests fail; mend the rules or the tests.", details=details)


def require_acknowledged(dead: Iterable[str], acknowledged: Collection[str]) -> None:
    """A rule that nothing can match is probably a mistake; whoever activates it says that they know.

    Raises:
        Conflict: a dead rule is not acknowledged.
    """
    unsaid = sorted(set(dead) - set(acknowledged))
    if unsaid:
        details = {"reason": "dead_rules", "rules": unsaid}
        raise Conflict(f"Nothing can match {', '.join(unsaid)}; name them in `acknowledge`.", details=details)


def is_single_person(author: str, actor: str, *, activators: int) -> bool:
    """Whether the author, or the person whose key wrote, switches the policy on alone because nobody else could.

    Raises:
        PermissionDenied: somebody else could.
    """
    if author != actor:
        return False
    if activators >= 2:
        raise PermissionDenied(
            "Who wrote this version, in person or by a key, does not switch it on; ask another owner or admin.",
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
    """What whoever is of the tenant is told where its policies deny something (CONTRACT section 1).

    `matched_policy` decided, by its default where `matched_rule` is None.
    """
    decided = {"matched_policy": matched_policy, "matched_rule": matched_rule, "matched_rules": list(matched_rules)}
    details = {"reason": DENIED_REASON, **decided, "reasons": list(reasons)}
    why = "; ".join(reason.rstrip(". ") for reason in reasons)
    return PermissionDenied(
        f"Policies deny {what}: {why}. Ask GET /v1/policies/decisions/{decision_id} what would turn it.",
        details={**details, "decision_id": decision_id},
    )


def make_external_denial(what: str, *, decision_id: str) -> PermissionDenied:
    """What anybody else is told: that it is so, and nothing of another's rules."""
    return PermissionDenied(
        f"The issuer's policies deny {what}; ask the issuer, and name {decision_id}.",
        details={"reason": DENIED_REASON, "decision_id": decision_id},
    )
