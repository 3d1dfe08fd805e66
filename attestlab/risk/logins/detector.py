"""The detector: a pure function from a login and the documents of its values to a score and the changed documents.

**What a score depends on.** Only on logins that arrived before and did not happen later (`occurred_at`). Values that
were learnt later do not count for an earlier login. So a login that arrives late gets the score that it would have
got in time, provided that all earlier logins have arrived, and as far as its documents reach back: three hours for
the ladder under attack and ten days without one; three days for strangers at a source, two hours for the slots of a
surge and two days for its hours; ten active days of a user; the newest entries where a list is full. A login is not
scored again when an earlier one arrives after it. Two limits follow: the strangers of a crowd count each user once a
day, and a user whose failures arrive in the wrong order may count twice; and whether a success is learnt is decided
when it arrives.

**How evidence becomes a score.** The ladder gives the base, other evidence raises it, and the factors sum to the score.
The base is read as a probability. `LoginEvidence`, the logarithm of a likelihood ratio, is added to its log-odds: so it
raises every base and reaches 100 for none. The rise is shared among the evidence in proportion to its strength.
Contributions are multiples of 1/8, which binary fractions hold exactly, so that they sum to the score exactly.

**What is learnt.** Successes with a score below ELEVATED teach. One that only its values flagged teaches after a week
of probation, so that a new computer stops being strange. One with evidence of an attack teaches nothing,
and what comes from its source stays flagged for three days after it.

**What is not seen.** An attacker who has the user's device id, or who logs in from the user's own network with a
phished password, at a usual time and without failures, looks like the user with a new browser.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log
from typing import NamedTuple

from attestlab.risk.logins.attacks import (
    ECHO,
    NO_ECHO,
    find_device_farm,
    find_echo,
    find_slow_guessing,
    find_spray,
    find_surge,
)
from attestlab.risk.logins.circumstances import (
    Circumstances,
    LoginEvidence,
    LoginTrace,
    describe_login,
    find_keys,
    trace_login,
)
from attestlab.risk.logins.documents import (
    Account,
    DetectorDocument,
    DocumentKey,
    DocumentStore,
    SourceActivity,
    Tally,
    find_current,
)
from attestlab.risk.logins.login import Login
from attestlab.risk.logins.parameters import (
    CRITICAL,
    DAY_MS,
    ELEVATED,
    FLAGGED_PROBATION_MS,
    HIGH,
    LADDER,
    MIN_ECHO_EVIDENCE,
    PROBATION_EVIDENCE,
    PROBATION_MS,
)
from attestlab.risk.logins.places import Locator
from attestlab.risk.logins.strangeness import (
    Strangeness,
    explain_strangeness,
    find_impossible_travel,
    measure_strangeness,
)
from attestlab.risk.logins.user_documents import FailureHistory, FlaggedSuccess, StrangeFailure, UserProfile

STEPS = 8  # of one point


class RiskLevel(StrEnum):
    """The level of a score (CONTRACT section 8)."""

    NORMAL = "normal"
    ELEVATED = "elevated"
    HIGH = "high"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class LoginFactor:
    """One term of a score: what was measured, its weight as evidence, and its points of the score."""

    name: str
    value: float
    weight: float
    contribution: float
    explanation: str


@dataclass(frozen=True, slots=True)
class LoginAssessment:
    """The score of a login, 0-100; the contributions of the factors sum to it exactly."""

    score: float
    level: RiskLevel
    factors: tuple[LoginFactor, ...]


def read_ladder(failures: int) -> int:
    """Return the ladder's score for a number of failures within an hour."""
    return next(score for least, score in LADDER if failures >= least)


def find_level(score: float) -> RiskLevel:
    """Return the level of a score."""
    if score < ELEVATED:
        return RiskLevel.NORMAL
    if score < HIGH:
        return RiskLevel.ELEVATED
    return RiskLevel.HIGH if score < CRITICAL else RiskLevel.CRITICAL


def assess_evidence(failures: int, evidence: Sequence[LoginEvidence]) -> LoginAssessment:
    """Combine the ladder with other evidence."""
    base = read_ladder(failures)
    found = sorted((each for each in evidence if each.strength > 0), key=lambda each: -each.strength)
    rise = _steps_of_rise(base, sum(each.strength for each in found))
    points = _share_steps(rise, [each.strength for each in found])
    text = f"{failures} failed logins of this user within an hour."
    factors = [
        LoginFactor(each.name, each.value, round(each.strength, 2), share / STEPS, each.explanation)
        for each, share in zip(found, points, strict=True)
    ]
    score = base + rise / STEPS
    return LoginAssessment(
        score, find_level(score), (LoginFactor("failed_logins", failures, 1.0, base, text), *factors)
    )


