"""A tenant that opens its billing portal, and what its pages say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan, Scope
from attestlab.orgs.service import TenantCreated
from attestlab.orgs.shapes import OrgPatch
from support.in_process_server import serve_in_thread
from support.orgs import TenantClients

PORTAL = "/v1/billing/portal"
PAGE = "/billing/portal"
CHANGE = "/billing/portal/change"
RETURN_URL = "https://app.example.com/billing?from=portal"
_TOKEN = re.compile(r'name="form_token" value="([A-Za-z0-9_-]{43})"')


@contextmanager
def serve_tenant(lab: Installation, name: str = "Northfield") -> Iterator[TenantClients]:
    """Serve a lab with a tenant of the plan FREE, whose organization lists the origin of `RETURN_URL`."""
    tenant = make_tenant(lab, name)
    with serve_in_thread(lab) as url:
        yield TenantClients(lab, url, tenant)


def make_tenant(lab: Installation, name: str) -> TenantCreated:
    """A tenant of the plan FREE, whose organization lists the origin of `RETURN_URL`."""
    tenant = lab.orgs.create_tenant(name, plan=Plan.FREE)
    caller = lab.orgs.service_caller(tenant.tenant_id)
    lab.orgs.update(tenant.org_id, OrgPatch(return_origins=["https://app.example.com"]), caller=caller)
    return tenant


def open_portal(clients: TenantClients, tenant: TenantCreated | None = None, **wanted: Any) -> dict[str, Any]:
    """Ask for a link with a key of the tenant."""
    with clients.with_key(Scope.BILLING_WRITE, tenant=tenant) as key:
        answer = key.post(PORTAL, json={"return_url": RETURN_URL, **wanted})
    assert answer.status_code == 200, answer.text
    opened: dict[str, Any] = answer.json()
    return opened


def path_of(opened: dict[str, Any]) -> str:
    """The path and query of a link, for a client of the server."""
    return PAGE + str(opened["portal_url"]).partition(PAGE)[2]


def enter(clients: TenantClients, visitor: httpx.Client, tenant: TenantCreated | None = None) -> None:
    """Open a link in a browser, so that it has the cookie."""
    answer = visitor.get(path_of(open_portal(clients, tenant)))
    assert answer.status_code == 200, answer.text


def read_form_token(page: httpx.Response) -> str:
    """The token that the form of a page carries."""
    return find_form_token(page.text)


def find_form_token(html: str) -> str:
    """The token that a form carries."""
    found = _TOKEN.search(html)
    assert found is not None, html
    return found[1]


def confirm(visitor: httpx.Client, **change: Any) -> httpx.Response:
    """Look at a change and confirm it."""
    token = read_form_token(visitor.get(CHANGE, params=change))
    return visitor.post(CHANGE, data={**change, "form_token": token})


def plan_of(lab: Installation, tenant: TenantCreated) -> str:
    """The plan that a tenant has."""
    return lab.orgs.service_caller(tenant.tenant_id).plan
