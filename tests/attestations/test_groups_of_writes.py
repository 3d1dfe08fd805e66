"""Writes that share a group have the outcomes and leave the rows of the same writes one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Table, select

from attestlab.attestations.minting import MintRequest, PreparedAttestation
from attestlab.attestations.results import Minted
from attestlab.attestations.store import attestations
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm, PrivateKey, generate, sign, spki
from attestlab.core.db.group_commit.thread import PendingWrite, run_jobs
from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import AttestLabError, Conflict, ValidationFailed
from attestlab.core.records.audit import AuditEvent
from attestlab.core.records.outbox import OutboxEvent
from attestlab.installation import Installation
from attestlab.issuers.rules import IssuerStatus
from attestlab.orgs import plans
from attestlab.orgs.rules import Caller, Plan
from attestlab.orgs.usage import UsageDay
from support.property_tests import examples

pytestmark = [pytest.mark.both_engines, pytest.mark.one_world]

Write = Callable[[Transaction], object]
DAILY_LIMIT = 4
WRITES = ("mint", "mint elsewhere", "mint a chosen id", "mint and fail", "supersede", "revoke", "suspend", "resume")
EXTERNAL_KID = "external"
numbers = count()


@dataclass(frozen=True)
class Tenancy:
    """A tenant with an issuer and an attestation; `private` signs for the issuer's external key."""

    lab: Installation
    caller: Caller
    issuer_id: UUID
    kid: str
    private: PrivateKey
    first: Minted

    def prepare(self, **changes: Any) -> PreparedAttestation:
        request = MintRequest(
            issuer_id=self.issuer_id, kid=self.kid, schema="degree", claims={"student_name": "Ada Lovelace"}
        )
        return self.lab.attestations.prepare(replace(request, **changes), caller=self.caller)

    def prepare_chosen_id(self) -> PreparedAttestation:
        """Prepare a mint whose id the holder of the external key chose."""
        chosen = {"kid": EXTERNAL_KID, "created_at": self.lab.clock.now()}
        with pytest.raises(ValidationFailed) as unsigned:
            self.prepare(**chosen)
        message = str(unsigned.value.details["signing_input_b64url"])
        signature = b64url_encode(sign(Algorithm.ED25519, self.private, message.encode()))
        return self.prepare(**chosen, id=UUID(str(unsigned.value.details["id"])), signature=f"{message}.{signature}")

    def set_status(self, status: IssuerStatus) -> Write:
        return lambda tx: self.lab.issuers.set_governance(self.issuer_id, status=status, caller=self.caller, tx=tx)


def make_tenancy(lab: Installation) -> Tenancy:
    made = lab.orgs.create_tenant(f"Tenant {next(numbers)}", plan=Plan.STARTER)
    adjusted = plans.encode_adjustments({"attestations_per_day": DAILY_LIMIT})
    caller = replace(lab.orgs.service_caller(made.tenant_id), adjusted=adjusted)
    profile = {"name": "Northfield", "domain": "northfield.example"}
    issuer = lab.issuers.create(profile, caller=caller, alg=Algorithm.ED25519)
    private = generate(Algorithm.ED25519)
    lab.issuers.signing_keys.add(
        issuer.issuer.id, kid=EXTERNAL_KID, alg=Algorithm.ED25519, public_key=spki(private.public_key()), caller=caller
    )
    request = MintRequest(
        issuer_id=issuer.issuer.id, kid=issuer.keys[0].kid, schema="degree", claims={"student_name": "Ada Lovelace"}
    )
    first = lab.attestations.mint(request, caller=caller)
    return Tenancy(lab, caller, issuer.issuer.id, issuer.keys[0].kid, private, first)


def make_writes(ours: Tenancy, theirs: Tenancy, names: Sequence[str]) -> list[Write]:
    """Prepare all writes before the first runs, as the requests of a group are."""
    service, chosen = ours.lab.attestations, ours.prepare_chosen_id()

    def issue(prepared: PreparedAttestation) -> Write:
        return lambda tx: service.issue_or_raise(prepared, tx=tx)

    def issue_and_fail(prepared: PreparedAttestation) -> Write:
        def write(tx: Transaction) -> None:
            service.issue_or_raise(prepared, tx=tx)
            raise Conflict("not so")

        return write

    make: dict[str, Callable[[], Write]] = {
        "mint": lambda: issue(ours.prepare()),
        "mint elsewhere": lambda: issue(theirs.prepare()),
        "mint a chosen id": lambda: issue(chosen),
        "mint and fail": lambda: issue_and_fail(ours.prepare()),
        "supersede": lambda: issue(ours.prepare(supersedes=ours.first.id)),
        "revoke": lambda: lambda tx: service.revoke(ours.first.id, reason="lost", caller=ours.caller, tx=tx),
        "suspend": lambda: ours.set_status(IssuerStatus.SUSPENDED),
        "resume": lambda: ours.set_status(IssuerStatus.ACTIVE),
    }
    return [make[name]() for name in names]


def run_groups(lab: Installation, groups: Sequence[Sequence[Write]]) -> list[str]:
    """Run each group in one transaction, and return the code of each refusal, or the type of each result."""
    outcomes = []
    for group in groups:
        pending = [PendingWrite(write, lambda _result, _error: None) for write in group]
        with lab.storage.write() as tx:
            run_jobs(tx, pending)
        outcomes += [_describe(each) for each in pending]
    return outcomes


def _describe(pending: PendingWrite) -> str:
    if isinstance(pending.error, AttestLabError):
        return pending.error.code
    return type(pending.result).__name__


def read_rows(tenancy: Tenancy) -> dict[str, list[Any]]:
    """Read what the writes left in the records of a tenant, without ids, indexes and hashes."""
    tables: dict[str, tuple[Table, list[str], str]] = {
        "attestations": (attestations, ["status", "kid", "custody", "snapshot_status"], "log_index"),
        "events": (table_of(OutboxEvent), ["sequence", "type"], "sequence"),
        "audit": (table_of(AuditEvent), ["seq", "action", "resource_type"], "seq"),
        "usage": (table_of(UsageDay), ["metric", "used"], "metric"),
    }
    with tenancy.lab.storage.read() as connection:
        return {name: _select(connection, tenancy, *each) for name, each in tables.items()}


def _select(connection: Connection, tenancy: Tenancy, table: Table, names: list[str], order: str) -> list[Any]:
    query = select(*(table.c[name] for name in names)).where(table.c.tenant_id == tenancy.caller.tenant_id)
    hidden = {tenancy.kid: "managed"}
    return [tuple(hidden.get(value, value) for value in row) for row in connection.execute(query.order_by(order))]


@pytest.mark.more_in_soak
def test_writes_of_a_group_act_as_one_by_one(lab: Installation, clock: FixedClock) -> None:
    @settings(max_examples=examples(4, many=300))
    @given(st.lists(st.sampled_from(WRITES), min_size=2, max_size=10))
    @example(["mint a chosen id", "mint a chosen id", "mint elsewhere"])
    @example(["mint", "mint and fail", "mint", "mint", "mint", "revoke"])
    @example(["mint", "suspend", "mint", "resume", "mint", "supersede", "supersede"])
    def check(names: list[str]) -> None:
        together, alone = ((make_tenancy(lab), make_tenancy(lab)) for _ in range(2))
        outcomes = run_groups(lab, [make_writes(*together, names)])

        assert outcomes == run_groups(lab, [[write] for write in make_writes(*alone, names)])
        assert list(map(read_rows, together)) == list(map(read_rows, alone))

    check()
