"""Cross-origin requests: any page may read what is public, and nothing that needs a credential."""

from __future__ import annotations

import httpx
import pytest

from attestlab.server.app import all_routes
from attestlab.web.cross_origin import is_shared
from attestlab.web.routing.routes import Route
from support.sample_application import KNOWN_ID

ORIGIN = {"Origin": "https://reader.example"}
ALLOWED = "access-control-allow-origin"
READS = {
    *("/log/checkpoint", "/log/tile/{path...}", "/v1/log/head", "/v1/status-lists/{issuer_id}"),
    *("/a/{id}", "/a/{id}/bundle.json", "/v1/verify", "/v1/schemas/{id}", "/.well-known/jwks.json"),
}


def ask_first(client: httpx.Client, method: str, path: str) -> httpx.Response:
    """What a browser sends before a request that a plain form could not send."""
    return client.options(path, headers={**ORIGIN, "Access-Control-Request-Method": method})


def shared_routes() -> list[Route]:
    return [route for route in all_routes() if is_shared(route)]


def test_public_reads_are_shared() -> None:
    assert {route.path for route in shared_routes()} >= READS


def test_no_route_that_needs_a_credential_or_answers_with_one_is_shared() -> None:
    assert [route.path for route in shared_routes() if route.needs is not None or route.secret] == []
    assert {route.path for route in shared_routes() if route.method != "GET"} == {
        "/find",
        "/v1/delegations/verify",
        "/v1/open-badges/verify",
        "/v1/receipts/verify",
        "/v1/verify",
    }


@pytest.mark.parametrize("path", ["/tile/0/x", "/v1/faults/conflict", "/openapi.json"])
def test_a_public_read_allows_every_origin(client: httpx.Client, path: str) -> None:
    response = client.get(path, headers=ORIGIN)

    assert response.headers[ALLOWED] == "*"
    assert "access-control-allow-credentials" not in response.headers
    assert "X-Request-Id" in response.headers["access-control-expose-headers"]


@pytest.mark.parametrize("path", ["/v1/notes", f"/v1/notes/{KNOWN_ID}", "/v1/notes/unknown", "/healthz", "/nowhere"])
def test_any_other_response_allows_none(client: httpx.Client, path: str) -> None:
    assert [name for name in client.get(path, headers=ORIGIN).headers if name.startswith("access-control")] == []


def test_a_browser_may_send_what_is_shared(client: httpx.Client) -> None:
    response = ask_first(client, "POST", "/v1/open/notes")

    assert (response.status_code, response.content) == (204, b"")
    assert response.headers[ALLOWED] == "*"
    assert response.headers["access-control-allow-methods"] == "POST"
    assert "Content-Type" in response.headers["access-control-allow-headers"]
    assert "X-API-Key" not in response.headers["access-control-allow-headers"]


@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/notes"), ("POST", "/v1/notes"), ("POST", "/v1/signed")])
def test_a_browser_may_not_send_anything_else(client: httpx.Client, method: str, path: str) -> None:
    response = ask_first(client, method, path)

    assert response.status_code == 405
    assert ALLOWED not in response.headers


def test_an_unknown_path_is_not_found(client: httpx.Client) -> None:
    assert ask_first(client, "GET", "/nowhere").status_code == 404


def test_options_without_an_origin_is_not_allowed(client: httpx.Client) -> None:
    assert client.options("/openapi.json").status_code == 405
