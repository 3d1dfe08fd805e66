"""How attestations end: revoked, superseded, run out; each once, and each in the log."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import delete, update

from attestlab.attestations.minting import MintRequest
from attestlab.attestations.results import Minted
from attestlab.attestations.rules import Status
from attestlab.attestations.shapes import AttestationsQuery
from attestlab.attestations.store import attestations
from attestlab.attestations.verification.facts import compute_status
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.errors import Conflict, NotFound, PermissionDenied
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.issuers.rules import IssuerStatus
from attestlab.issuers.service import IssuerWithKeys
from attestlab.log import entries
from attestlab.log.entries import reason_commitment, sha256_name
from attestlab.orgs import usage
from attestlab.orgs.rules import Caller, Plan
from support.log.entries import read_log_entries
from support.outbox import read_events

pytestmark = pytest.mark.one_world


@pytest.fixture
def issuer(lab: Installation, caller: Caller) -> IssuerWithKeys:
    return lab.issuers.create({"name": "Northfield", "domain": "north.example"}, caller=caller, alg=Algorithm.ED25519)


def request_of(issuer: IssuerWithKeys, **changes: Any) -> MintRequest:
    named = {"issuer_id": issuer.issuer.id, "kid": issuer.keys[0].kid, "schema": "degree"}
    return MintRequest(**{**named, "claims": {"student_name": "Ada Lovelace"}, **changes})


@pytest.fixture
def minted(lab: Installation, caller: Caller, issuer: IssuerWithKeys) -> Minted:
    return lab.attestations.mint(request_of(issuer), caller=caller)


def verdict_and_reasons(lab: Installation, minted: Minted) -> tuple[str, list[str]]:
    report = lab.attestations.verify(minted.id).report
    return report.verdict.value, [reason.value for reason in report.reasons]


def sweep(lab: Installation) -> int:
    with lab.storage.write() as tx:
        return lab.attestations.expire_due(tx, limit=100)


@pytest.mark.own_world
def test_revocation_is_published_logged_and_verifies_as_revoked(
    lab: Installation, caller: Caller, minted: Minted
) -> None:
    """
    The log says that there is a reason, and only who holds the attestation's nonce can check which.
    """
    ended = lab.attestations.revoke(minted.id, reason="typo in name", caller=caller)

    assert verdict_and_reasons(lab, minted) == ("REVOKED", ["attestation_revoked"])
    said = read_log_entries(lab)[ended.logged.index].members
    assert (said["type"], said["id"], said["status"]) == ("attestation.status", str(minted.id), "REVOKED")
    assert said["minted_index"] == minted.logged.index
    assert said["reason"] == sha256_name(reason_commitment(minted.row.nonce, "typo in name"))
    assert read_events(lab, caller)[-1] == (
        "attestation.revoked",
        {
            "attestation_id": str(minted.id),
            "issuer_id": str(minted.row.issuer_id),
            "log_index": ended.logged.index,
            "revoked_at": "2026-11-21T12:00:00.000Z",
        },
    )


def test_supersession_mints_and_supersedes_in_one_transaction(
    lab: Installation, caller: Caller, issuer: IssuerWithKeys, minted: Minted
) -> None:
    newer = lab.attestations.supersede(minted.id, request_of(issuer), caller=caller)

    assert verdict_and_reasons(lab, minted) == ("SUPERSEDED", ["attestation_superseded"])
    assert verdict_and_reasons(lab, newer)[0] == "VALID"
    assert lab.attestations.get(minted.id, caller=caller).superseded_by == newer.id
    assert lab.attestations.get(newer.id, caller=caller).supersedes == minted.id
    assert [kind for kind, _ in read_events(lab, caller)[-2:]] == ["attestation.created", "attestation.superseded"]
    assert newer.ended is not None
    assert read_log_entries(lab)[newer.ended.logged.index].members["superseded_by"] == str(newer.id)


def test_supersession_counts_as_one_attestation_in_the_daily_quota(
    lab: Installation, caller: Caller, issuer: IssuerWithKeys, minted: Minted, clock: FixedClock
) -> None:
    lab.attestations.supersede(minted.id, request_of(issuer), caller=caller)

    with lab.storage.read() as connection:
        assert usage.get_used(connection, caller.tenant_id, usage.ATTESTATIONS, clock.now().date()) == 2


def test_follow_returns_the_last_successor(
    lab: Installation, caller: Caller, issuer: IssuerWithKeys, minted: Minted
) -> None:
    chain = [minted]
    for _ in range(3):
        chain.append(lab.attestations.supersede(chain[-1].id, request_of(issuer), caller=caller))

    assert [lab.attestations.verify(each.id, follow=True).latest for each in chain] == [*[chain[-1].id] * 3, None]
    assert lab.attestations.verify(minted.id).latest is None


def test_expiry_is_immediate_and_stored_by_the_sweep(
    lab: Installation, caller: Caller, issuer: IssuerWithKeys, clock: FixedClock
) -> None:
    brief = lab.attestations.mint(request_of(issuer, expiry_at=clock.now() + timedelta(hours=1)), caller=caller)
    clock.advance(timedelta(days=30))
    read_before = compute_status(lab.attestations.get(brief.id, caller=caller), now=clock.now())

    swept = [sweep(lab), sweep(lab)]

    assert (read_before, swept) == (Status.EXPIRED, [1, 0])
    assert lab.attestations.get(brief.id, caller=caller).status == "EXPIRED"
    assert verdict_and_reasons(lab, brief) == ("EXPIRED", ["attestation_expired"])
    assert [kind for kind, _ in read_events(lab, caller)].count("attestation.expired") == 1
    assert read_log_entries(lab)[-1].members["status"] == "EXPIRED"


def test_sweep_respects_its_limit_and_starts_with_the_earliest_expiry(
    lab: Installation, caller: Caller, issuer: IssuerWithKeys, clock: FixedClock
) -> None:
    hours = [3, 1, 2, 40]
    made = [
        lab.attestations.mint(request_of(issuer, expiry_at=clock.now() + timedelta(hours=n)), caller=caller)
        for n in hours
    ]
    clock.advance(timedelta(hours=10))

    with lab.storage.write() as tx:
        lab.attestations.expire_due(tx, limit=2)

    stored = [lab.attestations.get(each.id, caller=caller).status for each in made]
    assert stored == ["VALID", "EXPIRED", "EXPIRED", "VALID"]
    assert sweep(lab) == 1


@pytest.mark.parametrize("first", ["revoke", "supersede", "run out", "run out and be swept"])
@pytest.mark.parametrize("then", ["revoke", "supersede"])
def test_final_status_never_changes(
    lab: Installation, caller: Caller, issuer: IssuerWithKeys, clock: FixedClock, first: str, then: str
) -> None:
    made = lab.attestations.mint(request_of(issuer, expiry_at=clock.now() + timedelta(hours=1)), caller=caller)
    acts = {
        "revoke": lambda: lab.attestations.revoke(made.id, reason="a test", caller=caller),
        "supersede": lambda: lab.attestations.supersede(made.id, request_of(issuer), caller=caller),
        "run out": lambda: clock.advance(timedelta(hours=1)),
        "run out and be swept": lambda: (clock.advance(timedelta(hours=1)), sweep(lab)),
    }
    acts[first]()
    before = read_log_entries(lab)

    with pytest.raises(Conflict) as refused:
        acts[then]()

    now_is = {"revoke": "REVOKED", "supersede": "SUPERSEDED"}.get(first, "EXPIRED")
    assert refused.value.details == {"status": now_is}
    assert read_log_entries(lab) == before


def test_prepared_mint_cannot_supersede_an_attestation_revoked_since(
    lab: Installation, caller: Caller, issuer: IssuerWithKeys, minted: Minted
) -> None:
    draft = lab.attestations.prepare(request_of(issuer, supersedes=minted.id), caller=caller)
    with lab.storage.write() as tx:
        lab.attestations.revoke(minted.id, reason="a test", caller=caller, tx=tx)
        with pytest.raises(Conflict):
            lab.attestations.issue_or_raise(draft, tx=tx)

    assert lab.attestations.get(minted.id, caller=caller).status == "REVOKED"


def test_another_tenants_attestation_cannot_be_revoked_or_superseded(
    lab: Installation, caller: Caller, issuer: IssuerWithKeys
) -> None:
    other = lab.orgs.service_caller(lab.orgs.create_tenant("Another", plan=Plan.ENTERPRISE).tenant_id)
    theirs = lab.issuers.create({"name": "Theirs", "domain": "their.example"}, caller=other, alg=Algorithm.ED25519)
    made = lab.attestations.mint(request_of(theirs), caller=other)

    for attestation_id in (made.id, uuid4()):
        with pytest.raises(NotFound):
            lab.attestations.revoke(attestation_id, reason="mine now", caller=caller)
        with pytest.raises(NotFound):
            lab.attestations.supersede(attestation_id, request_of(issuer), caller=caller)


def test_a_suspended_issuer_can_revoke_and_cannot_supersede(
    lab: Installation, caller: Caller, issuer: IssuerWithKeys, minted: Minted
) -> None:
    """
    Withdrawing is always allowed; superseding is a mint.
    """
    lab.issuers.set_governance(issuer.issuer.id, status=IssuerStatus.SUSPENDED, caller=caller)

    with pytest.raises(PermissionDenied):
        lab.attestations.supersede(minted.id, request_of(issuer), caller=caller)
    lab.attestations.revoke(minted.id, reason="a test", caller=caller)


def test_list_filters_by_current_status(
    lab: Installation, caller: Caller, issuer: IssuerWithKeys, clock: FixedClock
) -> None:
    brief, gone, old, stays = (
        lab.attestations.mint(request_of(issuer, expiry_at=clock.now() + timedelta(hours=n)), caller=caller)
        for n in (1, 50, 50, 50)
    )
    lab.attestations.revoke(gone.id, reason="a test", caller=caller)
    new = lab.attestations.supersede(old.id, request_of(issuer), caller=caller)
    clock.advance(timedelta(hours=2))

    found = {
        status: [row.id for row in lab.attestations.page(AttestationsQuery(status=status), caller=caller)]
        for status in Status
    }

    assert found == {
        Status.VALID: [new.id, stays.id],
        Status.REVOKED: [gone.id],
        Status.SUPERSEDED: [old.id],
        Status.EXPIRED: [brief.id],
    }


def test_list_filters_by_pack(lab: Installation, caller: Caller, issuer: IssuerWithKeys) -> None:
    pack = lab.packs.create("Graduates of 2026", caller=caller)
    inside = lab.attestations.mint(request_of(issuer, pack_id=pack.id), caller=caller)
    lab.attestations.mint(request_of(issuer), caller=caller)

    listed = lab.attestations.page(AttestationsQuery(pack_id=pack.id), caller=caller)

    assert [row.id for row in listed] == [inside.id]
    with pytest.raises(NotFound):
        lab.attestations.mint(request_of(issuer, pack_id=uuid4()), caller=caller)


def test_another_tenants_pack_is_not_found(lab: Installation, caller: Caller, issuer: IssuerWithKeys) -> None:
    other = lab.orgs.service_caller(lab.orgs.create_tenant("Another", plan=Plan.ENTERPRISE).tenant_id)
    theirs = lab.packs.create("Theirs", caller=other)

    with pytest.raises(NotFound):
        lab.packs.get(theirs.id, caller=caller)
    with pytest.raises(NotFound):
        lab.attestations.mint(request_of(issuer, pack_id=theirs.id), caller=caller)


@pytest.mark.tampered
@pytest.mark.parametrize(
    "changes",
    [
        {"status": "VALID"},
        {"status": "EXPIRED"},
        {"changed_index": None},
        {"changed_index": 0},
        {"revocation_reason": "another"},
        {"superseded_by": uuid4()},
    ],
)
def test_fsck_compares_the_status_of_rows_with_the_log(
    lab: Installation, caller: Caller, minted: Minted, changes: dict[str, Any]
) -> None:
    """
    Beside the row's fingerprint in the audit trail, which would have to be forged as well.
    """
    lab.attestations.revoke(minted.id, reason="a test", caller=caller)
    with lab.storage.engine.connect() as connection:
        connection.execute(update(attestations).values(**changes))
        connection.commit()

    found = [problem for problem in fsck(lab) if problem.kind == "attestation"]
    assert any("audited" not in problem.message for problem in found)


@pytest.mark.tampered
def test_fsck_reports_a_missing_row_of_a_logged_status_change(
    lab: Installation, caller: Caller, minted: Minted
) -> None:
    lab.attestations.revoke(minted.id, reason="a test", caller=caller)
    with lab.storage.engine.connect() as connection:
        connection.execute(delete(attestations))
        connection.commit()

    assert any("more status entries" in problem.message for problem in fsck(lab))


def test_status_entries_start_chains_of_their_own(lab: Installation, caller: Caller, minted: Minted) -> None:
    ended = lab.attestations.revoke(minted.id, reason="a test", caller=caller)

    entry = read_log_entries(lab)[ended.logged.index]
    assert (entry.subject, entry.link) == (f"attestation:{minted.id}", entries.FIRST_LINK)
