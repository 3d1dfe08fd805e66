"""Words and marks of issuer governance: the same for a tier, a rating or a status in every pane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab.client.handles.issuers import IssuerRequestHandle
from attestlab.issuers.rules import RiskRating, TrustTier
from attestlab_dashboards import icons
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.widgets import Tone, pill

TIERS: Final = tuple(tier.value for tier in TrustTier)  # the lowest first
RISKS: Final = tuple(rating.value for rating in RiskRating)
_TONES: Final[Mapping[str, tuple[Tone, str]]] = {
    "ACTIVE": ("good", "check"),
    "SUSPENDED": ("warn", "clock"),
    "REVOKED": ("bad", "cross"),
    "active": ("good", "check"),
    "pending": ("info", "clock"),
    "rotated": ("calm", "minus"),
    "revoked": ("bad", "cross"),
    "compromised": ("bad", "warn"),
    "PENDING": ("info", "clock"),
    "APPROVED": ("good", "check"),
    "REJECTED": ("bad", "cross"),
    "EXECUTED": ("calm", "check"),
    "delivered": ("good", "check"),
    "retrying": ("warn", "clock"),
    "failed": ("bad", "cross"),
    "disabled": ("warn", "minus"),
}
_RISK_COLOURS: Final = {"LOW": "green", "MEDIUM": "amber", "HIGH": "red", "CRITICAL": "red"}
_REQUESTS: Final = {
    "SUSPEND_ISSUER": "suspend {name}",
    "REINSTATE_ISSUER": "reinstate {name}",
    "REVOKE_ISSUER": "revoke {name}",
    "CHANGE_TRUST_TIER": "give {name} the tier {value}",
    "CHANGE_RISK_RATING": "rate the risk of {name} {value}",
}


class StandingChange(NamedTuple):
    """A change of tier, risk or status: `is_up` follows the value, `is_worse` is the judgement."""

    what: str
    was: str
    is_now: str
    is_up: bool
    is_worse: bool


def write_word(value: str) -> str:
    """Write a tier, a rating or a status for people.

    >>> write_word("SELF_SIGNED"), write_word("LOW")
    ('Self-signed', 'Low')
    """
    return value.replace("_", "-").capitalize()


def draw_status(status: str) -> Markup:
    """Draw the status of an issuer, a key or a request."""
    tone, glyph = _TONES.get(status, ("calm", "minus"))
    return pill(status.lower(), tone, glyph)


def draw_risk(rating: str) -> Markup:
    """Draw a risk rating as bars and a word."""
    level, colour = RISKS.index(rating) + 1, _RISK_COLOURS[rating]
    bars = join(
        html('<i class="f-{colour}"></i>', colour=colour) if place < level else html("<i></i>")
        for place in range(len(RISKS))
    )
    return html(
        '<span class="is-risk"><span class="is-bars" aria-hidden="true">{bars}</span>{word}</span>',
        bars=bars,
        word=write_word(rating),
    )


def compare_standing(
    tier_then: str | None, tier_now: str, risk_then: str | None, risk_now: str
) -> tuple[StandingChange, ...]:
    """Return what changed between a mint and now, the worse first."""
    changes = [describe_change("risk", risk_then, risk_now), describe_change("tier", tier_then, tier_now)]
    return tuple(sorted((change for change in changes if change), key=lambda change: not change.is_worse))


def describe_change(what: str, was: str | None, is_now: str) -> StandingChange | None:
    """Describe a change of `risk`, `tier` or `status`; None if there is none."""
    if was is None or was == is_now:
        return None
    if what == "status":
        return StandingChange(what, was, is_now, is_now == "ACTIVE", is_now != "ACTIVE")
    order = TIERS if what == "tier" else RISKS
    is_up = order.index(is_now) > order.index(was)
    return StandingChange(what, was, is_now, is_up, is_up == (what == "risk"))


def draw_change(change: StandingChange) -> Markup:
    """Draw a change: the arrow follows the value, the colour is the judgement, the words say both."""
    return html(
        '<span class="is-change {tone}">{icon}{was} to {is_now}</span>',
        tone="bad" if change.is_worse else "good",
        icon=icons.draw("up" if change.is_up else "down"),
        was=write_word(change.was),
        is_now=write_word(change.is_now),
    )


def write_request(type: str, name: str, value: str | None) -> Markup:
    """Write what a request asks for, with the issuer's name in bold: `suspend Orchard Press`."""
    before, _, after = _REQUESTS.get(type, "change {name}").partition("{name}")
    return html(
        "{before}<b>{name}</b>{after}",
        before=before,
        name=name,
        after=after.replace("{value}", write_word(value).lower() if value else ""),
    )


_ASKED: Final = {
    "SUSPEND_ISSUER": "suspension",
    "REINSTATE_ISSUER": "reinstatement",
    "REVOKE_ISSUER": "revocation",
    "CHANGE_TRUST_TIER": "other tier",
    "CHANGE_RISK_RATING": "other risk",
}


def write_asked(request: IssuerRequestHandle) -> str:
    """Write what an open request asks for, beside the status of its issuer."""
    word = _ASKED.get(request.type, "change")
    return f"{word} {'asked' if request.status == 'PENDING' else 'approved'}"