def _steps_of_rise(base: int, strength: float) -> int:
    """Return by how many steps evidence raises a base; rounded down, so that 100 is never reached."""
    odds = log(base / (100 - base)) + strength
    return max(0, int((100 / (1 + exp(-odds)) - base) * STEPS + 1e-6))


def _share_steps(rise: int, strengths: list[float]) -> list[int]:
    """Divide whole steps in proportion; the strongest evidence takes the remainder."""
    total = sum(strengths)
    shares = [int(rise * strength / total) for strength in strengths]
    if shares:
        shares[0] += rise - sum(shares)
    return shares


class LoginEvaluation(NamedTuple):
    """The assessment of a login, and the documents to store with it."""

    assessment: LoginAssessment
    changed: dict[DocumentKey, DetectorDocument]


class LoginDetector:
    """Assesses logins; it holds no state but the locator."""

    def __init__(self, locator: Locator) -> None:
        self._locator = locator

    def keys(self, login: Login) -> tuple[DocumentKey, ...]:
        """Return the keys of the documents that `evaluate` needs, at most eight."""
        return tuple(find_keys(login, self._locator).values())

    def trace(self, login: Login) -> LoginTrace:
        """Return the trace of a login, which `evaluate_trace` takes now or later."""
        return trace_login(login, find_keys(login, self._locator))

    def evaluate(self, login: Login, documents: Mapping[DocumentKey, DetectorDocument]) -> LoginEvaluation:
        """Assess a login and return what is learnt from it; the documents given are not changed.

        Args:
            documents: those of `keys(login)` that exist; another key is ignored.
        """
        return evaluate_trace(self.trace(login), documents)

    def assess(self, login: Login, store: DocumentStore) -> LoginAssessment:
        """Load the documents, evaluate, and save what changed."""
        trace = self.trace(login)
        evaluation = evaluate_trace(trace, store.load(tuple(trace.keys.values())))
        store.save(evaluation.changed)
        return evaluation.assessment


def evaluate_trace(login: LoginTrace, documents: Mapping[DocumentKey, DetectorDocument]) -> LoginEvaluation:
    """Assess a login of which only the trace is known; see `LoginDetector.evaluate`."""
    at = describe_login(login, documents)
    strangeness = measure_strangeness(at)
    failures = at.failures.times.count(at.at_ms) + login.is_failure
    evidence = _collect_evidence(at, strangeness, failures)
    assessment = assess_evidence(failures, evidence)
    return LoginEvaluation(assessment, _learn(at, strangeness, assessment, evidence, failures))


def confirm_trace(
    confirmation: LoginTrace, documents: Mapping[DocumentKey, DetectorDocument]
) -> dict[DocumentKey, DetectorDocument]:
    """Return what is learnt from the confirmation of a user; nothing of a user without a profile."""
    user, history = confirmation.keys["user"], confirmation.keys["failures"]
    profile, failures = (find_current(documents, key, confirmation.at_ms) for key in (user, history))
    if not isinstance(profile, UserProfile):
        return {}
    failures = failures if isinstance(failures, FailureHistory) else FailureHistory()
    profile, failures = learn_confirmation(profile, failures, confirmation.at_ms)
    return {user: profile, history: failures}


def _collect_evidence(at: Circumstances, strangeness: Strangeness, failures: int) -> list[LoginEvidence]:
    """Find what speaks for an attack; where the user's own device or address is used, only a farm can."""
    found = [find_device_farm(at)]
    if not at.has_known_device:
        found.append(find_spray(at, failures))
    if not strangeness.has_known_values:
        found.append(explain_strangeness(at, strangeness, failures))
        if not at.login.is_failure:
            found += [find_impossible_travel(at), find_echo(at)]
    if strangeness.is_stranger and at.login.is_failure:
        found.append(find_surge(at, failures))
    if strangeness.is_stranger and (at.login.is_failure or strangeness.maturity > 0):
        found.append(find_slow_guessing(at, failures))
    return [each for each in found if each]


def _learn(
    at: Circumstances,
    strangeness: Strangeness,
    assessment: LoginAssessment,
    evidence: list[LoginEvidence],
    failures: int,
) -> dict[DocumentKey, DetectorDocument]:
    """Learn by outcome and score: strange values alone delay it, evidence of an attack prevents it.

    An echo of a flagged success prevents it, too. It does not count as evidence of an attack: then each echo would
    cause the next one.
    """
    if at.login.is_failure:
        return learn_failure(at, is_strange=strangeness.is_stranger)
    is_strange = strangeness.is_stranger and strangeness.maturity > 0
    is_flagged = assessment.score >= ELEVATED
    attack = sum(each.strength for each in evidence if each.name not in NO_ECHO)
    is_echo = any(each.name == ECHO for each in evidence)
    if is_flagged and (is_echo or attack >= MIN_ECHO_EVIDENCE or read_ladder(failures) >= ELEVATED):
        return learn_flagged_success(at, attack, is_strange=is_strange)
    probation_ms = FLAGGED_PROBATION_MS if is_flagged else PROBATION_MS * (strangeness.total >= PROBATION_EVIDENCE)
    return learn_success(at, probation_ms=probation_ms, is_strange=is_strange)


