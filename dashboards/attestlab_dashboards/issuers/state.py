"""The state of issuer governance: all that its address carries. What is not acceptable is left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from attestlab.core.countries import ALPHA_2
from attestlab.core.errors import ValidationFailed
from attestlab.issuers.rules import IssuerStatus, RiskRating, TrustTier, validate_kid
from attestlab_dashboards.addresses import change_state, one_of, read_time, whole_number, write_time

SORTS: Final = ("name", "status", "tier", "risk", "jurisdiction", "keys", "mints", "change", "last")
AGE_LIMITS: Final = (90, 180, 365)  # days after which a key is due for rotation
DEFAULT_AGE_LIMIT: Final = 365
MAX_PAGE: Final = 100_000
FILTERS: Final = ("status", "tier", "risk", "jurisdiction", "changed")
ISSUER_ASKS: Final = ("suspend", "reinstate", "revoke", "tier", "risk")
KEY_ASKS: Final = ("rotate", "revoke_key", "lose")
REQUEST_ASKS: Final = ("approve", "reject", "execute")
RESEND: Final = "resend"  # a webhook delivery
ADD: Final = "add"  # the one question that is about no object yet


class KeyName(NamedTuple):
    """A key: its issuer and its kid, which is unique within the issuer."""

    issuer_id: str
    kid: str

    def __str__(self) -> str:
        return f"{self.issuer_id}/{self.kid}"

    @classmethod
    def parse(cls, text: str) -> KeyName:
        """Read a name such as `0193b5a0-7f3c-7abc-8def-0123456789ab/registrar-1`.

        Raises:
            ValueError: it is none.
            ValidationFailed: it has no acceptable kid.
        """
        issuer_id, _, kid = text.partition("/")
        return cls(_read_id(issuer_id), validate_kid(kid))


@dataclass(frozen=True)
class IssuerState:
    """What issuer governance shows.

    `key` is the key whose loss is counted, `since` the moment of that loss (UTC), and `issuer` the id of the open
    drawer. `endpoint` is the webhook endpoint whose deliveries are shown. `ask` is the question of the open dialog, and
    `about` the issuer, key, request or delivery that it is about; the registration of a new issuer (`add`) is about
    none. `actor` is the one whose lines alone the audit feed shows.
    """

    status: str = ""
    tier: str = ""
    risk: str = ""
    jurisdiction: str = ""
    changed: bool = False
    sort: str = "-mints"
    page: int = 1
    drift_page: int = 1
    keys_page: int = 1
    trail_page: int = 1
    actor: str = ""
    age_limit: int = DEFAULT_AGE_LIMIT
    key: str = ""
    since: datetime | None = None
    issuer: str = ""
    endpoint: str = ""
    ask: str = ""
    about: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> tuple[IssuerState, tuple[str, ...]]:
        """Read the query of an address; returns the state, and the names that were left out. It never raises."""
        values: dict[str, object] = {}
        left_out: list[str] = []
        for name, text in query.items():
            try:
                values[name] = _READERS[name](text)
            except (KeyError, ValueError, OverflowError, ValidationFailed):
                left_out.append(name)
        if not _is_complete_question(values):
            left_out += [name for name in ("ask", "about") if values.pop(name, None) is not None]
        return replace(cls(), **values), tuple(left_out)  # type: ignore[arg-type]  # the readers have the fields' types

    def to_query(self) -> dict[str, str]:
        """Write the state as the query of an address, without what is the default."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: _write(value) for name, value in values.items() if value != getattr(_DEFAULTS, name)}

    def change(self, **changes: str) -> IssuerState:
        """Return the state with other values, given as in an address; the same state if one is not acceptable."""
        return change_state(self, **changes)

    @property
    def active_filters(self) -> tuple[str, ...]:
        """The names of the filters that are set."""
        return tuple(name for name in FILTERS if getattr(self, name))


def _is_complete_question(values: Mapping[str, object]) -> bool:
    """Whether a question of the dialog is about an object of its kind, or there is none."""
    ask, about = values.get("ask"), values.get("about")
    if ask is None or about is None:
        return about is None and ask in (None, ADD)
    return ask != ADD and ("/" in str(about)) == (ask in KEY_ASKS)


def _read_age_limit(text: str) -> int:
    return int(one_of(*map(str, AGE_LIMITS))(text))


def _read_flag(text: str) -> bool:
    return bool(one_of("1")(text))


def _read_country(text: str) -> str:
    return one_of(*ALPHA_2)(text.upper())


def _read_id(text: str) -> str:
    return str(UUID(text))


def _read_actor(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.:-]{1,64}", text, re.ASCII):
        raise ValueError(text)
    return text


def _read_key(text: str) -> str:
    return str(KeyName.parse(text))


def _read_object(text: str) -> str:
    return _read_key(text) if "/" in text else _read_id(text)


def _write(value: object) -> str:
    if isinstance(value, datetime):
        return write_time(value)
    return "1" if value is True else str(value)


_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    "status": one_of(*IssuerStatus),
    "tier": one_of(*TrustTier),
    "risk": one_of(*RiskRating),
    "jurisdiction": _read_country,
    "changed": _read_flag,
    "sort": one_of(*SORTS, *(f"-{name}" for name in SORTS)),
    **dict.fromkeys(("page", "drift_page", "keys_page", "trail_page"), whole_number(1, MAX_PAGE)),
    "actor": _read_actor,
    "age_limit": _read_age_limit,
    "key": _read_key,
    "since": read_time,
    "issuer": _read_id,
    "endpoint": _read_id,
    "ask": one_of(*ISSUER_ASKS, *KEY_ASKS, *REQUEST_ASKS, RESEND, ADD),
    "about": _read_object,
}
_DEFAULTS: Final = IssuerState()
