"""Logins with valid defaults, and a detector over documents in memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count

from attestlab.risk.logins.detector import LoginAssessment, LoginDetector
from attestlab.risk.logins.documents import MemoryDocuments
from attestlab.risk.logins.login import Login, LoginOutcome
from attestlab.risk.logins.places import IpLocation

FAILURE, SUCCESS = LoginOutcome.FAILURE, LoginOutcome.SUCCESS
MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
CHROME = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/141.0 Safari/537.36"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"


class TestPlaces:
    """The network of an address is its first number; networks from 100 on are abroad."""

    __test__ = False

    def locate(self, ip: str) -> IpLocation:
        first = int(ip.split(".")[0])
        return IpLocation(f"AS{first}", {100: "GB", 101: "SG", 102: "BR"}.get(first, "DE"))


class Tenant:
    """One tenant's logins: a detector, its documents, and short ways to make people."""

    def __init__(self) -> None:
        self.detector = LoginDetector(TestPlaces())
        self.store = MemoryDocuments()
        self._numbers = count(1)

    def assess(
        self,
        subject: str,
        outcome: LoginOutcome,
        at: datetime,
        ip: str | None = "10.0.0.1",
        device: str | None = None,
        agent: str | None = CHROME,
    ) -> LoginAssessment:
        """Assess one login and learn from it."""
        return self.detector.assess(Login(subject, outcome, at, ip, device, None, agent), self.store)

    def settle(self, subjects: list[str], days: int = 6, *, since: datetime = MONDAY) -> datetime:
        """Let users log in from home once a day; returns the next morning."""
        for day in range(days):
            for subject in subjects:
                self.log_in_at_home(subject, since + timedelta(days=day, minutes=len(subject)))
        return since + timedelta(days=days)

    def spray(self, subjects: list[str], *, spared: str) -> datetime:
        """Settle users, then let a spray try all but one within an hour, each from elsewhere; returns its end."""
        now = self.settle(subjects, days=5)
        for n, subject in enumerate(subjects):
            if subject != spared:
                self.assess(subject, FAILURE, now + timedelta(minutes=n), self.fresh_ip(10 + n), f"device-{n}")
        return now + timedelta(minutes=70)

    def log_in_at_home(self, subject: str, at: datetime, outcome: LoginOutcome = SUCCESS) -> LoginAssessment:
        """Assess a login from the user's own address and device."""
        return self.assess(subject, outcome, at, home_of(subject), f"pc-{subject}")

    def fresh_ip(self, network: int = 50) -> str:
        """Return an address that was not used before."""
        number = next(self._numbers)
        return f"{network}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def home_of(subject: str) -> str:
    """Return the user's own address, in one of eight German networks."""
    number = sum(subject.encode()) * 31 + len(subject)
    return f"{10 + number % 8}.1.{hash_to_byte(subject)}.{hash_to_byte(subject[::-1])}"


def hash_to_byte(text: str) -> int:
    """Return a number below 256 that is the same in every process."""
    value = 7
    for character in text.encode():
        value = value * 131 + character & 0xFFFF
    return value >> 4 & 255


def people(number: int) -> list[str]:
    """Return the names of as many users."""
    return [f"user-{each}" for each in range(number)]
