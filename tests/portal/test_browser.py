"""The public page in a real browser: axe, the check of a file, no scripts, no other host, nothing that runs."""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from playwright.sync_api import Browser, Page
from sqlalchemy import update

from attestlab.attestations.store import attestations
from attestlab.exports.baking.pictures import PictureFormat, bake
from attestlab.installation import Installation
from attestlab.issuers.rules import IssuerStatus
from attestlab.issuers.store import keys
from attestlab.orgs.rules import Caller
from support.browser import find_right_edge, list_violations, needs_chromium, open_browser, open_profile
from support.in_process_server import serve_in_thread
from support.portal import DOCUMENT, mint_document, tamper_with_records

LOGO = b64decode(  # one grey pixel, a PNG
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGMIAAAAUgBR9yHZtwAAAABJRU5ErkJggg=="
)
SLICE = 2 * 1024 * 1024  # in which sha256.js reads a file

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture
def url(lab: Installation) -> Iterator[str]:
    with serve_in_thread(lab) as address:
        yield address


@pytest.fixture
def visit(browser: Browser, url: str, lab: Installation) -> Callable[..., Any]:
    """Open a page in a fresh browser profile; at the end nothing was asked of another host, and no page complained."""

    @contextmanager
    def opened(place: UUID | str, *, with_key: bool = True, **options: Any) -> Iterator[Page]:
        asked: list[str] = []
        complaints: list[str] = []
        with open_profile(browser, **options) as context:
            page = context.new_page()
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda fault: complaints.append(str(fault)))
            page.goto(f"{url}{place if isinstance(place, str) else path_of(lab, place, with_key=with_key)}")
            yield page
        assert [address for address in asked if not address.startswith(f"{url}/")] == []
        assert [text for text in complaints if "404 (Not Found)" not in text] == []

    return opened


def path_of(lab: Installation, attestation_id: UUID, *, with_key: bool) -> str:
    key = f"?k={lab.links.share_key(attestation_id)}" if with_key else ""
    return f"/a/{attestation_id}{key}"


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.soak)])
def test_axe_finds_nothing_on_pages_that_are_whole(visit: Any, lab: Installation, caller: Caller, scheme: str) -> None:
    """
    VALID, VALID with a remark and a brand that cannot be read, NOT_FOUND; with the key and plain; on a desk and on
    a small phone.
    """
    plain = mint_document(lab, caller)
    branded = mint_document(lab, caller, profile={"primary_color": "#ffee00", "accent_color": "#eeeeee"})
    issuer_id = lab.attestations.get(branded, caller=caller).issuer_id
    lab.issuers.set_governance(issuer_id, status=IssuerStatus.SUSPENDED, caller=caller)
    lab.logos.upload(issuer_id, LOGO, caller=caller)
    with visit(branded) as page:  # with its policy on
        assert page.locator("img.logo").evaluate("(logo) => logo.complete && logo.naturalWidth > 0")
    opened = [(plain, True), (branded, True), (uuid4(), True), (plain, False)]
    for attestation_id, with_key in opened:
        with visit(attestation_id, with_key=with_key, color_scheme=scheme, bypass_csp=True) as page:
            assert list_violations(page) == []
            page.set_viewport_size({"width": 320, "height": 640})
            assert find_right_edge(page) <= 320


def test_qr_code_on_the_plain_page_is_large_enough_to_scan(visit: Any, lab: Installation, caller: Caller) -> None:
    attestation_id = mint_document(lab, caller)
    for width in (1280, 320):
        with visit(attestation_id, with_key=False, viewport={"width": width, "height": 640}) as page:
            box = page.get_by_role("img", name="QR code of this page").locator("svg").bounding_box()
            assert min(box["width"], box["height"]) >= 120


@pytest.mark.tampered
@pytest.mark.parametrize("scheme", ["dark", pytest.param("light", marks=pytest.mark.soak)])
def test_axe_finds_nothing_on_pages_that_warn(visit: Any, lab: Installation, caller: Caller, scheme: str) -> None:
    revoked, superseded, invalid = (mint_document(lab, caller) for _ in range(3))
    kid = lab.attestations.get(invalid, caller=caller).kid
    for attestation_id, status in ((revoked, "REVOKED"), (superseded, "SUPERSEDED")):
        changes = {"status": status, "revocation_reason": "misspelt", "superseded_by": invalid}
        of_it = attestations.c.id == attestation_id
        tamper_with_records(lab, update(attestations).where(of_it).values(**changes))
    tamper_with_records(lab, update(keys).where(keys.c.kid == kid).values(status="revoked", changed_index=0))
    for attestation_id, verdict in ((revoked, "REVOKED"), (superseded, "SUPERSEDED"), (invalid, "INVALID")):
        with visit(attestation_id, color_scheme=scheme, bypass_csp=True) as page:
            assert page.locator(".word").first.inner_text() == verdict
            assert list_violations(page) == []


