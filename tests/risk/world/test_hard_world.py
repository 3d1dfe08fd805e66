"""The hard world of the benchmark: equal seeds make equal worlds, and each kind that it promises is in it."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from hashlib import sha256

import pytest

from attestlab.risk.judgement.scored_logins import OURS
from attestlab.risk.logins.login import LoginOutcome
from benchmarks.detection.hard_world.parameters import HardParameters
from benchmarks.detection.hard_world.records import HARD_ATTACKS, HARD_INNOCENTS, HardKind, HardLogin
from benchmarks.detection.hard_world.world import HardWorld
from benchmarks.detection.runs import BEFORE, add_before, run_world, save_scores

SMALL = HardParameters(seed=5, users=120, days=14, guests_a_day=4, crowd_sizes=(20, 40), mailed_guests=30)


@pytest.fixture(scope="module")
def logins() -> list[HardLogin]:
    return list(HardWorld(SMALL).logins())


def test_logins_are_sorted_by_time(logins: list[HardLogin]):
    times = [each.login.occurred_at for each in logins]

    assert times == sorted(times)


def test_equal_seeds_make_the_same_world_on_every_machine(logins: list[HardLogin]):
    """The digest is fixed: another one means that measurements before and after cannot be compared."""
    lines = (
        f"{each.login.subject_id} {each.login.outcome} {each.login.at_ms} {each.login.ip} {each.login.device_id}"
        for each in logins
    )

    assert sha256("\n".join(lines).encode()).hexdigest()[:16] == "01f2dbe4a415dc06"


def test_every_hard_kind_happens(logins: list[HardLogin]):
    assert {*HARD_INNOCENTS, *HARD_ATTACKS} <= {each.kind for each in logins}


def test_campaigns_begin_on_the_first_days():
    """Detectors that need a quiet week are measured without one."""
    world = HardWorld(SMALL)
    begin = world.parameters.world.first_day
    first = min(each.login.occurred_at for each in world.logins() if each.campaign_id)

    assert first < begin + timedelta(days=1)


def test_a_stolen_session_has_no_failure(logins: list[HardLogin]):
    outcomes = {each.login.outcome for each in logins if each.kind is HardKind.STOLEN_SESSION}

    assert outcomes == {LoginOutcome.SUCCESS}


def test_unique_software_repeats_no_value(logins: list[HardLogin]):
    of_kind = [each.login for each in logins if each.kind is HardKind.UNIQUE_SOFTWARE]
    counts = Counter(login.device_id for login in of_kind if login.outcome is LoginOutcome.SUCCESS)

    assert len(of_kind) > 10
    assert set(counts.values()) == {1}


def test_saved_scores_are_compared_with_later_ones(tmp_path):
    column = run_world(HardParameters(seed=5, users=20, days=3, guests_a_day=1, crowds=0, mail_programs=0))
    save_scores(column, tmp_path / "before.npy")

    compared = add_before(column, tmp_path / "before.npy")

    assert {OURS, BEFORE} < set(compared.scores)
    assert (compared.scores[BEFORE] == column.scores[OURS]).all()
