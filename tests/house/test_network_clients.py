"""Calls to hosts that other people run have one home each, where their limits are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "attestlab"
HTTP_CLIENTS = (
    "aiohttp",
    "http.client",
    "httpcore",
    "httpx",
    "requests",
    "tornado.httpclient",
    "tornado.simple_httpclient",
    "urllib.request",
    "urllib3",
)
# Our own client speaks to a service that its user named; the embedded door is an httpx transport without a network.
CLIENT_OF_THE_SERVICE = {
    *("client/asynchronous/connecting.py", "client/asynchronous/loop_transport.py"),
    *("client/connecting.py", "client/door.py", "client/service_client.py"),
}
WITHOUT_NETWORK = {"embedded/opening.py", "embedded/transport.py"}
# A webhook goes to a URL that a tenant chose, with a body that is not fetched: other limits than those of a fetch, and
# addresses that are vetted between the look-up and the connection, which no client does by itself.
HOMES = {
    HTTP_CLIENTS: {"core/fetching.py", "webhooks/connections.py", "webhooks/http_transport.py"},
    ("stripe",): {"billing/providers/stripe_adapter.py"},
    ("dns",): {"issuers/txt_resolver.py", "webhooks/host_resolution.py"},
}


def imported(tree: ast.Module) -> Iterator[str]:
    """Every module that some statement imports, and every name that it may import as one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def users_of(clients: tuple[str, ...], folder: Path) -> set[str]:
    """The modules in `folder` that import one of `clients`."""
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        for name in imported(ast.parse(path.read_text()))
        if name.startswith(tuple(f"{client}." for client in clients)) or name in clients
    }


@pytest.mark.parametrize("clients", HOMES)
def test_network_client_is_imported_at_home_only(clients: tuple[str, ...]) -> None:
    assert users_of(clients, PACKAGE) - CLIENT_OF_THE_SERVICE - WITHOUT_NETWORK == HOMES[clients]


@pytest.mark.parametrize("line", ["import httpx", "from urllib import request", "from tornado.httpclient import X"])
def test_search_finds_every_form_of_import(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"def late():\n    {line}\n")
    assert users_of(HTTP_CLIENTS, tmp_path) == {"a.py"}
