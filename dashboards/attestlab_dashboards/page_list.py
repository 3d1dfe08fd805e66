"""The pages of the dashboards, in the order of the navigation."""

from __future__ import annotations

from typing import Final

from attestlab.core.errors import NotFound
from attestlab_dashboards.access.page import PAGE as ACCESS
from attestlab_dashboards.agents.page import PAGE as AGENTS
from attestlab_dashboards.issuers.page import PAGE as ISSUERS
from attestlab_dashboards.log.page import PAGE as LOG
from attestlab_dashboards.pages import AnyPage
from attestlab_dashboards.policy.page import PAGE as POLICY
from attestlab_dashboards.risk.page import PAGE as RISK
from attestlab_dashboards.usage.page import PAGE as USAGE

PAGES: Final[tuple[AnyPage, ...]] = (RISK, POLICY, LOG, ISSUERS, AGENTS, ACCESS, USAGE)


def find_page(path: str) -> AnyPage:
    """Find a page by its name in addresses, such as `risk`.

    Raises:
        NotFound: there is none.
    """
    found = next((page for page in PAGES if page.path == path), None)
    if found is None:
        raise NotFound("page", path[:40])
    return found
