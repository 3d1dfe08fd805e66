"""Tenants with a past of usage, and the panes of the usage page as words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

from attestlab import Lab
from attestlab.installation import Installation
from attestlab.orgs import usage
from attestlab.orgs.rules import Caller, Plan
from attestlab.orgs.service import TenantCreated
from attestlab_dashboards.usage.page import PAGE
from attestlab_dashboards.usage.state import UsageState
from support.dashboards.markup import read_words
from support.identity import add_user

PASSWORD: Final = "only for this test"
PANES: Final = {pane.key: pane for pane in PAGE.panes}


@dataclass(frozen=True)
class Payer:
    """A tenant with its facade."""

    installation: Installation
    tenant: TenantCreated
    lab: Lab

    @property
    def caller(self) -> Caller:
        return self.installation.orgs.service_caller(self.tenant.tenant_id)

    def use(self, past: Sequence[int], meter: str = usage.VERIFICATIONS, *, today: int = 0) -> None:
        """Count uses of the days before today, the last one yesterday, and of today."""
        now = self.installation.clock.now()
        with self.installation.storage.write() as tx:
            for days_ago, times in zip(range(len(past), -1, -1), [*past, today], strict=True):
                if times:
                    at = now - timedelta(days=days_ago)
                    usage.count_use(tx, self.tenant.tenant_id, meter, at=at, times=times)

    def sign_in(self, role: str) -> Lab:
        """The facade of a person of the tenant with this role."""
        email = f"{role}.{self.tenant.tenant_id.hex}@payers.example"
        add_user(self.installation, self.tenant, email, PASSWORD, roles=role)
        return self.lab.as_(email, password=PASSWORD)


class OpenPayer(Protocol):
    """Opens a tenant with a plan, and limits of its operator."""

    def __call__(self, plan: Plan = Plan.STARTER, **limits: int) -> Payer: ...


def draw(lab: Lab, key: str, **values: object) -> str:
    """Draw a pane, with its reading, as the words that a person reads."""
    state, pane = UsageState(**values), PANES[key]
    data = pane.load(lab, state)
    reading = pane.reading if isinstance(pane.reading, str) else pane.reading(data, state)
    return f"{reading} {read_words(str(pane.draw(data, state)))}".strip()