def test_the_attested_file_matches_and_another_does_not(
    visit: Any, lab: Installation, caller: Caller, tmp_path: Path
) -> None:
    right, wrong = tmp_path / "diploma.pdf", tmp_path / "forged.pdf"
    right.write_bytes(DOCUMENT)
    wrong.write_bytes(DOCUMENT + b"!")
    with visit(mint_document(lab, caller)) as page:
        outcome = page.locator("#outcome")
        page.set_input_files("#file", right)
        outcome.get_by_text("diploma.pdf matches").wait_for()
        assert "It is the file that was attested, bit for bit." in outcome.inner_text()
        assert verdict_of(page) == ("verdict good", "VALID", "Yes")

        page.set_input_files("#file", wrong)
        outcome.get_by_text("forged.pdf does not match").wait_for()
        assert verdict_of(page) == ("verdict bad", "ALTERED", "No, it differs")
        assert "Your file is not the one that was attested" in page.locator("#verdict h1").inner_text()
        assert "ALTERED" in page.title()
        assert list_violations(page) == []

        page.set_input_files("#file", right)
        outcome.get_by_text("diploma.pdf matches").wait_for()
        assert verdict_of(page) == ("verdict good", "VALID", "Yes")


def verdict_of(page: Page) -> tuple[str | None, str, str]:
    """The colour of the verdict, its word, and the answer of step 2."""
    verdict = page.locator("#verdict")
    return (
        verdict.get_attribute("class"),
        verdict.locator(".word").inner_text(),
        page.locator("#step-list > li").nth(1).locator(".answer").inner_text(),
    )


@pytest.mark.tampered
def test_a_file_that_matches_makes_nothing_valid(visit: Any, lab: Installation, caller: Caller) -> None:
    attestation_id = mint_document(lab, caller)
    tamper_with_records(lab, update(attestations).values(status="REVOKED"))
    with visit(attestation_id) as page:
        page.set_input_files("#file", {"name": "diploma.pdf", "mimeType": "application/pdf", "buffer": DOCUMENT})
        page.locator("#outcome").get_by_text("diploma.pdf matches").wait_for()

        assert "do not rely on it" in page.locator("#outcome").inner_text()
        assert page.locator("#outcome").get_attribute("class") == "outcome note"


def test_the_browsers_hash_is_that_of_another_implementation(visit: Any, lab: Installation, caller: Caller) -> None:
    """
    At every edge of padding and of reading: one block, two blocks, a whole slice, one byte more.
    """
    with visit(mint_document(lab, caller)) as page:
        for size in (0, 1, 55, 56, 63, 64, 65, 119, 120, 128, SLICE - 1, SLICE, SLICE + 1, 2 * SLICE + 60):
            content = bytes(number % 251 for number in range(min(size, 4096))) * (size // 4096 + 1)
            content = content[:size]
            page.set_input_files("#file", {"name": f"{size}.bin", "mimeType": "x/y", "buffer": content})
            page.locator("#outcome").get_by_text(f"{size}.bin does not match").wait_for()

            assert page.locator("#outcome .other").inner_text() == hashlib.sha256(content).hexdigest(), size


def test_without_scripts_the_verdict_is_there(visit: Any, lab: Installation, caller: Caller) -> None:
    with visit(mint_document(lab, caller), java_script_enabled=False) as page:
        shown = page.locator("body").inner_text()

    assert "signed this degree on" in shown
    assert "sha256sum" in shown
    assert hashlib.sha256(DOCUMENT).hexdigest() in shown
    assert "File to compare" not in shown


def test_issuer_texts_never_run_or_become_elements(visit: Any, lab: Installation, caller: Caller) -> None:
    """
    A browser parses more leniently than any library; the policy is off here, so that only escaping protects.
    """
    payloads = (
        "<script>window.hit=1</script>",
        "\"><img src=x onerror='window.hit=1'>",
        "</title></style></script><svg onload=window.hit=1>",
        '<noscript><p title="</noscript><img src=x onerror=window.hit=1>">',
        "<math><mtext><table><mglyph><style><img src onerror=window.hit=1>",
    )
    names = "Array.from(document.querySelectorAll('*'), (element) => element.tagName).join(' ')"

    def claims(texts: list[str]) -> dict[str, Any]:
        return {"student_name": texts[0], **{f"{number} {text}": [text] for number, text in enumerate(texts)}}

    elements = []
    for texts in (["plain"] * len(payloads), list(payloads)):
        attestation_id = mint_document(lab, caller, claims=claims(texts), profile={"display_name": texts[1]})
        with visit(attestation_id, bypass_csp=True) as page:
            elements.append(page.evaluate(names))
            assert page.evaluate("window.hit") is None
            page.set_input_files("#file", {"name": payloads[0], "mimeType": "x/y", "buffer": b"x"})
            page.locator("#outcome").get_by_text("does not match").wait_for()
            assert payloads[0] in page.locator("#outcome").inner_text()
            assert page.evaluate("window.hit") is None

    assert elements[0] == elements[1]


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.soak)])
def test_axe_finds_nothing_on_the_pages_of_the_site(visit: Any, lab: Installation, caller: Caller, scheme: str) -> None:
    mint_document(lab, caller)
    for path in ("/", f"/find?q={'0' * 64}"):  # the errors have no more than these
        with visit(path, color_scheme=scheme, bypass_csp=True) as page:
            assert list_violations(page) == []
            page.set_viewport_size({"width": 320, "height": 640})
            assert find_right_edge(page) <= 320


