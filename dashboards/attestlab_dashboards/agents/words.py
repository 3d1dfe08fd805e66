"""Words and marks of the page about agents: the same for a state, a scope or an owner in every pane."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from markupsafe import Markup

from attestlab_dashboards import icons
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.widgets import Tone, pill

_TONES: Final[Mapping[str, tuple[Tone, str]]] = {
    "active": ("good", "check"),
    "suspended": ("warn", "clock"),
    "revoked": ("bad", "cross"),
    "running": ("info", "play"),
    "completed": ("good", "check"),
    "failed": ("bad", "cross"),
    "canceled": ("calm", "minus"),
    "skipped": ("calm", "minus"),
    "confirm": ("good", "check"),
    "deny": ("bad", "cross"),
    "abstain": ("calm", "minus"),
    "expired": ("calm", "minus"),
    "terminated": ("calm", "cross"),
    "rotated": ("calm", "minus"),
    "compromised": ("bad", "warn"),
}
FINDING_WORDS: Final[Mapping[str, str]] = {
    "ownerless": "No person answers",
    "wildcard": "Wildcard",
    "no_expiry": "No expiry",
    "old_key": "Key over 90 days",
    "idle": "Idle for 30 days",
    "expiring": "Ends within 7 days",
}


def draw_status(status: str) -> Markup:
    """Draw the state of an agent, a session, a key, a run or a step, or the verdict of a vote."""
    tone, glyph = _TONES.get(status, ("calm", "minus"))
    return pill(status, tone, glyph)


def draw_scopes(scopes: Iterable[str]) -> Markup:
    """Draw scopes as small marks; denies are struck through, and say so."""
    drawn = [_draw_scope(scope) for scope in scopes]
    if not any(not scope.startswith("!") for scope in scopes):
        drawn.insert(0, html('<span class="muted">nothing</span>'))
    return html('<span class="ag-scopes">{scopes}</span>', scopes=join(drawn, html(" ")))


def _draw_scope(scope: str) -> Markup:
    if scope.startswith("!"):
        return html(
            '<code class="ag-deny"><span class="al-hidden">never </span>{scope}</code>', scope=scope.removeprefix("!")
        )
    if scope.endswith(":*"):
        return html('<code class="ag-wild">{icon}{scope}</code>', icon=icons.draw("warn"), scope=scope)
    return html("<code>{scope}</code>", scope=scope)


def draw_owner(owner_id: str | None, names: Mapping[str, str], *, has_left: bool = False) -> Markup:
    """Draw the person who answers for an agent; a viewer who may not read `names` sees the end of their id."""
    if owner_id is None:
        return html('<span class="warn">{icon} no person</span>', icon=icons.draw("warn"))
    if has_left or (names and owner_id not in names):
        return html('<span class="warn">{icon} a person who left</span>', icon=icons.draw("warn"))
    return html("{name}", name=names.get(owner_id) or f"person …{owner_id[-6:]}")


def plural(number: int, noun: str) -> str:
    """Write a number with its noun.

    >>> plural(1, "agent"), plural(1204, "session")
    ('1 agent', '1,204 sessions')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
