"""What the documents learn from a login. Everything returns new documents; the old ones are not changed."""

from __future__ import annotations

from collections.abc import Callable

from attestlab.risk.logins.evidence.circumstances import Circumstances
from attestlab.risk.logins.parameters import DAY_MS, MIN_ECHO_EVIDENCE
from attestlab.risk.logins.state.crowd_activity import Tally
from attestlab.risk.logins.state.documents import DetectorDocument, DocumentKey
from attestlab.risk.logins.state.failure_history import FailureHistory, FlaggedSuccess, StrangeFailure
from attestlab.risk.logins.state.source_activity import Account, SourceActivity
from attestlab.risk.logins.state.user_profile import UserProfile

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
