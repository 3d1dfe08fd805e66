"""A tenant with a tree of three agents, and the panes of the page about agents as words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from attestlab import Lab
from attestlab.client.handles.agents import AgentHandle
from attestlab.installation import Installation
from attestlab.orgs.service import TenantCreated
from attestlab_dashboards.agents.page import PAGE
from attestlab_dashboards.agents.state import AgentsState
from support.dashboards.markup import read_words
from support.identity import add_user

PASSWORD: Final = "only for this test"
PANES: Final = {pane.key: pane for pane in PAGE.panes}


@dataclass(frozen=True)
class Fleet:
    """A tenant whose owner has a steward, which delegated to a reader, which delegated to a counter."""

    service: Lab
    installation: Installation
    tenant: TenantCreated
    owner: Lab
    steward: AgentHandle
    reader: AgentHandle
    counter: AgentHandle

    def sign_in(self, role: str) -> Lab:
        """The facade of another person of the tenant with this role."""
        return sign_in(self.service, self.installation, self.tenant, role)


def found_fleet(service: Lab, installation: Installation, tenant: TenantCreated) -> Fleet:
    """Let an owner register a steward, which delegates two hops down."""
    owner = sign_in(service, installation, tenant, "owner")
    steward = owner.agents.register("Steward", agent_type="orchestrator", scopes=["docs:*", "!docs:delete"])
    reader = owner.agents[str(steward.delegate({"display_name": "Reader"}, ["docs:read", "docs:list"]).child.id)]
    counter = owner.agents[str(reader.delegate({"display_name": "Counter"}, ["docs:list"]).child.id)]
    return Fleet(service, installation, tenant, owner, steward, reader, counter)


def sign_in(service: Lab, installation: Installation, tenant: TenantCreated, role: str) -> Lab:
    """Let a person with a role join a tenant, and sign in."""
    email = f"{role}.{tenant.tenant_id.hex}@fleets.example"
    add_user(installation, tenant, email, PASSWORD, roles=role)
    return service.as_(email, password=PASSWORD)


def draw(lab: Lab, key: str, **values: object) -> str:
    """Draw a pane, with its reading, as the words that a person reads."""
    state = AgentsState(**values)
    drawn, reading = draw_markup(lab, key, state)
    return f"{reading} {read_words(drawn)}".strip()


def draw_markup(lab: Lab, key: str, state: AgentsState) -> tuple[str, str]:
    """Draw a pane; returns its markup and its reading."""
    pane = PANES[key]
    data = pane.load(lab, state)
    reading = pane.reading if isinstance(pane.reading, str) else pane.reading(data, state)
    return str(pane.draw(data, state)), reading
