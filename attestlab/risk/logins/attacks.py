"""Attacks on many users at once: spraying, surges, device farms; and on one user over time: slow guessing, echoes.

A stranger is a user who failed with values that this user never had. All tests of many users have the same form: `k`
strangers where `m` were expected. Chance explains them with the log likelihood ratio k ln(k/m) - (k - m) of a Poisson
distribution; if they are an attack, this login belongs to it with odds of about k/m. Slow guessing is compared in the
same way. An echo is a login from the source of a flagged success: the use of a guessed password.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import log
from statistics import median

from attestlab.core.counting import plural
from attestlab.risk.logins.circumstances import CROWDS, SOURCES, SOURCES_OF_ONE, Circumstances, LoginEvidence
from attestlab.risk.logins.documents import LENGTHS_MS, SourceActivity, Tally
from attestlab.risk.logins.parameters import (
    DAY_MS,
    DEFAULT_STRANGER_RATIO,
    ECHO_WINDOW_MS,
    EXPECTED_IN_SURGE,
    EXPECTED_OF_NEWCOMERS,
    EXPECTED_OF_STRANGE,
    EXPECTED_OF_USERS,
    EXPECTED_SLOW_TRIES,
    EXPECTED_STRANGERS,
    FARM_WEIGHT,
    FARM_WINDOW_MS,
    MAX_BROAD_FAILURES,
    MAX_BROAD_TRIES,
    MAX_ECHO_EVIDENCE,
    MAX_FARM_EVIDENCE,
    MAX_SLOW_EVIDENCE,
    MAX_SPRAY_EVIDENCE,
    MAX_SURGE_EVIDENCE,
    MIN_BURST,
    MIN_FARM_ACCOUNTS,
    MIN_FARM_NETWORKS,
    MIN_STRANGER_RATIO,
    MIN_STRANGERS,
    MIN_SURGE_SIGNIFICANCE,
    REPEATED_TRY_WEIGHT,
    SLOW_SLOT_MS,
    SLOW_WINDOW_MS,
    STRANGERS_WINDOW_MS,
    SURGE_WINDOWS,
)
from attestlab.risk.logins.user_documents import StrangeFailure

_MIN_PAST_DAYS = 3
_MIN_SUCCESSES = 5.0  # added to a past day's, so that a quiet day is no proof


def compare_counts(count: float, expected: float) -> tuple[float, float]:
    """Return (odds, significance) of more counts than expected, as logarithms; (0, 0) where there are not more.

    >>> compare_counts(1, 2)
    (0.0, 0.0)
    """
    if count <= expected:
        return 0.0, 0.0
    odds = log(count / expected)
    return odds, count * odds - (count - expected)


def find_spray(at: Circumstances, failures: int) -> LoginEvidence | None:
    """Return the evidence that this login's device, address or network tries many users.

    The user must be a stranger at the source. On a known device, nothing is suspected of it. Of a success, a network
    says nothing: guesses hardly ever succeed, and people from everywhere do. Nor does it of a burst on one user.
    """
    if at.has_known_device:
        return None
    kinds = SOURCES if at.login.is_failure and failures < MIN_BURST else SOURCES_OF_ONE
    found = [_examine_source(at, kind) for kind in kinds if kind in at.sources and not at.knows(kind)]
    return max((each for each in found if each), key=lambda evidence: evidence.strength, default=None)


def _examine_source(at: Circumstances, kind: str) -> LoginEvidence | None:
    source = at.sources[kind]
    strangers = len(source.find_strangers(at.at_ms) | {at.user})
    if strangers < MIN_STRANGERS:
        return None
    expected = _expect_strangers(source, at.at_ms)
    odds, significance = compare_counts(strangers, expected)
    text = (
        f"{strangers} users who never succeeded from this {kind} failed from it within "
        f"{STRANGERS_WINDOW_MS // DAY_MS} days; {expected:.1f} were expected."
    )
    return LoginEvidence(f"spraying_{kind}", strangers, min(odds, significance, MAX_SPRAY_EVIDENCE), text)


def _expect_strangers(source: SourceActivity, at_ms: int) -> float:
    newcomers, users = source.count_newcomers(at_ms), source.count_users(at_ms)
    return EXPECTED_STRANGERS + EXPECTED_OF_NEWCOMERS * newcomers + EXPECTED_OF_USERS * users


def find_surge(at: Circumstances, failures: int) -> LoginEvidence | None:
    """Return the evidence that strangers fail more than usual: at the tenant, from the country, or with the client.

    A careful spray changes address, device and client with each try; only the number of strangers shows it. It tries
    each user once or twice a day, from a new place each time. So a user who fails again and again, or again from the
    same device or address, is no part of it.
    """
    if failures > MAX_BROAD_TRIES or _is_repeated(at):
        return None
    found = [each for kind in CROWDS if kind in at.crowds for each in _examine_crowd(at, kind)]
    return max(found, key=lambda evidence: evidence.strength, default=None)


def _is_repeated(at: Circumstances) -> bool:
    """Whether the user failed often within a day, or from this login's device or address."""
    today = at.failures.find_strange(at.at_ms, DAY_MS)
    return len(today) > MAX_BROAD_FAILURES or any(_is_same_source(at, each) for each in today)


