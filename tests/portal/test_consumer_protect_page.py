"""The page on which consumers protect their work, and their public page: who sees what, and what never runs."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from attestlab.attestations.inbox.shapes import InboxFilter
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.orgs.service import ConsumerCreated
from attestlab.protections.shapes import ProtectionsQuery
from attestlab.protections.store import AttestedProtection
from support.browser import list_violations, needs_chromium, open_browser, open_profile
from support.consumer_pages import ADA, BrowserVisitor, consumer_caller
from support.dashboards.hostile import PAYLOADS, TRACES
from support.in_process_server import make_client
from support.orgs import PASSWORD
from support.portal import ParsedPage, mint_document

SUNSET = hashlib.sha256(b"the picture of a sunset").hexdigest()
FORM = {
    "action": "create",
    "content_hash": SUNSET,
    "title": "Sunset",
    "content_type": "image",
    "category": "photo",
    "visibility": "public",
}


def list_protections(lab: Installation, ada: ConsumerCreated) -> list[AttestedProtection]:
    return list(lab.protections.page(ProtectionsQuery(), caller=consumer_caller(lab, ada))[0])


@pytest.mark.both_engines
def test_a_pasted_hash_is_protected_and_shown_to_everyone(
    consumer: BrowserVisitor, lab: Installation, ada: ConsumerCreated
) -> None:
    consumer.send_signed("/settings", action="choose_username", username="ada")
    answer = consumer.send_signed("/protect", **{**FORM, "content_hash": SUNSET.upper()})

    assert (answer.status_code, answer.headers["Location"]) == (303, "protect")
    [protection] = list_protections(lab, ada)
    own, public = consumer.get("/protect").text, consumer.get("/u/ada")
    link = f"a/{protection.attestation_id}"
    assert f'"{link}?k={lab.links.share_key(protection.attestation_id)}"' in own
    assert (f'"../{link}"' in public.text, "?k=" in public.text) == (True, False)
    assert consumer.get(f"/{link}").status_code == 200


def test_the_public_page_is_described_for_previews(consumer: BrowserVisitor, lab: Installation) -> None:
    consumer.send_signed("/settings", action="choose_username", username="ada")
    profile = {"name": 'Ada "the first"', "bio": "Notes <on> engines", "portfolio_visibility": "public"}
    consumer.send_signed("/settings", action="save_profile", **profile)
    answer = consumer.get("/u/ada")

    described = {
        meta.get("property") or meta.get("name"): meta.get("content") for meta in ParsedPage(answer.text).all("meta")
    }
    assert described["og:title"] == 'Ada "the first"'
    assert described["og:description"] == described["description"] == "Notes <on> engines"
    assert described["og:url"] == f"{lab.portal_url}/u/ada"
    assert ADA not in answer.text
    assert answer.headers["Cache-Control"] == "public, max-age=60"
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("visibility", ["private", "unlisted"])
def test_what_is_not_public_is_on_no_other_page(consumer: BrowserVisitor, visibility: str) -> None:
    consumer.send_signed("/settings", action="choose_username", username="ada")
    consumer.send_signed("/protect", **{**FORM, "visibility": visibility})

    assert "Sunset" in consumer.get("/protect").text
    assert "Sunset" not in consumer.get("/u/ada").text


def test_a_private_page_is_like_an_unknown_one(consumer: BrowserVisitor) -> None:
    consumer.send_signed("/settings", action="choose_username", username="ada")
    consumer.send_signed("/settings", action="save_profile", name="Ada", portfolio_visibility="private")

    assert {consumer.get(f"/u/{name}").status_code for name in ("ada", "bob", "Ada", "x" * 300)} == {404}


def test_visibility_is_changed_and_protections_are_removed(
    consumer: BrowserVisitor, lab: Installation, ada: ConsumerCreated
) -> None:
    consumer.send_signed("/protect", **FORM)
    [protection] = list_protections(lab, ada)
    chosen = {"id": str(protection.row.id), "visibility": "private"}

    assert consumer.send_signed("/protect", action="change", **chosen).status_code == 303
    assert list_protections(lab, ada)[0].row.visibility == "private"
    assert consumer.send_signed("/protect", action="remove", **chosen).status_code == 303
    assert list_protections(lab, ada) == []


def test_own_content_is_revoked_with_a_reason_and_a_received_credential_is_not(
    consumer: BrowserVisitor, lab: Installation, caller: Caller, ada: ConsumerCreated
) -> None:
    consumer.send_signed("/protect", **FORM)
    mint_document(lab, caller, recipient_email=ADA)
    [entry] = lab.inbox.page(InboxFilter.ALL, caller=consumer_caller(lab, ada)).entries
    consumer.send_signed(f"/inbox/{entry.id}", action="show", title="My degree", visibility="public")
    by_title = {each.row.title: str(each.row.id) for each in list_protections(lab, ada)}
    degree, sunset = by_title["My degree"], by_title[FORM["title"]]
    assert consumer.get("/protect").text.count('value="revoke"') == 1

    def statuses() -> dict[str, str]:
        return {str(each.row.id): each.status(lab.clock.now()) for each in list_protections(lab, ada)}

    without = consumer.send_signed("/protect", action="revoke", id=sunset, reason="")
    assert (without.status_code, "Reason: " in without.text) == (400, True)
    assert consumer.send_signed("/protect", action="revoke", id=degree, reason="not mine").status_code == 409
    assert statuses() == {degree: "VALID", sunset: "VALID"}

    done = consumer.send_signed("/protect", action="revoke", id=sunset, reason="published by mistake")
    assert (done.status_code, done.headers["Location"]) == (303, "protect")
    assert statuses() == {degree: "VALID", sunset: "REVOKED"}
    assert 'value="revoke"' not in consumer.get("/protect").text
    assert consumer.send_signed("/protect", action="revoke", id=sunset, reason="again").status_code == 409


@pytest.mark.parametrize(
    ("changes", "status", "problem"),
    [
        ({"content_hash": ""}, 400, "content_hash"),
        ({"content_hash": "x"}, 400, "Content hash: "),
        ({"title": ""}, 400, "Title: "),
        ({"title": " "}, 400, "Title: "),
        ({"title": "x" * 201}, 400, "Title: "),
        ({"title": "two\nlines"}, 400, "one line"),
        ({"description": "x" * 2001}, 400, "Description: "),
        ({"content_type": "not/a/type"}, 400, "Content type: "),
        ({"category": "A B"}, 400, "Category: "),
        ({"visibility": "all"}, 400, "Visibility: "),
        ({"file_size": "-1"}, 400, "File size: "),
        ({"file_size": "9" * 30}, 400, "File size: "),
        ({"action": ""}, 400, "one of its buttons"),
        ({"action": "change", "id": "x"}, 400, ""),
        ({"action": "revoke", "id": "x", "reason": "gone"}, 400, ""),
        ({"action": "revoke", "id": "0193b5a0-7f3c-7abc-8def-0123456789ab", "reason": "gone"}, 404, ""),
        ({"action": "revoke", "reason": "x" * 1001}, 400, "Reason: "),
        ({"action": "remove", "id": "0193b5a0-7f3c-7abc-8def-0123456789ab"}, 404, ""),
    ],
)
def test_the_page_states_what_is_wrong_and_keeps_the_rest(
    consumer: BrowserVisitor,
    lab: Installation,
    ada: ConsumerCreated,
    changes: dict[str, str],
    status: int,
    problem: str,
) -> None:
    answer = consumer.send_signed("/protect", **{**FORM, "description": "At sea", **changes})

    page = ParsedPage(answer.text)
    assert (answer.status_code, problem in page.text) == (status, True)
    if "title" not in changes:
        assert {field["value"] for field in page.all("input") if field.get("name") == "title"} == {"Sunset"}
    assert list_protections(lab, ada) == []


def test_the_same_content_is_protected_once(consumer: BrowserVisitor, lab: Installation, ada: ConsumerCreated) -> None:
    consumer.send_signed("/protect", **FORM)
    answer = consumer.send_signed("/protect", **FORM)

    assert (answer.status_code, "You protect this content already" in answer.text) == (409, True)
    assert len(list_protections(lab, ada)) == 1


def test_a_form_without_the_token_of_the_session_changes_nothing(
    consumer: BrowserVisitor, lab: Installation, ada: ConsumerCreated
) -> None:
    for token in ("", "x" * 43):
        assert consumer.send("/protect", form_token=token, **FORM).status_code == 403
    assert list_protections(lab, ada) == []


def test_another_consumers_protection_is_not_found(url: str, consumer: BrowserVisitor, lab: Installation) -> None:
    eve = lab.orgs.add_consumer("eve@consumers.example", PASSWORD, name="Eve")
    with make_client(url) as client:
        other = BrowserVisitor(client)
        other.sign_in(email="eve@consumers.example")
        other.send_signed("/protect", **FORM)
    [protection] = list_protections(lab, eve)
    for action in ("change", "revoke", "remove"):
        sent = {"id": str(protection.row.id), "visibility": "private", "reason": "not hers"}
        assert consumer.send_signed("/protect", action=action, **sent).status_code == 404
    assert list_protections(lab, eve) == [protection]


@needs_chromium
def test_a_file_is_hashed_in_the_browser_and_never_sent(
    url: str, lab: Installation, ada: ConsumerCreated, tmp_path: Path
) -> None:
    """On a phone; axe finds nothing, and nothing is wider than the screen."""
    picture = tmp_path / "sunset.png"
    picture.write_bytes(b"the picture of a sunset")
    sent: list[bytes] = []
    with (
        open_browser() as browser,
        open_profile(browser, bypass_csp=True, viewport={"width": 360, "height": 740}) as profile,
    ):
        page = profile.new_page()
        page.on("request", lambda request: sent.append(request.post_data_buffer or b""))
        page.goto(f"{url}/signin?next=protect")
        page.get_by_label("E-mail address").fill(ADA)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("Choose a file").wait_for()  # the script has begun to listen
        page.get_by_label("File to protect").set_input_files(picture)
        page.get_by_text("sunset.png is read").wait_for()
        assert list_violations(page) == []
        page.get_by_role("button", name="Protect it").click()
        page.get_by_role("heading", name="What you protect and show").wait_for()
        assert list_violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 360

    [protection] = list_protections(lab, ada)
    row = protection.row
    assert (row.content_hash, row.title, row.file_name, row.file_size) == (SUNSET, "sunset.png", "sunset.png", 23)
    assert not any(b"picture of a sunset" in body for body in sent)


@needs_chromium
def test_nothing_that_a_consumer_writes_runs(url: str, lab: Installation, consumer: BrowserVisitor) -> None:
    consumer.send_signed("/settings", action="choose_username", username="ada")
    profile = {"name": PAYLOADS[1][:200], "bio": PAYLOADS[0][:500], "portfolio_visibility": "public"}
    assert consumer.send_signed("/settings", action="save_profile", **profile).status_code == 303
    for number, payload in enumerate(PAYLOADS):
        content = hashlib.sha256(bytes([number])).hexdigest()
        texts = {"title": payload[:200].strip(), "description": payload, "content_hash": content}
        assert consumer.send_signed("/protect", **{**FORM, **texts}).status_code in (303, 400, 429)
    asked: list[str] = []
    with open_browser() as browser, open_profile(browser, viewport={"width": 360, "height": 740}) as profile:
        profile.add_cookies(consumer.browser_cookies())
        page = profile.new_page()
        page.on("request", lambda request: asked.append(request.url))
        for path in ("u/ada", "protect", "settings"):
            page.goto(f"{url}/{path}")
            assert page.evaluate("window.hit") is None
            assert page.locator(TRACES).count() == 0
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, path

    assert {address.split("/")[2] for address in asked} == {url.split("/")[2]}
