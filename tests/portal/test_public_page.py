"""The public page over HTTP: every verdict in words, its headers, its JSON, its bundle; and views are not metered."""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import Connection, delete, func, select, text, update

from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.verifier import verify_bundle
from attestlab.attestations.rules import Verdict
from attestlab.attestations.store import attestations
from attestlab.attestations.tables import VerificationTally
from attestlab.core.clock import FixedClock
from attestlab.core.records.outbox import OutboxEvent
from attestlab.installation import Installation
from attestlab.issuers.rules import IssuerStatus, TrustTier
from attestlab.issuers.store import issuers, keys
from attestlab.orgs import usage
from attestlab.orgs.rules import Caller
from attestlab.portal import assets, messages
from attestlab.portal.rendering import qr_code
from support.attestations import make_mint_body
from support.attestations import mint as mint_over_http
from support.fork_server import run_command
from support.in_process_server import make_client, wait_until
from support.issuers import register_issuer
from support.lab_checks import check_bundle
from support.portal import DOCUMENT, ParsedPage, mint_document, tamper_with_records
from support.server_process import ServerProcess

pytestmark = pytest.mark.one_world

JSON = {"Accept": "application/json"}
ELSEWHERE = re.compile(r"(?:https?:)?//\w[^\s\"'<>]*")
UNKNOWN = "0193b5a0-7f3c-7abc-8def-0123456789ab"


def open_page(anyone: httpx.Client, attestation_id: object) -> ParsedPage:
    answer = anyone.get(f"/a/{attestation_id}")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    return ParsedPage(answer.text)


def says(page: ParsedPage, verdict: Verdict) -> bool:
    """Whether the page gives this verdict, with its sentences and with no other's."""
    said = messages.VERDICTS[verdict]
    others = [other.meaning for name, other in messages.VERDICTS.items() if name is not verdict]
    sentences = (verdict.value.replace("_", " "), said.meaning, said.advice)
    return all(sentence in page.text for sentence in sentences) and not any(other in page.text for other in others)


