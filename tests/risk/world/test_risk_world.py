"""The generated world: equal seeds make equal worlds, sorted, with every kind of person and attack in it."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

import pytest

from attestlab.demos.risk_world.parameters import WorldParameters
from attestlab.demos.risk_world.records import INNOCENT_LOGINS, LOGIN_ATTACKS, Kind, LabelledLogin
from attestlab.demos.risk_world.world import RiskWorld
from attestlab.risk.logins.login import LoginOutcome

SMALL = WorldParameters(seed=5, users=400, days=21, attack_scale=0.3)


@pytest.fixture(scope="module")
def logins() -> list[LabelledLogin]:
    return list(RiskWorld(SMALL).logins())


def test_logins_are_sorted_by_time(logins: list[LabelledLogin]):
    times = [each.login.occurred_at for each in logins]

    assert times == sorted(times)


def test_equal_seeds_make_the_same_world_on_every_machine(logins: list[LabelledLogin]):
    """The digest is fixed: another one means that measurements before and after cannot be compared."""
    again = list(RiskWorld(SMALL).logins())

    assert again == logins
    lines = (
        f"{each.login.subject_id} {each.login.outcome} {each.login.at_ms} {each.login.ip} {each.login.device_id}"
        for each in logins
    )
    assert sha256("\n".join(lines).encode()).hexdigest()[:16] == "2d38919623983359"


def test_another_seed_makes_another_world(logins: list[LabelledLogin]):
    other = RiskWorld(WorldParameters(seed=6, users=400, days=21, attack_scale=0.3))

    assert next(other.logins()) != logins[0]


def test_every_kind_of_person_and_attack_happens(logins: list[LabelledLogin]):
    kinds = Counter(each.kind for each in logins)

    assert set(kinds) == {*INNOCENT_LOGINS, *LOGIN_ATTACKS}


def test_only_attacks_belong_to_a_campaign(logins: list[LabelledLogin]):
    assert all((each.campaign_id is not None) == each.kind.is_attack for each in logins)


def test_attacks_are_rare():
    """Attacks are under 1 % of events in life; a world with more would flatter the precision."""
    counts = Counter(
        each.kind.is_attack for each in RiskWorld(WorldParameters(users=1500, days=30, attack_scale=0.5)).logins()
    )

    assert 0.001 < counts[True] / counts.total() < 0.02


def test_careful_spraying_changes_address_and_device_with_each_try(logins: list[LabelledLogin]):
    tries = [each.login for each in logins if each.kind is Kind.CAREFUL_SPRAYING]

    assert len({login.ip for login in tries}) == len(tries)
    assert len({login.subject_id for login in tries}) >= len(tries) / 2  # two campaigns may meet the same users


def test_a_takeover_has_no_failure_before_it(logins: list[LabelledLogin]):
    outcomes = {each.login.outcome for each in logins if each.kind is Kind.TAKEOVER}

    assert outcomes == {LoginOutcome.SUCCESS}


def test_every_address_has_a_place(logins: list[LabelledLogin]):
    world = RiskWorld(SMALL)
    places = [(world.locate(each.login.ip or ""), each.login.country) for each in logins]

    assert all(country in (place.country, None) for place, country in places)


def test_signals_are_labelled_and_sorted():
    signals = list(RiskWorld(SMALL).signals())
    kinds = Counter(signal.kind for signal in signals)

    assert kinds[Kind.ISSUER_COLLUSION] > 0 < kinds[Kind.MEDIA_BATCH] < kinds[Kind.ORDINARY]
    assert signals == sorted(signals, key=lambda signal: signal.occurred_at)
    assert all(0 <= signal.score <= 100 for signal in signals)
