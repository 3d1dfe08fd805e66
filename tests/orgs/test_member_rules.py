"""Role rules: which caller may invite, promote or remove which member."""

from __future__ import annotations

from collections.abc import Set
from uuid import uuid4

import pytest

from attestlab.core.errors import Conflict, PermissionDenied, ValidationFailed
from attestlab.orgs import role_rules
from attestlab.orgs.rules import PLATFORM_ROLES, Caller, Role, Scope

TENANT_ROLES = [role for role in Role if role not in PLATFORM_ROLES]


def caller_with(*roles: Role) -> Caller:
    return Caller(uuid4(), "USER", str(uuid4()), frozenset(Scope), "FREE", roles=frozenset(roles))


def is_refused(attempt: object, *arguments: object, **named: object) -> bool:
    try:
        attempt(*arguments, **named)  # type: ignore[operator]
    except PermissionDenied:
        return True
    return False


@pytest.mark.parametrize("role", TENANT_ROLES)
@pytest.mark.parametrize("giver", [(), (Role.ADMIN,), (Role.OWNER,), (Role.SUPER_ADMIN,)])
def test_only_an_owner_makes_owners(role: Role, giver: tuple[Role, ...]) -> None:
    refused = is_refused(role_rules.require_may_grant, role, caller=caller_with(*giver), is_operators=True)

    assert refused == (role is Role.OWNER and Role.OWNER not in giver)


@pytest.mark.parametrize("role", sorted(PLATFORM_ROLES))
@pytest.mark.parametrize("giver", [(), (Role.OWNER,), (Role.REVIEWER,), (Role.SUPER_ADMIN,)])
@pytest.mark.parametrize("is_operators", [True, False])
def test_only_a_super_admin_gives_platform_roles_in_the_operators_tenant(
    role: Role, giver: tuple[Role, ...], is_operators: bool
) -> None:
    refused = is_refused(role_rules.require_may_grant, role, caller=caller_with(*giver), is_operators=is_operators)

    assert refused != (is_operators and Role.SUPER_ADMIN in giver)


@pytest.mark.parametrize(
    ("theirs", "mine", "refused"),
    [
        ({Role.MEMBER}, (), False),
        ({Role.ADMIN}, (Role.ADMIN,), False),
        ({Role.OWNER}, (Role.ADMIN,), True),
        ({Role.OWNER}, (Role.SUPER_ADMIN,), True),
        ({Role.OWNER}, (Role.OWNER,), False),
        ({Role.REVIEWER}, (Role.OWNER,), True),
        ({Role.REVIEWER}, (Role.SUPER_ADMIN,), False),
        ({Role.OWNER, Role.SUPER_ADMIN}, (Role.OWNER,), True),
        ({Role.OWNER, Role.SUPER_ADMIN}, (Role.OWNER, Role.SUPER_ADMIN), False),
        (set(), (), False),
    ],
)
def test_only_owners_change_owners_and_super_admins_platform_roles(
    theirs: Set[Role], mine: tuple[Role, ...], refused: bool
) -> None:
    assert is_refused(role_rules.require_may_change, theirs, caller=caller_with(*mine)) == refused


@pytest.mark.parametrize("place", range(len(TENANT_ROLES)))
def test_self_promotion_is_rejected(place: int) -> None:
    upwards = [Role.MEMBER, Role.ANALYST, Role.ADMIN, Role.OWNER]

    refused = [is_refused(role_rules.require_no_self_promotion, {upwards[place]}, role) for role in upwards]

    assert refused == [step > place for step in range(len(upwards))]


def test_a_person_without_tenant_role_cannot_take_one() -> None:
    assert is_refused(role_rules.require_no_self_promotion, {Role.SUPER_ADMIN}, Role.MEMBER)


@pytest.mark.parametrize(
    ("losing", "others", "reason"),
    [
        ({Role.OWNER}, set(), "last_owner"),
        ({Role.OWNER}, {Role.ADMIN}, "last_owner"),
        ({Role.OWNER}, {Role.OWNER}, None),
        ({Role.OWNER, Role.SUPER_ADMIN}, {Role.OWNER}, "last_super_admin"),
        ({Role.ADMIN, Role.REVIEWER}, set(), None),
    ],
)
def test_an_owner_always_remains(losing: Set[Role], others: Set[Role], reason: str | None) -> None:
    if reason is None:
        role_rules.require_not_last(losing, others)
        return
    with pytest.raises(Conflict) as refused:
        role_rules.require_not_last(losing, others)

    assert refused.value.details == {"reason": reason}


def test_an_address_is_stored_in_lower_case() -> None:
    assert role_rules.normalize_address(" Ada.Lovelace@Example.ORG ") == "ada.lovelace@example.org"


@pytest.mark.parametrize(
    "text",
    ["", "ada", "ada@", "@example.org", "Ada <ada@example.org>", "a@b@example.org", "ada@localhost", "a@x.invalid"],
)
def test_an_invalid_address_is_rejected(text: str) -> None:
    with pytest.raises(ValidationFailed) as refused:
        role_rules.normalize_address(text)

    assert refused.value.fields[0].field == "/email"


def test_the_placeholder_address_of_a_removed_person_is_rejected() -> None:
    with pytest.raises(ValidationFailed):
        role_rules.normalize_address(role_rules.removed_address(uuid4()))