def _is_same_source(at: Circumstances, failure: StrangeFailure) -> bool:
    """Whether the failure had this login's device or address; a missing one is no source."""
    device, address = at.values["device"] or None, at.values["address"] or None
    return device == failure.device or address == failure.address


def _examine_crowd(at: Circumstances, kind: str) -> Iterator[LoginEvidence]:
    crowd = at.crowds[kind]
    days = crowd.past_days(at.at_ms)
    ratio, usual_strange = _usual_ratio(days), _usual_strange_ratio(days)
    for name, periods in SURGE_WINDOWS:
        tally = crowd.sum_window(name, periods, at.at_ms)
        expected = (
            EXPECTED_IN_SURGE
            + ratio * tally.successes
            + EXPECTED_OF_STRANGE * max(0.0, tally.strange_successes - usual_strange * tally.successes)
        )
        odds, significance = compare_counts(tally.strangers + 1, expected)
        if significance >= MIN_SURGE_SIGNIFICANCE:
            hours = periods * LENGTHS_MS[name] // LENGTHS_MS["hours"]
            where = {"tenant": "at this tenant", "country": "from this country", "client": "with this client"}[kind]
            text = f"{tally.strangers} strangers failed {where} within {hours} h; {expected:.1f} were expected."
            yield LoginEvidence(f"surge_{kind}", tally.strangers, min(odds, MAX_SURGE_EVIDENCE), text)


def _usual_ratio(days: Sequence[Tally]) -> float:
    """Return strangers for each success on the median day before; a few attacked days change little."""
    if len(days) < _MIN_PAST_DAYS:
        return DEFAULT_STRANGER_RATIO
    return max(MIN_STRANGER_RATIO, median(day.strangers / (day.successes + _MIN_SUCCESSES) for day in days))


def _usual_strange_ratio(days: Sequence[Tally]) -> float:
    """Return the share of successes with strange values on the median day before; 1 before there are enough days."""
    if len(days) < _MIN_PAST_DAYS:
        return 1.0
    return median(day.strange_successes / (day.successes + _MIN_SUCCESSES) for day in days)


def find_device_farm(at: Circumstances) -> LoginEvidence | None:
    """Return the evidence that one device has many accounts and uses several networks."""
    if "device" not in at.sources:
        return None
    since = at.at_ms - FARM_WINDOW_MS
    accounts = [each for each in at.sources["device"].accounts if since < each.at_ms <= at.at_ms]
    users = {each.user for each in accounts} | {at.user}
    networks = {each.network for each in accounts} | {at.values["network"] or 0}
    if len(users) < MIN_FARM_ACCOUNTS or len(networks) < MIN_FARM_NETWORKS:
        return None
    strength = min(MAX_FARM_EVIDENCE, FARM_WEIGHT * log(len(users) * len(networks) / 4))
    text = f"{len(users)} accounts succeeded on this device within 14 days, from {plural(len(networks), 'network')}."
    return LoginEvidence("device_farm", len(users), strength, text)


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
        f"Strange failures of this user at {plural(times, 'time')} within {SLOW_WINDOW_MS // DAY_MS} days, "
        f"from {plural(networks, 'network')}; {EXPECTED_SLOW_TRIES} are usual."
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
