"""Every route with every single scope, over HTTP, compared with a hand-written table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
import yaml

from attestlab.installation import Installation
from attestlab.orgs.rules import CONSUMER_SCOPES, Scope
from attestlab.server.app import all_routes
from attestlab.web.routing.routes import Route
from support.access import AccessScenario, open_access_scenario
from support.in_process_server import serve_in_thread

EXPECTED = yaml.safe_load((Path(__file__).parent / "expectations.yaml").read_text())
ROUTES = {f"{route.method} {route.path}": route for route in all_routes()}
_IN_PATH = re.compile(r"\{\w+(?:\.\.\.)?\}")


@pytest.fixture
def access(lab: Installation) -> Iterator[AccessScenario]:
    with serve_in_thread(lab) as url, open_access_scenario(lab, url) as made:
        yield made


def called(client: httpx.Client, route: Route) -> int:
    """Returns the status of a call with unknown ids: a permitted caller gets past authorization to the 404."""
    path = _IN_PATH.sub(str(uuid4()), route.path.replace("{version}", "1"))
    body = None if route.method in ("GET", "DELETE") else {}
    return client.request(route.method, path, json=body, headers={"Idempotency-Key": str(uuid4())}).status_code


def test_every_route_is_in_the_table_and_vice_versa() -> None:
    assert sorted(EXPECTED) == sorted(ROUTES)


def test_a_single_scope_gives_access_to_its_routes_only(access: AccessScenario) -> None:
    wrong = []
    for scope in Scope:
        with access.key_with(scope) as client:
            for name, route in ROUTES.items():
                may = EXPECTED[name] in ("public", "any", "tenant", scope.value)
                status = called(client, route)
                if (status not in (401, 403)) != may and not _is_other_401(name):
                    wrong.append((scope.value, name, status))

    assert wrong == []


@pytest.mark.parametrize("kind", ["consumer", "consumer_key"])
def test_a_consumer_may_call_consumer_routes_only(access: AccessScenario, kind: str) -> None:
    """Both signed in and with their own key; another test covers signing out."""
    client, is_signed_in = getattr(access.account, kind), kind == "consumer"

    wrong = [
        (name, status)
        for name, route in ROUTES.items()
        if not name.startswith("POST /v1/auth/")
        and ((status := called(client, route)) == 403) != _is_closed_to_consumers(name, is_signed_in)
    ]

    assert wrong == []


def test_without_a_credential_only_public_routes_answer(access: AccessScenario) -> None:
    wrong = []
    with access.anonymous() as client:
        for name, route in ROUTES.items():
            status = called(client, route)
            if (status != 401) != (EXPECTED[name] == "public") and not _is_other_401(name):
                wrong.append((name, status))

    assert wrong == []


def _is_closed_to_consumers(name: str, is_signed_in: bool) -> bool:
    open_to = {"public", "any", *CONSUMER_SCOPES, *(["person", "consumer"] if is_signed_in else [])}
    return isinstance(EXPECTED[name], list) or EXPECTED[name] not in open_to


def _is_other_401(name: str) -> bool:
    """Sign-in is public and answers 401 to invalid credentials."""
    return name.startswith("POST /v1/auth/")
