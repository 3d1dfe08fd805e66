"""Logos: which images are accepted, and how an uploaded one is served."""

from __future__ import annotations

import hashlib
import io
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import httpx
import pytest
from PIL import Image

from attestlab.core.clock import FixedClock
from attestlab.core.errors import PayloadTooLarge, UnsupportedMediaType
from attestlab.core.pictures import detect_media_type
from attestlab.core.records import audited_write
from attestlab.core.records.actors import COMMAND_LINE
from attestlab.core.records.audited_write import AuditContext
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.issuers import store
from attestlab.issuers.logos import MAX_LOGO_BYTES
from attestlab.orgs.rules import Plan
from support.attestations import make_mint_body, mint
from support.in_process_server import make_client, serve_in_thread
from support.issuers import register_issuer
from support.orgs import create_api_key

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4" cy="4" r="4"/></svg>'


def picture(kind: str, side: int = 2) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (side, side), "red").save(content, kind)
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (picture("PNG"), "image/png"),
        (picture("JPEG"), "image/jpeg"),
        (picture("WEBP"), "image/webp"),
    ],
)
def test_image_type_is_detected_from_the_bytes(content: bytes, kind: str) -> None:
    assert detect_media_type(content, limit_bytes=MAX_LOGO_BYTES, noun="logo") == kind


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"MZ\x90\x00",
        b"%PDF-1.7",
        b"<html><script>alert(1)</script></html>",
        SVG,
        b'\xef\xbb\xbf<?xml version="1.0"?>' + SVG,
        SVG.decode().encode("utf-16"),
        picture("GIF"),
        b"RIFF\x04\x00\x00\x00WAVE",
    ],
)
def test_any_other_type_is_rejected_with_the_accepted_types(content: bytes) -> None:
    with pytest.raises(UnsupportedMediaType, match="PNG, JPEG or WebP"):
        detect_media_type(content, limit_bytes=MAX_LOGO_BYTES, noun="logo")


def test_a_logo_has_at_most_256_kib() -> None:
    whole = picture("PNG") + bytes(MAX_LOGO_BYTES)
    assert detect_media_type(whole[:MAX_LOGO_BYTES], limit_bytes=MAX_LOGO_BYTES, noun="logo") == "image/png"

    with pytest.raises(PayloadTooLarge):
        detect_media_type(whole[: MAX_LOGO_BYTES + 1], limit_bytes=MAX_LOGO_BYTES, noun="logo")


@pytest.fixture
def client(lab: Installation) -> Iterator[httpx.Client]:
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url, make_client(url, key=create_api_key(lab, tenant)) as opened:
        yield opened


def put(client: httpx.Client, issuer: dict[str, Any], content: bytes) -> httpx.Response:
    body = {"content_b64url": urlsafe_b64encode(content).rstrip(b"=").decode()}
    return client.put(f"/v1/issuers/{issuer['id']}/logo", json=body)


def assert_sandboxed(shown: httpx.Response) -> None:
    assert "sandbox" in shown.headers["Content-Security-Policy"]
    assert "default-src 'none'" in shown.headers["Content-Security-Policy"]
    assert shown.headers["X-Content-Type-Options"] == "nosniff"


def store_as_an_earlier_version(lab: Installation, issuer_id: UUID, content: bytes, media_type: str) -> None:
    """Change the logo's row, with its line in the audit trail, as a version did that accepted this type."""
    with lab.storage.write() as tx:
        row = store.find_logo(tx.exec, issuer_id)
        assert row is not None
        columns = {"media_type": media_type, "content": content, "sha256": hashlib.sha256(content).hexdigest()}
        context = AuditContext(row.tenant_id, COMMAND_LINE, "issuer_logo.put", lab.clock.now())
        audited_write.change(tx, store.logos, row, columns, context)


@pytest.mark.parametrize(("content", "media_type"), [(SVG, "image/svg+xml"), (picture("GIF"), "image/gif")])
def test_stored_logo_of_a_rejected_type_is_served_sandboxed(
    client: httpx.Client, lab: Installation, content: bytes, media_type: str
) -> None:
    issuer = register_issuer(client)
    path = f"/v1/issuers/{issuer['id']}/logo"
    put(client, issuer, picture("PNG"))
    store_as_an_earlier_version(lab, UUID(issuer["id"]), content, media_type)

    shown = client.get(path)
    problems = list(fsck(lab))
    replaced = put(client, issuer, picture("WEBP"))

    assert (shown.content, shown.headers["Content-Type"]) == (content, media_type)
    assert_sandboxed(shown)
    assert problems == []
    assert (replaced.status_code, client.get(path).headers["Content-Type"]) == (200, "image/webp")


