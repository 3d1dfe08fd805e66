"""A login as a caller reports it, and the fingerprints under which its values are remembered."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b

from attestlab.core.addresses import parse_address
from attestlab.core.countries import LOCATIONS
from attestlab.core.errors import ValidationFailed

MAX_VALUE_CHARS = 512
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_SYSTEMS = (
    ("iPhone", "ios"),
    ("iPad", "ios"),
    ("Android", "android"),
    ("Windows", "windows"),
    ("CrOS", "chromeos"),
    ("Mac OS X", "macos"),
    ("Linux", "linux"),
)
_BROWSERS = (
    ("HeadlessChrome", "headless"),
    ("Edg", "edge"),
    ("OPR/", "opera"),
    ("SamsungBrowser", "samsung"),
    ("Firefox/", "firefox"),
    ("FxiOS", "firefox"),
    ("CriOS", "chrome"),
    ("Chrome/", "chrome"),
    ("Safari/", "safari"),
)
_PRODUCT = re.compile(r"[A-Za-z][\w .-]{0,31}")


class LoginOutcome(StrEnum):
    """Whether the password was right."""

    SUCCESS = "success"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Login:
    """One attempt to log in; every value but subject, outcome and time may be missing.

    `country` is an ISO 3166-1 alpha-2 code, or XK for Kosovo, and wins over the country of the address.

    Raises:
        ValidationFailed: a value is malformed, or the time has no offset.
    """

    subject_id: str
    outcome: LoginOutcome
    occurred_at: datetime
    ip: str | None = None
    device_id: str | None = None
    country: str | None = None
    user_agent: str | None = None

    def __post_init__(self) -> None:
        if self.occurred_at.tzinfo is None:
            raise ValidationFailed.of("/occurred_at", "invalid", "occurred_at has no offset; send one, such as Z.")
        if self.outcome not in ("success", "failure"):
            raise ValidationFailed.of("/outcome", "invalid", f"outcome is {self.outcome!r}; send success or failure.")
        if not self.subject_id:
            raise ValidationFailed.of("/subject_id", "invalid", "subject_id is empty.")
        for name in ("subject_id", "device_id", "user_agent"):
            _require_short(name, getattr(self, name))
        if self.ip is not None:
            object.__setattr__(self, "ip", _spell_address(self.ip))
        if self.country is not None and self.country not in LOCATIONS:
            message = f"country is {self.country!r}; send an ISO 3166-1 alpha-2 code in upper case, or XK."
            raise ValidationFailed.of("/country", "invalid", message)

    @property
    def at_ms(self) -> int:
        """The time in milliseconds since 1970; windows are exact to the millisecond."""
        return count_ms(self.occurred_at)

    @property
    def is_failure(self) -> bool:
        """Whether the password was wrong."""
        return self.outcome == "failure"


def count_ms(moment: datetime) -> int:
    """Return the whole milliseconds since 1970."""
    return (moment - _EPOCH) // _MILLISECOND


def _require_short(name: str, value: str | None) -> None:
    if value is not None and len(value) > MAX_VALUE_CHARS:
        message = f"{name} has {len(value)} characters; at most {MAX_VALUE_CHARS} are accepted."
        raise ValidationFailed.of(f"/{name}", "too_long", message)


@lru_cache(maxsize=4096)
def _spell_address(ip: str) -> str:
    """Return the one spelling of an address, so that a network or device is known again however clients write it."""
    address = parse_address(ip)
    if address is None:
        raise ValidationFailed.of("/ip", "invalid", f"ip is {ip[:60]!r}; send an IPv4 or IPv6 address.")
    return str(address)


@lru_cache(maxsize=16_384)
def fingerprint(value: str) -> int:
    """Return 32 bits of a value's BLAKE2b hash: documents remember values in this short form.

    Two of 100 values of one document collide once in a million documents; a collision makes a value look known.
    """
    return int.from_bytes(blake2b(value.encode(errors="replace"), digest_size=4).digest())


@lru_cache(maxsize=4096)
def classify_client(user_agent: str) -> str:
    """Return browser and system of a user agent without versions, or the first product name of a program.

    >>> classify_client("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/141.0 Safari/537.36")
    'chrome/windows'
    >>> classify_client("python-requests/2.32")
    'python-requests'
    """
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    if browser or system:
        return f"{browser or 'app'}/{system or 'other'}"
    product = _PRODUCT.match(user_agent)
    return product.group().strip().lower() if product else "other"
