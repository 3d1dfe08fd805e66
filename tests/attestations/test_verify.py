"""Every verdict and every reason that can happen now, by what is stored and what is shown."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import delete, select, text, update

from attestlab.attestations.metering import service as metering
from attestlab.attestations.minting import MintRequest
from attestlab.attestations.results import Minted
from attestlab.attestations.rules import Verdict
from attestlab.attestations.store import attestations
from attestlab.attestations.tables import VerificationTally
from attestlab.attestations.verification.steps import VerifierInput
from attestlab.core.clock import FixedClock
from attestlab.core.crypto import signing
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.tables import table_of
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import PermissionDenied, ValidationFailed
from attestlab.core.records.outbox import OutboxEvent
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.issuers.rules import IssuerStatus
from attestlab.issuers.store import issuers, keys
from attestlab.orgs import usage
from attestlab.orgs.rules import Caller
from attestlab.risk.rules import Entity, EntityType
from support.policies.activation import create_active_policy
from support.policies.documents import make_condition, make_document, make_rule

pytestmark = pytest.mark.one_world

HASH = "ab" * 32
FILE = bytes.fromhex("cd" * 32)


@pytest.fixture
def minted(lab: Installation, caller: Caller) -> Minted:
    return mint(lab, caller)


def mint(lab: Installation, caller: Caller, **changes: Any) -> Minted:
    made = lab.issuers.create(
        {"name": "Northfield", "domain": "northfield.example.edu"}, caller=caller, alg=Algorithm.ED25519
    )
    request = MintRequest(
        issuer_id=made.issuer.id,
        kid=made.keys[0].kid,
        schema="degree",
        claims={"student_name": "Ada Lovelace"},
        document_hash=HASH,
        file_sha256=FILE,
    )
    return lab.attestations.mint(dataclasses.replace(request, **changes), caller=caller)


def verdict_and_reasons(
    lab: Installation, minted: Minted, presented: VerifierInput | None = None
) -> tuple[str, list[str]]:
    report = lab.attestations.verify(minted.id, presented or VerifierInput()).report
    return report.verdict.value, [reason.value for reason in report.reasons]


def behind_the_services_back(lab: Installation, statement: Any) -> None:
    """Change a row as no verb would; the story then ends without `check_lab`."""
    with lab.storage.engine.connect() as connection:
        connection.execute(statement)
        connection.commit()


@pytest.mark.both_engines
def test_all_eight_steps_pass(lab: Installation, minted: Minted) -> None:
    assert verdict_and_reasons(lab, minted, VerifierInput(FILE, HASH.upper())) == (
        "VALID",
        [
            *("payload_hash_ok", "document_hash_ok", "status_current", "governance_ok"),
            *("signature_ok", "transparency_proof_ok", "policy_ok"),
        ],
    )


def test_only_checks_that_ran_have_a_reason(lab: Installation, minted: Minted) -> None:
    assert verdict_and_reasons(lab, minted)[1][0] == "status_current"


def test_an_unknown_id_is_not_found(lab: Installation) -> None:
    found = lab.attestations.verify(uuid4())

    assert (found.verdict, [reason.value for reason in found.report.reasons]) == (
        Verdict.NOT_FOUND,
        ["attestation_not_found"],
    )


@pytest.mark.parametrize(
    ("presented", "reasons"),
    [
        (VerifierInput(document_hash="00" * 32), ["document_hash_mismatch"]),
        (VerifierInput(payload_sha256=bytes(32)), ["payload_hash_mismatch"]),
        (VerifierInput(bytes(32), HASH), ["payload_hash_mismatch", "document_hash_ok"]),
        (VerifierInput(FILE, "00" * 32), ["payload_hash_ok", "document_hash_mismatch"]),
    ],
)
def test_altered_payload_or_document_ends_the_verification(
    lab: Installation, minted: Minted, presented: VerifierInput, reasons: list[str]
) -> None:
    assert verdict_and_reasons(lab, minted, presented) == ("ALTERED", reasons)


def test_missing_document_hash_does_not_end_the_verification(lab: Installation, caller: Caller) -> None:
    bare = mint(lab, caller, document_hash=None, file_sha256=None)

    verdict, reasons = verdict_and_reasons(lab, bare, VerifierInput(document_hash=HASH))

    assert (verdict, reasons[0]) == ("VALID", "document_hash_not_stored")


def test_expired_attestation_has_the_verdict_expired(lab: Installation, caller: Caller, clock: FixedClock) -> None:
    brief = mint(lab, caller, expiry_at=clock.now() + timedelta(hours=1))
    before = verdict_and_reasons(lab, brief)[0]
    clock.advance(timedelta(hours=1))

    assert before == "VALID"
    assert verdict_and_reasons(lab, brief) == ("EXPIRED", ["attestation_expired"])


@pytest.mark.tampered
@pytest.mark.parametrize(
    ("status", "reason"), [("REVOKED", "attestation_revoked"), ("SUPERSEDED", "attestation_superseded")]
)
def test_final_status_ends_the_verification(lab: Installation, minted: Minted, status: str, reason: str) -> None:
    behind_the_services_back(lab, update(attestations).values(status=status))

    assert verdict_and_reasons(lab, minted) == (status, [reason])


def test_a_suspended_issuer_is_flagged(lab: Installation, caller: Caller, minted: Minted) -> None:
    lab.issuers.set_governance(minted.row.issuer_id, status=IssuerStatus.SUSPENDED, caller=caller)

    verdict, reasons = verdict_and_reasons(lab, minted)

    assert (verdict, reasons[:2]) == ("VALID", ["status_current", "issuer_suspended"])
    assert "governance_ok" not in reasons


def test_attestation_before_the_issuers_revocation_stays_valid(
    lab: Installation, caller: Caller, minted: Minted
) -> None:
    lab.issuers.set_governance(minted.row.issuer_id, status=IssuerStatus.REVOKED, caller=caller)

    verdict, reasons = verdict_and_reasons(lab, minted)

    assert verdict == "VALID"
    assert "issuer_revoked" in reasons
    assert "governance_ok" not in reasons


@pytest.mark.tampered
def test_attestation_after_the_issuers_revocation_is_invalid(lab: Installation, minted: Minted) -> None:
    behind_the_services_back(lab, update(issuers).values(status="REVOKED", revoked_index=0))

    assert verdict_and_reasons(lab, minted) == ("INVALID", ["status_current", "issuer_revoked"])


@pytest.mark.tampered
def test_missing_issuer_is_unknown(lab: Installation, minted: Minted) -> None:
    with lab.storage.engine.connect() as connection:
        if lab.storage.is_sqlite:
            connection.execute(text("PRAGMA foreign_keys=OFF"))
        else:
            connection.execute(text("SET session_replication_role = replica"))
        connection.execute(delete(issuers))
        connection.commit()
        connection.invalidate()

    assert verdict_and_reasons(lab, minted) == ("UNKNOWN_ISSUER", ["status_current", "issuer_unknown"])


@pytest.mark.tampered
def test_missing_key_is_reported(lab: Installation, minted: Minted) -> None:
    behind_the_services_back(lab, delete(keys))

    assert verdict_and_reasons(lab, minted)[1][-1] == "key_not_found"


@pytest.mark.tampered
@pytest.mark.parametrize(
    ("changes", "verdict", "reason"),
    [
        ({"status": "rotated"}, "VALID", "key_rotated"),
        ({"status": "revoked", "changed_index": 99}, "VALID", "key_revoked"),
        ({"status": "revoked", "changed_index": 0}, "INVALID", "key_revoked"),
        ({"status": "compromised", "changed_index": 99}, "VALID", "key_compromised"),
        ({"status": "compromised", "changed_index": 0}, "INVALID", "key_compromised"),
    ],
)
def test_key_revocation_counts_by_the_order_of_the_log(
    lab: Installation, minted: Minted, changes: dict[str, Any], verdict: str, reason: str
) -> None:
    behind_the_services_back(lab, update(keys).values(**changes))

    found, reasons = verdict_and_reasons(lab, minted)

    assert (found, reason in reasons) == (verdict, True)


@pytest.mark.tampered
@pytest.mark.parametrize(("minutes", "verdict"), [(-1, "INVALID"), (0, "INVALID"), (1, "VALID")])
def test_compromise_time_is_compared_with_the_entrys_time(
    lab: Installation, minted: Minted, clock: FixedClock, minutes: int, verdict: str
) -> None:
    at = clock.now() + timedelta(minutes=minutes)
    behind_the_services_back(lab, update(keys).values(status="compromised", changed_index=99, compromised_at=at))

    assert verdict_and_reasons(lab, minted)[0] == verdict


def mint_externally(lab: Installation, caller: Caller, **changes: Any) -> UUID:
    """Mint with a key whose owner signs, who also names the id and the time."""
    private = signing.generate(Algorithm.ED25519)
    made = lab.issuers.create({"name": "Northfield", "domain": "northfield.example.edu"}, caller=caller)
    public = signing.spki(private.public_key())
    lab.signing_keys.add(made.issuer.id, kid="own", alg=Algorithm.ED25519, public_key=public, caller=caller)
    named = {"issuer_id": made.issuer.id, "kid": "own", "schema": "degree", "claims": {"student_name": "Ada"}}
    request = MintRequest(**named, id=uuid4(), **changes)
    with pytest.raises(ValidationFailed) as refused:
        lab.attestations.mint(request, caller=caller)
    signed = str(refused.value.details["signing_input_b64url"])
    token = f"{signed}.{b64url_encode(signing.sign(Algorithm.ED25519, private, signed.encode()))}"
    return lab.attestations.mint(dataclasses.replace(request, signature=token), caller=caller).id


@pytest.mark.tampered
def test_thief_of_an_external_key_cannot_backdate_an_attestation(
    lab: Installation, caller: Caller, clock: FixedClock
) -> None:
    """
    `created_at` is what the signer says; when it was logged is what counts.
    """
    minted_id = mint_externally(lab, caller, created_at=clock.now() - timedelta(hours=2))
    stolen_at = clock.now() - timedelta(hours=1)
    behind_the_services_back(lab, update(keys).values(status="compromised", changed_index=99, compromised_at=stolen_at))

    assert lab.attestations.verify(minted_id, VerifierInput()).report.verdict is Verdict.INVALID


@pytest.mark.tampered
@pytest.mark.parametrize(
    "changes",
    [
        {"claims": b'{"student_name":"Eve"}'},
        {"payload_hash": "A" * 43},
        {"document_hash": "00" * 32},
        {"content_type": "image/png"},
        {"schema_id": "transcript"},
        {"signature": "e30.e30.AA"},
    ],
)
def test_a_changed_row_fails_the_signature(lab: Installation, minted: Minted, changes: dict[str, Any]) -> None:
    behind_the_services_back(lab, update(attestations).values(**changes))

    assert verdict_and_reasons(lab, minted)[1][-1] == "signature_invalid"


@pytest.mark.tampered
def test_entry_of_another_attestation_fails_the_proof(lab: Installation, minted: Minted) -> None:
    behind_the_services_back(lab, update(attestations).values(nonce=bytes(32)))

    assert verdict_and_reasons(lab, minted) == (
        "INVALID",
        ["status_current", "governance_ok", "signature_ok", "transparency_proof_failed"],
    )


def test_denying_policy_makes_it_invalid_and_is_evaluated_last(
    lab: Installation, caller: Caller, minted: Minted
) -> None:
    active = make_rule("active", "DENY", make_condition("status", "eq", "ACTIVE"))
    create_active_policy(lab, caller, make_document(active, category="VERIFY", default_effect="ALLOW"))

    assert verdict_and_reasons(lab, minted)[1][-2:] == ["transparency_proof_ok", "policy_denied"]
    assert verdict_and_reasons(lab, minted)[0] == "INVALID"


def test_each_verification_is_metered_and_published(
    lab: Installation, caller: Caller, minted: Minted, clock: FixedClock
) -> None:
    found = lab.attestations.verify(minted.id)
    altered = lab.attestations.verify(minted.id, VerifierInput(document_hash="00" * 32))
    unknown = lab.attestations.verify(uuid4())
    with lab.storage.write() as tx:
        for verified in (found, altered, unknown):
            lab.attestations.meter(tx, verified)

    with lab.storage.read() as connection:
        used = usage.get_used(connection, caller.tenant_id, usage.VERIFICATIONS, clock.now().date())
        published = connection.scalars(select(table_of(OutboxEvent).c.type).order_by(table_of(OutboxEvent).c.seq)).all()
    assert used == 2
    assert published[-3:] == ["verification.completed", "verification.failed", "risk.signal.created"]


def test_failed_verification_is_a_risk_signal_about_its_attestation(
    lab: Installation, caller: Caller, minted: Minted
) -> None:
    altered = lab.attestations.verify(minted.id, VerifierInput(document_hash="00" * 32))
    with lab.storage.write() as tx:
        lab.attestations.meter(tx, altered)

    view = lab.risk.entities.get(Entity(EntityType.ATTESTATION, str(minted.id)), caller=caller)

    (signal,) = view.signals
    assert (signal.source, signal.signal_type, signal.score) == ("verification", "behavior", 60.0)


@pytest.mark.own_world
def test_fsck_with_a_late_clock_reports_the_clock_and_no_tally(
    lab: Installation, minted: Minted, clock: FixedClock
) -> None:
    verified = lab.attestations.verify(minted.id)
    with lab.storage.write() as tx:
        lab.attestations.meter(tx, verified)
    clock.advance(timedelta(minutes=2))
    with lab.storage.write() as tx:
        lab.sweep(tx)
    clock.advance(timedelta(hours=-1))

    problems = list(fsck(lab))

    clock.advance(timedelta(hours=1))
    assert [(problem.kind, problem.where) for problem in problems] == [("usage", "clock")]
    assert "correct the clock" in problems[0].message


@pytest.mark.both_engines
@pytest.mark.own_world
def test_beyond_a_hundred_a_minute_one_event_counts_the_rest(
    lab: Installation, minted: Minted, clock: FixedClock
) -> None:
    found = lab.attestations.verify(minted.id)
    for _ in range(5):
        with lab.storage.write() as tx:
            for _ in range(50):
                lab.attestations.meter(tx, found)
    clock.advance(timedelta(minutes=2))
    with lab.storage.write() as tx:
        lab.sweep(tx)

    outbox = table_of(OutboxEvent)
    with lab.storage.read() as connection:
        bodies = connection.scalars(select(outbox.c.body).where(outbox.c.type == "verification.completed")).all()
        left = connection.execute(select(table_of(VerificationTally))).all()
    assert len(bodies) == metering.MAX_SINGLE_EVENTS_PER_MINUTE + 1
    assert b'"count":150' in bodies[-1]
    assert left == []


def test_suspension_in_the_same_group_commit_stops_later_mints(
    lab: Installation, caller: Caller, minted: Minted
) -> None:
    request = MintRequest(
        issuer_id=minted.row.issuer_id, kid=minted.row.kid, schema="degree", claims={"student_name": "Ada"}
    )
    drafts = [lab.attestations.prepare(request, caller=caller) for _ in range(2)]
    with lab.storage.write() as tx:
        lab.attestations.issue_or_raise(drafts[0], tx=tx)
        lab.issuers.set_governance(minted.row.issuer_id, status=IssuerStatus.SUSPENDED, caller=caller, tx=tx)
        with pytest.raises(PermissionDenied):
            lab.attestations.issue_or_raise(drafts[1], tx=tx)
