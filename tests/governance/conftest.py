"""The board of a tenant and of the platform, behind the true application."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from app_in_process import served
from governance_story import Board
from running_server import register_issuer
from team_story import Team

from attestlab.lab import Lab
from attestlab.orgs.rules import Caller, Plan
from attestlab.orgs.service import TenantCreated


@pytest.fixture
def board(lab: Lab, caller: Caller) -> Iterator[Board]:
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with served(lab) as url:
        team = Team(lab, url, tenant)
        key = team.with_key()
        org_id = lab.orgs.page(caller=caller)[0]["id"]
        made = Board(team, TenantCreated(caller.tenant_id, org_id, "", "", ""), register_issuer(key), key)
        yield made
        made.close()