def test_uploaded_logo_is_public_and_sandboxed(client: httpx.Client) -> None:
    issuer = register_issuer(client)
    path = f"/v1/issuers/{issuer['id']}/logo"

    done = put(client, issuer, picture("PNG"))
    with make_client(str(client.base_url)) as anyone:
        shown = anyone.get(path)
        again = anyone.get(path, headers={"If-None-Match": shown.headers["ETag"]})
    minted = mint(client, make_mint_body(issuer)).json()
    verified = client.post("/v1/verify", json={"attestation_id": minted["id"]}).json()

    stored = done.json()
    assert (done.status_code, stored["media_type"], stored["size"]) == (200, "image/png", len(picture("PNG")))
    assert (shown.content, shown.headers["Content-Type"]) == (picture("PNG"), "image/png")
    assert_sandboxed(shown)
    assert again.status_code == 304
    assert client.get(f"/v1/issuers/{issuer['id']}").json()["logo_url"] == stored["logo_url"]
    assert verified["governance"]["logo_url"] == stored["logo_url"]


@pytest.mark.both_engines
def test_logo_can_be_replaced_and_a_missing_one_is_a_404(client: httpx.Client) -> None:
    issuer = register_issuer(client)
    path = f"/v1/issuers/{issuer['id']}/logo"
    assert client.get(path).status_code == 404
    put(client, issuer, picture("PNG"))

    put(client, issuer, picture("JPEG"))
    replaced = client.get(path)
    removed = client.delete(path)

    assert replaced.headers["Content-Type"] == "image/jpeg"
    assert (removed.status_code, client.get(path).status_code) == (204, 404)
    assert client.get(f"/v1/issuers/{issuer['id']}").json()["logo_url"] is None
    assert put(client, issuer, picture("PNG")).status_code == 200
    assert client.get(path).headers["Content-Type"] == "image/png"


def test_linked_logo_survives_removal_of_the_upload(client: httpx.Client) -> None:
    issuer = register_issuer(client)
    put(client, issuer, picture("PNG"))
    client.patch(f"/v1/issuers/{issuer['id']}", json={"logo_url": "https://northfield.example.edu/logo.png"})

    client.delete(f"/v1/issuers/{issuer['id']}/logo")

    shown = client.get(f"/v1/issuers/{issuer['id']}").json()
    assert shown["logo_url"] == "https://northfield.example.edu/logo.png"


def test_logo_uploaded_under_another_address_is_removed_too(
    client: httpx.Client, lab: Installation, clock: FixedClock
) -> None:
    issuer = register_issuer(client)
    put(client, issuer, picture("PNG"))

    moved = Installation.open(lab.settings.model_copy(update={"portal_url": "https://moved.example"}), clock=clock)
    moved.logos.remove(UUID(issuer["id"]), caller=moved.orgs.service_caller(UUID(issuer["tenant_id"])))
    moved.close()

    assert client.get(f"/v1/issuers/{issuer['id']}/logo").status_code == 404
    assert client.get(f"/v1/issuers/{issuer['id']}").json()["logo_url"] is None


def test_rejected_upload_changes_nothing(client: httpx.Client) -> None:
    issuer = register_issuer(client)

    drawing = put(client, issuer, SVG)
    large = put(client, issuer, picture("PNG") + bytes(MAX_LOGO_BYTES))
    nonsense = client.put(f"/v1/issuers/{issuer['id']}/logo", json={"content_b64url": "***"})

    assert [answer.status_code for answer in (drawing, large, nonsense)] == [415, 413, 400]
    assert drawing.json()["message"].startswith("A logo is a PNG, JPEG or WebP image.")
    assert large.json()["details"].items() >= {"limit_bytes": 262_144, "scope": "payload"}.items()
    assert client.get(f"/v1/issuers/{issuer['id']}/logo").status_code == 404
    assert client.get(f"/v1/issuers/{issuer['id']}").json()["logo_url"] is None
