"""Plain detectors to compare ours with: the ladder, failures of an address, and the likelihood ratio."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from math import log
from typing import Protocol

from attestlab.risk.logins.login import Login, classify_client
from attestlab.risk.logins.parameters import DAY_MS, HOUR_MS
from attestlab.risk.logins.places import Locator
from attestlab.risk.logins.scoring import read_ladder


class Baseline(Protocol):
    """Gives a login a score; higher is more suspicious."""

    def score(self, login: Login) -> float:
        """Score a login, and learn from it."""


class Ladder:
    """The failures of the user within an hour."""

    def __init__(self) -> None:
        self._failures: defaultdict[str, deque[int]] = defaultdict(deque)

    def score(self, login: Login) -> float:
        """Return the ladder's score."""
        return read_ladder(_count_recent(self._failures[login.subject_id], login, HOUR_MS))


class AddressFailures:
    """The failures of the address within a day."""

    def __init__(self) -> None:
        self._failures: defaultdict[str, deque[int]] = defaultdict(deque)

    def score(self, login: Login) -> float:
        """Return the number of failures."""
        return _count_recent(self._failures[login.ip or ""], login, DAY_MS)


def _count_recent(failures: deque[int], login: Login, window_ms: int) -> int:
    if login.is_failure:
        failures.append(login.at_ms)
    while failures and failures[0] <= login.at_ms - window_ms:
        failures.popleft()
    return len(failures)


class LikelihoodRatio:
    """The ratio of Freeman et al. over all time: address, network and country by back-off, device, client."""

    def __init__(self, locator: Locator) -> None:
        self._locator = locator
        self._of_all: Counter[tuple[str, str]] = Counter()
        self._of_user: Counter[tuple[str, str, str]] = Counter()
        self._successes: Counter[str] = Counter()
        self._total = 0

    def score(self, login: Login) -> float:
        """Return the logarithm of the ratio; 0 for a user without a success."""
        place = self._locator.locate(login.ip) if login.ip else None
        client = classify_client(login.user_agent) if login.user_agent else ""
        values = {
            "country": login.country or (place.country if place else None) or "",
            "network": place.network if place else "",
            "address": login.ip or "",
            "device": login.device_id or "",
            "client": client,
        }
        ratio = self._ratio(login.subject_id, values) if self._successes[login.subject_id] else 0.0
        if not login.is_failure:
            self._learn(login.subject_id, values)
        return ratio

    def _ratio(self, user: str, values: dict[str, str]) -> float:
        place = self._smooth(user, "country", values, 0.05)
        place = self._smooth(user, "network", values, place)
        place = self._smooth(user, "address", values, place)
        return (
            log(place)
            + log(self._smooth(user, "device", values, 0.05))
            + log(self._smooth(user, "client", values, 0.2))
        )

    def _smooth(self, user: str, name: str, values: dict[str, str], prior: float) -> float:
        """Return share of all / share of the user, where `prior` is the inverse ratio of the next wider feature."""
        value = values[name]
        of_all = (self._of_all[name, value] + 0.5) / (self._total + 1)
        of_user = self._of_user[user, name, value] / self._successes[user]
        return 1 / (0.7 * of_user / of_all + 0.3 * (1 / prior if name in ("network", "address") else prior / 0.3))

    def _learn(self, user: str, values: dict[str, str]) -> None:
        self._successes[user] += 1
        self._total += 1
        for name, value in values.items():
            self._of_all[name, value] += 1
            self._of_user[user, name, value] += 1
