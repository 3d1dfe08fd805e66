"""Which users form a ring."""

from __future__ import annotations

from attestlab.risk.entities.graph import find_rings
from attestlab.risk.rules import Entity, EntityType

USERS = [Entity(EntityType.USER, name) for name in ("ada", "bob", "eve")]
PHONE, TABLET = (Entity(EntityType.DEVICE, name) for name in ("phone", "tablet"))
OFFICE, CAFE = (Entity(EntityType.IP, name) for name in ("192.0.2.1", "192.0.2.2"))


def test_users_of_one_device_are_a_ring() -> None:
    (ring,) = find_rings([(PHONE, user) for user in USERS])

    assert (ring.users, ring.shared, ring.density) == (USERS, [PHONE], 1.0)


def test_two_users_are_no_ring() -> None:
    assert find_rings([(PHONE, user) for user in USERS[:2]]) == []


def test_one_shared_address_is_no_ring_and_two_are() -> None:
    at_office = [(OFFICE, user) for user in USERS]

    assert find_rings(at_office) == []
    (ring,) = find_rings([*at_office, *((CAFE, user) for user in USERS)])
    assert (ring.users, ring.shared) == (USERS, [OFFICE, CAFE])


def test_users_who_share_different_devices_with_one_user_are_a_ring() -> None:
    ada, bob, eve = USERS
    (ring,) = find_rings([(ada, PHONE), (bob, PHONE), (bob, TABLET), (TABLET, eve)])

    assert (ring.users, ring.shared, ring.density) == (USERS, [PHONE, TABLET], 0.6667)


def test_rings_that_share_nothing_stay_apart_and_the_largest_is_first() -> None:
    others = [Entity(EntityType.USER, f"user-{number}") for number in range(4)]
    rings = find_rings([*((PHONE, user) for user in USERS), *((TABLET, user) for user in others)])

    assert [ring.users for ring in rings] == [others, USERS]


def test_users_of_issuers_that_name_each_other_are_a_ring() -> None:
    issuers = [Entity(EntityType.ISSUER, name) for name in ("harbour", "northfield", "orchard")]
    attested = [(user, issuer) for user in USERS for issuer in issuers[:2]]

    (ring,) = find_rings([*attested, (issuers[0], issuers[1]), (issuers[2], USERS[0])])

    assert (ring.users, ring.shared) == (USERS, issuers[:2])
    assert find_rings(attested) == []
    assert find_rings([*attested, (issuers[0], issuers[2])]) == []


def test_what_is_not_shared_by_users_makes_no_ring() -> None:
    issuer = Entity(EntityType.ISSUER, "northfield")
    assert find_rings([(issuer, user) for user in USERS] + [(PHONE, OFFICE)]) == []
