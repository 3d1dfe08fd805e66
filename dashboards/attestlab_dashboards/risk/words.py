"""How sources, types and entities are called on the page, and which icon and state pill they have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from markupsafe import Markup

from attestlab.portal.rules import shorten_middle
from attestlab.risk.rules import Entity, EntityType
from attestlab_dashboards import icons
from attestlab_dashboards.formats import day
from attestlab_dashboards.risk.windows import Period
from attestlab_dashboards.safe import NOTHING, html
from attestlab_dashboards.widgets import Tone, pill

KINDS: Final[Mapping[str, tuple[str, str, str]]] = {
    EntityType.USER: ("User", "users", "user"),
    EntityType.DEVICE: ("Device", "devices", "device"),
    EntityType.IP: ("IP address", "IP addresses", "globe"),
    EntityType.DOCUMENT: ("Document", "documents", "document"),
    EntityType.SESSION: ("Session", "sessions", "clock"),
    EntityType.ISSUER: ("Issuer", "issuers", "issuers"),
    EntityType.ATTESTATION: ("Attestation", "attestations", "check"),
}
"""The singular, the plural and the icon of each type of entity."""
SCORE_BANDS: Final = ("0-20", "20-40", "40-60", "60-80", "80-100")
_NAMES: Final = {
    "ato": "Account takeover",
    "ip": "IP address",
    "geo_anomaly": "Unusual place",
    "count_1m": "Within a minute",
    "count_5m": "Within 5 minutes",
    "count_1h": "Within an hour",
    "count_24h": "Within a day",
    "limits": "Velocity limits",
    "surge_tenant": "Surge of failed logins",
    "surge_country": "Surge from one country",
    "surge_client": "Surge of one client",
    "spraying_device": "Many users, one device",
    "spraying_address": "Many users, one address",
    "spraying_network": "Many users, one network",
    "device_farm": "One device, many users",
    "unusual_values": "Unusual device or place",
    "after_flagged_success": "After a flagged login",
    "deny_list": "On the deny list",
    "c2pa_broken": "Broken content credentials",
    "mapping": "Rule for such events",
}
"""What is not clear from the name that the service gives; other names read as their words."""
_STATES: Final[Mapping[str, tuple[str, Tone, str]]] = {
    "open": ("open case", "bad", "up"),
    "challenged": ("challenged", "info", "key"),
    "fraud": ("confirmed fraud", "bad", "cross"),
    "legitimate": ("cleared", "good", "check"),
    "inconclusive": ("inconclusive", "calm", "minus"),
}


def name_of(value: str) -> str:
    """Return the words of a source, a type or a factor.

    >>> name_of("geo_anomaly"), name_of("count_1m"), name_of("indicator.face_swap"), name_of("slow_guessing")
    ('Unusual place', 'Within a minute', 'Face swap', 'Slow guessing')
    """
    return _NAMES.get(value, value.removeprefix("indicator.").replace("_", " ").capitalize())


_KIND_OF_SIGNAL: Final = re.compile(r"(?<= of )([a-z0-9_]+)/([a-z0-9_.]+)(?= scored )")


def write_reason(why: str) -> str:
    """Write why a case was opened as the service says it, with words for source and type.

    >>> write_reason("A signal of login/ato scored 99.75.")
    'A signal of Account takeover (Login) scored 99.75.'
    """
    return _KIND_OF_SIGNAL.sub(lambda found: f"{name_of(found[2])} ({name_of(found[1])})", why)


def kind_of(kind: str) -> str:
    """Return the words of a type of entity."""
    return KINDS[kind][0] if kind in KINDS else name_of(kind)


def label_of(entity: Entity, names: Mapping[str, str]) -> str:
    """Return what an entity is called: the name of an issuer, else its id, shortened in the middle."""
    label = names.get(entity.id, entity.id) if entity.type is EntityType.ISSUER else entity.id
    return shorten_middle(label, 24, 12)


def draw_entity(entity: Entity, names: Mapping[str, str]) -> Markup:
    """Draw an entity: its icon and what it is called; the type and the whole id on hover."""
    is_named = entity.type is EntityType.ISSUER and entity.id in names
    return html(
        '<span class="rk-entity" title="{kind} {id}">{icon}<span{mono}>{label}</span></span>',
        kind=kind_of(entity.type),
        id=entity.id,
        icon=icons.draw(KINDS[entity.type][2]),
        mono=NOTHING if is_named or entity.type is EntityType.USER else html(' class="mono"'),
        label=label_of(entity, names),
    )


def draw_state(state: str) -> Markup:
    """Draw the state of an entity, by its last case and challenge."""
    if state not in _STATES:
        return html('<span class="muted">no case</span>')
    return pill(*_STATES[state])


def write_step(start: datetime, period: Period) -> str:
    """Write when a step begins: a day, a week from a day, or an hour of a day."""
    text = day(start, period.window_end)
    if period.step < timedelta(days=1):
        return f"{text}, {start:%H:%M}"
    if period.step == timedelta(days=1):
        return text
    return f"the week from {text}" if period.step.days == 7 else f"the {period.step.days} days from {text}"
