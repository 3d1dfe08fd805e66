"""A client that reads one attestation in every way there is, while writes fail."""

from __future__ import annotations

import httpx

from support.attestations import make_mint_body, mint
from support.in_process_server import wait_until
from support.issuers import register_issuer


class AttestationReader:
    """Looks at one attestation in every way there is, and knows how often it verified it."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http
        self.mint_body = make_mint_body(register_issuer(http))
        self.minted = mint(http, self.mint_body).json()
        self.verified = 0

    def reads_all(self) -> None:
        """Every read answers as on a quiet day."""
        found = self.http.post("/v1/verify", json={"attestation_id": self.minted["id"]})
        assert (found.status_code, found.json().get("verdict")) == (200, "VALID"), found.text
        self.verified += 1
        for path in (
            f"/v1/attestations/{self.minted['id']}",
            f"/v1/attestations/{self.minted['id']}/proof-bundle",
            f"/a/{self.minted['id']}",
            "/v1/log/proofs/0",
            "/v1/log/head",
            "/healthz",
        ):
            answer = self.http.get(path)
            assert answer.status_code == 200, (path, answer.text)
        assert self.http.get("/log/checkpoint").text == self.minted["checkpoint"]


def require_writes_reported(http: httpx.Client, state: str) -> None:
    """`/readyz` says how writes do, and that reads are well."""
    wait_until(lambda: checks(http)["writes"], state)
    assert checks(http)["records"] == checks(http)["log"] == "ok"


def checks(http: httpx.Client) -> dict[str, str]:
    answer = http.get("/readyz")
    body = answer.json()
    found: dict[str, str] = body["checks"] if answer.status_code == 200 else body["details"]["checks"]
    assert (answer.status_code == 200) == (set(found.values()) == {"ok"})
    return found