_STRANGER = Tally(strangers=1)


def learn_failure(at: Circumstances, *, is_strange: bool) -> dict[DocumentKey, DetectorDocument]:
    """Count a failure; a strange one is counted at its sources and crowds too."""
    strange = _strange_failure(at) if is_strange else None
    is_known_user = at.profile.count_active_days(at.at_ms) > 0
    changed: dict[DocumentKey, DetectorDocument] = {at.keys["failures"]: at.failures.with_failure(at.at_ms, strange)}
    if not is_strange:
        return changed
    for kind, source in at.sources.items():
        if not at.knows(kind):
            changed[at.keys[kind]] = source.with_stranger(at.user, at.at_ms)
    for kind, crowd in at.crowds.items():
        if is_known_user and not _failed_today(at, kind):
            changed[at.keys[kind]] = crowd.with_counts(at.at_ms, _STRANGER)
    return changed


def _strange_failure(at: Circumstances) -> StrangeFailure:
    values = at.values
    return StrangeFailure(
        at.at_ms,
        values["device"] or 0,
        values["address"] or 0,
        values["network"] or 0,
        values["country"] or 0,
        values["client"] or 0,
    )


def _failed_today(at: Circumstances, kind: str) -> bool:
    """Whether the user had a strange failure in this crowd within the day before: each user counts once."""
    return any(
        kind == "tenant" or getattr(each, kind) == at.values[kind]
        for each in at.failures.find_strange(at.at_ms, DAY_MS)
    )


def learn_flagged_success(
    at: Circumstances, strength: float, *, is_strange: bool
) -> dict[DocumentKey, DetectorDocument]:
    """Remember from where a flagged success came, if its own evidence was strong; the profile learns nothing."""
    changed: dict[DocumentKey, DetectorDocument] = {**_learn_account(at)}
    if is_strange:
        changed |= _count_in_crowds(at, lambda _kind: Tally(strange_successes=1))
    if strength < MIN_ECHO_EVIDENCE:
        return changed
    flagged = FlaggedSuccess(at.at_ms, at.values["device"] or 0, at.values["address"] or 0, int(strength * 10))
    return {at.keys["failures"]: at.failures.with_flagged(flagged), **changed}


def learn_success(at: Circumstances, *, probation_ms: int, is_strange: bool) -> dict[DocumentKey, DetectorDocument]:
    """Add the values to the user's profile, and the user to their sources and crowds.

    The values are known after the probation. `is_strange` is whether they were a stranger's.
    """
    known_ms = at.at_ms + probation_ms
    profile = at.profile.with_success(at.values, at.country, at.at_ms, known_ms=known_ms)
    changed: dict[DocumentKey, DetectorDocument] = {at.keys["user"]: profile}
    accounts = _learn_account(at)
    for kind in at.sources:
        is_new, is_new_today = not at.knows(kind), _is_new_today(at, kind)
        source = accounts.get(at.keys[kind], at.sources[kind])
        changed[at.keys[kind]] = source.with_user(at.user, at.at_ms, is_new=is_new, is_new_today=is_new_today)
    return changed | _count_in_crowds(
        at, lambda kind: Tally(successes=1, users=_is_new_today(at, kind), strange_successes=is_strange)
    )


def _count_in_crowds(at: Circumstances, tally: Callable[[str], Tally]) -> dict[DocumentKey, DetectorDocument]:
    return {at.keys[kind]: crowd.with_counts(at.at_ms, tally(kind)) for kind, crowd in at.crowds.items()}


def learn_confirmation(
    profile: UserProfile, failures: FailureHistory, at_ms: int
) -> tuple[UserProfile, FailureHistory]:
    """Learn that the newest successes were the user's: a challenge was passed, or a person decided so."""
    flagged = [
        {name: value for name, value in (("device", each.device), ("address", each.address)) if value}
        for each in failures.open_flags(at_ms)
    ]
    return profile.with_confirmation(at_ms, flagged), failures.with_confirmation(at_ms)


def _learn_account(at: Circumstances) -> dict[DocumentKey, SourceActivity]:
    if "device" not in at.sources:
        return {}
    account = Account(at.at_ms, at.user, at.values["network"] or 0)
    return {at.keys["device"]: at.sources["device"].with_account(account)}


def _is_new_today(at: Circumstances, kind: str) -> bool:
    """Whether this is the user's first unflagged success with the value on this day."""
    value = at.values.get(kind)
    seen = at.profile.activity if kind == "tenant" else at.profile.values[kind].get(value) if value else None
    return seen is None or at.at_ms // DAY_MS not in seen.days