@pytest.mark.own_world
def test_page_of_a_valid_attestation_is_complete(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    attestation_id = mint_document(lab, caller, expiry_at=lab.clock.now() + timedelta(days=365))

    answer = anyone.get(f"/a/{attestation_id}")
    page = ParsedPage(answer.text)

    assert answer.status_code == 200
    assert says(page, Verdict.VALID)
    shown = ("Northfield University", "northfield.example.edu", "Student name", "Ada Lovelace", "Degree")
    record = (str(attestation_id), hashlib.sha256(DOCUMENT).hexdigest(), lab.log_id, "21 November 2026, 12:00 UTC")
    assert [part for part in (*shown, *record) if part not in page.text] == []
    assert [step.question for step in messages.STEPS if step.question not in page.text] == []
    assert "7 of 8 steps passed" in page.text
    assert page.text.count("No file yet") == 1
    assert {"datetime": "2027-11-21T12:00:00.000Z"} in page.all("time")


@pytest.mark.own_world
def test_an_attestation_that_has_run_out_is_expired(
    anyone: httpx.Client, lab: Installation, caller: Caller, clock: FixedClock
) -> None:
    attestation_id = mint_document(lab, caller, expiry_at=clock.now() + timedelta(hours=1))
    clock.advance(timedelta(hours=1))

    page = open_page(anyone, attestation_id)

    assert says(page, Verdict.EXPIRED)
    assert "It was valid until 21 November 2026, 13:00 UTC" in page.text


@pytest.mark.own_world
def test_page_of_a_revoked_attestation_has_reason_and_proof(
    anyone: httpx.Client, lab: Installation, caller: Caller
) -> None:
    attestation_id = mint_document(lab, caller)
    lab.attestations.revoke(attestation_id, reason="The name was misspelt", caller=caller)

    page = open_page(anyone, attestation_id)
    bundle = anyone.get(f"/a/{attestation_id}/bundle.json").content

    assert says(page, Verdict.REVOKED)
    assert "The name was misspelt" in page.text
    assert "Withdrawn on 21 November 2026, 12:00 UTC" in page.text
    assert "A signature shows who said this" not in page.text
    report = verify_bundle(Bundle.read(bundle), trust=lab.trust, now=lab.clock.now())
    assert report.verdict is Verdict.REVOKED


def test_extra_query_parameters_are_ignored(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    attestation_id = mint_document(lab, caller)

    answer = anyone.get(f"/a/{attestation_id}", params={"utm_source": "mail", "fbclid": "x"})

    assert answer.status_code == 200
    assert says(ParsedPage(answer.text), Verdict.VALID)


def test_a_superseded_one_leads_to_the_newest_one(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    attestation_id = mint_document(lab, caller)
    newer = mint_document(lab, caller, supersedes=attestation_id)
    newest = mint_document(lab, caller, supersedes=newer)

    page = open_page(anyone, attestation_id)

    assert says(page, Verdict.SUPERSEDED)
    link = next(str(part["href"]) for part in page.all("a") if part.get("class") == "btn")
    assert urljoin(f"/a/{attestation_id}", link) == f"/a/{newest}"
    assert says(open_page(anyone, newest), Verdict.VALID)


@pytest.mark.tampered
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (update(attestations).values(claims=b'{"student_name":"Eve"}'), "The signature does not fit the statement."),
        (update(attestations).values(nonce=bytes(32)), "The public log does not prove it."),
        (update(keys).values(status="revoked", changed_index=0), "Nothing shows that it was logged before that."),
        (update(issuers).values(status="REVOKED", revoked_index=0), "The issuer was excluded from the service."),
        (delete(keys), "The key is not in the records."),
    ],
)
def test_an_invalid_one_names_the_check_that_failed(
    anyone: httpx.Client, lab: Installation, caller: Caller, change: Any, sentence: str
) -> None:
    attestation_id = mint_document(lab, caller)
    tamper_with_records(lab, change)

    page = open_page(anyone, attestation_id)

    assert says(page, Verdict.INVALID)
    assert sentence in page.text
    answers = page.html.partition('id="step-list"')[2]
    assert answers.count('class="answer bad"') == 1


@pytest.mark.tampered
def test_page_without_issuer_offers_no_bundle(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    attestation_id = mint_document(lab, caller)
    with lab.storage.engine.connect() as connection:
        _forget_foreign_keys(connection, is_sqlite=lab.storage.is_sqlite)
        connection.execute(delete(issuers))
        connection.commit()
        connection.invalidate()

    page = open_page(anyone, attestation_id)

    assert says(page, Verdict.UNKNOWN_ISSUER)
    assert "bundle.json" not in page.html
    assert anyone.get(f"/a/{attestation_id}/bundle.json").status_code == 404


def _forget_foreign_keys(connection: Connection, *, is_sqlite: bool) -> None:
    connection.execute(text("PRAGMA foreign_keys=OFF" if is_sqlite else "SET session_replication_role = replica"))


def test_an_unknown_one_is_a_page_of_its_own_with_404(anyone: httpx.Client) -> None:
    """People read that there is none; programs and crawlers read the status."""
    answer = anyone.get(f"/a/{uuid4()}")

    assert answer.status_code == 404
    assert says(ParsedPage(answer.text), Verdict.NOT_FOUND)


@pytest.mark.parametrize("path", ["assets", "index.html", "1", "0193b5a0-7f3c-7abc-8def-0123456789a", "%3Cscript%3E"])
def test_what_cannot_be_an_id_is_not_found_either(anyone: httpx.Client, path: str) -> None:
    answer = anyone.get(f"/a/{path}")

    assert answer.status_code == 404
    assert says(ParsedPage(answer.text), Verdict.NOT_FOUND)
    assert anyone.get(f"/a/{path}", headers=JSON).json()["code"] == "NOT_FOUND"


def test_the_issuer_is_shown_as_it_was_and_as_it_is(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    attestation_id = mint_document(lab, caller)
    issuer_id = lab.attestations.get(attestation_id, caller=caller).issuer_id
    lab.issuers.set_governance(issuer_id, status=IssuerStatus.SUSPENDED, trust_tier=TrustTier.BASIC, caller=caller)

    page = open_page(anyone, attestation_id)

    assert says(page, Verdict.VALID)
    assert "Status Active Suspended changed" in page.text
    assert "Trust tier Self-signed Basic changed" in page.text
    assert "Please note: The issuer is suspended at present." in page.text


def test_page_without_a_file_hash_offers_no_comparison(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    page = open_page(anyone, mint_document(lab, caller, file_sha256=None, file_size=None))

    assert "There is no hash stored that a file could be compared with." in page.text
    assert page.all("input") == []


@pytest.mark.parametrize(
    ("tier", "who"),
    [
        (TrustTier.SELF_SIGNED, r"An unverified issuer"),
        (TrustTier.BASIC, r"The owner of northfield\.example\.edu"),
        (TrustTier.VERIFIED, r"Northfield University"),
    ],
)
def test_the_verdict_calls_an_issuer_by_what_was_verified_about_it(
    anyone: httpx.Client, lab: Installation, caller: Caller, tier: TrustTier, who: str
) -> None:
    attestation_id = mint_document(lab, caller)
    issuer_id = lab.attestations.get(attestation_id, caller=caller).issuer_id
    if tier is not TrustTier.SELF_SIGNED:
        lab.issuers.set_governance(issuer_id, trust_tier=tier, caller=caller)

    page = open_page(anyone, attestation_id)

    (preview,) = [str(part["content"]) for part in page.all("meta") if part.get("property") == "og:title"]
    assert re.search(f"{who} signed this degree on [0-9]", page.text)
    assert re.fullmatch(f"Degree by {who}", preview, re.IGNORECASE)


def test_a_preview_of_a_link_has_no_verdict_and_no_key(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    attestation_id = mint_document(lab, caller)

    page = open_page(anyone, attestation_id)
    preview = {str(part["property"]): str(part["content"]) for part in page.all("meta") if "property" in part}

    assert preview["og:url"] == lab.links.public_url(attestation_id)
    assert [text for text in preview.values() if "VALID" in text or "Ada" in text] == []


def test_page_of_many_claims_folds_them(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    claims = {"student_name": "Ada", "graduation_date": "2026-06-30", **{f"claim {n}": n for n in range(20)}}

    page = open_page(anyone, mint_document(lab, caller, claims=claims))

    assert "Show 10 more claims" in page.text
    assert "Graduation date 30 June 2026" in page.text


def test_badge_shows_the_verdict_of_the_moment_and_no_claim(
    passer_by: httpx.Client, lab: Installation, caller: Caller
) -> None:
    attestation_id = mint_document(lab, caller)
    path, index = f"/a/{attestation_id}/badge.svg", lab.attestations.get(attestation_id, caller=caller).log_index

    valid = passer_by.get(path)
    lab.attestations.revoke(attestation_id, reason="misspelt", caller=caller)
    revoked = passer_by.get(path, headers={"If-None-Match": valid.headers["ETag"]})

    assert (valid.status_code, valid.headers["Content-Type"]) == (200, "image/svg+xml")
    assert valid.headers["Cache-Control"] == "no-cache"
    assert valid.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert re.findall(r"aria-label=\"(.*?)\"", valid.text) == [f"AttestLab: Valid, unverified issuer, no. {index}"]
    assert (revoked.status_code, "Revoked" in revoked.text) == (200, True)
    assert [text for text in (valid.text, revoked.text) if "Ada" in text or "misspelt" in text] == []


@pytest.mark.parametrize("path", [f"/a/{UNKNOWN}/badge.svg", "/a/nonsense/badge.svg"])
def test_badge_of_nothing_states_that(passer_by: httpx.Client, path: str) -> None:
    answer = passer_by.get(path)

    assert (answer.status_code, "Not found" in answer.text) == (404, True)


def test_page_without_scripts_explains_how_to_compare_the_hash(
    anyone: httpx.Client, lab: Installation, caller: Caller
) -> None:
    html = open_page(anyone, mint_document(lab, caller)).html
    noscript = html.partition("<noscript>")[2].partition("</noscript>")[0]

    assert "sha256sum" in noscript
    assert hashlib.sha256(DOCUMENT).hexdigest() in html


def test_as_json_it_is_what_a_verification_answers(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    attestation_id = mint_document(lab, caller)

    answer = anyone.get(f"/a/{attestation_id}", headers=JSON)
    missing = anyone.get(f"/a/{UNKNOWN}", headers=JSON)

    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Vary"] == "Accept"
    assert answer.json() == anyone.post("/v1/verify", json={"attestation_id": str(attestation_id)}).json()
    assert missing.status_code == 404
    assert missing.json() == anyone.post("/v1/verify", json={"attestation_id": UNKNOWN}).json()


def test_the_bundle_is_a_file_that_verifies_offline(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    """It is the bundle of `proof-bundle`, without what the issuer noted for itself."""
    noted = {"subject_reference": "person 17", "metadata": {"case": "private"}}
    attestation_id = mint_document(lab, caller, **noted)

    answer = anyone.get(f"/a/{attestation_id}/bundle.json")
    with make_client(str(anyone.base_url), key=key_with_every_scope(lab, caller)) as owner:
        own = owner.get(f"/v1/attestations/{attestation_id}/proof-bundle").json()

    check_bundle(answer.content, lab.trust, lab)
    assert answer.headers["Content-Disposition"] == f'attachment; filename="attestation-{attestation_id}.json"'
    assert {name: own["attestation"][name] for name in noted} == noted
    own["attestation"] |= dict.fromkeys(noted)
    assert answer.json() == own


def test_command_on_the_page_verifies_its_bundle(
    anyone: httpx.Client, lab: Installation, caller: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attestation_id = mint_document(lab, caller)
    page = open_page(anyone, attestation_id)
    downloaded = anyone.get(f"/a/{attestation_id}/bundle.json")
    named = downloaded.headers["Content-Disposition"].partition('"')[2].rstrip('"')
    (tmp_path / named).write_bytes(downloaded.content)
    (tmp_path / "FILE").write_bytes(DOCUMENT)
    (tmp_path / "trust.txt").write_text(f"log {anyone.get('/v1/log/vkey').json()['vkey']}\nquorum none\n")

    shown = re.findall(r"attestlab (verify [^<]+)</code>", page.html)
    monkeypatch.chdir(tmp_path)
    done = run_command(*shown[0].split())

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"VALID  attestation {attestation_id}")


def test_qr_code_and_mint_link_lead_to_the_page(server: ServerProcess) -> None:
    with server.client() as client:
        minted = register_and_mint(client)
        page = ParsedPage(client.get(minted["share_url"]).text)

    assert minted["share_url"].startswith(f"{minted['verify_url']}?k=")
    assert [part["aria-label"] for part in page.all("div") if part.get("role") == "img"] == [
        f"QR code of this page\u2019s address, {minted['share_url']}"
    ]
    assert qr_code(minted["share_url"]) in page.html


def test_qr_code_of_the_plain_page_has_no_share_key(passer_by: httpx.Client, lab: Installation, caller: Caller) -> None:
    attestation_id = mint_document(lab, caller)
    plain, shared = lab.links.public_url(attestation_id), lab.links.share_url(attestation_id)

    pages = [ParsedPage(passer_by.get(f"/a/{attestation_id}{more}").text) for more in ("", "?k=", "?k=wrong")]

    for page in pages:
        labels = [part["aria-label"] for part in page.all("div") if part.get("role") == "img"]
        assert labels == [f"QR code of this page\u2019s address, {plain}"]
        assert qr_code(plain) in page.html
        assert qr_code(shared) not in page.html
        assert lab.links.share_key(attestation_id) not in page.html


def test_page_without_key_shows_the_verdict_only(passer_by: httpx.Client, lab: Installation, caller: Caller) -> None:
    """Ids stand in the public log; so neither claims, nor a reason, nor the bundle are public."""
    attestation_id, other = mint_document(lab, caller), mint_document(lab, caller)
    lab.attestations.revoke(other, reason="a secret reason", caller=caller)
    wrong = lab.links.share_key(other)

    pages = [
        ParsedPage(passer_by.get(f"/a/{attestation_id}{more}").text) for more in ("", "?k=", f"?k={wrong}", "?k=\u00fc")
    ]
    revoked = ParsedPage(passer_by.get(f"/a/{other}").text)
    bundles = [passer_by.get(f"/a/{attestation_id}/bundle.json{more}") for more in ("", f"?k={wrong}")]

    assert [page for page in pages if not says(page, Verdict.VALID)] == []
    assert [page for page in pages if "Ada Lovelace" in page.html or "bundle.json" in page.html] == []
    assert says(revoked, Verdict.REVOKED)
    assert "a secret reason" not in revoked.html
    assert [answer.status_code for answer in bundles] == [404, 404]


def register_and_mint(client: httpx.Client) -> dict[str, Any]:
    answer: dict[str, Any] = mint_over_http(client, make_mint_body(register_issuer(client))).json()
    return answer


def key_with_every_scope(lab: Installation, caller: Caller) -> str:
    return lab.api_keys.create("A key", scopes=caller.scopes, caller=caller).secret


def test_a_bundle_of_nothing_is_not_found(anyone: httpx.Client) -> None:
    answers = [anyone.get(f"/a/{asked}/bundle.json") for asked in (UNKNOWN, "nonsense")]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(404, "NOT_FOUND")] * 2


def test_page_view_is_not_metered(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    attestation_id = mint_document(lab, caller)
    before = count_rows(lab, caller)

    for path in (f"/a/{attestation_id}", f"/a/{attestation_id}/bundle.json", f"/a/{uuid4()}"):
        anyone.get(path)
        anyone.get(path, headers=JSON)

    assert count_rows(lab, caller) == before
    anyone.post("/v1/verify", json={"attestation_id": str(attestation_id)})
    wait_until(lambda: count_rows(lab, caller) != before, True)
    assert count_rows(lab, caller) == tuple(count + 1 for count in before), "the looks were metered too"


def count_rows(lab: Installation, caller: Caller) -> tuple[int, ...]:
    """What a metered verification leaves behind, which is written a moment after its answer."""
    with lab.storage.read() as connection:
        published = connection.scalar(select(func.count()).select_from(OutboxEvent)) or 0
        tallied = connection.scalar(select(func.count()).select_from(VerificationTally)) or 0
        used = usage.get_used(connection, caller.tenant_id, usage.VERIFICATIONS, lab.clock.now().date())
    return published, tallied, used


def test_page_view_counts_against_the_rate_limit(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    attestation_id = mint_document(lab, caller)

    left = [int(anyone.get(f"/a/{attestation_id}").headers["X-RateLimit-Remaining"]) for _ in range(3)]

    assert left == [left[0], left[0] - 1, left[0] - 2]


@pytest.mark.parametrize("path", ["/a/{id}", f"/a/{UNKNOWN}", "/a/nonsense"])
def test_page_headers_allow_only_what_the_page_needs(
    anyone: httpx.Client, lab: Installation, caller: Caller, path: str
) -> None:
    answer = anyone.get(path.replace("{id}", str(mint_document(lab, caller))))
    policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))

    closed = ("default-src", "connect-src", "base-uri", "frame-ancestors", "trusted-types")
    assert {name: policy.pop(name) for name in closed} == dict.fromkeys(closed, "'none'")
    assert policy.pop("img-src") == policy.pop("form-action") == "'self'"
    assert policy.pop("require-trusted-types-for") == "'script'"
    styles = re.findall(r"<style>(.*?)</style>", answer.text, re.DOTALL)
    assert policy.pop("script-src") == "'self'"
    assert policy.pop("style-src") == " ".join(["'self'", *map(assets.csp_hash, styles)])
    assert policy == {}
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["X-Robots-Tag"] == "noindex, nofollow"


def test_no_element_has_a_handler_or_a_style_of_its_own(
    anyone: httpx.Client, lab: Installation, caller: Caller
) -> None:
    page = open_page(anyone, mint_document(lab, caller))

    names = {name for _, attributes in page.elements for name in attributes}
    assert [name for name in names if name.startswith("on") or name in ("style", "srcdoc", "action")] == []
    assert len(page.all("script")) == page.html.count("></script>") == 3  # each is a file


def test_nothing_on_the_page_is_at_another_host(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    """Also where the issuer's logo is: it is shown only where we hold it."""
    linked = mint_document(lab, caller, profile={"logo_url": "https://logos.example.com/northfield.png"})
    page = open_page(anyone, linked)

    own = lab.links.public_url(linked)
    assert [found for found in ELSEWHERE.findall(page.html) if not found.startswith(own)] == []
    assert [part["src"] for part in page.all("img")] == [f"{linked}/badge.svg"]
    assert "NU" in page.text
    for name in ("page.css", "sha256.js", "choose_file.js", "attestation.js", "home.js", "icon.svg"):
        served = anyone.get(f"/assets/{assets.public_name(name)}").text.replace('"http://www.w3.org/2000/svg"', "")
        assert ELSEWHERE.findall(re.sub(r"(?m)(^| )// .*$", "", served)) == []


def test_every_link_leads_somewhere(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    attestation_id = mint_document(lab, caller)
    page = open_page(anyone, attestation_id)

    links = [str(part["href"]) for tag in ("a", "link") for part in page.all(tag)]
    links += [str(part["src"]) for tag in ("img", "script") for part in page.all(tag)]
    there = [urljoin(f"/a/{attestation_id}", link) for link in links]  # the inbox leads a stranger to the sign-in
    statuses = {link: anyone.get(link, follow_redirects=True).status_code for link in there}

    assert set(statuses.values()) == {200}
    assert len(statuses) == 16


def test_an_uploaded_logo_is_shown(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    attestation_id = mint_document(lab, caller)
    issuer_id = lab.attestations.get(attestation_id, caller=caller).issuer_id
    lab.logos.upload(issuer_id, b"\x89PNG\r\n\x1a\n-and-some-more", caller=caller)

    page = open_page(anyone, attestation_id)
    source = urljoin(f"/a/{attestation_id}", str(page.all("img")[0]["src"]))
    lab.logos.remove(issuer_id, caller=caller)

    assert source == f"/v1/issuers/{issuer_id}/logo"
    assert page.all("img")[0]["alt"] == ""  # the name stands beside it
    assert len(open_page(anyone, attestation_id).all("img")) == 1  # the badge


def test_asset_is_cached_as_immutable_under_its_hash(anyone: httpx.Client) -> None:
    name = assets.public_name("icon.svg")
    answer = anyone.get(f"/assets/{name}")

    assert hashlib.sha256(answer.content).hexdigest()[:16] in name
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer.headers["Content-Type"] == "image/svg+xml"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert anyone.get("/assets/icon.svg").status_code == 404
    assert anyone.get("/assets/..%2Fpage.css").status_code == 404


def test_conditional_request_of_a_missing_page_is_404(anyone: httpx.Client) -> None:
    answer = anyone.get(f"/a/{UNKNOWN}", headers={"If-None-Match": "*"})

    assert (answer.status_code, "ETag" in answer.headers) == (404, False)


def test_head_request_returns_the_same_headers(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    path = f"/a/{mint_document(lab, caller)}"

    head, whole = anyone.head(path), anyone.get(path)

    assert head.content == b""
    assert head.headers["Content-Length"] == whole.headers["Content-Length"]
    assert head.headers["Content-Security-Policy"] == whole.headers["Content-Security-Policy"]


def test_very_many_claims_are_cut_and_say_so(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    claims = {"student_name": "x" * 5000, **{f"claim {number}": number for number in range(120)}}

    page = open_page(anyone, mint_document(lab, caller, claims=claims))

    assert "(5000 characters; the proof bundle has them all)" in page.text
    assert "21 more claims" in page.text
    assert len([part for part in page.all("dt") if part.get("class") == "own"]) == 99
