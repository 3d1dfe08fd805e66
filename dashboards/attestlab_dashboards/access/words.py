"""Words and marks of the page about access: the same for a state, a role or a last use in every pane."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from markupsafe import Markup

from attestlab_dashboards import icons
from attestlab_dashboards.formats import time_tag
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.widgets import Tone, pill

IDLE_DAYS: Final = 90
RECENT_DAYS: Final = 7
USE_WORDS: Final[Mapping[str, str]] = {
    "recent": f"Used in {RECENT_DAYS} days",
    "idle": f"Unused for {IDLE_DAYS} days",
    "never": "Never used",
}
STATE_WORDS: Final[Mapping[str, str]] = {"active": "has access", "invited": "invited", "ended": "ended"}
_TONES: Final[Mapping[str, tuple[Tone, str]]] = {
    "ACTIVE": ("good", "check"),
    "INVITED": ("info", "clock"),
    "REMOVED": ("calm", "minus"),
    "REVOKED": ("bad", "cross"),
    "EXPIRED": ("calm", "clock"),
}
_SHOWN_SCOPES: Final = 2


def draw_status(status: str) -> Markup:
    """Draw the state of a person or a key."""
    tone, glyph = _TONES.get(status, ("calm", "minus"))
    return pill(status.lower(), tone, glyph)


def draw_roles(roles: Iterable[str]) -> Markup:
    """Draw the roles of a person in words."""
    words = ", ".join(role.replace("_", " ") for role in roles)
    return html("{words}", words=words) if words else html('<span class="muted">none</span>')


def draw_last_use(at: datetime | None, now: datetime) -> Markup:
    """Draw when something was last used; what was unused for long is marked."""
    if at is None:
        return html('<span class="muted">never</span>')
    if (now - at).days >= IDLE_DAYS:
        return html('<span class="warn">{icon} {at}</span>', icon=icons.draw("warn"), at=time_tag(at, now))
    return time_tag(at, now)


def draw_few_scopes(scopes: list[str]) -> Markup:
    """Draw how much a key may do in one line; its drawer has all of it."""
    more = len(scopes) - _SHOWN_SCOPES
    return html(
        '<span title="{all}">{shown}{more}</span>',
        all=" ".join(scopes),
        shown=", ".join(scopes[:_SHOWN_SCOPES]),
        more=f" and {more} more" if more > 0 else "",
    )


def draw_scopes(scopes: Iterable[str]) -> Markup:
    """Draw all scopes of a key; those that change something are marked."""
    return html('<span class="ac-scopes">{scopes}</span>', scopes=join(map(_draw_scope, scopes), html(" ")))


def _draw_scope(scope: str) -> Markup:
    changes = not scope.endswith(":read")
    return html('<code class="{css}">{scope}</code>', css="ac-writes" if changes else "", scope=scope)
