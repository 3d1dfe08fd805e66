"""What becomes of keys: rotated, revoked, reported as compromised; and of what they signed, by the order of the log."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from sqlalchemy import delete, update

from attestlab.attestations.minting import MintRequest
from attestlab.attestations.shapes import AttestationsQuery
from attestlab.core.clock import FixedClock
from attestlab.core.crypto import signing
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.errors import Conflict, NotFound, QuotaExceeded, ValidationFailed
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.issuers.rules import KeyStatus
from attestlab.issuers.store import keys
from attestlab.log import entries
from attestlab.orgs.rules import Caller, Plan
from support.log.entries import read_log_entries
from support.outbox import read_events

pytestmark = pytest.mark.one_world


@pytest.fixture
def issuer_id(lab: Installation, caller: Caller) -> UUID:
    profile = {"name": "Northfield", "domain": "north.example"}
    made = lab.issuers.create(profile, caller=caller, alg=Algorithm.ED25519, kid="first")
    found: UUID = made.issuer.id
    return found


def mint(lab: Installation, caller: Caller, issuer_id: UUID, kid: str = "first") -> UUID:
    request = MintRequest(issuer_id=issuer_id, kid=kid, schema="degree", claims={"student_name": "Ada"})
    return lab.attestations.mint(request, caller=caller).id


def judged(lab: Installation, attestation_id: UUID) -> tuple[str, list[str]]:
    """The verdict, and what was said of the key."""
    report = lab.attestations.verify(attestation_id).report
    return report.verdict.value, [reason.value for reason in report.reasons if reason.value.startswith("key_")]


def rotate(lab: Installation, caller: Caller, **changes: Any) -> Any:
    return lab.signing_keys.rotate(
        **{"kid": "first", "new_kid": "second", "alg": Algorithm.ED25519, **changes}, caller=caller
    )


def test_key_revoked_after_prepare_cannot_mint(lab: Installation, caller: Caller, issuer_id: UUID) -> None:
    request = MintRequest(issuer_id=issuer_id, kid="first", schema="degree", claims={"student_name": "Ada"})
    draft = lab.attestations.prepare(request, caller=caller)
    lab.signing_keys.revoke("first", reason="stolen", caller=caller)

    with pytest.raises(Conflict):
        lab.attestations.issue_or_raise(draft)
    assert lab.attestations.page(AttestationsQuery(issuer_id=issuer_id), caller=caller) == []


def raw_ed25519() -> bytes:
    return signing.spki(signing.generate(Algorithm.ED25519).public_key())


def test_rotated_key_cannot_sign_and_its_attestations_stay_valid(
    lab: Installation, caller: Caller, issuer_id: UUID
) -> None:
    before = mint(lab, caller, issuer_id)

    rotate(lab, caller)

    with pytest.raises(Conflict) as refused:
        mint(lab, caller, issuer_id)
    after = mint(lab, caller, issuer_id, "second")
    assert refused.value.details == {"key_status": "rotated"}
    assert (judged(lab, before), judged(lab, after)) == (("VALID", ["key_rotated"]), ("VALID", []))


@pytest.mark.own_world
def test_rotation_is_logged_for_both_keys_and_published(
    lab: Installation, caller: Caller, issuer_id: UUID, clock: FixedClock
) -> None:
    start = len(read_log_entries(lab))
    clock.advance(timedelta(days=1))

    done = rotate(lab, caller)

    said = [
        (entry.members["kid"], entry.members["status"], entry.link and entry.link.seq)
        for entry in read_log_entries(lab, start)
    ]
    assert said == [("first", "rotated", 1), ("second", "active", 0)]
    assert (done.old.changed_index, done.new.log_index) == (start, start + 1)
    assert [kind for kind, _ in read_events(lab, caller)[-2:]] == ["key.created", "key.rotated"]
    assert read_events(lab, caller)[-1][1] == {
        "issuer_id": str(issuer_id),
        "kid": "first",
        "new_kid": "second",
        "log_index": start,
        "rotated_at": "2026-11-22T12:00:00.000Z",
    }


def test_a_rotation_to_a_prepared_key_makes_that_one_active(lab: Installation, caller: Caller, issuer_id: UUID) -> None:
    prepared = lab.signing_keys.add(
        issuer_id, kid="second", alg=Algorithm.ED25519, status=KeyStatus.PENDING, caller=caller
    )
    with pytest.raises(Conflict) as refused:
        mint(lab, caller, issuer_id, "second")

    done = rotate(lab, caller, public_key=prepared.spki)

    assert refused.value.details == {"key_status": "pending"}
    assert (done.new.kid, done.new.status, done.new.custody) == ("second", "active", "managed")
    assert judged(lab, mint(lab, caller, issuer_id, "second")) == ("VALID", [])
    subject = entries.key_subject(issuer_id, "second")
    assert [entry.members["status"] for entry in read_log_entries(lab) if entry.subject == subject] == [
        "pending",
        "active",
    ]
    assert [kind for kind, _ in read_events(lab, caller)].count("key.created") == 2


def test_a_rotation_to_another_public_key_makes_an_external_one(
    lab: Installation, caller: Caller, issuer_id: UUID
) -> None:
    done = rotate(lab, caller, public_key=raw_ed25519())

    assert (done.new.custody, done.new.status) == ("external", "active")


def test_pending_key_keeps_its_kid(lab: Installation, caller: Caller, issuer_id: UUID) -> None:
    ready = lab.signing_keys.add(issuer_id, kid="ready", alg=Algorithm.ED25519, status=KeyStatus.PENDING, caller=caller)

    with pytest.raises(ValidationFailed):
        rotate(lab, caller, public_key=ready.spki)
    with pytest.raises(Conflict):
        rotate(lab, caller, new_kid="ready")


def test_only_managed_keys_can_be_pending(lab: Installation, caller: Caller, issuer_id: UUID) -> None:
    with pytest.raises(ValidationFailed):
        lab.signing_keys.add(
            issuer_id,
            kid="theirs",
            alg=Algorithm.ED25519,
            public_key=raw_ed25519(),
            status=KeyStatus.PENDING,
            caller=caller,
        )


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"kid": "unknown"}, NotFound),
        ({"alg": Algorithm.ES256}, ValidationFailed),
        ({"new_kid": "first"}, Conflict),
        ({"new_kid": "../.."}, ValidationFailed),
        ({"public_key": b"no key"}, ValidationFailed),
    ],
)
def test_rejected_rotation_changes_nothing(
    lab: Installation, caller: Caller, issuer_id: UUID, changes: dict[str, Any], refusal: type[Exception]
) -> None:
    before = read_log_entries(lab)

    with pytest.raises(refusal):
        rotate(lab, caller, **changes)

    assert read_log_entries(lab) == before
    assert judged(lab, mint(lab, caller, issuer_id)) == ("VALID", [])


def test_a_key_is_not_rotated_to_itself_nor_twice(lab: Installation, caller: Caller, issuer_id: UUID) -> None:
    own = lab.issuers.get(issuer_id, caller=caller).keys[0].spki
    with pytest.raises(ValidationFailed):
        rotate(lab, caller, public_key=own)
    rotate(lab, caller)

    with pytest.raises(Conflict) as refused:
        rotate(lab, caller, new_kid="third")

    assert refused.value.details == {"key_status": "rotated"}


@pytest.mark.parametrize("come_back", ["as another key", "by a rotation"])
@pytest.mark.parametrize("status", ["active", "compromised"])
def test_known_public_key_is_rejected_under_another_kid(
    lab: Installation, caller: Caller, issuer_id: UUID, status: str, come_back: str
) -> None:
    """
    Else a stolen one would be as good as new.
    """
    own = raw_ed25519()
    lab.signing_keys.add(issuer_id, kid="own", alg=Algorithm.ED25519, public_key=own, caller=caller)
    if status == "compromised":
        lab.signing_keys.compromise("own", reason="stolen", caller=caller)

    with pytest.raises(Conflict, match="registered as own"):
        if come_back == "by a rotation":
            rotate(lab, caller, public_key=own)
        else:
            lab.signing_keys.add(issuer_id, kid="new", alg=Algorithm.ED25519, public_key=own, caller=caller)


def test_attestation_before_the_keys_revocation_stays_valid(lab: Installation, caller: Caller, issuer_id: UUID) -> None:
    made = [mint(lab, caller, issuer_id) for _ in range(3)]

    done = lab.signing_keys.revoke("first", reason="retired", caller=caller)

    assert [judged(lab, each) for each in made] == [("VALID", ["key_revoked"])] * 3
    assert (done.key.status, done.affected.attestations) == ("revoked", 3)
    said = read_log_entries(lab)[-1].members
    assert (said["status"], said["reason"]) == ("revoked", "retired")
    assert read_events(lab, caller)[-1][0] == "key.revoked"
    assert read_events(lab, caller)[-1][1]["affected_attestations"] == 3
    with pytest.raises(Conflict):
        mint(lab, caller, issuer_id)


@pytest.mark.own_world
def test_attestations_logged_since_the_compromise_are_invalid(
    lab: Installation, caller: Caller, issuer_id: UUID, clock: FixedClock
) -> None:
    early = mint(lab, caller, issuer_id)
    clock.advance(timedelta(hours=1))
    stolen_at = clock.now()
    at_once = mint(lab, caller, issuer_id)
    clock.advance(timedelta(hours=1))
    late = mint(lab, caller, issuer_id)

    done = lab.signing_keys.compromise("first", reason="laptop lost", compromised_at=stolen_at, caller=caller)

    assert judged(lab, early) == ("VALID", ["key_compromised"])
    assert judged(lab, at_once) == judged(lab, late) == ("INVALID", ["key_compromised"])
    assert done.affected.attestations == 3
    assert read_log_entries(lab)[-1].members["compromised_at"] == "2026-11-21T13:00:00.000Z"
    assert read_events(lab, caller)[-1][1]["compromised_at"] == "2026-11-21T13:00:00.000Z"


def test_compromise_without_a_time_counts_from_the_report(lab: Installation, caller: Caller, issuer_id: UUID) -> None:
    made = mint(lab, caller, issuer_id)

    lab.signing_keys.compromise("first", reason="seen elsewhere", caller=caller)

    assert judged(lab, made) == ("VALID", ["key_compromised"])
    assert "compromised_at" not in read_log_entries(lab)[-1].members


def test_compromise_time_in_the_future_is_rejected(
    lab: Installation, caller: Caller, issuer_id: UUID, clock: FixedClock
) -> None:
    with pytest.raises(ValidationFailed):
        lab.signing_keys.compromise(
            "first", reason="a hunch", compromised_at=clock.now() + timedelta(minutes=1), caller=caller
        )


@pytest.mark.parametrize(
    ("first", "then", "may"),
    [
        ("rotate", "revoke", True),
        ("rotate", "compromise", True),
        ("revoke", "compromise", True),
        ("revoke", "revoke", False),
        ("revoke", "rotate", False),
        ("compromise", "revoke", False),
        ("compromise", "compromise", False),
        ("compromise", "rotate", False),
    ],
)
def test_key_status_only_worsens(
    lab: Installation, caller: Caller, issuer_id: UUID, first: str, then: str, may: bool
) -> None:
    acts = {
        "rotate": lambda: rotate(lab, caller, new_kid="another"),
        "revoke": lambda: lab.signing_keys.revoke("first", reason="a test", caller=caller),
        "compromise": lambda: lab.signing_keys.compromise("first", reason="a test", caller=caller),
    }
    acts[first]()

    if may:
        acts[then]()
        return
    with pytest.raises(Conflict) as refused:
        acts[then]()
    assert refused.value.details["key_status"] == lab.issuers.get(issuer_id, caller=caller).keys[0].status


def test_the_published_keys_show_their_history(lab: Installation, caller: Caller, issuer_id: UUID) -> None:
    """
    A verifier of an old signature finds its key, and the key's final status.
    """
    rotate(lab, caller)
    lab.signing_keys.revoke("second", reason="a test", caller=caller)
    lab.signing_keys.add(issuer_id, kid="third", alg=Algorithm.ES256, caller=caller)

    published = [(key["kid"], key["status"]) for key in lab.issuers.jwks(issuer_id)]

    assert published == [("first", "rotated"), ("second", "revoked"), ("third", "active")]


def test_pending_key_counts_towards_the_quota(lab: Installation) -> None:
    free = lab.orgs.service_caller(lab.orgs.create_tenant("Small", plan=Plan.FREE).tenant_id)
    issuer = lab.issuers.create({"name": "Small", "domain": "small.example"}, caller=free, alg=Algorithm.ED25519)
    add = {"alg": Algorithm.ED25519, "status": KeyStatus.PENDING, "caller": free}
    ready = lab.signing_keys.add(issuer.issuer.id, kid="ready", **add)

    with pytest.raises(QuotaExceeded):
        lab.signing_keys.add(issuer.issuer.id, kid="more", **add)
    rotate(lab, free, kid=issuer.keys[0].kid, new_kid="ready", public_key=ready.spki)
    lab.signing_keys.add(issuer.issuer.id, kid="more", **add)


def test_another_tenants_key_is_not_found(lab: Installation, caller: Caller, issuer_id: UUID) -> None:
    other = lab.orgs.service_caller(lab.orgs.create_tenant("Another", plan=Plan.ENTERPRISE).tenant_id)

    for act in (
        lambda: rotate(lab, other),
        lambda: lab.signing_keys.revoke("first", reason="mine", caller=other),
        lambda: lab.signing_keys.compromise("first", reason="mine", caller=other),
    ):
        with pytest.raises(NotFound):
            act()


@pytest.mark.tampered
@pytest.mark.parametrize(
    "changes", [{"status": "active"}, {"status": "compromised"}, {"changed_index": None}, {"compromised_at": None}]
)
def test_fsck_compares_the_status_of_keys_with_the_log(
    lab: Installation, caller: Caller, issuer_id: UUID, clock: FixedClock, changes: dict[str, Any]
) -> None:
    mint(lab, caller, issuer_id)
    lab.signing_keys.revoke("first", reason="a test", caller=caller)
    if "compromised_at" in changes:
        lab.signing_keys.compromise("first", reason="worse", compromised_at=clock.now(), caller=caller)
    with lab.storage.engine.connect() as connection:
        connection.execute(update(keys).values(**changes))
        connection.commit()

    assert "standing" in {problem.kind for problem in fsck(lab)}


@pytest.mark.tampered
def test_fsck_reports_a_missing_row_of_a_logged_key(lab: Installation, caller: Caller, issuer_id: UUID) -> None:
    with lab.storage.engine.connect() as connection:
        connection.execute(delete(keys))
        connection.commit()

    assert any(problem.kind == "standing" and "1 chain of" in problem.message for problem in fsck(lab))


def test_a_keys_entries_form_one_chain(lab: Installation, caller: Caller, issuer_id: UUID) -> None:
    rotate(lab, caller)
    lab.signing_keys.revoke("first", reason="a test", caller=caller)
    lab.signing_keys.compromise("first", reason="worse", caller=caller)

    subject = entries.key_subject(issuer_id, "first")
    chain = [entry for entry in read_log_entries(lab) if entry.subject == subject]
    assert [entry.members["status"] for entry in chain] == ["active", "rotated", "revoked", "compromised"]
    assert [entry.link.seq for entry in chain if entry.link] == [0, 1, 2, 3]


@pytest.mark.tampered
def test_fsck_reports_a_weak_key_of_an_earlier_version(
    lab: Installation, caller: Caller, issuer_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    weak = signing.spki(rsa.RSAPublicNumbers(65537, 2**2203 - 1).public_key())  # a Mersenne prime
    with monkeypatch.context() as earlier:
        earlier.setattr("attestlab.issuers.new_keys.require_unfactorable", lambda _key, **_named: None)
        lab.signing_keys.add(issuer_id, kid="weak", alg=Algorithm.RS256, public_key=weak, caller=caller)

    [found] = fsck(lab)

    assert (found.kind, found.where) == ("key", "weak")
    assert "the RSA modulus is a prime" in found.message
