"""The whole story of a person and an issuer: from the mail of a mint to an account that is deleted again.

A server process, a mail server, a receiver of webhooks and a browser take part, all of them real.
"""

from __future__ import annotations

import email
import email.policy
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page

from attestlab.core.encoding import b64url_encode
from support.accepted_requests import read, send
from support.attestations import make_mint_body, mint
from support.browser import needs_chromium, open_browser, open_profile
from support.in_process_server import make_client, wait_until
from support.installations import InstallationTemplate
from support.issuers import register_issuer
from support.mail_server import MailServer, serve_mail
from support.server_process import ServerProcess, run_json_command
from support.webhook_receiver import WebhookReceiver, receive_webhooks

ADA = "ada@people.example"
PASSWORD = "correct horse battery staple"
PHOTO = b"the picture of a sunset"
PER_DAY = 100  # attestations of the plan FREE
WITHIN = timedelta(minutes=15)  # the story is over
_LINK = re.compile(r"http://\S+/signup\?token=\S+")

pytestmark = needs_chromium


@dataclass
class Town:
    """A server, its mail server, a receiver of webhooks, a registry on the plan FREE, and a stranger."""

    server: ServerProcess
    mail_server: MailServer
    receiver: WebhookReceiver
    registry: httpx.Client
    stranger: httpx.Client

    def find_signup_link(self) -> str:
        """Wait for the mail to Ada, and return its link to the sign-up."""
        wait_until(lambda: [mail.recipient for mail in list(self.mail_server.accepted)], [ADA])
        letter = email.message_from_bytes(self.mail_server.accepted[0].content, policy=email.policy.default)
        found = _LINK.search(str(letter.get_content()))
        assert found is not None, letter.get_content()
        return found[0]

    def find_thresholds(self, resource: str) -> list[tuple[int, int, int]]:
        """The thresholds of a resource that the tenant's endpoint received: percent, use and limit."""
        facts = [json.loads(event.body)["data"] for event in list(self.receiver.received)]
        reached = [each for each in facts if each["resource"] == resource]
        return [(each["threshold_percent"], each["used"], each["limit"]) for each in reached]

    def portfolio(self) -> list[dict[str, Any]]:
        """What a stranger is shown of Ada."""
        shown: list[dict[str, Any]] = read(self.stranger, "/v1/consumer/portfolio/ada")["protections"]
        return shown

    def count_of(self, title: str) -> int:
        """How often what Ada shows under a title was verified."""
        (count,) = (each["verification_count"] for each in self.portfolio() if each["title"] == title)
        return int(count)


@pytest.fixture
def town(
    make_template: Callable[..., InstallationTemplate], engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Town]:
    with serve_mail() as mail_server, receive_webhooks() as receiver:
        monkeypatch.setenv("ATTESTLAB_SMTP_URL", mail_server.url)
        monkeypatch.setenv("ATTESTLAB_WEBHOOK_ALLOW_PRIVATE", "1")
        with serve_new_tenant(make_template(engine, is_of_now=True), tmp_path) as (server, key):
            with make_client(server.url, key=key) as registry, make_client(server.url) as stranger:
                yield Town(server, mail_server, receiver, registry, stranger)
            server.stop()
            server.check()


