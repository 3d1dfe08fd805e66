"""A year of trust on the demo's documents: mints, a lost key, a suspension, a worse rating, and what still waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attestlab import Lab

PASSWORD: Final = "only for the demo"
MINTS: Final[Mapping[str, int]] = {"Northfield University": 9, "Harbour Training": 5, "Maker Guild": 3}
LOST_AT: Final = "2026-11-02T12:00:00Z"  # the demo's clock stands: what it minted is lost from here on
HOSTILE_REASON: Final = "<img src=x onerror=alert(1)>"
_CLAIMS: Final = {"participant_name": "Emmy Noether", "program_name": "Knots", "institution": "a demo"}


def sign_in(lab: Lab, name: str) -> Lab:
    """Sign a person of the demo in: `ann` (owner), `ben` (admin) or `rita` (reviewer of the platform)."""
    return lab.as_(f"{name}@demo.example", password=PASSWORD)


def tell(lab: Lab) -> None:
    """Let it happen."""
    ann, ben, rita = (sign_in(lab, name) for name in ("ann", "ben", "rita"))
    for name, number in MINTS.items():
        made = lab.attestations.mint_many([{"issuer": name, "schema": "completion-cert", "claims": _CLAIMS}] * number)
        assert all(hasattr(each, "attestation_id") for each in made), made
    lab.issuers["Northfield University"].rotate_key()
    suspension = ann.issuers.request("SUSPEND_ISSUER", "Orchard Press", "60 generated pictures")
    ben.issuers.approve(suspension)
    ann.issuers.execute(suspension)
    rating = ann.issuers.request("CHANGE_RISK_RATING", "Maker Guild", "vouches", new_risk_rating="HIGH")
    rita.issuers.approve(rating)
    ann.issuers.execute(rating)
    lab.issuers.compromise_key(lab.issuers["Harbour Training"].active_key, "laptop stolen", compromised_at=LOST_AT)
    ben.issuers.request("SUSPEND_ISSUER", "Ana's Workshop", HOSTILE_REASON)
    rita.issuers.approve(ann.issuers.request("CHANGE_RISK_RATING", "Canton Archive", "move", new_risk_rating="MEDIUM"))
