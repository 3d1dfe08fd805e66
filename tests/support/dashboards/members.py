"""A tenant with people and keys that have worked, and the panes of the page about access as words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import attestlab
from attestlab import Lab
from attestlab.client.collections.api_keys import CreatedApiKeyHandle
from attestlab.installation import Installation
from attestlab.orgs.service import TenantCreated
from attestlab_dashboards.access.page import PAGE
from attestlab_dashboards.access.state import AccessState
from support.dashboards.markup import read_words
from support.identity import add_user
from support.in_process_server import serve_in_thread

PASSWORD: Final = "only for this test"
PANES: Final = {pane.key: pane for pane in PAGE.panes}


@dataclass(frozen=True)
class Members:
    """A tenant: Olga owns it and has made a key, and Mia is a member."""

    service: Lab
    installation: Installation
    tenant: TenantCreated
    owner: Lab
    member: Lab
    key: CreatedApiKeyHandle

    def sign_in(self, name: str, role: str) -> Lab:
        """The facade of another person of the tenant with this role."""
        return sign_in(self.service, self.installation, self.tenant, name, role)

    @contextmanager
    def use_key(self) -> Iterator[Lab]:
        """The facade of a program that has the key, over HTTP."""
        with serve_in_thread(self.installation) as url, attestlab.connect(url, self.key.secret) as program:
            yield program


def gather_members(service: Lab, installation: Installation, tenant: TenantCreated) -> Members:
    """Let an owner and a member join and sign in; the owner makes a key and registers an issuer."""
    owner = sign_in(service, installation, tenant, "Olga Brandt", "owner")
    member = sign_in(service, installation, tenant, "Mia Lund", "member")
    owner.issuers.create("Orchard Press", f"{tenant.tenant_id.hex[:12]}.example")
    key = owner.api_keys.create("Nightly mints", scopes=["attestations:mint", "issuers:read", "agents:read"])
    return Members(service, installation, tenant, owner, member, key)


def sign_in(service: Lab, installation: Installation, tenant: TenantCreated, name: str, role: str) -> Lab:
    """Let a person with a role join a tenant, and sign in."""
    email = f"{name.split()[0].lower()}.{tenant.tenant_id.hex}@members.example"
    add_user(installation, tenant, email, PASSWORD, roles=role, name=name)
    return service.as_(email, password=PASSWORD)


def draw(lab: Lab, key: str, **values: object) -> str:
    """Draw a pane, with its reading, as the words that a person reads."""
    drawn, reading = draw_markup(lab, key, AccessState(**values))
    return f"{reading} {read_words(drawn)}".strip()


def draw_markup(lab: Lab, key: str, state: AccessState) -> tuple[str, str]:
    """Draw a pane; returns its markup and its reading."""
    pane = PANES[key]
    data = pane.load(lab, state)
    reading = pane.reading if isinstance(pane.reading, str) else pane.reading(data, state)
    return str(pane.draw(data, state)), reading
