"""More entries for the log that the inspector shows."""

from __future__ import annotations

from attestlab import Lab

CLAIMS = {"student_name": "Ada Lovelace", "degree_name": "Mathematics"}


def mint(lab: Lab, count: int) -> None:
    """Mint attestations for the demo's university."""
    item = {"issuer": lab.issuers["Northfield University"], "schema": "degree", "claims": CLAIMS}
    lab.attestations.mint_many([item] * count)
