"""Receipts that share a group of writes: what one job changes holds for the next, and all share their reads."""

from __future__ import annotations

from functools import partial

import pytest

from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.group_commit.thread import PendingWrite, foresee_reads, run_jobs
from attestlab.installation import Installation
from attestlab.issuers.rules import IssuerStatus
from attestlab.orgs.rules import Plan
from attestlab.receipts.service import foresee_mint
from attestlab.receipts.shapes import ReceiptIn
from support.receipts import create_type
from support.statements import statements_of

pytestmark = [pytest.mark.both_engines, pytest.mark.one_world]


class Desk:
    """A tenant with an issuer and the type `delivery`; its verbs are jobs of a group."""

    def __init__(self, lab: Installation) -> None:
        self.lab = lab
        tenant = lab.orgs.create_tenant("Northfield Parcels", plan=Plan.ENTERPRISE)
        self.caller = lab.orgs.service_caller(tenant.tenant_id)
        profile = {"name": "Northfield", "domain": "northfield.example"}
        self.issuer_id = lab.issuers.create(profile, caller=self.caller, alg=Algorithm.ED25519).issuer.id
        create_type(lab, self.caller)

    def mint(self) -> PendingWrite:
        body = {"receipt_type": "delivery", "issuer_id": str(self.issuer_id), "payload": {"n": 3}}
        receipts, request = self.lab.receipts, ReceiptIn.model_validate(body)
        prepared = receipts.prepare(request, caller=self.caller)
        foresee = partial(foresee_mint, prepared=prepared, at=self.lab.clock.now())
        return PendingWrite(lambda tx: receipts.issue(prepared, tx=tx), _deliver_nothing, foresee)

    def deprecate(self) -> PendingWrite:
        types = self.lab.receipt_types
        return PendingWrite(lambda tx: types.deprecate("delivery", caller=self.caller, tx=tx), _deliver_nothing)

    def suspend(self) -> PendingWrite:
        change = partial(self.lab.issuers.set_governance, self.issuer_id, status=IssuerStatus.SUSPENDED)
        return PendingWrite(lambda tx: change(caller=self.caller, tx=tx), _deliver_nothing)


def _deliver_nothing(_result: object, _error: BaseException | None) -> None:
    """Leave result and error where they are."""


def run_group(lab: Installation, *group: PendingWrite) -> list[str]:
    """Run jobs in one transaction; returns the type of each result or refusal."""
    jobs = list(group)
    with lab.storage.write(foreseen=foresee_reads(jobs)) as tx:
        run_jobs(tx, jobs)
    return [type(each.error or each.result).__name__ for each in jobs]


@pytest.mark.parametrize("first", [True, False])
def test_type_deprecated_within_the_group_mints_nothing_more(lab: Installation, first: bool) -> None:
    desk = Desk(lab)
    before = [] if first else [desk.mint()]

    outcomes = run_group(lab, *before, desk.deprecate(), desk.mint())

    assert outcomes == ["ReceiptRecord"] * len(before) + ["ReceiptTypeRecord", "Conflict"]


def test_issuer_suspended_within_the_group_mints_nothing_more(lab: Installation) -> None:
    desk = Desk(lab)

    assert run_group(lab, desk.mint(), desk.suspend(), desk.mint())[::2] == ["ReceiptRecord", "PermissionDenied"]


@pytest.mark.on_postgresql
def test_statements_of_a_group_do_not_grow_with_its_receipts(lab: Installation) -> None:
    """Rows of one receipt are inserted, those of several copied."""

    def count_statements(desks: int) -> int:
        mints = [mint for desk in [Desk(lab) for _ in range(desks)] for mint in (desk.mint(), desk.mint())]
        with statements_of(lab) as sent:
            assert run_group(lab, *mints) == ["ReceiptRecord"] * len(mints)
        return len(sent)

    assert count_statements(3) == count_statements(1)
