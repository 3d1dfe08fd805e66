"""One user's devices, places and clients, learnt from successes that were not flagged.

A value is known from its first success on, or some days later if that success was strange. How often it was used
counts whole days before the day in question. Both depend on times alone, so a login that arrives late meets the
profile as it was then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypedDict, cast

from attestlab.core.json_types import JsonObject
from attestlab.risk.logins.parameters import DAY_MS, USER_TTL_MS

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
