"""An issuer belongs to one tenant; other tenants get 404."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.errors import NotFound
from attestlab.core.ids import new_id
from attestlab.installation import Installation
from attestlab.issuers.rules import IssuerStatus
from attestlab.issuers.service import Issuers
from attestlab.orgs.rules import Caller
from support.issuers import RegisterIssuer
from support.log.entries import read_log_entries

Ask = Callable[[Issuers, UUID, Caller], object]


def _signing_key(issuers: Issuers, issuer_id: UUID, caller: Caller) -> object:
    with issuers.storage.read() as connection:
        return issuers.get_signing_key(connection, tenant_id=caller.tenant_id, issuer_id=issuer_id, kid="k")


def _signing_key_now(issuers: Issuers, issuer_id: UUID, caller: Caller) -> object:
    with issuers.storage.write() as tx:
        return issuers.get_signing_key_for_update(tx, tenant_id=caller.tenant_id, issuer_id=issuer_id, kid="k")


QUESTIONS: dict[str, Ask] = {
    "get": lambda issuers, issuer_id, caller: issuers.get(issuer_id, caller=caller),
    "update": lambda issuers, issuer_id, caller: issuers.update(issuer_id, {"name": "Mine"}, caller=caller),
    "set_governance": lambda issuers, issuer_id, caller: issuers.set_governance(
        issuer_id, status=IssuerStatus.REVOKED, caller=caller
    ),
    "add_key": lambda issuers, issuer_id, caller: issuers.signing_keys.add(
        issuer_id, kid="mine", alg=Algorithm.ED25519, caller=caller
    ),
    "keys": lambda issuers, issuer_id, caller: issuers.list_keys(issuer_id, caller=caller),
    "signing_key": _signing_key,
    "signing_key_now": _signing_key_now,
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_another_tenants_issuer_is_not_found(
    lab: Installation, register: RegisterIssuer, stranger: Caller, question: str
) -> None:
    foreign, unknown = register(alg=Algorithm.ED25519, kid="k").issuer.id, new_id(lab.clock.now())
    answers = []
    for issuer_id in (foreign, unknown):
        with pytest.raises(NotFound) as refused:
            QUESTIONS[question](lab.issuers, issuer_id, stranger)
        answers.append((refused.value.message.replace(str(issuer_id), "ID"), refused.value.details))

    assert answers[0] == answers[1]
    assert len(read_log_entries(lab)) == 2


def test_a_list_holds_the_tenants_own_issuers_newest_first(
    lab: Installation, register: RegisterIssuer, caller: Caller, stranger: Caller, clock: FixedClock
) -> None:
    mine = []
    for number in range(4):
        clock.advance(timedelta(milliseconds=1))
        mine.append(register(name=f"Mine {number}").issuer.id)
        register(by=stranger, name="Theirs")

    assert [one.issuer.id for one in lab.issuers.page(caller=caller)] == mine[::-1]
    assert [one.issuer.id for one in lab.issuers.page(caller=caller, offset=1, limit=2)] == [mine[2], mine[1]]


def test_list_is_stable_while_issuers_are_added(
    lab: Installation, register: RegisterIssuer, caller: Caller, clock: FixedClock
) -> None:
    before = [register().issuer.id for _ in range(3) if clock.advance(timedelta(milliseconds=1)) is None]
    [first] = lab.issuers.page(caller=caller, limit=1)
    clock.advance(timedelta(milliseconds=1))
    register()
    rest = lab.issuers.page(caller=caller, before=first.issuer.id)

    assert [one.issuer.id for one in [first, *rest]] == before[::-1]


def test_a_list_shows_each_issuer_with_its_own_keys(
    lab: Installation, register: RegisterIssuer, caller: Caller
) -> None:
    kids = {register(alg=Algorithm.ED25519, kid=f"k-{n}").issuer.id: [f"k-{n}"] for n in range(3)}

    found = {one.issuer.id: [key.kid for key in one.keys] for one in lab.issuers.page(caller=caller)}

    assert found == kids
