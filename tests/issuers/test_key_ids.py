"""A kid names one key of a tenant for good, also between requests that share a commit."""

from __future__ import annotations

import re
from typing import Any

import pytest

from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound, ValidationFailed
from attestlab.installation import Installation
from attestlab.issuers.rules import IssuerStatus
from attestlab.orgs.rules import Caller
from support.issuers import RegisterIssuer
from support.log.entries import read_log_entries
from support.outbox import read_events


def attempts(lab: Installation, *jobs: Any) -> list[Any]:
    """Run jobs in one group commit; the result or the fault of each."""

    def one(tx: Transaction, job: Any) -> Any:
        try:
            return tx.attempt_job(job)
        except (Conflict, RuntimeError) as error:
            return error

    with lab.storage.write() as tx:
        return [one(tx, job) for job in jobs]


def test_omitted_kid_is_generated(register: RegisterIssuer) -> None:
    kids = [register(alg=Algorithm.ES256).keys[0].kid for _ in range(3)]

    assert all(re.fullmatch(r"es256-[0-9a-f]{12}", kid) for kid in kids)
    assert len(set(kids)) == 3


def test_a_kid_without_an_algorithm_is_refused(register: RegisterIssuer) -> None:
    with pytest.raises(ValidationFailed) as refused:
        register(kid="k")

    assert refused.value.fields[0].field == "/kid"


def test_a_kid_is_taken_for_every_issuer_of_the_tenant(
    lab: Installation, register: RegisterIssuer, caller: Caller
) -> None:
    register(alg=Algorithm.ED25519, kid="k")
    other = register()

    with pytest.raises(Conflict) as refused:
        lab.signing_keys.add(other.issuer.id, kid="k", alg=Algorithm.ED25519, caller=caller)
    assert refused.value.details == {"kid": "k"}


def test_another_tenant_may_have_a_key_of_the_same_kid(register: RegisterIssuer, stranger: Caller) -> None:
    mine, theirs = register(alg=Algorithm.ED25519, kid="k"), register(by=stranger, alg=Algorithm.ED25519, kid="k")

    assert mine.keys[0].spki != theirs.keys[0].spki


def test_issuer_with_a_taken_kid_is_not_created(lab: Installation, register: RegisterIssuer, caller: Caller) -> None:
    register(alg=Algorithm.ED25519, kid="k")

    with pytest.raises(Conflict):
        register(alg=Algorithm.ED25519, kid="k", name="Never")

    assert [one.issuer.name for one in lab.issuers.page(caller=caller)] == ["Registry"]
    assert len(read_log_entries(lab)) == 2


def test_second_use_of_a_kid_in_one_group_commit_is_rejected(
    lab: Installation, register: RegisterIssuer, caller: Caller
) -> None:
    """The refused one is taken back whole; those before and after it in the group stay."""
    results = attempts(
        lab,
        lambda tx: register(alg=Algorithm.ED25519, kid="k", name="First", tx=tx),
        lambda tx: register(alg=Algorithm.ED25519, kid="k", name="Second", tx=tx),
        lambda tx: register(alg=Algorithm.ED25519, kid="l", name="Third", tx=tx),
    )

    assert [isinstance(result, Conflict) for result in results] == [False, True, False]
    assert {one.issuer.name for one in lab.issuers.page(caller=caller)} == {"First", "Third"}
    assert [entry.kind for entry in read_log_entries(lab)] == ["issuer.status", "key.status"] * 2
    assert [kind for kind, _ in read_events(lab, caller)] == ["issuer.created", "key.created"] * 2


def test_failed_request_rolls_back_its_key(lab: Installation, register: RegisterIssuer, caller: Caller) -> None:
    issuer_id = register().issuer.id

    def fails(tx: Transaction) -> None:
        lab.signing_keys.add(issuer_id, kid="k", alg=Algorithm.ED25519, caller=caller, tx=tx)
        lab.issuers.update(issuer_id, {"name": "Never"}, caller=caller, tx=tx)
        raise RuntimeError

    attempts(lab, fails, lambda tx: lab.issuers.update(issuer_id, {"display_name": "Kept"}, caller=caller, tx=tx))

    found = lab.issuers.get(issuer_id, caller=caller)
    assert (found.issuer.name, found.issuer.display_name, list(found.keys)) == ("Registry", "Kept", [])


def test_mint_sees_changes_of_earlier_requests_in_its_group_commit(
    lab: Installation, register: RegisterIssuer, caller: Caller
) -> None:
    issuer_id = register(alg=Algorithm.ED25519, kid="k").issuer.id

    def status_now(tx: Transaction, kid: str = "k") -> IssuerStatus:
        key = lab.issuers.get_signing_key_for_update(tx, tenant_id=caller.tenant_id, issuer_id=issuer_id, kid=kid)
        return key.issuer_status

    with lab.storage.write() as tx:
        seen = [status_now(tx)]
        lab.issuers.set_governance(issuer_id, status=IssuerStatus.SUSPENDED, caller=caller, tx=tx)
        seen.append(status_now(tx))
        lab.signing_keys.add(issuer_id, kid="l", alg=Algorithm.ED25519, caller=caller, tx=tx)
        seen.append(status_now(tx, "l"))

    assert seen == [IssuerStatus.ACTIVE, IssuerStatus.SUSPENDED, IssuerStatus.SUSPENDED]


def test_rolled_back_change_is_not_visible(lab: Installation, register: RegisterIssuer, caller: Caller) -> None:
    issuer_id = register(alg=Algorithm.ED25519, kid="k").issuer.id
    names = {"tenant_id": caller.tenant_id, "issuer_id": issuer_id, "kid": "k"}

    def suspends_and_fails(tx: Transaction) -> None:
        lab.issuers.set_governance(issuer_id, status=IssuerStatus.SUSPENDED, caller=caller, tx=tx)
        assert lab.issuers.get_signing_key_for_update(tx, **names).issuer_status is IssuerStatus.SUSPENDED
        raise RuntimeError

    with lab.storage.write() as tx:
        with pytest.raises(RuntimeError):
            tx.attempt_job(suspends_and_fails)
        assert lab.issuers.get_signing_key_for_update(tx, **names).issuer_status is IssuerStatus.ACTIVE


def test_a_key_of_another_issuer_of_the_tenant_is_not_found(
    lab: Installation, register: RegisterIssuer, caller: Caller
) -> None:
    register(alg=Algorithm.ED25519, kid="k")
    other = register().issuer.id

    with lab.storage.read() as connection, pytest.raises(NotFound, match="signing key k"):
        lab.issuers.get_signing_key(connection, tenant_id=caller.tenant_id, issuer_id=other, kid="k")
