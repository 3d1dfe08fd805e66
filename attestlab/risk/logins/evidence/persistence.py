"""Attacks on one user over time: slow guessing, and the use of a guessed password."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from attestlab.risk.logins.evidence.circumstances import Circumstances, LoginEvidence
from attestlab.risk.logins.evidence.crowding import compare_counts
from attestlab.risk.logins.parameters import (
    DAY_MS,
    ECHO_WINDOW_MS,
    EXPECTED_SLOW_TRIES,
    MAX_ECHO_EVIDENCE,
    MAX_SLOW_EVIDENCE,
    MIN_BURST,
    REPEATED_TRY_WEIGHT,
    SLOW_SLOT_MS,
    SLOW_WINDOW_MS,
)
from attestlab.risk.logins.state.failure_history import StrangeFailure

ECHO = "after_flagged_success"
# No reason to suspect the source later: strange values are strange again by themselves, and so is a journey to them.
NO_ECHO = frozenset({ECHO, "unusual_values", "impossible_travel"})


def find_slow_guessing(at: Circumstances, failures: int) -> LoginEvidence | None:
    """Return the evidence of strange failures at several times over days.

    A burst is the ladder's business. Failures from a device or address that is known by then are forgiven.
    """
    if failures >= MIN_BURST:
        return None
    strange = [each for each in at.failures.find_strange(at.at_ms, SLOW_WINDOW_MS) if not _is_forgiven(at, each)]
    tries = [(each.at_ms, each.network) for each in strange]
    tries += [(at.at_ms, at.values["network"] or 0)] * at.login.is_failure
    times, networks = _count_times([at_ms for at_ms, _network in tries]), len({network for _at_ms, network in tries})
    if max(times, networks) < 2:
        return None
    odds, significance = compare_counts(_count_independent(tries, min(times, networks)), EXPECTED_SLOW_TRIES)
    text = (
        f"Strange failures of this user at {times} times within {SLOW_WINDOW_MS // DAY_MS} days, "
        f"from {networks} networks; {EXPECTED_SLOW_TRIES} are usual."
    )
    return LoginEvidence("slow_guessing", times, min(odds, significance, MAX_SLOW_EVIDENCE), text)


def _count_independent(tries: Sequence[tuple[int, int]], new_by_both: int) -> float:
    """Count the tries that are new by time and network as one, and those that are new by one of them as a part.

    A forgotten password is tried again from where it was tried before, so that says less than another network does.
    But it says something: guessing from one address is guessing.
    """
    by_network: defaultdict[int, list[int]] = defaultdict(list)
    for at_ms, network in tries:
        by_network[network].append(at_ms)
    return new_by_both + REPEATED_TRY_WEIGHT * (sum(map(_count_times, by_network.values())) - new_by_both)


def _count_times(times_ms: Sequence[int]) -> int:
    """Count the moments that lie a slot apart; where the hours of the clock begin does not matter."""
    count, last_ms = 0, -SLOW_SLOT_MS
    for at_ms in sorted(times_ms):
        if at_ms - last_ms >= SLOW_SLOT_MS:
            count, last_ms = count + 1, at_ms
    return count


def _is_forgiven(at: Circumstances, failure: StrangeFailure) -> bool:
    knows = at.profile.is_known
    return (failure.device != 0 and knows("device", failure.device, at.at_ms)) or knows(
        "address", failure.address, at.at_ms
    )


def find_echo(at: Circumstances) -> LoginEvidence | None:
    """Return the evidence that the login comes from the source of an earlier flagged success."""
    device, address = at.values["device"] or None, at.values["address"]
    for flagged in at.failures.open_flags(at.at_ms):
        is_recent = at.at_ms - ECHO_WINDOW_MS < flagged.at_ms
        if is_recent and (device == flagged.device or address == flagged.address):
            text = "An earlier success from this source was flagged; it may not have been the user's."
            own = flagged.strength_tenths / 10
            return LoginEvidence(ECHO, own, min(MAX_ECHO_EVIDENCE, own), text)
    return None
