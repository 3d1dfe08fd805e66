"""A process that is killed while it delivers, charges or protects leaves all parts of the change, or none."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import func, select

from attestlab.attestations.shapes import AttestationsQuery
from attestlab.attestations.store import attestations
from attestlab.consumer.inbox.store import items as inbox_items
from attestlab.core.crypto.signing import Algorithm
from attestlab.identity.store import mailed_tokens
from attestlab.installation import Installation
from attestlab.mail.store import mails
from attestlab.orgs.rules import Plan
from attestlab.protections.shapes import ProtectionsQuery
from support.faults.killed_changes import kill_before, list_outcomes
from support.fork_server import ForkServer
from support.orgs import PASSWORD
from support.outbox import read_events

STEP = 12  # the bounded form leaves out the statements between
pytestmark = pytest.mark.both_engines


@pytest.fixture
def step(is_long: bool) -> int:
    return 1 if is_long else STEP


def test_a_mint_has_its_event_its_item_and_its_mail_or_none(
    lab: Installation, fork_server: ForkServer, tmp_path: Path, step: int
) -> None:
    """The mail is to an address without an account, so its invitation is another part."""
    tenant_id = lab.orgs.create_tenant("Registry", plan=Plan.ENTERPRISE).tenant_id
    caller = lab.orgs.service_caller(tenant_id)
    profile = {"name": "Registrar", "domain": "registrar.example"}
    issuer = lab.issuers.create(profile, caller=caller, alg=Algorithm.ED25519, kid="main").issuer
    kill = partial(
        kill_before, fork_server, lab, "deliver", tenant_id=tenant_id, issuer_id=issuer.id, out=tmp_path / "out"
    )

    def count_parts() -> tuple[int, ...]:
        with lab.storage.read() as connection:
            rows = [
                connection.execute(select(func.count()).select_from(table)).scalar_one()
                for table in (attestations, inbox_items, mails, mailed_tokens)
            ]
        return (*rows, [kind for kind, _ in read_events(lab, caller)].count("attestation.created"))

    outcomes = list_outcomes(kill, count_parts, lab, step)

    assert set(outcomes) == {(0,) * 5, (1,) * 5}


def test_an_upgrade_has_its_plan_its_invoice_and_its_event_or_none(
    lab: Installation, fork_server: ForkServer, tmp_path: Path, step: int
) -> None:
    tenant_id = lab.orgs.create_tenant("Registry", plan=Plan.FREE).tenant_id
    caller = lab.orgs.service_caller(tenant_id)
    kill = partial(kill_before, fork_server, lab, "upgrade", tenant_id=tenant_id, issuer_id=None, out=tmp_path / "out")

    def find_parts() -> tuple[str, int, int]:
        events = [kind for kind, _ in read_events(lab, caller) if kind.startswith("billing.subscription")]
        plan = lab.billing.subscription(caller=caller).plan.value
        return plan, len(lab.billing.list_invoices(tenant_id)), len(events)

    outcomes = list_outcomes(kill, find_parts, lab, step)

    assert set(outcomes) == {("FREE", 0, 0), ("PROFESSIONAL", 1, 1)}


def test_a_protection_has_its_attestation_or_neither_exists(
    lab: Installation, fork_server: ForkServer, tmp_path: Path, step: int
) -> None:
    ada = lab.orgs.add_consumer("ada@consumers.example", PASSWORD, name="Ada")
    lab.platform_issuer.ensure()
    caller, operator = lab.orgs.service_caller(ada.tenant_id), lab.operator_caller()
    kill = partial(
        kill_before, fork_server, lab, "protect", tenant_id=ada.tenant_id, issuer_id=None, out=tmp_path / "out"
    )

    def count_parts() -> tuple[int, int]:
        _, protections = lab.protections.page(ProtectionsQuery(), caller=caller)
        return len(lab.attestations.page(AttestationsQuery(), caller=operator)), protections

    outcomes = list_outcomes(kill, count_parts, lab, step)

    assert set(outcomes) == {(0, 0), (1, 1)}
