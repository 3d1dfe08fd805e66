"""The members of a login of the past as JSON has them, and the rules that each of them keeps.

The service reads the lines of a backfill by them, and a client the rows that it must not send.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from attestlab.core.encoding import format_time, parse_time
from attestlab.core.errors import ValidationFailed
from attestlab.risk.logins.login import Login
from attestlab.risk.rules import ENTITY_ID, MAX_ENTITY_ID_LENGTH, require_known_members, resolve_occurrence

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
    texts = {name: _read_text(members, name) for name in (*REQUIRED, *_OPTIONAL)}
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


def _read_text(members: Mapping[str, object], name: str) -> str | None:
    value = members.get(name)
    if value is not None and not isinstance(value, str):
        raise ValidationFailed.of(f"/{name}", "type", f"`{name}` must be a text.")
    return value


def _require_id(name: str, value: str | None) -> None:
    if value is not None and not ENTITY_ID.fullmatch(value):
        message = f"`{name}` must have 1 to {MAX_ENTITY_ID_LENGTH} characters and no control characters."
        raise ValidationFailed.of(f"/{name}", "entity_id", message)
