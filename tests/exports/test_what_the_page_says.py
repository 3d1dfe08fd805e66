"""The code of docs/exports.md, typed as it stands, against the real server: nothing but packages of others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from exports_story import minted
from running_server import RunningServer, register_issuer

from attestlab.exports.badges import BADGES

PAGE = (Path(__file__).parents[2] / "docs" / "exports.md").read_text()
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
# The contract names EdDSA, which RFC 9864 has since split in two; the judge says so each time.
pytestmark = pytest.mark.filterwarnings("ignore:EdDSA is deprecated via RFC 9864")


def typed(trusted: str) -> dict[str, Any]:
    """What a reader has who typed every block, and trusts one address."""
    names: dict[str, Any] = {"TRUSTED": trusted}
    for block in BLOCK.findall(PAGE):
        exec(block, names)  # our own page
    return names


def test_a_stranger_verifies_each_export_with_the_code_of_the_page(server: RunningServer) -> None:
    """
    Every URL in an export leads somewhere: this server is named by its own address.
    """
    reader = typed(server.url)
    with server.client() as client:
        issuer = register_issuer(client)
        made = minted(client, issuer)
        sd_jwt, badge = (client.get(f"/v1/attestations/{made['id']}/{form}").text for form in ("sd-jwt", "open-badge"))

        assert reader["opened"](sd_jwt)["claims"]["student_name"] == "Ada Lovelace"
        assert reader["badge_of"](badge)["credentialSubject"]["achievement"]["name"] == "MSc"

        client.post(f"/v1/attestations/{made['id']}/revoke", json={"reason": "a test"})
    for verify, token in ((reader["opened"], sd_jwt), (reader["badge_of"], badge)):
        with pytest.raises(AssertionError):
            verify(token)


def test_whom_the_reader_does_not_trust_is_not_even_asked(server: RunningServer) -> None:
    reader = typed("https://attest.example.org/")
    with server.client() as client:
        made = minted(client, register_issuer(client))
        token = client.get(f"/v1/attestations/{made['id']}/open-badge").text

    with pytest.raises(AssertionError):
        reader["badge_of"](token)


def test_the_table_of_badges_is_the_one_in_force() -> None:
    rows = [
        f"| `{schema}` | {kind.achievement_type} | {_listed((kind.name,))} | {_listed(kind.criteria)} | "
        f"{_listed(kind.personal)} |"
        for schema, kind in BADGES.items()
    ]

    assert [row for row in rows if row not in PAGE] == []


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
