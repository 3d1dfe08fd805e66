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


def test_the_browser_sends_what_the_service_reads() -> None:
    """The script knows a badge by the marks of both formats, and the limit."""
    script = assets.read_asset("home.js").content.decode()

    assert f"MAX_BADGE_BYTES = {limits.MAX_PICTURE_BYTES};" in script
    assert f'["iTXt{KEYWORD.decode()}\\0", "{NAMESPACE}"]' in script
