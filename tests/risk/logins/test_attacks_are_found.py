"""Attacks that plain counts miss, each by itself on a tenant of settled users."""

from __future__ import annotations

from datetime import timedelta

import pytest

from support.logins import CHROME, FAILURE, FIREFOX, MONDAY, SUCCESS, Tenant, home_of, people

FLAGGED = 60


def names_of(assessment) -> set[str]:
    return {factor.name for factor in assessment.factors}


def test_spraying_a_thousand_users_once_each_from_one_device_is_found():
    """A count of failures per user sees one failure of each."""
    tenant, users = Tenant(), people(1000)
    now = tenant.settle(users[:100], days=4)

    scores = [
        tenant.assess(user, FAILURE, now + timedelta(seconds=5 * number), tenant.fresh_ip(), "sprayer").score
        for number, user in enumerate(users)
    ]

    assert sum(score >= FLAGGED for score in scores) >= 980
    assert min(scores[20:]) >= FLAGGED


def test_spraying_from_one_address_without_a_device_is_found():
    tenant, users = Tenant(), people(60)
    now = tenant.settle(users)

    scores = [
        tenant.assess(user, FAILURE, now + timedelta(minutes=number), "100.7.7.7").score
        for number, user in enumerate(users)
    ]

    assert min(scores[5:]) >= FLAGGED


def test_careful_spraying_with_new_values_for_each_try_is_found():
    """Address, device and client are new with each try: only the tenant's strangers become more."""
    tenant, users = Tenant(), people(120)
    now = tenant.settle(users)

    found = [
        tenant.assess(
            user,
            FAILURE,
            now + timedelta(minutes=4 * n),
            tenant.fresh_ip(50 + n % 40),
            f"fresh-{n}",
            [CHROME, FIREFOX][n % 2],
        )
        for n, user in enumerate(users)
    ]

    assert sum(each.score >= FLAGGED for each in found) >= 100
    assert any(name.startswith("surge_") for name in names_of(found[-1]))


def test_low_and_slow_guessing_is_found_within_days():
    """One try every seven hours never fills a window of one hour."""
    tenant, users = Tenant(), people(20)
    now = tenant.settle(users)

    tries = [
        tenant.assess("user-3", FAILURE, now + timedelta(hours=7 * n), tenant.fresh_ip(50 + n), f"fresh-{n}")
        for n in range(12)
    ]

    assert min(each.score for each in tries[3:]) >= FLAGGED
    assert "slow_guessing" in names_of(tries[-1])


def test_slow_guessing_from_one_address_is_found():
    """A day of guessing from one place was one try, because only the networks counted: no score rose."""
    tenant = Tenant()
    now = tenant.settle(["user-3"], days=12)

    tries = [
        tenant.assess("user-3", FAILURE, now + timedelta(minutes=26 * n), "100.7.7.7", "guesser", FIREFOX)
        for n in range(26)
    ]

    assert tries[-1].score >= FLAGGED
    assert next(n for n, each in enumerate(tries) if each.score >= FLAGGED) <= 12
    assert "slow_guessing" in names_of(tries[-1])


def test_an_attacker_who_repeats_from_one_place_during_a_spray_is_found():
    """Failures that are repeated are no part of the surge, but they count as slow guessing."""
    tenant = Tenant()
    now = tenant.spray(people(60), spared="user-0")

    tries = [
        tenant.assess("user-0", FAILURE, now + timedelta(minutes=100 * n), "101.1.1.1", "guesser", FIREFOX)
        for n in range(8)
    ]

    assert min(each.score for each in tries) >= FLAGGED
    assert all("slow_guessing" in names_of(each) for each in tries[1:])
    assert tries[-1].score > tries[1].score


def test_a_burst_from_one_place_during_a_spray_has_all_of_the_ladder():
    tenant = Tenant()
    now = tenant.spray(people(60), spared="user-0")

    tries = [
        tenant.assess("user-0", FAILURE, now + timedelta(minutes=n), "101.1.1.1", "guesser", FIREFOX) for n in range(20)
    ]

    assert [tries[n].score >= least for n, least in ((0, FLAGGED), (4, 50), (9, 70), (19, 90))] == [True] * 4


def test_a_spray_that_returns_to_each_user_from_one_place_is_found():
    """A proxy that is rented for each victim: the surge finds the first try, slow guessing the third."""
    tenant, users = Tenant(), people(60)
    now = tenant.settle(users, days=5)

    rounds = [
        [
            tenant.assess(user, FAILURE, now + timedelta(hours=hours, minutes=n), f"{50 + n % 40}.3.3.{n}", f"own-{n}")
            for n, user in enumerate(users)
        ]
        for hours in (0, 2, 4)
    ]

    assert sum(each.score >= FLAGGED for each in rounds[0]) >= 45
    assert min(each.score for each in rounds[2]) >= FLAGGED


def test_guessing_from_several_networks_within_an_hour_is_found():
    """Fewer failures than a burst has, at one time: only the times counted."""
    tenant = Tenant()
    now = tenant.settle(people(20), days=12)

    tries = [tenant.assess("user-3", FAILURE, now + timedelta(minutes=9 * n), f"{50 + n}.7.7.7") for n in range(4)]

    assert tries[-1].score >= FLAGGED


