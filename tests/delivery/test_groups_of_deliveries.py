"""Mints that share a group with a change of people: their mails hold what is true after the group."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy import select

from attestlab.attestations import mint_steps, store
from attestlab.attestations.minting import MintRequest
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.group_commit.thread import PendingWrite, foresee_reads, run_jobs
from attestlab.core.db.transaction import Transaction
from attestlab.installation import Installation
from attestlab.mail.service import LeasedMail
from attestlab.mail.store import mails
from attestlab.orgs.role_rules import UserStatus
from attestlab.orgs.rules import Caller, Plan, Role
from attestlab.orgs.shapes import UserIn
from support.orgs import PASSWORD, read_mailed_token

pytestmark = [pytest.mark.both_engines, pytest.mark.one_world]


def run_between_mints(lab: Installation, caller: Caller, address: str, change: Callable[[Transaction], object]) -> None:
    """Run a change between two mints to an address in one group, as three requests at once."""
    profile = {"name": "Desk", "domain": "desk.example"}
    issuer = lab.issuers.create(profile, caller=caller, alg=Algorithm.ED25519)
    request = MintRequest(
        issuer_id=issuer.issuer.id,
        kid=issuer.keys[0].kid,
        schema="degree",
        claims={"student_name": "Sofia"},
        recipient_email=address,
    )

    def mint() -> PendingWrite:
        prepared = lab.attestations.prepare(request, caller=caller)
        foresee = partial(mint_steps.foresee, prepared=prepared, at=lab.clock.now(), taken_ids=store.TAKEN_IDS)
        return PendingWrite(lambda tx: lab.attestations.issue_or_raise(prepared, tx=tx), _deliver_nothing, foresee)

    group = [mint(), PendingWrite(change, _deliver_nothing), mint()]
    with lab.storage.write(foreseen=foresee_reads(group)) as tx:
        run_jobs(tx, group)
    assert [each.error for each in group] == [None] * 3


def count_signup_links(lab: Installation, address: str) -> int:
    """Count the links to the sign-up in all mails to an address."""
    with lab.storage.read() as connection:
        rows = connection.execute(select(*mails.c).where(mails.c.recipient == address)).all()
    assert len(rows) > 1
    texts = [
        lab.mails.text_of(LeasedMail(row.id, row.recipient, row.subject, row.created_at, row.sealed)) for row in rows
    ]
    return sum(text.count("/signup?token=") for text in texts)


def _deliver_nothing(_result: object, _error: BaseException | None) -> None:
    """Leave result and error where they are."""


def test_whom_the_group_invites_to_a_team_gets_no_further_link_to_the_sign_up(lab: Installation) -> None:
    caller = lab.orgs.service_caller(lab.orgs.create_tenant("Registry", plan=Plan.STARTER).tenant_id)
    person = UserIn(email="joining@people.example", role=Role.MEMBER)

    run_between_mints(lab, caller, person.email, lambda tx: lab.people.invite(person, caller=caller, tx=tx))

    assert count_signup_links(lab, person.email) == 1  # of the mint before


def test_whom_the_group_removes_gets_an_invitation(lab: Installation) -> None:
    caller = lab.orgs.service_caller(lab.orgs.create_tenant("Registry", plan=Plan.STARTER).tenant_id)
    lab.people.invite(UserIn(email="leaving@people.example", role=Role.MEMBER), caller=caller)
    token = read_mailed_token(lab, "leaving@people.example")
    person = lab.people.join(lab.people.prepare_join(token, PASSWORD))
    assert person.status == UserStatus.ACTIVE

    run_between_mints(lab, caller, person.email, lambda tx: lab.people.remove(person.id, caller=caller, tx=tx))

    assert count_signup_links(lab, person.email) == 1
