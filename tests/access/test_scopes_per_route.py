"""Every route with every single scope and every role, over HTTP, compared with a hand-written table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
import yaml

from attestlab.cli.access_table import BEGIN, END
from attestlab.installation import Installation
from attestlab.lake import views
from attestlab.orgs.rules import CONSUMER_SCOPES, Role, Scope
from attestlab.server.app import all_routes
from attestlab.web.routing.routes import Route
from support.access import AccessScenario, open_access_scenario
from support.agents import open_session, register_agent
from support.in_process_server import serve_in_thread

TABLE = yaml.safe_load((Path(__file__).parent / "expectations.yaml").read_text())
SCOPES_OF, DATA_SETS = TABLE["roles"], TABLE["data_sets"]
OF_TENANTS = "tenant "  # before a scope that opens a route to tenants alone
CLOSED_TO_CONSUMERS = {name for name, needs in TABLE["routes"].items() if str(needs).startswith(OF_TENANTS)}
EXPECTED = {
    name: needs.removeprefix(OF_TENANTS) if name in CLOSED_TO_CONSUMERS else needs
    for name, needs in TABLE["routes"].items()
}
ROUTES = {f"{route.method} {route.path}": route for route in all_routes()}
ACCESS_PAGE = Path(__file__).parents[2] / "docs" / "access.md"
NOT_FOR_AGENTS = {
    "PUT /v1/agents/{id}/card/signature",  # of another agent
    "PUT /v1/agents/settings",
    "POST /v1/agents/{id}/keys/rotate",  # of another agent
    *("POST /v1/agents/{id}/kill", "POST /v1/agents/{id}/resume"),
    *("POST /v1/agent-sessions", "POST /v1/agent-sessions/introspect"),
}
OWN_ACTS = {  # with unknown ids, which are refused only once they are looked up
    *("POST /v1/observability/events", "POST /v1/observability/events/bulk"),
    *("POST /v1/orchestrations/{id}/steps", "POST /v1/witness/requests/{id}/attest"),
    "POST /v1/agent-sessions/{id}/terminate",
}
SIGN_OUT = "POST /v1/auth/logout"  # ends the session, so it comes last
_IN_PATH = re.compile(r"\{\w+(?:\.\.\.)?\}")
_ROW = re.compile(r"\| `(\w+ \S+)` \| .* \| (.*) \| (yes|-) \|")


@pytest.fixture
def access(lab: Installation) -> Iterator[AccessScenario]:
    with serve_in_thread(lab) as url, open_access_scenario(lab, url) as made:
        yield made


def called(client: httpx.Client, name: str) -> httpx.Response:
    """Calls a route with unknown ids: a permitted caller gets past authorization to the 404."""
    route: Route = ROUTES[name]
    path = _IN_PATH.sub(str(uuid4()), route.path.replace("{version}", "1"))
    body = None if route.method in ("GET", "DELETE") else {}
    return client.request(route.method, path, json=body, headers={"Idempotency-Key": str(uuid4())})


def reached(client: httpx.Client) -> set[str]:
    """Returns the routes that let this caller in; sign-in answers 401 to invalid credentials, and is public."""
    names = sorted(ROUTES, key=lambda name: name == SIGN_OUT)
    return {name for name in names if called(client, name).status_code not in (401, 403) or _is_sign_in(name)}


def readable(client: httpx.Client) -> set[str]:
    """Returns the data sets that the lake offers this caller."""
    answer = client.get("/v1/lake/datasets")
    return {item["name"] for item in answer.json().get("items", [])}


def documented(column: int) -> dict[str, str]:
    """Returns a column of the table in docs/access.md by route: 1 are the people, 2 the consumers."""
    table = ACCESS_PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    return {row[0]: row[column] for row in _ROW.findall(table)}


def test_every_route_scope_role_and_data_set_is_in_the_table_and_vice_versa() -> None:
    assert sorted(EXPECTED) == sorted(ROUTES)
    assert sorted(SCOPES_OF) == sorted(Role)
    assert sorted(SCOPES_OF["owner"]) == sorted(Scope)
    assert sorted(DATA_SETS) == sorted(views.BY_NAME)


def test_a_single_scope_gives_access_to_its_routes_only(access: AccessScenario) -> None:
    """And to its data sets of the lake."""
    wrong = {}
    for scope in Scope:
        with access.key_with(scope) as client:
            routes = {name for name, needs in EXPECTED.items() if needs in ("public", "any", "tenant", scope.value)}
            data_sets = {name for name, needs in DATA_SETS.items() if needs in ("public", scope.value)}
            wrong[scope.value] = (reached(client) ^ routes, readable(client) ^ data_sets)

    assert {scope: found for scope, found in wrong.items() if found != (set(), set())} == {}


def test_a_missing_scope_is_named(access: AccessScenario) -> None:
    with access.key_with(Scope.ATTESTATIONS_READ) as client:
        wrong = [
            (name, answer.status_code)
            for name, needs in EXPECTED.items()
            if needs in list(Scope)
            and needs != Scope.ATTESTATIONS_READ
            and (answer := called(client, name)).json().get("details", {}).get("required_scope") != needs
        ]

    assert wrong == []


def test_each_role_reaches_the_routes_of_the_table_and_of_the_documentation(access: AccessScenario) -> None:
    people_by_route = {name: set(people.split(", ")) for name, people in documented(1).items()}
    wrong = {}
    for role in Role:
        with access.person(role) as client:
            data_sets = readable(client)
            found = reached(client)
        routes = {name for name, needs in EXPECTED.items() if _is_open_to(role, needs)}
        named = {name for name in ROUTES if people_by_route[name] & {"all", role.value}} | set(
            filter(_is_sign_in, ROUTES)
        )
        wrong[role.value] = (found ^ routes, found ^ named, data_sets ^ _data_sets_of(role))

    assert {role: found for role, found in wrong.items() if any(found)} == {}


@pytest.mark.parametrize("kind", ["consumer", "consumer_key"])
def test_a_consumer_may_call_consumer_routes_only(access: AccessScenario, kind: str) -> None:
    """Both signed in and with their own key."""
    found = reached(getattr(access.account, kind))

    is_signed_in = kind == "consumer"
    assert found == {name for name in EXPECTED if not _is_closed_to_consumers(name, is_signed_in)}
    if is_signed_in:
        assert found == {name for name, answer in documented(2).items() if answer == "yes"}


def test_an_agent_with_every_scope_reaches_neither_people_nor_money_nor_other_agents(access: AccessScenario) -> None:
    """Of the scopes that name them, `users:*` and `billing:*` open nothing to a session of an agent."""
    resources = sorted({scope.partition(":")[0] for scope in Scope})
    with access.key_with(*Scope) as key:
        agent = register_agent(key, scopes=[f"{each}:*" for each in resources])
        token = open_session(key, agent)["token"]
    with access.with_headers({"Authorization": f"Bearer {token}"}) as client:
        found = reached(client)

    opened = {scope.value for scope in Scope if scope.partition(":")[0] not in ("users", "billing")}
    expected = {name for name, needs in EXPECTED.items() if needs in ("public", "any", "tenant", *opened)}
    assert found == expected - NOT_FOR_AGENTS


def test_an_agent_without_scopes_of_the_service_reaches_what_needs_none(access: AccessScenario) -> None:
    """And what it does as itself: its events, steps and votes, and the end of a session."""
    with access.key_with(*Scope) as key:
        token = open_session(key, register_agent(key, scopes=["docs:read"]))["token"]
    with access.with_headers({"Authorization": f"Bearer {token}"}) as client:
        found = reached(client)

    assert found == {name for name, needs in EXPECTED.items() if needs in ("public", "any", "tenant")} | OWN_ACTS


def test_without_a_credential_only_public_routes_answer(access: AccessScenario) -> None:
    with access.anonymous() as client:
        found = reached(client)

    assert found == {name for name, needs in EXPECTED.items() if needs == "public"}


def _is_open_to(role: Role, needs: str | list[str]) -> bool:
    if isinstance(needs, list):
        return role.value in needs
    if needs == "tenant":
        return role is not Role.CONTENT_ADMIN
    return needs in ("public", "any", "person") or needs in SCOPES_OF[role]


def _data_sets_of(role: Role) -> set[str]:
    if role is Role.CONTENT_ADMIN:
        return set()
    return {name for name, needs in DATA_SETS.items() if needs == "public" or needs in SCOPES_OF[role]}


def _is_closed_to_consumers(name: str, is_signed_in: bool) -> bool:
    open_to = {"public", "any", *CONSUMER_SCOPES, *(["person", "consumer"] if is_signed_in else [])}
    is_of_others = isinstance(EXPECTED[name], list) or name in CLOSED_TO_CONSUMERS
    return is_of_others or EXPECTED[name] not in open_to


def _is_sign_in(name: str) -> bool:
    return name.startswith("POST /v1/auth/") and name != SIGN_OUT