def test_the_hit_of_a_spray_is_flagged_and_teaches_nothing():
    tenant, users = Tenant(), people(40)
    now = tenant.settle(users)
    for number, user in enumerate(users[1:]):
        tenant.assess(user, FAILURE, now + timedelta(seconds=number), "100.7.7.7", "sprayer")

    hit = tenant.assess("user-0", SUCCESS, now + timedelta(minutes=2), "100.7.7.7", "sprayer")
    later = tenant.assess("user-0", SUCCESS, now + timedelta(hours=30), tenant.fresh_ip(77), "sprayer")

    assert hit.score >= FLAGGED
    assert later.score >= FLAGGED
    assert "after_flagged_success" in names_of(later)


@pytest.mark.parametrize(("failures", "least"), [(5, 50), (10, 70), (20, 90)])
def test_a_success_after_a_burst_stays_flagged(failures: int, least: int):
    tenant = Tenant()
    now = tenant.settle(people(10))
    for number in range(failures):
        tenant.assess("user-1", FAILURE, now + timedelta(seconds=number), "100.7.7.7", "stranger")

    hit = tenant.assess("user-1", SUCCESS, now + timedelta(minutes=3), "100.7.7.7", "stranger")
    later = tenant.assess("user-1", SUCCESS, now + timedelta(hours=5), tenant.fresh_ip(100), "stranger")

    assert hit.score > least
    assert "unusual_values" in names_of(hit)
    assert later.score >= 50


def test_the_strangest_success_is_first_among_those_without_a_signal():
    """Strange values ended at 56: a thief abroad was hidden among new laptops and forgotten passwords."""
    tenant = Tenant()
    now = tenant.settle(people(30), days=15)

    laptop = tenant.assess("user-1", SUCCESS, now + timedelta(days=2), tenant.fresh_ip(90), "laptop")
    thief = tenant.assess("user-2", SUCCESS, now + timedelta(days=2), "101.1.1.1", "stranger", "Agent of a thief")
    burst = [
        tenant.assess("user-3", FAILURE, now + timedelta(days=2, seconds=20 * n), tenant.fresh_ip(91), "new").score
        for n in range(9)
    ]

    assert max(laptop.score, *burst) < thief.score < FLAGGED


def test_impossible_travel_needs_a_new_device():
    tenant = Tenant()
    now = tenant.settle(people(30))
    tenant.log_in_at_home("user-1", now)
    tenant.log_in_at_home("user-2", now)

    thief = tenant.assess("user-1", SUCCESS, now + timedelta(hours=2), "101.1.1.1", "stranger")
    owner = tenant.assess("user-2", SUCCESS, now + timedelta(hours=2), "102.1.1.1", "pc-user-2")

    assert "impossible_travel" in names_of(thief)
    assert thief.score >= FLAGGED
    assert owner.score == 10


def test_a_new_device_in_a_new_country_raises_the_score_without_flagging():
    tenant = Tenant()
    now = tenant.settle(people(30), days=10)

    assessment = tenant.assess("user-1", SUCCESS, now + timedelta(days=2), "101.1.1.1", "new-phone")

    assert 30 <= assessment.score < FLAGGED
    assert "New for this user: device, address, network, country" in assessment.factors[1].explanation


def test_the_second_login_of_a_user_can_be_strange_already():
    tenant = Tenant()
    tenant.log_in_at_home("user-1", MONDAY)

    assessment = tenant.assess("user-1", SUCCESS, MONDAY + timedelta(hours=1), "101.1.1.1", "new-phone")

    assert {"impossible_travel", "unusual_values"} <= names_of(assessment)
    assert 50 <= assessment.score < FLAGGED


def test_a_device_farm_is_found_by_its_accounts_and_networks():
    tenant = Tenant()
    now = tenant.settle(people(10))

    scores = [
        tenant.assess(f"mule-{n}", SUCCESS, now + timedelta(hours=n), tenant.fresh_ip(50 + n % 6), "farm").score
        for n in range(12)
    ]

    assert min(scores[8:]) >= FLAGGED


def test_the_users_own_device_speaks_for_the_user_in_the_middle_of_an_attack():
    tenant, users = Tenant(), people(50)
    now = tenant.settle(users)
    for n, user in enumerate(users):
        tenant.assess(user, FAILURE, now + timedelta(seconds=n), home_of("user-9"), "sprayer")

    assert tenant.log_in_at_home("user-9", now + timedelta(minutes=5)).score == 10


def test_every_factor_has_an_explanation_in_words():
    tenant, users = Tenant(), people(30)
    now = tenant.settle(users)
    last = [tenant.assess(u, FAILURE, now + timedelta(seconds=n), "100.7.7.7", "d") for n, u in enumerate(users)][-1]

    assert len(last.factors) > 1
    assert all(factor.explanation.endswith(".") and factor.weight > 0 for factor in last.factors)
