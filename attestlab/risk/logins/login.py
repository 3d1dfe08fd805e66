"""A login as a caller reports it or JSON has it, and the fingerprints under which its values are remembered.

The service reads the lines of a backfill by the members in JSON, and a client the rows that it must not send.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from attestlab.core.addresses import parse_address
from attestlab.core.countries import parse_location
from attestlab.core.encoding import format_time, parse_time
from attestlab.core.errors import ValidationFailed
from attestlab.core.placeholders import is_placeholder
from attestlab.risk.rules import (
    ENTITY_ID,
    MAX_ENTITY_ID_LENGTH,
    Entity,
    EntityType,
    names_nothing,
    require_known_members,
    require_named,
    resolve_occurrence,
    spell_id,
)

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

    A placeholder, such as the device `unknown` or the country ZZ, counts as missing. `country` is an ISO 3166-1 alpha-2
    code in either case, or XK for Kosovo, and wins over the country of the address.

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
        object.__setattr__(self, "subject_id", spell_id(EntityType.USER, self.subject_id))
        require_named(Entity(EntityType.USER, self.subject_id), "/subject_id")
        for name, read in _READERS.items():
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else read(value))

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
def _spell_address(ip: str) -> str | None:
    """Return the one spelling of an address, so that a network or device is known again however clients write it."""
    if names_nothing(EntityType.IP, ip):
        return None
    address = parse_address(ip.strip())
    if address is None:
        raise ValidationFailed.of("/ip", "invalid", f"ip is {ip[:60]!r}; send an IPv4 or IPv6 address.")
    return str(address)


def _read_country(text: str) -> str | None:
    try:
        return parse_location(text)
    except ValueError as error:
        raise ValidationFailed.of("/country", "invalid", f"country: {error}") from None


def _read_text(text: str) -> str | None:
    return None if is_placeholder(text) else text


def _read_device(text: str) -> str | None:
    return _read_text(spell_id(EntityType.DEVICE, text))


_READERS: Final[Mapping[str, Callable[[str], str | None]]] = {
    "ip": _spell_address,
    "device_id": _read_device,
    "country": _read_country,
    "user_agent": _read_text,
}


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


REQUIRED = ("subject_id", "outcome", "occurred_at")
_OPTIONAL = ("ip", "device_id", "country", "user_agent")
MEMBERS = frozenset((*REQUIRED, *_OPTIONAL, "backfill"))
MAX_AGE = timedelta(days=1827)  # five years


def read_login(members: Mapping[str, object], *, now: datetime) -> Login:
    """Read the members of a login of the past.

    Raises:
        ValidationFailed: a member is missing, unknown or not acceptable; the error names it.
    """
    require_known_members(members, MEMBERS)
    texts = {name: _take_text(members, name) for name in (*REQUIRED, *_OPTIONAL)}
    if missing := [name for name in REQUIRED if texts[name] is None]:
        raise ValidationFailed.of(f"/{missing[0]}", "missing", f"Missing members: {', '.join(missing)}.")
    if members.get("backfill", True) is not True:
        raise ValidationFailed.of("/backfill", "backfill", "`backfill` must be true here. Leave it out.")
    for name in ("subject_id", "device_id"):
        _require_id(name, texts[name])
    if texts["user_agent"] == "":
        raise ValidationFailed.of("/user_agent", "empty", "`user_agent` is empty. Leave it out.")
    occurred_at = resolve_occurrence(parse_time(texts.pop("occurred_at") or "", field="/occurred_at"), now)
    return Login(occurred_at=occurred_at, **texts)  # type: ignore[arg-type]  # the required ones are there


def require_within_years(occurred_at: datetime, now: datetime) -> None:
    """Require that a login is not too old for a past that is loaded.

    Raises:
        ValidationFailed: it is.
    """
    if occurred_at < now - MAX_AGE:
        message = (
            f"{format_time(occurred_at)} is over five years ago. Leave out logins before {now - MAX_AGE:%Y-%m-%d}."
        )
        raise ValidationFailed.of("/occurred_at", "too_old", message)


def _take_text(members: Mapping[str, object], name: str) -> str | None:
    value = members.get(name)
    if value is not None and not isinstance(value, str):
        raise ValidationFailed.of(f"/{name}", "type", f"`{name}` must be a text.")
    return value


def _require_id(name: str, value: str | None) -> None:
    if value is not None and not ENTITY_ID.fullmatch(value):
        message = f"`{name}` must have 1 to {MAX_ENTITY_ID_LENGTH} characters and no control characters."
        raise ValidationFailed.of(f"/{name}", "entity_id", message)
