"""A copy of the records opens no claims: remembered answers hold no share key, and are repeated byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import select

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.web.idempotency.keys import remove_keys, restore_keys
from attestlab.web.idempotency.store import answers
from support import patient_http
from support.attestations import make_mint_body
from support.in_process_server import serve_in_thread
from support.issuers import register_issuer


@pytest.fixture
def client(lab: Installation) -> Iterator[httpx.Client]:
    """A new tenant, over HTTP."""
    key = lab.orgs.create_tenant("T", plan=Plan.ENTERPRISE).public()["api_key"]
    with (
        serve_in_thread(lab) as url,
        patient_http.open_client(base_url=url, headers={"X-API-Key": key}) as opened,
    ):
        yield opened


def test_stored_mint_response_has_no_share_key_and_repeats_exactly(lab: Installation, client: httpx.Client) -> None:
    issuer, headers = register_issuer(client), {"Idempotency-Key": "once"}
    first = client.post("/v1/attestations/mint", json=make_mint_body(issuer), headers=headers)
    key = first.json()["share_url"].partition("?k=")[2]

    with lab.storage.read() as connection:
        stored = b"".join(connection.execute(select(answers.c.body)).scalars())
    again = client.post("/v1/attestations/mint", json=make_mint_body(issuer), headers=headers)

    assert len(key) == 22
    assert key.encode() not in stored
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.content == first.content


def test_text_that_looks_like_a_share_link_stays_as_it_is() -> None:
    mine, other = uuid4(), uuid4()
    keys = {mine: "k" * 22, other: "o" * 22}
    body = (
        f'{{"share_url":"https://x.example/a/{mine}?k={"k" * 22}","note":"/a/{mine}?k={"z" * 22}","b":"/a/{other}?k="}}'
    ).encode()

    stored = remove_keys(body, keys.__getitem__)

    assert b"k" * 22 not in stored
    assert b"z" * 22 in stored
    assert restore_keys(stored, keys.__getitem__) == body
