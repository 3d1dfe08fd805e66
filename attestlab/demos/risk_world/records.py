"""What the generator yields: logins and signals, each with its truth."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from attestlab.risk.logins.login import Login


class Kind(StrEnum):
    """Why a login or signal happened; everything from STUFFING on is an attack."""

    ORDINARY = "ordinary"
    TYPO = "typo"
    FORGOTTEN_PASSWORD = "forgotten_password"
    STALE_PASSWORD = "stale_password"
    NEW_PHONE = "new_phone"
    TRAVELLER = "traveller"
    VPN = "vpn"
    PRIVATE_MODE = "private_mode"
    SHARED_COMPUTER = "shared_computer"
    OFFICE_NAT = "office_nat"
    CARRIER_NAT = "carrier_nat"
    MAIL_CAMPAIGN = "mail_campaign"
    STUFFING = "stuffing"
    SPRAYING = "spraying"
    CAREFUL_SPRAYING = "careful_spraying"
    LOW_AND_SLOW = "low_and_slow"
    TAKEOVER = "takeover"
    IMPOSSIBLE_TRAVEL = "impossible_travel"
    DEVICE_FARM = "device_farm"
    ISSUER_COLLUSION = "issuer_collusion"
    MEDIA_BATCH = "media_batch"

    @property
    def is_attack(self) -> bool:
        """Whether this is the attacker's doing."""
        return self in ATTACKS


LOGIN_ATTACKS = (
    Kind.STUFFING,
    Kind.SPRAYING,
    Kind.CAREFUL_SPRAYING,
    Kind.LOW_AND_SLOW,
    Kind.TAKEOVER,
    Kind.IMPOSSIBLE_TRAVEL,
    Kind.DEVICE_FARM,
)
ATTACKS = frozenset((*LOGIN_ATTACKS, Kind.ISSUER_COLLUSION, Kind.MEDIA_BATCH))
INNOCENT_LOGINS = tuple(kind for kind in Kind if kind not in ATTACKS)


@dataclass(frozen=True, slots=True)
class LabelledLogin:
    """A login with its truth; attacks have the id of their campaign."""

    login: Login
    kind: Kind
    campaign_id: str | None = None


@dataclass(frozen=True, slots=True)
class LabelledSignal:
    """A risk signal of another source than logins, with its truth."""

    source: str
    signal_type: str
    entity_type: str
    entity_id: str
    score: float
    occurred_at: datetime
    details: dict[str, str]
    kind: Kind
    campaign_id: str | None = None
