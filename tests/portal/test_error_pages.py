"""Errors as pages for browsers, and as envelopes for programs; both have the same status, code and request id."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from attestlab.installation import Installation
from attestlab.portal.assets import csp_hash
from attestlab.portal.error_pages import error_page
from attestlab.server.app import render_error_page
from attestlab.web import problems
from attestlab.web.problems import ErrorEnvelope
from attestlab.web.response import Response
from support.in_process_server import make_client, serve_in_thread
from support.portal import ParsedPage

pytestmark = pytest.mark.one_world

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


@pytest.fixture
def visitor(lab: Installation) -> Iterator[httpx.Client]:
    with serve_in_thread(lab) as url, make_client(url) as client:
        yield client


@pytest.mark.parametrize(
    ("method", "path", "status", "sentence"),
    [
        ("GET", "/nowhere", 404, "There is nothing at this address"),
        ("GET", "/v1/log/proofs/999999", 404, "There is nothing at this address"),
        ("GET", "/u/no-such-name", 404, "There is no page of this name"),
        ("GET", "/blog/no-such-post", 404, "There is no post at this address"),
        ("GET", "/v1/verify", 405, "This address is for programs"),
        ("GET", "/v1/issuers", 401, "This address needs a key"),
        ("GET", "/v1/log/entries?limit=zero", 400, "This request was refused"),
    ],
)
def test_a_browser_gets_a_page_and_a_program_the_envelope(
    visitor: httpx.Client, method: str, path: str, status: int, sentence: str
) -> None:
    page = visitor.request(method, path, headers=BROWSER)
    envelope = visitor.request(method, path)

    assert (page.status_code, envelope.status_code) == (status, status)
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert (page.headers["Cache-Control"], page.headers["Vary"]) == ("no-store", "Accept, X-Forwarded-Prefix")
    assert sentence in ParsedPage(page.text).text
    assert f"{envelope.json()['code']}, request {page.headers['X-Request-Id']}" in ParsedPage(page.text).text
    assert page.headers.get("Allow") == envelope.headers.get("Allow")


@pytest.mark.own_world
def test_a_blocked_reader_is_asked_to_wait(lab: Installation) -> None:
    lab.settings, before = lab.settings.model_copy(update={"address_requests_per_minute": 1}), lab.settings
    try:
        with serve_in_thread(lab) as url, make_client(url) as client:
            answers = [client.get("/", headers=BROWSER) for _ in range(8)]
    finally:
        lab.settings = before
    refused = next(answer for answer in answers if answer.status_code == 429)

    assert "stylesheet" not in refused.text  # a request for it would be refused too
    assert csp_hash(re.findall(r"<style>(.*?)</style>", refused.text, re.DOTALL)[0]) in policy_of(refused)
    assert f"Please wait {refused.headers['Retry-After']} second" in ParsedPage(refused.text).text


def policy_of(answer: httpx.Response) -> str:
    return answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("status", [500, 503])
def test_a_failure_is_a_page_that_offers_to_try_again(status: int) -> None:
    envelope = ErrorEnvelope(
        code="X", message="m", http_status=status, retry_after_ms=1500, details={"request_id": "abc"}
    )

    page = ParsedPage(error_page(envelope, path="/a/b/c", path_prefix="").body.decode())

    assert "Try again in 2 seconds." in page.text
    assert {"href": "../../", "class": "btn"} in page.all("a")


def test_an_error_page_that_fails_leaves_the_envelope() -> None:
    def fail(envelope: ErrorEnvelope, /, *, path: str, path_prefix: str) -> problems.HtmlPage:
        raise RuntimeError(path)

    body = ErrorEnvelope(code="X", message="m", http_status=404, details={}).model_dump_json().encode()
    answer = Response(404, {"Content-Type": "application/json"}, body)

    assert problems.page_response(answer, fail, path="/x", path_prefix="") is answer


def test_the_page_of_a_very_deep_path_stays_small() -> None:
    envelope = ErrorEnvelope(code="NOT_FOUND", message="m", http_status=404, details={})

    assert len(render_error_page(envelope, path="/" * 16_000, path_prefix="/lab").body) < 8_000
