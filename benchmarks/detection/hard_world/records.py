"""What a hard world yields."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from attestlab.demos.risk_world.records import Kind
from attestlab.risk.logins.login import Login


class HardKind(StrEnum):
    """Why a login of a hard world happened; everything from BURST on is an attack."""

    GUEST = "guest"
    MAIL_PROGRAM = "mail_program"
    CHANGING_FINGERPRINT = "changing_fingerprint"
    CROWDED_ADDRESS = "crowded_address"
    UNIQUE_SOFTWARE = "unique_software"
    NEW_LAPTOP = "new_laptop"
    FORGOTTEN_ELSEWHERE = "forgotten_elsewhere"
    MAILED_GUEST = "mailed_guest"
    BURST = "burst"
    SINGLE_SOURCE_GUESSING = "single_source_guessing"
    STOLEN_SESSION = "stolen_session"
    INFORMED_SPRAYING = "informed_spraying"

    @property
    def is_attack(self) -> bool:
        """Whether this is the attacker's doing."""
        return self in HARD_ATTACKS


HARD_ATTACKS = (
    HardKind.BURST,
    HardKind.SINGLE_SOURCE_GUESSING,
    HardKind.STOLEN_SESSION,
    HardKind.INFORMED_SPRAYING,
)
HARD_INNOCENTS = tuple(kind for kind in HardKind if kind not in HARD_ATTACKS)


@dataclass(frozen=True, slots=True)
class HardLogin:
    """A login with its truth; attacks have the id of their campaign."""

    login: Login
    kind: Kind | HardKind
    campaign_id: str | None = None
