"""A picture with an Open Badge that someone gives to the first page: its attestation's page, or why it is not valid."""

from __future__ import annotations

from uuid import UUID

import httpx
import pytest
from portal.test_public_page import count_rows

from attestlab.core.encoding import b64url_encode
from attestlab.exports.baking import limits
from attestlab.exports.baking.pictures import PictureFormat, bake
from attestlab.exports.baking.png import KEYWORD
from attestlab.exports.baking.svg import NAMESPACE
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.portal import assets
from support.badge_pictures import make_png
from support.portal import ParsedPage, mint_document

pytestmark = pytest.mark.one_world


def send(passer_by: httpx.Client, picture: bytes) -> httpx.Response:
    return passer_by.post("/find", data={"content_b64url": b64url_encode(picture)}, follow_redirects=False)


def export(lab: Installation, attestation_id: UUID, caller: Caller) -> bytes:
    return lab.exports.baked_badge(attestation_id, PictureFormat.PNG, caller=caller)


def test_a_proven_badge_leads_to_the_page_of_its_attestation(
    passer_by: httpx.Client, lab: Installation, caller: Caller
) -> None:
    attestation_id = mint_document(lab, caller)

    answer = send(passer_by, export(lab, attestation_id, caller))

    assert (answer.status_code, answer.headers["Location"]) == (303, f"a/{attestation_id}")
    assert "VALID" in passer_by.get(f"/{answer.headers['Location']}").text


def test_a_forged_badge_leads_nowhere_and_the_page_says_why(
    passer_by: httpx.Client, lab: Installation, caller: Caller
) -> None:
    picture = export(lab, mint_document(lab, caller), caller)
    token = lab.exports.open_badge(mint_document(lab, caller), caller=caller)

    answer = send(passer_by, bake(picture, f"{token[:-8]}AAAAAAAA"))

    page = ParsedPage(answer.text)
    assert (answer.status_code, "Location" in answer.headers) == (200, False)
    assert "This Open Badge is not valid" in page.text
    assert "signature does not belong to this key" in page.text


@pytest.mark.parametrize("picture", [make_png(), b"<svg", b"", bake(make_png(), "<b>a.b</b>")], ids=str)
def test_a_picture_without_a_badge_gets_a_page_that_says_so(passer_by: httpx.Client, picture: bytes) -> None:
    answer = send(passer_by, picture)

    page = ParsedPage(answer.text)
    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert "No Open Badge can be read in this picture" in page.text
    assert page.all("b") == []


def test_the_look_is_not_metered(passer_by: httpx.Client, lab: Installation, caller: Caller) -> None:
    picture = export(lab, mint_document(lab, caller), caller)
    before = count_rows(lab, caller)

    send(passer_by, picture)

    assert count_rows(lab, caller) == before


@pytest.mark.parametrize("form", PictureFormat)
def test_who_has_the_shared_link_gets_the_badge(
    anyone: httpx.Client, passer_by: httpx.Client, lab: Installation, caller: Caller, form: PictureFormat
) -> None:
    attestation_id = mint_document(lab, caller)
    key = lab.links.share_key(attestation_id)
    address = f"/a/{attestation_id}/open-badge"

    answer = passer_by.get(address, params={"k": key, "format": form.value})
    by_accept = passer_by.get(address, params={"k": key}, headers={"Accept": form.media_type})

    assert (answer.status_code, answer.headers["Content-Type"]) == (200, form.media_type)
    assert (by_accept.content, by_accept.headers["Vary"]) == (answer.content, "Accept")
    assert passer_by.get(address, params={"k": key}).headers["Content-Type"] == "image/png"
    assert answer.content == lab.exports.baked_badge(attestation_id, form, caller=caller)
    assert passer_by.get(address).status_code == passer_by.get(address, params={"k": "A" * 22}).status_code == 404
    links = [each["href"] for each in ParsedPage(anyone.get(f"/a/{attestation_id}").text).all("a")]
    assert f"{attestation_id}/open-badge?k={key}" in links
    assert "open-badge" not in passer_by.get(f"/a/{attestation_id}").text


def test_what_is_no_badge_or_not_valid_has_no_link_to_one(
    anyone: httpx.Client, lab: Installation, caller: Caller
) -> None:
    passport = mint_document(lab, caller, schema="passport", claims={"full_name": "Ada Lovelace"})
    revoked = mint_document(lab, caller)
    lab.attestations.revoke(revoked, reason="a test", caller=caller)

    for attestation_id in (passport, revoked):
        assert "open-badge" not in anyone.get(f"/a/{attestation_id}").text
        key = {"k": lab.links.share_key(attestation_id)}
        assert anyone.get(f"/a/{attestation_id}/open-badge", params=key).status_code == 409


def test_the_browser_sends_what_the_service_reads() -> None:
    """The script knows a badge by the marks of both formats, and the limit."""
    script = assets.read_asset("home.js").content.decode()

    assert f"MAX_BADGE_BYTES = {limits.MAX_PICTURE_BYTES};" in script
    assert f"iTXt{KEYWORD.decode()}\\0" in script
    assert f'"{NAMESPACE.removeprefix("https://")}"' in script