def test_a_file_on_the_first_page_leads_to_its_attestation(
    visit: Any, lab: Installation, caller: Caller, tmp_path: Path
) -> None:
    attestation_id = mint_document(lab, caller)
    known, unknown = tmp_path / "diploma.pdf", tmp_path / "letter.pdf"
    known.write_bytes(DOCUMENT)
    unknown.write_bytes(b"a letter")
    with visit("/") as page:
        page.set_input_files("#file", known)
        page.wait_for_url(f"**/a/{attestation_id}")

        page.go_back()
        page.set_input_files("#file", unknown)
        page.get_by_role("heading", name="letter.pdf is not attested").wait_for()
        assert page.locator("[data-verdict=NOT_ATTESTED] .word").inner_text() == "NOT ATTESTED"


@pytest.mark.parametrize("form", PictureFormat)
def test_a_badge_on_the_first_page_leads_to_its_attestation(
    visit: Any, lab: Installation, caller: Caller, tmp_path: Path, form: PictureFormat
) -> None:
    attestation_id = mint_document(lab, caller)
    ours, forged = tmp_path / "badge", tmp_path / "forged"
    picture = lab.exports.baked_badge(attestation_id, form, caller=caller)
    token = lab.exports.open_badge(attestation_id, caller=caller)
    ours.write_bytes(picture)
    forged.write_bytes(bake(picture, f"{token[:-8]}AAAAAAAA"))
    with visit("/") as page:
        page.set_input_files("#file", ours)
        page.wait_for_url(f"**/a/{attestation_id}")

        page.go_back()
        page.set_input_files("#file", forged)
        page.get_by_role("heading", name="This Open Badge is not valid").wait_for()
        assert list_violations(page) == []


def test_the_search_works_without_scripts(visit: Any, lab: Installation, caller: Caller) -> None:
    attestation_id = mint_document(lab, caller)
    with visit("/", java_script_enabled=False) as page:
        page.get_by_role("searchbox").fill(str(lab.attestations.get(attestation_id, caller=caller).log_index))
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/a/{attestation_id}")


def test_the_reference_shows_the_operations(visit: Any) -> None:
    """Under its own policy, which allows no other host and no evaluation of text."""
    with visit("/docs") as page:
        page.get_by_text("/v1/verify").first.wait_for()
        operations = page.locator(".nav-bar-path")

        operations.filter(has_text="/supersede").locator(".method.post").wait_for(state="attached")


def test_the_reference_has_room_for_keys_on_a_phone(visit: Any) -> None:
    """The viewer's table of keys has four columns of equal width, the first of them of 80 pixels here."""
    with visit("/docs", viewport={"width": 390, "height": 844}) as page:
        cells = page.locator("#auth td")
        cells.last.wait_for(state="attached")
        boxes = [box for cell in cells.all() if (box := cell.bounding_box()) is not None]

        assert len(boxes) == 6
        assert min(box["width"] for box in boxes) > 300
        assert max(box["x"] + box["width"] for box in boxes) <= 390


def test_the_reference_shows_a_schema_that_refers_to_itself(visit: Any) -> None:
    with visit("/docs", viewport={"width": 1280, "height": 844}) as page:
        operations = page.locator(".nav-bar-path").filter(has=page.locator(".method.post"))
        operations.filter(has_text=re.compile(r"/v1/policies\s*$")).first.dispatch_event("click")

        page.get_by_text("PolicyDocument").first.wait_for(state="attached")
        page.get_by_text("PolicyComparison").first.wait_for(state="attached")
