"""The documents of sources and crowds, the keys of all documents, and which document each kind of key has.

A source is an address, device or network: its document knows who uses it. A crowd is the tenant, a country, or a
client: its successes and strangers' failures are counted by time. Only whole slots, hours and days before the moment
in question are used. So a count does not depend on what happens later in the same slot, and a login that arrives late
meets the counts of the time when it happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NamedTuple, Protocol, TypedDict, cast

from attestlab.core.errors import ValidationFailed
from attestlab.core.json_types import JsonObject
from attestlab.risk.logins.parameters import DAY_MS, HOUR_MS, MINUTE_MS, SOURCE_TTL_MS, STRANGERS_WINDOW_MS
from attestlab.risk.logins.user_documents import FailureHistory, UserProfile

MAX_USERS = 36  # the newest; the number of older ones is kept
MAX_STRANGERS = 60
MAX_ACCOUNTS = 24
MAX_DAYS = 14


class UnfamiliarUser(NamedTuple):
    """A user who failed at a source without ever having succeeded there."""

    at_ms: int
    user: int


class Account(NamedTuple):
    """A success on a device, flagged or not, and the network that it came from."""

    at_ms: int
    user: int
    network: int


class StoredSourceActivity(TypedDict):
    """The JSON form of a document, as `to_json` writes it."""

    users: list[tuple[int, int]]
    older_users: int
    user_days: list[tuple[int, int]]
    strangers: list[tuple[int, int]]
    accounts: list[tuple[int, int, int]]
    newest_ms: int


@dataclass(slots=True)
class SourceActivity:
    """The users of one source; `users` has the time of each user's first success there that taught."""

    users: dict[int, int] = field(default_factory=dict)
    older_users: int = 0
    user_days: dict[int, int] = field(default_factory=dict)
    strangers: list[UnfamiliarUser] = field(default_factory=list)
    accounts: list[Account] = field(default_factory=list)
    newest_ms: int = 0

    @classmethod
    def from_json(cls, stored: JsonObject) -> SourceActivity:
        """Read what `to_json` made."""
        document = cast(StoredSourceActivity, stored)
        return cls(
            dict(document["users"]),
            document["older_users"],
            dict(document["user_days"]),
            [UnfamiliarUser(*line) for line in document["strangers"]],
            [Account(*line) for line in document["accounts"]],
            document["newest_ms"],
        )

    def to_json(self) -> JsonObject:
        """Return numbers in lists; times are milliseconds since 1970."""
        return {
            "users": list(map(list, self.users.items())),
            "older_users": self.older_users,
            "user_days": list(map(list, self.user_days.items())),
            "strangers": list(map(list, self.strangers)),
            "accounts": list(map(list, self.accounts)),
            "newest_ms": self.newest_ms,
        }

    @property
    def expires_at_ms(self) -> int:
        """When the document may be dropped."""
        return self.newest_ms + SOURCE_TTL_MS

    def count_users(self, at_ms: int) -> int:
        """Count the users with a success here until then."""
        return self.older_users + sum(first_ms <= at_ms for first_ms in self.users.values())

    def count_newcomers(self, at_ms: int) -> int:
        """Count the users whose first success here was in the days before."""
        return sum(at_ms - STRANGERS_WINDOW_MS < first_ms <= at_ms for first_ms in self.users.values())

    def count_user_days(self, at_ms: int) -> int:
        """Count, over the whole days before that day, the users of each."""
        return sum(count for day, count in self.user_days.items() if day < at_ms // DAY_MS)

    def find_strangers(self, at_ms: int) -> set[int]:
        """Return the users who failed here in the days before, and had no success here until then."""
        since = at_ms - STRANGERS_WINDOW_MS
        return {
            user
            for failed_ms, user in self.strangers
            if since < failed_ms <= at_ms and self.users.get(user, at_ms + 1) > at_ms
        }

    def with_stranger(self, user: int, at_ms: int) -> SourceActivity:
        """Return the document with a stranger's failure; one for each user and hour."""
        if any(each.user == user and 0 <= at_ms - each.at_ms < HOUR_MS for each in self.strangers):
            return self
        strangers = sorted((*self.strangers, UnfamiliarUser(at_ms, user)))[-MAX_STRANGERS:]
        return replace(self, strangers=strangers, newest_ms=max(self.newest_ms, at_ms))

    def with_user(self, user: int, at_ms: int, *, is_new: bool, is_new_today: bool) -> SourceActivity:
        """Return the document with a success that taught; what is new comes from the user's profile."""
        users, older = self.users, self.older_users
        if user in users or is_new:
            users = {**users, user: min(users.get(user, at_ms), at_ms)}
        if len(users) > MAX_USERS:
            del users[min(users, key=lambda each: (users[each], each))]
            older += 1
        days = _with_day(self.user_days, at_ms) if is_new_today else self.user_days
        newest_ms = max(self.newest_ms, at_ms)
        return SourceActivity(users, older, days, self.strangers, self.accounts, newest_ms)

    def with_account(self, account: Account) -> SourceActivity:
        """Return the document with a success on this device; one for each user and network."""
        known = {(each.user, each.network): each for each in self.accounts}
        earlier = known.get((account.user, account.network), account)
        known[account.user, account.network] = min(earlier, account)
        accounts = sorted(known.values())[-MAX_ACCOUNTS:]
        return replace(self, accounts=accounts, newest_ms=max(self.newest_ms, account.at_ms))


def _with_day(user_days: dict[int, int], at_ms: int) -> dict[int, int]:
    day = at_ms // DAY_MS
    days = {**user_days, day: user_days.get(day, 0) + 1}
    if len(days) > MAX_DAYS:
        del days[min(days)]
    return days


LENGTHS_MS = {"slots": 10 * MINUTE_MS, "hours": HOUR_MS, "days": DAY_MS}
MAX_PERIODS = {"slots": 24, "hours": 48, "days": 21}


class Tally(NamedTuple):
    """Counts of one period.

    `users` counts each user once a day, `strange_successes` those with a stranger's values.
    """

    successes: int = 0
    strangers: int = 0
    users: int = 0
    strange_successes: int = 0


_EMPTY = Tally()


def _add(first: Tally, second: Tally) -> Tally:
    return Tally(first[0] + second[0], first[1] + second[1], first[2] + second[2], first[3] + second[3])


class StoredCrowdActivity(TypedDict):
    """The JSON form of a document, as `to_json` writes it."""

    periods: dict[str, list[list[int]]]
    newest_ms: int


@dataclass(slots=True)
class CrowdActivity:
    """Tallies of the newest slots of ten minutes, hours, and days, by the number of the period since 1970."""

    periods: dict[str, dict[int, Tally]] = field(default_factory=lambda: {name: {} for name in LENGTHS_MS})
    newest_ms: int = 0

    @classmethod
    def from_json(cls, stored: JsonObject) -> CrowdActivity:
        """Read what `to_json` made."""
        document = cast(StoredCrowdActivity, stored)
        periods = {name: {line[0]: Tally(*line[1:]) for line in lines} for name, lines in document["periods"].items()}
        return cls(periods, document["newest_ms"])

    def to_json(self) -> JsonObject:
        """Return `[period, successes, strangers, users, strange_successes]` for each period."""
        lines = {
            name: [[number, *tally] for number, tally in tallies.items()] for name, tallies in self.periods.items()
        }
        return {"periods": lines, "newest_ms": self.newest_ms}

    @property
    def expires_at_ms(self) -> int:
        """When the document may be dropped."""
        return self.newest_ms + SOURCE_TTL_MS

    def sum_window(self, name: str, count: int, at_ms: int) -> Tally:
        """Sum the last `count` whole periods before that moment; after hours, the whole slots of the hour that runs."""
        now = at_ms // LENGTHS_MS[name]
        total = self._sum_periods(name, now - count, now)
        if name != "hours":
            return total
        first, end = (at // LENGTHS_MS["slots"] for at in (now * HOUR_MS, at_ms))
        return _add(total, self._sum_periods("slots", first, end))

    def _sum_periods(self, name: str, first: int, end: int) -> Tally:
        total = _EMPTY
        for number, tally in self.periods[name].items():
            if first <= number < end:
                total = _add(total, tally)
        return total

    def count_user_days(self, at_ms: int) -> int:
        """Count, over the whole days before that day, the users of each."""
        return self.sum_window("days", MAX_PERIODS["days"], at_ms).users

    def past_days(self, at_ms: int) -> list[Tally]:
        """Return the whole days before that day."""
        return [tally for day, tally in self.periods["days"].items() if day < at_ms // DAY_MS]

    def with_counts(self, at_ms: int, added: Tally) -> CrowdActivity:
        """Return the document with counts added to the periods of that moment."""
        periods = {
            name: _with_tally(name, tallies, at_ms // LENGTHS_MS[name], added) for name, tallies in self.periods.items()
        }
        return CrowdActivity(periods, max(self.newest_ms, at_ms))


def _with_tally(name: str, tallies: dict[int, Tally], number: int, added: Tally) -> dict[int, Tally]:
    kept = {**tallies, number: _add(tallies.get(number, _EMPTY), added)}
    if len(kept) > MAX_PERIODS[name]:
        del kept[min(kept)]
    return kept


DetectorDocument = UserProfile | FailureHistory | SourceActivity | CrowdActivity


class DocumentKey(NamedTuple):
    """The name of a document within its tenant."""

    kind: str
    value: str


class DocumentStore(Protocol):
    """Holds one tenant's documents; the service's is a table, a backtest's a dict."""

    def load(self, keys: tuple[DocumentKey, ...]) -> Mapping[DocumentKey, DetectorDocument]:
        """Return the documents of those keys that have one."""

    def save(self, documents: Mapping[DocumentKey, DetectorDocument]) -> None:
        """Replace these documents."""


_TYPES: dict[str, type[DetectorDocument]] = {
    "user": UserProfile,
    "failures": FailureHistory,
    "address": SourceActivity,
    "device": SourceActivity,
    "network": SourceActivity,
    "client": CrowdActivity,
    "country": CrowdActivity,
    "tenant": CrowdActivity,
}
KINDS = tuple(_TYPES)


def document_from_json(kind: str, stored: JsonObject) -> DetectorDocument:
    """Read the JSON form of a document (`document.to_json()`).

    Raises:
        ValidationFailed: there is no such kind of document.
    """
    if kind not in _TYPES:
        raise ValidationFailed(f"{kind!r} is no kind of document; use one of {', '.join(KINDS)}.")
    return _TYPES[kind].from_json(stored)


def expires_at(document: DetectorDocument) -> datetime:
    """Return when a document may be dropped, because no score depends on it any more."""
    return datetime.fromtimestamp(document.expires_at_ms / 1000, UTC)


def find_current(
    documents: Mapping[DocumentKey, DetectorDocument], key: DocumentKey, at_ms: int
) -> DetectorDocument | None:
    """Return the document of a key, unless it had expired at that moment: who was away for so long is new.

    The time is that of the login, so a past that is learnt today gives the documents of a life through it. When a
    store deletes an expired document makes no difference.
    """
    document = documents.get(key)
    return None if document is None or document.expires_at_ms < at_ms else document


class MemoryDocuments:
    """Documents in a dict, for backtests and tests."""

    def __init__(self) -> None:
        self.documents: dict[DocumentKey, DetectorDocument] = {}

    def load(self, keys: tuple[DocumentKey, ...]) -> Mapping[DocumentKey, DetectorDocument]:
        """Return the documents of those keys that have one."""
        return {key: self.documents[key] for key in keys if key in self.documents}

    def save(self, documents: Mapping[DocumentKey, DetectorDocument]) -> None:
        """Replace these documents."""
        self.documents.update(documents)
