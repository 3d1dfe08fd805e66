"""Writes that share a group have the outcomes and leave the rows of the same writes one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Table, select

from attestlab.attestations import mint_steps, store
from attestlab.attestations.minting import MintRequest, PreparedAttestation
from attestlab.attestations.results import Minted
from attestlab.attestations.routes import routes
from attestlab.attestations.store import attestations
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm, PrivateKey, generate, sign, spki
from attestlab.core.db.group_commit import Foresee, foresee_nothing
from attestlab.core.db.group_commit.thread import PendingWrite, foresee_reads, run_jobs
from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import AttestLabError, Conflict, ValidationFailed
from attestlab.core.records.audit import AuditEvent
from attestlab.core.records.outbox import OutboxEvent
from attestlab.installation import Installation
from attestlab.issuers.rules import IssuerStatus
from attestlab.orgs import plans
from attestlab.orgs.rules import Caller, Plan, Scope
from attestlab.orgs.usage import UsageDay
from support.in_process_server import make_client, serve_in_thread
from support.policies.activation import create_active_policy
from support.policies.documents import make_condition, make_document, make_rule
from support.property_tests import examples
from support.statements import statements_of

pytestmark = [pytest.mark.both_engines, pytest.mark.one_world]


class Write(NamedTuple):
    """A job of a group, and what it will read."""

    job: Callable[[Transaction], object]
    foresee: Foresee = foresee_nothing


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

    def issue(self, prepared: PreparedAttestation) -> Write:
        foresee = partial(mint_steps.foresee, prepared=prepared, at=self.lab.clock.now(), taken_ids=store.TAKEN_IDS)
        return Write(lambda tx: self.lab.attestations.issue_or_raise(prepared, tx=tx), foresee)

    def set_status(self, status: IssuerStatus) -> Write:
        return Write(
            lambda tx: self.lab.issuers.set_governance(self.issuer_id, status=status, caller=self.caller, tx=tx)
        )


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

    def issue_and_fail(prepared: PreparedAttestation) -> Write:
        def job(tx: Transaction) -> None:
            service.issue_or_raise(prepared, tx=tx)
            raise Conflict("not so")

        return Write(job)

    make: dict[str, Callable[[], Write]] = {
        "mint": lambda: ours.issue(ours.prepare()),
        "mint elsewhere": lambda: theirs.issue(theirs.prepare()),
        "mint a chosen id": lambda: ours.issue(chosen),
        "mint and fail": lambda: issue_and_fail(ours.prepare()),
        "supersede": lambda: ours.issue(ours.prepare(supersedes=ours.first.id)),
        "revoke": lambda: Write(lambda tx: service.revoke(ours.first.id, reason="lost", caller=ours.caller, tx=tx)),
        "suspend": lambda: ours.set_status(IssuerStatus.SUSPENDED),
        "resume": lambda: ours.set_status(IssuerStatus.ACTIVE),
    }
    return [make[name]() for name in names]


def run_groups(lab: Installation, groups: Sequence[Sequence[Write]]) -> list[str]:
    """Run each group in one transaction, and return the code of each refusal, or the type of each result."""
    outcomes = []
    for group in groups:
        pending = [PendingWrite(write.job, lambda _result, _error: None, write.foresee) for write in group]
        with lab.storage.write(foreseen=foresee_reads(pending)) as tx:
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


@pytest.mark.on_postgresql
def test_statements_of_a_group_do_not_grow_with_its_mints(lab: Installation) -> None:
    """Each tenant has an issuer with two keys, a policy and a quota; every second mint has a chosen id."""

    def count_statements(tenancies: int) -> int:
        mints = []
        for each in [make_tenancy(lab) for _ in range(tenancies)]:
            denied = make_rule("high", "DENY", make_condition("risk_rating", "eq", "HIGH"))
            create_active_policy(lab, each.caller, make_document(denied, category="MINT", default_effect="ALLOW"))
            mints += [each.issue(each.prepare()), each.issue(each.prepare_chosen_id())]
        with statements_of(lab) as sent:
            assert run_groups(lab, [mints]) == ["Minted"] * len(mints)
        return len(sent)

    assert count_statements(4) == count_statements(1)


@pytest.mark.on_postgresql
def test_chains_of_a_group_are_read_together_and_saved_together(lab: Installation) -> None:
    mints = [each.issue(each.prepare()) for each in (make_tenancy(lab), make_tenancy(lab))]
    with statements_of(lab) as sent:
        run_groups(lab, [mints])

    assert [text.partition(" ")[0] for text in sent if "chain_heads" in text] == ["SELECT", "INSERT"]


@pytest.mark.on_postgresql
def test_items_of_a_batch_share_their_reads(lab: Installation) -> None:
    ours = make_tenancy(lab)
    second = lab.issuers.signing_keys.add(ours.issuer_id, kid="second", alg=Algorithm.ED25519, caller=ours.caller)
    claims = {"student_name": "Ada Lovelace"}
    mint = {"issuer_id": str(ours.issuer_id), "alg": "Ed25519", "schema": "degree", "claims": claims}
    kids = [ours.kid, second.kid]
    key = lab.api_keys.create("Batches", scopes=frozenset(Scope), caller=ours.caller).secret
    with serve_in_thread(lab) as url, make_client(url, key=key) as client, statements_of(lab) as sent:
        answer = client.post("/v1/attestations/batch", json={"items": [{**mint, "kid": kid} for kid in kids]})

    assert [item["http_status"] for item in answer.json()["items"]] == [201, 201]
    assert sum("issuer_keys" in text for text in sent) == len(kids) + 1, "one for each before the lock, one under it"


def test_every_mint_foresees_its_reads() -> None:
    assert {route.path for route in routes if route.foresee is not None} == {
        "/v1/attestations/mint",
        "/v1/attestations/{id}/supersede",
        "/v1/attestations/batch",
    }
