"""Logos: what is taken for an image, what an SVG may not do, and how an uploaded one is shown."""

from __future__ import annotations

import io
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import httpx
import pytest
from PIL import Image
from team_story import key_of

from attestlab.core.clock import FixedClock
from attestlab.core.errors import PayloadTooLarge, ValidationFailed
from attestlab.installation import Installation
from attestlab.issuers import logo_validation
from attestlab.orgs.rules import Plan
from support.attestations import make_mint_body, mint
from support.in_process_server import make_client, serve_in_thread
from support.issuers import register_issuer

SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9">{}</svg>'
DRAWING = SVG.format(
    '<defs><linearGradient id="g"><stop offset="0" style="stop-color:#f00"/></linearGradient></defs>'
    '<circle cx="4" cy="4" r="4" fill="url(#g)"/><use xlink:href="#g"/><style>.a{fill:url( "#g" )}</style>'
)
HARMFUL = {
    "script": "<script>alert(1)</script>",
    "handler": '<circle r="1" onload="alert(1)"/>',
    "handler in capitals": '<circle r="1" ONCLICK="alert(1)"/>',
    "foreign object": "<foreignObject><p>x</p></foreignObject>",
    "html": '<p xmlns="http://www.w3.org/1999/xhtml">x</p>',
    "script of html": '<x:script xmlns:x="http://www.w3.org/1999/xhtml">alert(1)</x:script>',
    "no namespace": '<b xmlns="">x</b>',
    "link": '<a href="https://evil.example"><circle r="1"/></a>',
    "javascript": '<use href="javascript:alert(1)"/>',
    "elsewhere": '<use xlink:href="https://evil.example/x.svg#a"/>',
    "picture": '<image href="https://evil.example/x.png"/>',
    "data": '<use href="data:image/svg+xml,x#a"/>',
    "style that imports": '<style>@import "https://evil.example/x.css";</style>',
    "style in pieces": "<style>@im<!-- -->port 'x';</style>",
    "style around an element": "<style>rect{fill:ur<g/>l(http://evil.example/x)}</style>",
    "style that imports around an element": '<style>@im<g/>port "http://evil.example/x.css";</style>',
    "style with escapes": r"<style>@\69mport 'x';</style>",
    "style that loads": "<style>*{background:url(https://evil.example)}</style>",
    "attribute that loads": '<circle r="1" style="fill:url( //evil.example )"/>',
    "style that loads by src": "<style>*{background:src(https://evil.example)}</style>",
    "base": '<g xml:base="https://evil.example/"><use href="#a"/></g>',
    "mathematics": '<m:math xmlns:m="http://www.w3.org/1998/Math/MathML"/>',
    "listener": '<e:listener xmlns:e="http://www.w3.org/2001/xml-events" handler="#a"/>',
    "depth": "<g>" * 200 + "</g>" * 200,
    "animation": '<circle r="1"><set attributeName="href" to="javascript:alert(1)"/></circle>',
}


def picture(kind: str, side: int = 2) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (side, side), "red").save(content, kind)
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (picture("PNG"), "image/png"),
        (picture("JPEG"), "image/jpeg"),
        (picture("GIF"), "image/gif"),
        (picture("WEBP"), "image/webp"),
        (DRAWING.encode(), "image/svg+xml"),
        (b'\xef\xbb\xbf <?xml version="1.0"?>'.replace(b" <", b"<") + DRAWING.encode(), "image/svg+xml"),
    ],
)
def test_image_type_is_detected_from_the_bytes(content: bytes, kind: str) -> None:
    assert logo_validation.detect_media_type(content) == kind


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"MZ\x90\x00",
        b"%PDF-1.7",
        b"<html><script>alert(1)</script></html>",
        b"<svg>without its namespace</svg>",
        b"<svg",
        DRAWING.encode("utf-16"),
        b'<?xml version="1.0" encoding="utf-7"?>' + SVG.format("+ADw-script+AD4-").encode("utf-7"),
        b'<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>' + DRAWING.encode(),
        b'<!DOCTYPE svg SYSTEM "file:///etc/passwd">' + DRAWING.encode(),
        b'<?xml-stylesheet href="https://evil.example/x.css"?>' + DRAWING.encode(),
        *(SVG.format(inner).encode() for inner in HARMFUL.values()),
    ],
)
def test_unsupported_or_active_image_is_rejected(content: bytes) -> None:
    with pytest.raises(ValidationFailed):
        logo_validation.detect_media_type(content)