@contextmanager
def serve_new_tenant(template: InstallationTemplate, folder: Path) -> Iterator[tuple[ServerProcess, str]]:
    """Serve a copy of an installation with a new tenant, whose requests no limit delays; yield the tenant's key, too.

    The day of what a plan counts ends at midnight: shortly before, the clock of the server is ahead.
    """
    now = datetime.now(UTC)
    with template.copy_to(folder) as settings:
        assert settings.database_url is not None
        place = ("--data", str(settings.data), "--database-url", settings.database_url, "--json")
        made = run_json_command("tenant", "create", "Northfield University", *place)
        run_json_command("tenant", "plan", made["tenant_id"], "FREE", "--set", "requests_per_minute=none", *place)
        server = ServerProcess(settings.data, settings.database_url, template.made.public())
        if (now + WITHIN).date() != now.date():
            server.host = ("attestlab_ahead", str(WITHIN.total_seconds()))
        with server:
            yield server, made["api_key"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.mark.both_engines
def test_a_recipient_signs_up_shows_what_she_has_and_leaves(town: Town, browser: Browser, tmp_path: Path) -> None:
    issuer = register_issuer(town.registry)
    degree = mint(town.registry, make_mint_body(issuer, recipient_email=ADA)).json()["id"]
    with open_profile(browser, viewport={"width": 360, "height": 740}) as profile:
        asked: list[str] = []
        profile.on("request", lambda request: asked.append(request.url))
        page = profile.new_page()
        sign_up(page, town.find_signup_link())
        bundle, badge = look_at_the_degree(page, tmp_path)
        publish_the_degree(page)
        protect_a_photo(page, tmp_path)
        photo = find_ada(town, browser)
        use_most_of_the_day(town, issuer)
        upgrade(town, browser, issuer)
        delete_the_account(page, town.server.url)
        assert {address.split("/")[2] for address in asked} == {town.server.url.removeprefix("http://")}

    assert town.stranger.get("/v1/consumer/portfolio/ada").status_code == 404
    verify = partial(send, town.stranger, "/v1/verify")
    assert [verify(attestation_id=each)["verdict"] for each in (degree, photo)] == ["VALID", "VALID"]
    verify_offline(town, bundle, badge, issuer)


def sign_up(page: Page, link: str) -> None:
    page.goto(link)
    page.get_by_text(f"An attestation for {ADA} waits for you").wait_for()
    page.get_by_label("Your name").fill("Ada Lovelace")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    page.get_by_role("link", name="Degree").click()


def look_at_the_degree(page: Page, folder: Path) -> tuple[Path, Path]:
    """Verify what waits in the inbox, and download its bundle and its Open Badge."""
    files = []
    for name in ("Proof bundle", "Open Badge"):
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        files.append(folder / download.value.suggested_filename)
        download.value.save_as(files[-1])
    page.get_by_role("link", name="Verify it").click()
    page.get_by_role("heading", name="signed this degree").wait_for()
    page.go_back()
    return files[0], files[1]


def publish_the_degree(page: Page) -> None:
    page.get_by_label("Title").fill("My degree")
    page.get_by_label("Who sees it").select_option("public")
    page.get_by_role("button", name="Show it").click()


def protect_a_photo(page: Page, folder: Path) -> None:
    """Let the browser hash a photo, and publish what it protects."""
    photo = folder / "sunset.jpg"
    photo.write_bytes(PHOTO)
    page.get_by_text("Choose a file").wait_for()  # the script has begun to listen
    page.get_by_label("File to protect").set_input_files(photo)
    page.get_by_text("sunset.jpg is read").wait_for()
    page.locator("#protect-form").get_by_label("Title").fill("Sunset")
    page.locator("#protect-form").get_by_label("Who sees it").select_option("public")
    page.get_by_role("button", name="Protect it").click()
    page.get_by_role("link", name="Sunset").wait_for()


def find_ada(town: Town, browser: Browser) -> str:
    """As a stranger, find Ada's page and verify her photo, whose count moves; return its attestation's id."""
    with open_profile(browser, viewport={"width": 360, "height": 740}) as profile:
        page = profile.new_page()
        page.goto(f"{town.server.url}/u/ada")
        assert page.get_by_role("listitem").locator("h2").all_inner_texts() == ["Sunset", "My degree"]
    photo, degree = town.portfolio()
    assert (photo["content_hash"], photo["verification_count"]) == (hashlib.sha256(PHOTO).hexdigest(), 0)
    body = {"attestation_id": photo["attestation_id"]}
    right, wrong = (hashlib.sha256(content).hexdigest() for content in (PHOTO, b"another"))
    assert send(town.stranger, "/v1/verify", **body, document_hash_hex=right)["verdict"] == "VALID"
    assert send(town.stranger, "/v1/verify", **body, document_hash_hex=wrong)["verdict"] == "ALTERED"
    wait_until(lambda: town.count_of("Sunset"), 1)
    assert degree["verification_count"] == town.count_of("My degree") == 0
    return str(photo["attestation_id"])


def use_most_of_the_day(town: Town, issuer: dict[str, Any]) -> None:
    """Mint until 80 percent of the day are used, and wait for the event about it."""
    endpoint = {"name": "Billing", "url": f"{town.receiver.url}/billing", "event_filters": ["billing.usage.threshold"]}
    send(town.registry, "/v1/webhooks/endpoints", **endpoint)
    send(town.registry, "/v1/attestations/batch", items=[make_mint_body(issuer)] * (PER_DAY * 8 // 10 - 1))
    wait_until(lambda: town.find_thresholds("attestations"), [(80, 80, PER_DAY)])


def upgrade(town: Town, browser: Browser, issuer: dict[str, Any]) -> None:
    """Read what a larger plan would change, choose it in the portal, and mint with its limit."""
    preview = send(town.registry, "/v1/billing/subscription/preview", plan="STARTER")
    effects = {
        each["resource"]: (each["limit_before"], each["limit_after"], each["used"]) for each in preview["effects"]
    }
    assert (effects["attestations"], preview["due_now_minor"] > 0) == ((PER_DAY, 10_000, 80), True)
    (org,) = town.registry.get("/v1/orgs").json()
    assert town.registry.patch(f"/v1/orgs/{org['id']}", json={"return_origins": [town.receiver.url]}).is_success
    opened = send(town.registry, "/v1/billing/portal", return_url=f"{town.receiver.url}/back")
    with open_profile(browser, viewport={"width": 360, "height": 740}) as profile:
        page = profile.new_page()
        page.goto(opened["portal_url"])
        page.get_by_role("link", name="Choose Starter").click()
        page.get_by_role("row", name=f"attestations {PER_DAY} 10,000 80").wait_for()
        page.get_by_role("button", name="Confirm").click()
        page.get_by_text("Starter · 29.00 USD a month").wait_for()
    assert mint(town.registry, make_mint_body(issuer)).status_code == 201
    used = {each["resource"]: each for each in read(town.registry, "/v1/billing/usage")["items"]}
    assert (used["attestations"]["used"], used["attestations"]["limit"]) == (81, 10_000)


def delete_the_account(page: Page, url: str) -> None:
    page.goto(f"{url}/settings")
    page.get_by_role("heading", name="Delete your account").click()
    page.locator("form", has_text="Delete it for good").get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Delete it for good").click()
    page.get_by_role("heading", name="deleted").wait_for()


def verify_offline(town: Town, bundle: Path, badge: Path, issuer: dict[str, Any]) -> None:
    """Verify what Ada downloaded: the bundle by the log's pinned key, the badge by the pinned keys of its issuer."""
    trust, metadata = bundle.with_name("trust.txt"), bundle.with_name("issuer.json")
    trust.write_text(f"log {read(town.stranger, '/v1/log/vkey')['vkey']}\nquorum none\n")
    metadata.write_text(json.dumps(read(town.stranger, f"/.well-known/jwt-vc-issuer/v1/issuers/{issuer['id']}")))
    for arguments in ((str(bundle), "--trust", str(trust)), (str(badge), "--issuer", str(metadata))):
        assert run_json_command("verify", *arguments, "--json")["verdict"] == "VALID"
    verified = send(town.stranger, "/v1/open-badges/verify", content_b64url=b64url_encode(badge.read_bytes()))
    assert verified["verdict"] == "VALID"
