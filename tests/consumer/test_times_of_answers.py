"""No measurable time tells whether an address has an account: 200 pairs over HTTP, against 200 equal pairs.

Each round sends four requests in a changing order: for an address with an account, and for three without one. The
first two are a pair, the others an equal pair, whose differences are the noise of this machine at this moment, busy or
not. Both use the median, which single slow answers do not move.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import permutations
from statistics import median

import httpx
import pytest
from argon2 import PasswordHasher

from attestlab.core.clock import FixedClock
from attestlab.core.crypto import passwords
from attestlab.orgs.rules import Plan, Scope
from support.consumers import PASSWORD, ConsumerPortal, make_signup
from support.orgs import TenantClients

PAIRS = 200
ORDERS = list(permutations(range(4)))
BETWEEN = timedelta(minutes=10)  # between two requests, so that no limit of an hour is reached
MAX_DEVIATIONS = 5  # of the median, which is normal whatever the noise: no false alarm in a million runs
RESOLUTION_S = 1e-4  # less cannot be measured over a network

SLOW = PasswordHasher(time_cost=1, memory_cost=8192, parallelism=1)  # some milliseconds: a missing hash shows

Ask = Callable[[str], httpx.Response]


@pytest.fixture
def slow_passwords(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hash at a cost that a clock notices; other tests hash at the smallest one."""
    monkeypatch.setattr(passwords, "_hasher", lambda: SLOW)
    passwords._dummy_hash.cache_clear()
    yield
    monkeypatch.undo()
    passwords._dummy_hash.cache_clear()


@contextmanager
def open_asks(portal: ConsumerPortal) -> Iterator[dict[str, Ask]]:
    tenant = portal.lab.orgs.create_tenant("Southfield", plan=Plan.ENTERPRISE)
    anyone = portal.anyone
    with TenantClients(portal.lab, portal.url, tenant).with_key(Scope.USERS_READ, Scope.USERS_WRITE) as team:
        yield {
            "sign-in": lambda email: portal.login(email, "the password of none"),
            "sign-up": lambda email: anyone.post("/v1/consumer/signup", json=make_signup(email)),
            "password": lambda email: anyone.post("/v1/auth/password/forgot", json={"email": email}),
            "invitation": lambda email: team.post("/v1/users", json={"email": email, "role": "member"}),
        }


def measure(portal: ConsumerPortal, ask: Ask, email: str) -> float:
    """Ask once; return the seconds until the answer."""
    assert isinstance(portal.lab.clock, FixedClock)
    portal.lab.clock.advance(BETWEEN)
    begun = time.perf_counter()
    answer = ask(email)
    took_s = time.perf_counter() - begun
    assert answer.status_code in (201, 202, 401), answer.text
    return took_s


def measure_pairs(portal: ConsumerPortal, ask: Ask) -> tuple[list[float], list[float]]:
    """Return the differences of pairs, known less unknown, and those of equal pairs."""
    pairs, equal_pairs = [], []
    for number in range(PAIRS):
        emails = [f"{name}{number:03d}@people.example" for name in ("knows", "fresh", "other", "third")]
        took = [0.0] * 4
        for place in ORDERS[number % len(ORDERS)]:
            took[place] = measure(portal, ask, emails[place])
        pairs.append(took[0] - took[1])
        equal_pairs.append(took[2] - took[3])
    return pairs, equal_pairs


def deviation_of_median(differences: list[float]) -> float:
    """Estimate the standard deviation of the median from the median absolute deviation (1.48), times 1.25 for it."""
    middle = median(differences)
    return 1.25 * 1.48 * median(abs(each - middle) for each in differences) / len(differences) ** 0.5


@pytest.mark.usefixtures("slow_passwords")
@pytest.mark.parametrize("question", ["sign-in", "sign-up", "password", "invitation"])
def test_the_median_of_200_pairs_is_within_the_noise_of_200_equal_pairs(portal: ConsumerPortal, question: str) -> None:
    for number in range(PAIRS):
        portal.lab.orgs.add_consumer(f"knows{number:03d}@people.example", PASSWORD, name="Ada")
    with open_asks(portal) as asks:
        for warm_up in range(8):
            measure(portal, asks[question], f"first{warm_up}@people.example")
        pairs, equal_pairs = measure_pairs(portal, asks[question])

    noise_s = max(deviation_of_median(pairs), deviation_of_median(equal_pairs))
    bound_s = max(RESOLUTION_S, MAX_DEVIATIONS * noise_s)
    assert abs(median(equal_pairs)) <= bound_s, "the measurement itself is not fair"
    assert abs(median(pairs)) <= bound_s, f"{question}: {median(pairs):.6f} s, bound {bound_s:.6f} s"
