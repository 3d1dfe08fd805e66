"""An invitation of an earlier release holds its address for seven days, and no longer; a newer one holds none."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.errors import NotFound
from attestlab.core.records import audited_write
from attestlab.core.records.actors import SystemActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.installation import Installation
from attestlab.orgs.role_rules import INVITATION_TTL
from attestlab.orgs.rules import Plan, Role
from attestlab.orgs.shapes import UserIn
from attestlab.orgs.store import users
from attestlab.orgs.tables import UserRecord
from support.lab_checks import check_lab
from support.orgs import PASSWORD, read_mailed_token

SOFIA = "sofia@people.example"


def invite(lab: Installation, team: str, address: str = SOFIA) -> UserRecord:
    """Invite an address to a new team."""
    tenant = lab.orgs.create_tenant(team, plan=Plan.STARTER)
    caller = lab.orgs.service_caller(tenant.tenant_id)
    return lab.people.invite(UserIn(email=address, role=Role.MEMBER), caller=caller)


def invite_as_before(lab: Installation, team: str) -> UserRecord:
    """Invite an address to a new team as earlier releases did: the invitation has it as its `email`."""
    person = invite(lab, team)
    with lab.storage.write() as tx:
        held = {"email": SOFIA, "invited_address": None}
        context = AuditContext(person.tenant_id, SystemActor("test"), "user.invite", lab.clock.now())
        return audited_write.change(tx, users, person, held, context)


def invite_again(lab: Installation, person: UserRecord, address: str = SOFIA) -> UserRecord:
    caller = lab.orgs.service_caller(person.tenant_id)
    return lab.people.invite(UserIn(email=address, role=Role.MEMBER), caller=caller)


def sweep(lab: Installation) -> None:
    with lab.storage.write() as tx:
        lab.sweep(tx)


def read(lab: Installation, person: UserRecord) -> UserRecord:
    return lab.people.get(person.id, caller=lab.orgs.service_caller(person.tenant_id))


def join(lab: Installation, token: str) -> UUID:
    return lab.people.join(lab.people.prepare_join(token, PASSWORD)).id


@pytest.mark.both_engines
def test_a_lapsed_invitation_leaves_its_address_to_the_next_team(lab: Installation, clock: FixedClock) -> None:
    first = invite_as_before(lab, "First")
    clock.advance(INVITATION_TTL)
    sweep(lab)

    second = invite(lab, "Second")
    joined = join(lab, read_mailed_token(lab, SOFIA))

    assert (second.invited_address, joined) == (SOFIA, second.id)
    lapsed = read(lab, first)
    assert (lapsed.status, lapsed.invited_address, lapsed.email) == ("INVITED", SOFIA, f"{first.id}@invited.invalid")
    check_lab(lab)


def test_an_invitation_holds_its_address_until_it_lapses(lab: Installation, clock: FixedClock) -> None:
    first = invite_as_before(lab, "First")
    token = read_mailed_token(lab, SOFIA)
    clock.advance(INVITATION_TTL - timedelta(seconds=1))
    sweep(lab)

    assert read(lab, first).email == SOFIA
    assert invite(lab, "Second").invitation_sha256 is None
    assert join(lab, token) == first.id


def test_the_team_renews_its_lapsed_invitation(lab: Installation, clock: FixedClock) -> None:
    first = invite_as_before(lab, "First")
    token = read_mailed_token(lab, SOFIA)
    clock.advance(INVITATION_TTL)
    sweep(lab)

    renewed = invite_again(lab, first)

    assert (renewed.id, renewed.invited_address) == (first.id, SOFIA)
    with pytest.raises(NotFound):
        lab.people.prepare_join(token, PASSWORD)
    assert join(lab, read_mailed_token(lab, SOFIA)) == first.id


def test_a_sweep_frees_an_address_once(lab: Installation, clock: FixedClock) -> None:
    first = invite_as_before(lab, "First")
    clock.advance(INVITATION_TTL)
    sweep(lab)
    lapsed = read(lab, first)
    sweep(lab)

    assert read(lab, first) == lapsed
