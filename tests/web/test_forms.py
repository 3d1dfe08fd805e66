"""A mint as `multipart/form-data`: a JSON part and the raw file, with the limits and promises of the JSON body."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from itertools import pairwise
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import PayloadTooLarge, ValidationFailed
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.web.body import form
from attestlab.web.body.form import FormScanner, find_boundary
from support.attestations import make_mint_body
from support.in_process_server import make_client, serve_in_thread
from support.issuers import register_issuer

pytestmark = pytest.mark.one_world

FILE = b"%PDF-1.7 a diploma \r\n--almost a boundary\r\n" + bytes(range(256)) * 200
BOUNDARY = b"a boundary"
START, END = b"--a boundary\r\n", b"\r\n--a boundary--\r\n"
MINT = b'Content-Disposition: form-data; name="mint"\r\nContent-Type: application/json\r\n\r\n'
PDF = b'Content-Disposition: form-data; name="file"; filename="diploma.pdf"\r\nContent-Type: application/pdf\r\n\r\n'
FORM = START + MINT + b"{}" + b"\r\n" + START + PDF + FILE + END


def scan(*pieces: bytes) -> form.Form:
    scanner = FormScanner(BOUNDARY, "mint")
    for piece in pieces:
        scanner.feed(piece)
    return scanner.finish()


@pytest.fixture(scope="module")
def client(shared_lab: Installation) -> Iterator[httpx.Client]:
    tenant = shared_lab.orgs.create_tenant("Registry", plan=Plan.ENTERPRISE)
    with serve_in_thread(shared_lab) as url, make_client(url, key=tenant.api_key) as opened:
        yield opened


@pytest.fixture(scope="module")
def body(client: httpx.Client) -> dict[str, Any]:
    return make_mint_body(register_issuer(client))


def send_form(
    client: httpx.Client, body: object, file: bytes = FILE, *, key: str, content_type: str = "application/pdf"
) -> httpx.Response:
    """A mint whose file is sent as it is."""
    files = {"mint": (None, json.dumps(body), "application/json"), "file": ("diploma.pdf", file, content_type)}
    return client.post("/v1/attestations/mint", files=files, headers={"Idempotency-Key": key})


def test_a_file_is_attested_as_if_it_were_in_the_json(client: httpx.Client, body: dict[str, Any]) -> None:
    raw = send_form(client, body, key="raw")
    in_json = client.post(
        "/v1/attestations/mint",
        json={**body, "payload_b64url": b64url_encode(FILE), "content_type": "application/pdf"},
        headers={"Idempotency-Key": "in json"},
    )

    assert (raw.status_code, in_json.status_code) == (201, 201), raw.text
    assert raw.json()["payload_hash"] == in_json.json()["payload_hash"] == b64url_encode(sha256(FILE).digest())
    stored = client.get(f"/v1/attestations/{raw.json()['id']}").json()
    assert stored["content_type"] == "application/pdf"


def test_the_file_verifies(client: httpx.Client, body: dict[str, Any]) -> None:
    minted = send_form(client, body, key="to verify").json()

    def verdict(file: bytes) -> str:
        presented = {"attestation_id": minted["id"], "payload_b64url": b64url_encode(file)}
        return str(client.post("/v1/verify", json=presented).json()["verdict"])

    assert (verdict(FILE), verdict(FILE + b"x")) == ("VALID", "ALTERED")


def test_a_repeat_gets_the_same_attestation(client: httpx.Client, body: dict[str, Any]) -> None:
    """The key is bound to the content, not to the boundary, which each request chooses."""
    first, again = (send_form(client, body, key="repeated") for _ in range(2))

    assert again.content == first.content
    assert again.headers["idempotent-replayed"] == "true"


def test_another_file_under_the_same_key_is_refused(client: httpx.Client, body: dict[str, Any]) -> None:
    send_form(client, body, key="reused")

    assert send_form(client, body, FILE + b"!", key="reused").status_code == 422


def test_content_type_is_that_of_the_file(client: httpx.Client, body: dict[str, Any]) -> None:
    contradicting = send_form(client, {**body, "content_type": "image/png"}, key="contradicting")
    unknown = send_form(client, body, key="unknown", content_type="text/html")

    assert [contradicting.status_code, unknown.status_code] == [400, 400]
    assert contradicting.json()["details"]["fields"][0]["field"] == "/content_type"
    assert unknown.json()["details"]["fields"][0]["field"] == "/content_type"


def test_a_form_has_the_file_once(client: httpx.Client, body: dict[str, Any]) -> None:
    response = send_form(client, {**body, "payload_b64url": ""}, key="twice")

    assert response.status_code == 400
    assert response.json()["details"]["fields"][0]["field"] == "/payload_b64url"


@pytest.mark.parametrize("part", ["[]", "{", '{"a":1,"a":2}', ""])
def test_the_json_part_is_strict(client: httpx.Client, part: str) -> None:
    files = {"mint": (None, part, "application/json"), "file": ("a", b"x", "application/pdf")}

    response = client.post("/v1/attestations/mint", files=files, headers={"Idempotency-Key": "strict"})

    assert (response.status_code, response.json()["code"]) == (400, "VALIDATION_ERROR")


def test_only_a_mint_takes_a_form(client: httpx.Client) -> None:
    assert client.post("/v1/verify", files={"file": b"x"}).status_code == 415


def test_a_form_without_a_boundary_is_rejected(client: httpx.Client) -> None:
    headers = {"Content-Type": "multipart/form-data", "Idempotency-Key": "none"}

    assert client.post("/v1/attestations/mint", content=b"--x", headers=headers).status_code == 400


@settings(max_examples=60)
@given(cuts=st.lists(st.integers(0, len(FORM)), max_size=6))
def test_a_form_is_read_however_it_is_cut(cuts: list[int]) -> None:
    pieces = [FORM[start:end] for start, end in pairwise([0, *sorted(cuts), len(FORM)])]

    found = scan(*pieces)

    assert (found.text, found.content_type) == (b"{}", "application/pdf")
    assert (found.payload.sha256, found.payload.size) == (sha256(FILE).digest(), len(FILE))


def test_a_form_is_read_byte_by_byte() -> None:
    short = FORM.replace(FILE, b"\r\n--a boundar")

    assert scan(*(short[at : at + 1] for at in range(len(short)))).payload.size == 13


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"preamble\r\n" + FORM,
        FORM + b"epilogue",
        FORM.removesuffix(END),
        FORM.replace(END, b"\r\n--a boundary"),
        FORM.replace(END, b"\r\n--a boundaryx--\r\n"),
        FORM.replace(END, b"\r\n--a boundary??"),
        START + MINT + b"{}" + END,
        START + PDF + b"x\r\n" + START + MINT + b"{}" + END,
        FORM.replace(END, b"\r\n" + START + MINT + b"{}" + END),
        FORM.replace(b'name="mint"', b'name="request"'),
        FORM.replace(b"form-data; ", b"attachment; "),
        FORM.replace(b"Content-Type: application/pdf", b"Content-Transfer-Encoding: base64"),
        START + b"X-Long: " + b"x" * 9_000 + b"\r\n" + MINT,
    ],
)
def test_any_other_form_is_rejected(wrong: bytes) -> None:
    with pytest.raises(ValidationFailed):
        scan(wrong)


def test_a_part_is_read_at_its_limit_and_refused_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "FILE_LIMIT_BYTES", len(FILE))
    assert scan(FORM).payload.size == len(FILE)

    with pytest.raises(PayloadTooLarge):
        scan(FORM.replace(FILE, FILE + b"x"))
    with pytest.raises(PayloadTooLarge):
        scan(FORM.replace(b"{}", b" " * (1024 * 1024 + 1)))


@pytest.mark.parametrize(
    ("declared", "boundary"),
    [
        ("multipart/form-data; boundary=abc", b"abc"),
        ('Multipart/Form-Data; charset=utf-8; boundary="a b"', b"a b"),
        ("application/json", None),
        ("multipart/mixed; boundary=abc", None),
    ],
)
def test_a_boundary_is_declared_with_the_type(declared: str, boundary: bytes | None) -> None:
    assert find_boundary(declared) == boundary


@pytest.mark.parametrize("boundary", ["", '; boundary="a "', f"; boundary={'x' * 71}", "; boundary="])
def test_an_invalid_boundary_is_rejected(boundary: str) -> None:
    with pytest.raises(ValidationFailed):
        find_boundary(f"multipart/form-data{boundary}")
