"""The people, keys and sessions of the tenant, loaded once for all panes, and the filters over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from attestlab import Lab
from attestlab.client.collections.api_keys import ApiKeyHandle
from attestlab.client.collections.people import PersonHandle
from attestlab.client.collections.sessions import SessionHandle
from attestlab.core.errors import PermissionDenied
from attestlab_dashboards.access.state import AccessState
from attestlab_dashboards.access.words import IDLE_DAYS, RECENT_DAYS

if TYPE_CHECKING:
    from _typeshed import SupportsRichComparison

    Order = SupportsRichComparison | None

MAX_LISTED: Final = 1_000  # people, keys and sessions, the newest of each
Row = TypeVar("Row", PersonHandle, ApiKeyHandle)
STATUSES: Final[Mapping[str, tuple[str, ...]]] = {
    "active": ("ACTIVE",),
    "invited": ("INVITED",),
    "ended": ("REMOVED", "REVOKED", "EXPIRED"),
}


class _Register(NamedTuple):
    now: datetime
    my_id: str
    people: tuple[PersonHandle, ...]
    keys: tuple[ApiKeyHandle, ...] | None
    sessions: tuple[SessionHandle, ...] | None


class AccessRegister(_Register):
    """Who has access; `keys` and `sessions` are None for a viewer who is neither owner nor admin."""

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The names of people and keys by their ids; people who left have none."""
        people = {str(person.id): person.name or person.email for person in self.people if person.status != "REMOVED"}
        return people | {str(key.id): key.name for key in self.keys or ()}

    @cached_property
    def open_sessions(self) -> Mapping[str, int]:
        """How many open sessions people have, by their ids."""
        return Counter(str(session.user_id) for session in self.sessions or ())

    def find_people(self, state: AccessState) -> list[PersonHandle]:
        """Return the chosen people in the order of the table."""
        found = [
            person
            for person in self.people
            if _is_chosen(person, state, self.now) and state.role in ("", *person.roles)
        ]
        orders: Mapping[str, Callable[[PersonHandle], Order]] = {
            "name": lambda person: (person.name or person.email).casefold(),
            "role": lambda person: " ".join(person.roles),
            "status": lambda person: person.status,
            "sessions": lambda person: self.open_sessions.get(str(person.id), 0),
            "last": lambda person: person.last_used_at,
        }
        return _sort(found, orders, state.sort)

    def find_keys(self, state: AccessState) -> list[ApiKeyHandle]:
        """Return the chosen keys in the order of the table; the role of people chooses none."""
        found = [key for key in self.keys or () if _is_chosen(key, state, self.now)]
        orders: Mapping[str, Callable[[ApiKeyHandle], Order]] = {
            "name": lambda key: key.name.casefold(),
            "status": lambda key: key.status,
            "scopes": lambda key: len(key.scopes),
            "last": lambda key: key.last_used_at,
            "created": lambda key: key.created_at,
        }
        return _sort(found, orders, state.keys_sort)


def load_register(lab: Lab, _state: AccessState) -> AccessRegister:
    """Load all people, and as an owner or admin all keys and open sessions."""
    people = tuple(islice(lab.people.list(limit=MAX_LISTED), MAX_LISTED))
    try:
        keys = tuple(islice(lab.api_keys.list(limit=MAX_LISTED), MAX_LISTED))
        sessions = tuple(islice(lab.sessions.list(everyone=True, limit=MAX_LISTED), MAX_LISTED))
    except PermissionDenied:
        return AccessRegister(lab.now(), str(lab.me().id), people, None, None)
    return AccessRegister(lab.now(), str(lab.me().id), people, keys, sessions)


def is_idle(at: datetime | None, now: datetime) -> bool:
    """Whether something that was used before was not used for long."""
    return at is not None and now - at >= timedelta(days=IDLE_DAYS)


def _is_chosen(row: PersonHandle | ApiKeyHandle, state: AccessState, now: datetime) -> bool:
    if state.state and row.status not in STATUSES[state.state]:
        return False
    match state.use:
        case "never":
            return row.last_used_at is None
        case "idle":
            return is_idle(row.last_used_at, now)
        case "recent":
            return row.last_used_at is not None and now - row.last_used_at < timedelta(days=RECENT_DAYS)
        case _:
            return True


def _sort(rows: Sequence[Row], orders: Mapping[str, Callable[[Row], Order]], by: str) -> list[Row]:
    """Sort rows by a column; those without a value are the last in either direction."""
    order = orders[by.removeprefix("-")]
    valued = [(value, row) for row in rows if (value := order(row)) is not None]
    without = [row for row in rows if order(row) is None]
    in_order = sorted(valued, key=lambda pair: pair[0], reverse=by.startswith("-"))
    return [row for _value, row in in_order] + without
