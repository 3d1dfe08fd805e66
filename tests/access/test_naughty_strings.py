"""Some 500 naughty strings in every text about people and money are refused at their place, or come back as sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from attestlab.installation import Installation
from support.access import AccessScenario, PartyClients, open_access_scenario
from support.attestations import make_mint_body
from support.in_process_server import serve_in_thread
from support.issuers import register_issuer
from support.naughty_strings import NAUGHTY
from support.protections import hash_of
from support.receipt_types import mint_receipt

STEP = 16  # the bounded form leaves out the strings between
PARTS = 4  # of each form, so that none takes minutes
TRIMMED = {"name", "title", "display_name", "tags"}  # one line, without blanks around it
Json = dict[str, Any]


@pytest.fixture
def access(lab: Installation) -> Iterator[AccessScenario]:
    with serve_in_thread(lab) as url, open_access_scenario(lab, url) as made:
        yield made


class TextWriter:
    """Writes one text into every field that takes text, and finds what neither is refused nor comes back as sent."""

    def __init__(self, account: PartyClients) -> None:
        self.account = account
        self.issuer = register_issuer(account.with_key)
        receipt = mint_receipt(account.with_key, self.issuer)
        self.type = receipt["receipt_type"]
        post = {"title": "News", "category": "product", "content": "", "slug": "news"}
        self.post = account.editor.post("/v1/platform/blog/posts", json=post).json()["id"]
        self.wrong: list[object] = []
        self.accepted: dict[str, int] = {}

    def write(self, text: str) -> None:
        """Write a text everywhere."""
        account, members = self.account, {text: [text, {text: text}]}
        claims = {"student_name": "Ada", **{text: text}} if text else {"student_name": "Ada"}
        delivered = make_mint_body(self.issuer, claims=claims, metadata=members, recipient_email=account.consumer_email)
        mint_path, receipt = "/v1/attestations/mint", {"receipt_type": self.type, "issuer_id": self.issuer["id"]}
        self.send(account.with_key, "POST", mint_path, delivered)
        items = account.consumer.get("/v1/consumer/inbox").json()["items"]
        if items:
            self.send(account.consumer, "POST", f"/v1/consumer/inbox/{items[0]['id']}/decline", {"reason": text})
        minted = {"subject": text, "metadata": members, "payload": {"parcel": text}}
        made = self.send(account.with_key, "POST", "/v1/receipts", {**receipt, **minted})
        if made is not None:
            self.send(account.with_key, "POST", f"/v1/receipts/{made['receipt_id']}/revoke", {"reason": text})
        version = {"name": f"t-{uuid4().hex}", "version": "1.0.0", "schema": {"type": "object", "description": text}}
        self.send(account.with_key, "POST", "/v1/receipt-types", {**version, "display_name": text, "description": text})
        shown = {"content_hash": hash_of(text), "title": text, "description": text, "file_name": text}
        protected = self.send(account.consumer, "POST", "/v1/consumer/protections", shown)
        if protected is not None:
            path = f"/v1/consumer/protections/{protected['id']}/revoke"
            self.send(account.consumer, "POST", path, {"reason": text})
        self.send(account.consumer, "PATCH", "/v1/consumer/me", {"name": text, "bio": text})
        changes = {"title": text, "content": text, "excerpt": text, "tags": [text]}
        self.send(account.editor, "PUT", f"/v1/platform/blog/posts/{self.post}", changes)

    def send(self, client: httpx.Client, method: str, path: str, body: Json) -> Json | None:
        """Send a body, without the fields that were refused; compare what comes back. A PUT answers less than a GET."""
        while body:
            answer = client.request(method, path, json=body, headers={"Idempotency-Key": str(uuid4())})
            if answer.status_code < 300:
                made: Json = answer.json()
                self.compare(body, client.get(path).json() if method == "PUT" else made, path)
                return made
            refused = {fault["field"].split("/")[1] for fault in find_faults(answer)} & body.keys()
            if answer.status_code != 400 or not refused:
                self.wrong.append((path, answer.status_code, answer.text[:200], body))
                return None
            body = {name: value for name, value in body.items() if name not in refused}
            if refused & {"title", "claims", "payload"}:
                return None  # what cannot be left out
        return None

    def compare(self, sent: Json, got: Json, path: str) -> None:
        for name, value in sent.items():
            if name not in got:
                continue
            self.accepted[name] = self.accepted.get(name, 0) + 1
            if got[name] != (trim(value) if name in TRIMMED else value):
                self.wrong.append((path, name, value, got[name]))


def trim(value: Any) -> Any:
    return [each.strip() for each in value] if isinstance(value, list) else value.strip()


def find_faults(answer: httpx.Response) -> list[Json]:
    faults: list[Json] = answer.json().get("details", {}).get("fields", [])
    return [fault for fault in faults if fault["field"]]


@pytest.mark.parametrize("part", range(PARTS))
def test_each_text_is_refused_or_comes_back_as_sent(access: AccessScenario, is_long: bool, part: int) -> None:
    writer = TextWriter(access.account)
    for text in NAUGHTY[part :: PARTS * (1 if is_long else STEP)]:
        writer.write(text)

    assert writer.wrong == []
    assert min(writer.accepted[name] for name in ("subject", "bio", "title", "content", "payload", "metadata")) > 0
