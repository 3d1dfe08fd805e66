"""The documents of one user: the profile of the values in use, and the history of failures.

**The profile** has devices, places and clients, learnt from successes that were not flagged. A value is known from its
first success on, or some days later if that success was strange. How often it was used counts whole days before the
day in question. Both depend on times alone, so a login that arrives late meets the profile as it was then.

**The history** has failures, and flagged successes that may have been another person's. The times of failures keep the
ladder exact in bounded memory: of each hour, the first 20 and the last 20 are kept. A window of one hour covers parts
of at most two such hours: the end of one and the beginning of the next. So the number of failures in any window is
exact up to 20, which is all that the ladder distinguishes, whatever the order in which they arrived. Beyond
`MAX_NUMBERS`, the oldest hours are dropped; three full hours always remain, and four days with one failure in each
hour.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, NotRequired, TypedDict, cast

from attestlab.core.json_types import JsonObject
from attestlab.risk.logins.parameters import DAY_MS, FAILURES_TTL_MS, HOUR_MS, LADDER_WINDOW_MS, USER_TTL_MS

MAX_DAYS = 10  # remembered for each value, the newest
MAX_ACTIVE_DAYS = 40
MAX_VALUES = {"device": 8, "address": 8, "network": 10, "country": 6, "client": 6}
MAX_VISITS = 6
MISSING = 0  # the fingerprint of a missing device id


@dataclass(slots=True)
class ValueHistory:
    """When a value became known, and the newest days with a success."""

    first_ms: int
    days: list[int]

    def with_day(self, at_ms: int, known_ms: int, max_days: int = MAX_DAYS) -> ValueHistory:
        """Return the history with one more success, which makes the value known from `known_ms` on."""
        day = at_ms // DAY_MS
        if day in self.days and self.first_ms <= known_ms:
            return self
        days = self.days if day in self.days else sorted((*self.days, day))[-max_days:]
        return ValueHistory(min(self.first_ms, known_ms), days)


@dataclass(frozen=True, slots=True)
class Visit:
    """Where a success came from."""

    at_ms: int
    country: str
    network: int


class StoredUserProfile(TypedDict):
    """The JSON form of a document, as `to_json` writes it."""

    values: dict[str, list[list[int]]]
    activity: list[int] | None
    visits: list[tuple[int, str, int]]


@dataclass(slots=True)
class UserProfile:
    """The values of a user; `activity` has the days with any success."""

    values: dict[str, dict[int, ValueHistory]] = field(default_factory=lambda: {name: {} for name in MAX_VALUES})
    activity: ValueHistory | None = None
    visits: list[Visit] = field(default_factory=list)

    @classmethod
    def from_json(cls, stored: JsonObject) -> UserProfile:
        """Read what `to_json` made."""
        document = cast(StoredUserProfile, stored)
        values = {
            name: {line[0]: ValueHistory(line[1], line[2:]) for line in document["values"].get(name, ())}
            for name in MAX_VALUES
        }
        activity = document["activity"]
        visits = [Visit(*line) for line in document["visits"]]
        return cls(values, ValueHistory(activity[0], activity[1:]) if activity else None, visits)

    def to_json(self) -> JsonObject:
        """Return numbers in lists; times are milliseconds since 1970."""
        return {
            "values": {
                name: [[value, seen.first_ms, *seen.days] for value, seen in histories.items()]
                for name, histories in self.values.items()
                if histories
            },
            "activity": [self.activity.first_ms, *self.activity.days] if self.activity else None,
            "visits": [[visit.at_ms, visit.country, visit.network] for visit in self.visits],
        }

    @property
    def expires_at_ms(self) -> int:
        """When the profile may be dropped."""
        return (self.activity.days[-1] * DAY_MS if self.activity else 0) + USER_TTL_MS

    def is_known(self, feature: str, value: int | None, at_ms: int) -> bool:
        """Whether the user had a success with this value until then."""
        seen = self.values[feature].get(value) if value is not None else None
        return seen is not None and seen.first_ms <= at_ms

    def count_days(self, feature: str, value: int | None, at_ms: int) -> float:
        """Count the days before that day with a success with this value; a value of the same day counts a quarter."""
        seen = self.values[feature].get(value) if value is not None else None
        if seen is None or seen.first_ms > at_ms:
            return 0.0
        return sum(day < at_ms // DAY_MS for day in seen.days) or 0.25

    def count_active_days(self, at_ms: int) -> float:
        """Count the days before that day with any success; a success earlier on the same day is half a day."""
        if self.activity is None or self.activity.first_ms > at_ms:
            return 0.0
        return sum(day < at_ms // DAY_MS for day in self.activity.days) or 0.5

    def last_visit(self, at_ms: int) -> Visit | None:
        """Return the newest success until then with a known country."""
        return max((visit for visit in self.visits if visit.at_ms <= at_ms), key=lambda v: v.at_ms, default=None)

    def with_success(
        self, values: dict[str, int | None], country: str | None, at_ms: int, *, known_ms: int
    ) -> UserProfile:
        """Return the profile with one more success; its values are known from `known_ms` on."""
        network = values["network"] or MISSING
        visits = [*self.visits, Visit(at_ms, country, network)] if country else self.visits
        return UserProfile(
            {
                name: _with_value(name, histories, values[name], at_ms, known_ms)
                for name, histories in self.values.items()
            },
            (self.activity or ValueHistory(at_ms, [])).with_day(at_ms, at_ms, MAX_ACTIVE_DAYS),
            sorted(visits, key=lambda visit: visit.at_ms)[-MAX_VISITS:],
        )

    def with_confirmation(self, at_ms: int, flagged: Iterable[Mapping[str, int]]) -> UserProfile:
        """Return the profile in which the values on probation, and those of flagged successes, are known by then."""
        values = {name: _end_probation(histories, at_ms) for name, histories in self.values.items()}
        for success in flagged:
            for name, value in success.items():
                values[name] = _with_value(name, values[name], value, at_ms, at_ms)
        return replace(self, values=values)


def _end_probation(histories: Mapping[int, ValueHistory], at_ms: int) -> dict[int, ValueHistory]:
    return {
        value: replace(seen, first_ms=at_ms) if seen.days[0] * DAY_MS <= at_ms < seen.first_ms else seen
        for value, seen in histories.items()
    }


def _with_value(
    name: str, histories: dict[int, ValueHistory], value: int | None, at_ms: int, known_ms: int
) -> dict[int, ValueHistory]:
    """Add a success; of too many values, the one not used for longest is forgotten."""
    if value is None:
        return histories
    kept = {**histories, value: histories.get(value, ValueHistory(known_ms, [])).with_day(at_ms, known_ms)}
    if len(kept) > MAX_VALUES[name]:
        del kept[min(kept, key=lambda each: (kept[each].days[-1], kept[each].first_ms, each))]
    return kept


MAX_OF_EACH_END = 20
MAX_NUMBERS = 200  # hours and times together: below 2 kB of JSON, however few times each hour has


class FailureTimes:
    """Sorted times in milliseconds after each full hour, by hour."""

    __slots__ = ("_hours",)

    def __init__(self, hours: dict[int, list[int]]) -> None:
        self._hours = hours

    @classmethod
    def from_json(cls, stored: list[list[int]]) -> FailureTimes:
        """Read `[hour, offset, offset, ...]` for each hour."""
        return cls({line[0]: line[1:] for line in stored})

    def to_json(self) -> list[list[int]]:
        """Return the inverse of `from_json`."""
        return [[hour, *offsets] for hour, offsets in self._hours.items()]

    def count(self, at_ms: int) -> int:
        """Return the failures in the hour that ends at `at_ms`, this moment included; exact up to 20."""
        hour, offset = divmod(at_ms, HOUR_MS)
        now, before = self._hours.get(hour, ()), self._hours.get(hour - LADDER_WINDOW_MS // HOUR_MS, ())
        return sum(each <= offset for each in now) + sum(each > offset for each in before)

    def with_failure(self, at_ms: int) -> FailureTimes:
        """Return the times with one more."""
        hour, offset = divmod(at_ms, HOUR_MS)
        offsets = [*self._hours.get(hour, ())]
        insort(offsets, offset)
        if len(offsets) > 2 * MAX_OF_EACH_END:
            offsets.pop(MAX_OF_EACH_END)
        return FailureTimes(_drop_oldest({**self._hours, hour: offsets}))


def _drop_oldest(hours: dict[int, list[int]]) -> dict[int, list[int]]:
    while len(hours) + sum(map(len, hours.values())) > MAX_NUMBERS:
        del hours[min(hours)]
    return hours


MAX_STRANGE = 24
MAX_FLAGGED = 8


class StrangeFailure(NamedTuple):
    """A failure with values that the user did not have; fingerprints, 0 where one is missing."""

    at_ms: int
    device: int
    address: int
    network: int
    country: int
    client: int


class FlaggedSuccess(NamedTuple):
    """A success that taught nothing."""

    at_ms: int
    device: int
    address: int
    strength_tenths: int  # of the evidence besides the ladder


class StoredFailureHistory(TypedDict):
    """The JSON form of a document, as `to_json` writes it."""

    times: list[list[int]]
    strange: list[tuple[int, int, int, int, int, int]]
    flagged: list[tuple[int, int, int, int]]
    newest_ms: int
    confirmed_ms: NotRequired[int]


@dataclass(slots=True)
class FailureHistory:
    """The newest failures of a user, and when the user was last confirmed: the flags until then have ended.

    A score depends on failures until its own time only.
    """

    times: FailureTimes = field(default_factory=lambda: FailureTimes({}))
    strange: list[StrangeFailure] = field(default_factory=list)
    flagged: list[FlaggedSuccess] = field(default_factory=list)
    newest_ms: int = 0
    confirmed_ms: int = 0

    @classmethod
    def from_json(cls, stored: JsonObject) -> FailureHistory:
        """Read what `to_json` made."""
        document = cast(StoredFailureHistory, stored)
        return cls(
            FailureTimes.from_json(document["times"]),
            [StrangeFailure(*line) for line in document["strange"]],
            [FlaggedSuccess(*line) for line in document["flagged"]],
            document["newest_ms"],
            document.get("confirmed_ms", 0),
        )

    def to_json(self) -> JsonObject:
        """Return numbers in lists; times are milliseconds since 1970."""
        return {
            "times": self.times.to_json(),
            "strange": list(map(list, self.strange)),
            "flagged": list(map(list, self.flagged)),
            "newest_ms": self.newest_ms,
            "confirmed_ms": self.confirmed_ms,
        }

    @property
    def expires_at_ms(self) -> int:
        """When the history may be dropped."""
        return self.newest_ms + FAILURES_TTL_MS

    def find_strange(self, at_ms: int, window_ms: int) -> list[StrangeFailure]:
        """Return the strange failures within the window that ends at that moment."""
        return [each for each in self.strange if at_ms - window_ms < each.at_ms <= at_ms]

    def with_failure(self, at_ms: int, strange: StrangeFailure | None) -> FailureHistory:
        """Return the history with one more failure.

        Strange failures from one source within an hour are remembered once, so that a burst displaces no others.
        """
        kept = self.strange
        if strange and not any(_is_repetition(strange, each) for each in kept):
            kept = sorted((*kept, strange))[-MAX_STRANGE:]
        times, newest_ms = self.times.with_failure(at_ms), max(self.newest_ms, at_ms)
        return replace(self, times=times, strange=kept, newest_ms=newest_ms)

    def with_flagged(self, flagged: FlaggedSuccess) -> FailureHistory:
        """Return the history with a flagged success."""
        kept = sorted((*self.flagged, flagged))[-MAX_FLAGGED:]
        return replace(self, flagged=kept, newest_ms=max(self.newest_ms, flagged.at_ms))

    def with_confirmation(self, at_ms: int) -> FailureHistory:
        """Return the history with the end of all flags until then."""
        newest_ms, confirmed_ms = max(self.newest_ms, at_ms), max(self.confirmed_ms, at_ms)
        return replace(self, newest_ms=newest_ms, confirmed_ms=confirmed_ms)

    def open_flags(self, at_ms: int) -> Iterator[FlaggedSuccess]:
        """Yield the flagged successes until then that no confirmation ended, newest first."""
        ended_ms = self.confirmed_ms if self.confirmed_ms <= at_ms else 0
        return (each for each in reversed(self.flagged) if ended_ms < each.at_ms <= at_ms)


def _is_repetition(new: StrangeFailure, old: StrangeFailure) -> bool:
    return 0 <= new.at_ms - old.at_ms < HOUR_MS and (new.device, new.address) == (old.device, old.address)