@pytest.mark.parametrize("encoding", ["nonsense", "utf-7", "utf-32", "rot13", "unicode_escape", "iso-8859-1", "UTF-8"])
def test_svg_must_be_utf_8(encoding: str) -> None:
    """
    What a browser reads in another encoding could be another drawing.
    """
    content = f'<?xml version="1.0" encoding="{encoding}"?>'.encode() + DRAWING.encode()

    if encoding == "UTF-8":
        assert logo_validation.detect_media_type(content) == "image/svg+xml"
        return
    with pytest.raises(ValidationFailed):
        logo_validation.detect_media_type(content)


def test_a_logo_has_at_most_256_kib() -> None:
    whole = picture("GIF") + bytes(logo_validation.LIMIT_BYTES)
    assert logo_validation.detect_media_type(whole[: logo_validation.LIMIT_BYTES]) == "image/gif"

    with pytest.raises(PayloadTooLarge):
        logo_validation.detect_media_type(whole[: logo_validation.LIMIT_BYTES + 1])


@pytest.fixture
def client(lab: Installation) -> Iterator[httpx.Client]:
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url, make_client(url, key=key_of(lab, tenant)) as opened:
        yield opened


def put(client: httpx.Client, issuer: dict[str, Any], content: bytes) -> httpx.Response:
    body = {"content_b64url": urlsafe_b64encode(content).rstrip(b"=").decode()}
    return client.put(f"/v1/issuers/{issuer['id']}/logo", json=body)


def test_uploaded_logo_is_public_and_sandboxed(client: httpx.Client) -> None:
    issuer = register_issuer(client)
    path = f"/v1/issuers/{issuer['id']}/logo"

    done = put(client, issuer, DRAWING.encode())
    with make_client(str(client.base_url)) as anyone:
        shown = anyone.get(path)
        again = anyone.get(path, headers={"If-None-Match": shown.headers["ETag"]})
    minted = mint(client, make_mint_body(issuer)).json()
    verified = client.post("/v1/verify", json={"attestation_id": minted["id"]}).json()

    told = done.json()
    assert (done.status_code, told["media_type"], told["size"]) == (200, "image/svg+xml", len(DRAWING))
    assert (shown.content, shown.headers["Content-Type"]) == (DRAWING.encode(), "image/svg+xml")
    assert "sandbox" in shown.headers["Content-Security-Policy"]
    assert "default-src 'none'" in shown.headers["Content-Security-Policy"]
    assert shown.headers["X-Content-Type-Options"] == "nosniff"
    assert again.status_code == 304
    assert client.get(f"/v1/issuers/{issuer['id']}").json()["logo_url"] == told["logo_url"]
    assert verified["governance"]["logo_url"] == told["logo_url"]


@pytest.mark.both_engines
def test_logo_can_be_replaced_and_a_missing_one_is_a_404(client: httpx.Client) -> None:
    issuer = register_issuer(client)
    path = f"/v1/issuers/{issuer['id']}/logo"
    assert client.get(path).status_code == 404
    put(client, issuer, picture("PNG"))

    put(client, issuer, picture("GIF"))
    replaced = client.get(path)
    removed = client.delete(path)

    assert replaced.headers["Content-Type"] == "image/gif"
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

    harmful = put(client, issuer, SVG.format(HARMFUL["script"]).encode())
    large = put(client, issuer, picture("GIF") + bytes(logo_validation.LIMIT_BYTES))
    nonsense = client.put(f"/v1/issuers/{issuer['id']}/logo", json={"content_b64url": "***"})

    assert [answer.status_code for answer in (harmful, large, nonsense)] == [400, 413, 400]
    assert large.json()["details"].items() >= {"limit_bytes": 262_144, "scope": "payload"}.items()
    assert client.get(f"/v1/issuers/{issuer['id']}/logo").status_code == 404
    assert client.get(f"/v1/issuers/{issuer['id']}").json()["logo_url"] is None
