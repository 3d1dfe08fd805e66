"""What a PSI says, and from when on a source is silent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from attestlab.risk.drift import DriftLevel, compute_psi, find_drift_level, find_rhythm

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_psi_is_the_published_sum() -> None:
    """An example worked out by hand: (0.7 - 0.5) ln(0.7 / 0.5) + (0.3 - 0.5) ln(0.3 / 0.5) = 0.16946."""
    assert compute_psi([700_000, 300_000], [500_000, 500_000]) == pytest.approx(0.16946, abs=1e-4)


def test_empty_class_leaves_psi_finite_and_symmetric() -> None:
    assert compute_psi([1000, 0], [0, 1000]) == compute_psi([0, 1000], [1000, 0]) > 10


@pytest.mark.parametrize(("psi", "level"), [(0.0999, "stable"), (0.1, "moderate"), (0.25, "major"), (None, "too_few")])
def test_a_psi_has_the_level_of_its_published_bounds(psi: float | None, level: str) -> None:
    assert find_drift_level(psi) is DriftLevel(level)


def test_source_that_was_seen_rarely_has_no_rhythm() -> None:
    for hours in ([], [5], [5, 6], [5, 50, 100], range(48)):
        rhythm = find_rhythm(hours)
        assert rhythm == (None, None)
        assert not rhythm.is_silent(NOON, NOON + timedelta(days=400))


def test_hourly_source_is_silent_after_two_hours() -> None:
    rhythm = find_rhythm(range(100))

    assert rhythm == (timedelta(hours=1), timedelta(hours=2))
    assert not rhythm.is_silent(NOON, NOON + timedelta(hours=2))
    assert rhythm.is_silent(NOON, NOON + timedelta(hours=2, seconds=1))


def test_nights_and_weekends_are_no_silence() -> None:
    at_work = [day * 24 + hour for day in range(30) if day % 7 < 5 for hour in range(9, 18)]
    weekend = timedelta(hours=24 * 2 + 15)

    rhythm = find_rhythm(at_work)

    assert rhythm.typical_gap == timedelta(hours=1)
    assert not rhythm.is_silent(NOON, NOON + weekend)


def test_one_outage_does_not_make_a_source_patient() -> None:
    assert find_rhythm([*range(50), *range(250, 300)]).silent_after == timedelta(hours=2)
