"""Each verdict and each reason (CONTRACT section 6): the service gives it over HTTP, a bundle shows it offline."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import delete, text, update

from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.verifier import verify_bundle
from attestlab.attestations.bundle.verifier_policies import VerifierPolicies
from attestlab.attestations.rules import Reason, Verdict
from attestlab.attestations.store import attestations
from attestlab.core.clock import FixedClock
from attestlab.core.crypto import signing
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import b64url_encode, format_time
from attestlab.installation import Installation
from attestlab.issuers.store import issuers, keys
from attestlab.orgs.rules import Caller
from attestlab.policy.language.document import Document
from support.governance import GovernanceScenario, open_governance_scenario
from support.policies.activation import create_active_policy
from support.policies.documents import make_condition, make_document, make_rule

pytestmark = pytest.mark.one_world

FILE = b"%PDF-1.7 a diploma"
HASH = hashlib.sha256(FILE).hexdigest()
PAYLOAD = {"payload_b64url": b64url_encode(FILE), "content_type": "application/pdf"}
SOUND = "signature_ok", "transparency_proof_ok", "policy_ok"
# What a bundle cannot show: that there is none, and that an issuer is gone whose entries it holds.
ONLY_ONLINE = {
    Reason.ATTESTATION_NOT_FOUND,
    Reason.ISSUER_UNKNOWN,
    Reason.KEY_NOT_FOUND,
}


@dataclass
class ReasonScenario:
    """A tenant at work, the clock, and what a verifier holds in hand: offline the same policies as the service."""

    governance: GovernanceScenario
    clock: FixedClock
    shows: dict[str, str] = field(default_factory=dict)
    file: bytes | None = None
    payload: bytes | None = None
    policies: list[Document] = field(default_factory=list)

    @property
    def lab(self) -> Installation:
        return self.governance.lab

    def minted(self, **changes: Any) -> str:
        answer = self.governance.minted(**changes)
        assert answer.status_code == 201, answer.text
        attestation_id: str = answer.json()["id"]
        return attestation_id

    def post(self, path: str, **body: Any) -> None:
        answer = self.governance.key.post(path, json=body, headers={"Idempotency-Key": str(uuid4())})
        assert answer.status_code in (200, 201), answer.text

    def key_path(self, verb: str) -> str:
        return f"/v1/issuers/keys/{self.governance.issuer['keys'][0]['kid']}/{verb}"

    def behind_its_back(self, *statements: Any) -> None:
        """Change rows as no verb would."""
        with self.lab.storage.engine.connect() as connection:
            sqlite, other = "PRAGMA foreign_keys=OFF", "SET session_replication_role = replica"
            connection.execute(text(sqlite if self.lab.storage.is_sqlite else other))
            for statement in statements:
                connection.execute(statement)
            connection.commit()
            connection.detach()  # foreign keys are off on it, so the pool must not reuse it

    def online(self, attestation_id: str) -> tuple[str, list[str]]:
        body = {"attestation_id": attestation_id, **self.shows}
        found = self.governance.key.post("/v1/verify", json=body).json()
        return found["verdict"], found["reasons"]

    def offline(self, attestation_id: str) -> tuple[str, list[str]]:
        self.clock.advance(timedelta(minutes=2))
        with self.lab.storage.write() as tx:
            self.lab.list_statuses(tx)
        answer = self.governance.key.get(f"/v1/attestations/{attestation_id}/proof-bundle")
        assert answer.status_code == 200, answer.text
        file, payload = (held and hashlib.sha256(held).digest() for held in (self.file, self.payload))
        bundle = Bundle.read(answer.content)
        at_hand = {"file_sha256": file, "payload_sha256": payload, "policies": VerifierPolicies(self.policies)}
        report = verify_bundle(bundle, trust=self.lab.trust, now=self.clock.now(), **at_hand)
        return report.verdict.value, [reason.value for reason in report.report.reasons]


@pytest.fixture
def scenario(lab: Installation, caller: Caller, clock: FixedClock) -> Iterator[ReasonScenario]:
    with open_governance_scenario(lab) as governance:
        yield ReasonScenario(governance, clock)


def sound(scenario: ReasonScenario) -> str:
    return scenario.minted()


def its_payload(scenario: ReasonScenario) -> str:
    scenario.shows, scenario.file = {"payload_b64url": b64url_encode(FILE)}, FILE
    return scenario.minted(**PAYLOAD)


def another_payload(scenario: ReasonScenario) -> str:
    scenario.shows, scenario.payload = {"payload_b64url": b64url_encode(b"another")}, b"another"
    return scenario.minted(**PAYLOAD)


def its_document(scenario: ReasonScenario) -> str:
    scenario.shows, scenario.file = {"document_hash_hex": HASH}, FILE
    return scenario.minted(document_hash=HASH)


def another_document(scenario: ReasonScenario) -> str:
    scenario.shows, scenario.file = {"document_hash_hex": "00" * 32}, b"another"
    return scenario.minted(document_hash=HASH)


def no_document(scenario: ReasonScenario) -> str:
    scenario.shows, scenario.file = {"document_hash_hex": HASH}, FILE
    return scenario.minted()


def revoked(scenario: ReasonScenario) -> str:
    made = scenario.minted()
    scenario.post(f"/v1/attestations/{made}/revoke", reason="typo")
    return made


def superseded(scenario: ReasonScenario) -> str:
    made, issuer = scenario.minted(), scenario.governance.issuer
    named = {"kid": issuer["keys"][0]["kid"], "alg": issuer["keys"][0]["alg"], "schema": "degree"}
    scenario.post(f"/v1/attestations/{made}/supersede", claims={"student_name": "Ada"}, **named)
    return made


def expired(scenario: ReasonScenario) -> str:
    made = scenario.minted(expiry_at=format_time(scenario.clock.now() + timedelta(minutes=1)))
    scenario.clock.advance(timedelta(minutes=2))
    return made


def unknown(scenario: ReasonScenario) -> str:
    return str(uuid4())


def suspended_issuer(scenario: ReasonScenario) -> str:
    made = scenario.minted()
    scenario.governance.decide("SUSPEND_ISSUER", "admin")
    return made


def reinstated_issuer(scenario: ReasonScenario) -> str:
    made = suspended_issuer(scenario)
    scenario.governance.decide("REINSTATE_ISSUER", "reviewer")
    return made


def revoked_issuer(scenario: ReasonScenario) -> str:
    made = scenario.minted()
    scenario.governance.decide("REVOKE_ISSUER", "admin", "reviewer")
    return made


def rotated_key(scenario: ReasonScenario) -> str:
    made = scenario.minted()
    scenario.post(scenario.key_path("rotate"), new_kid="next", alg="Ed25519")
    return made


def revoked_key(scenario: ReasonScenario) -> str:
    made = scenario.minted()
    scenario.post(scenario.key_path("revoke"), reason="retired")
    return made


def compromised_key(scenario: ReasonScenario) -> str:
    made = scenario.minted()
    scenario.post(scenario.key_path("compromise"), reason="lost")
    return made


def stolen_key(scenario: ReasonScenario) -> str:
    stolen_at = format_time(scenario.clock.now())
    scenario.clock.advance(timedelta(minutes=1))
    made = scenario.minted()
    scenario.post(scenario.key_path("compromise"), reason="stolen", compromised_at=stolen_at)
    return made


def denied_by_a_policy(scenario: ReasonScenario) -> str:
    made, governance = scenario.minted(), scenario.governance
    tenant = scenario.lab.orgs.service_caller(governance.tenant_clients.tenant.tenant_id)
    active = make_rule("active", "DENY", make_condition("status", "eq", "ACTIVE"))
    written = make_document(active, category="VERIFY", default_effect="ALLOW")
    create_active_policy(scenario.lab, tenant, written)
    scenario.policies.append(Document.read(written))
    return made


ENDS: list[tuple[Callable[[ReasonScenario], str], Verdict, list[str]]] = [
    (sound, Verdict.VALID, ["status_current", "governance_ok", *SOUND]),
    (its_payload, Verdict.VALID, ["payload_hash_ok"]),
    (another_payload, Verdict.ALTERED, ["payload_hash_mismatch"]),
    (its_document, Verdict.VALID, ["document_hash_ok"]),
    (another_document, Verdict.ALTERED, ["document_hash_mismatch"]),
    (no_document, Verdict.VALID, ["document_hash_not_stored"]),
    (revoked, Verdict.REVOKED, ["attestation_revoked"]),
    (superseded, Verdict.SUPERSEDED, ["attestation_superseded"]),
    (expired, Verdict.EXPIRED, ["attestation_expired"]),
    (unknown, Verdict.NOT_FOUND, ["attestation_not_found"]),
    (suspended_issuer, Verdict.VALID, ["issuer_suspended"]),
    (reinstated_issuer, Verdict.VALID, ["governance_ok"]),
    (revoked_issuer, Verdict.VALID, ["issuer_revoked"]),
    (rotated_key, Verdict.VALID, ["key_rotated"]),
    (revoked_key, Verdict.VALID, ["key_revoked"]),
    (compromised_key, Verdict.VALID, ["key_compromised"]),
    (stolen_key, Verdict.INVALID, ["key_compromised"]),
    (denied_by_a_policy, Verdict.INVALID, ["policy_denied"]),
]


def unknown_issuer(scenario: ReasonScenario) -> str:
    made = scenario.minted()
    scenario.behind_its_back(delete(issuers))
    return made


def unknown_key(scenario: ReasonScenario) -> str:
    made = scenario.minted()
    scenario.behind_its_back(delete(keys))
    return made


def key_of_another_issuer(scenario: ReasonScenario) -> str:
    """The server signs, and logs, with another key than the one that it names."""
    governance = scenario.governance
    kid, owner = governance.issuer["keys"][0]["kid"], {"tenant_id": governance.tenant_clients.tenant.tenant_id}
    with scenario.lab.storage.read() as connection:
        row = connection.execute(keys.select().where(keys.c.kid == kid)).one()
    other = signing.dump_private(signing.generate(Algorithm(row.alg)))
    sealed = scenario.lab.keyring.seal(other, **owner, issuer_id=row.issuer_id, kid=kid, alg=row.alg)
    scenario.behind_its_back(update(keys).where(keys.c.kid == kid).values(sealed=sealed))
    return scenario.minted()


def unproven(scenario: ReasonScenario) -> str:
    made = scenario.minted()
    scenario.behind_its_back(update(attestations).values(nonce=bytes(32)))
    return made


def key_revoked_before(scenario: ReasonScenario) -> str:
    made = scenario.minted()
    scenario.behind_its_back(update(keys).values(status="revoked", changed_index=0))
    return made


def issuer_revoked_before(scenario: ReasonScenario) -> str:
    made = scenario.minted()
    scenario.behind_its_back(update(issuers).values(status="REVOKED", revoked_index=0))
    return made


TAMPERED: list[tuple[Callable[[ReasonScenario], str], Verdict, list[str]]] = [
    (unknown_issuer, Verdict.UNKNOWN_ISSUER, ["issuer_unknown"]),
    (unknown_key, Verdict.INVALID, ["key_not_found"]),
    (key_of_another_issuer, Verdict.INVALID, ["signature_invalid"]),
    (unproven, Verdict.INVALID, ["transparency_proof_failed"]),
    (key_revoked_before, Verdict.INVALID, ["key_revoked"]),
    (issuer_revoked_before, Verdict.INVALID, ["issuer_revoked"]),
]
NOT_IN_THE_LOG = (key_revoked_before, issuer_revoked_before)  # rows that lie; a bundle goes by the log's entries


def named(rows: list[tuple[Callable[[ReasonScenario], str], Verdict, list[str]]]) -> list[str]:
    return [row[0].__name__ for row in rows]


@pytest.mark.parametrize(("happens", "verdict", "reasons"), ENDS, ids=named(ENDS))
def test_service_and_bundle_give_the_reason(
    scenario: ReasonScenario, happens: Callable[[ReasonScenario], str], verdict: Verdict, reasons: list[str]
) -> None:
    agrees(scenario, happens(scenario), verdict, reasons)


@pytest.mark.tampered
@pytest.mark.parametrize(("happens", "verdict", "reasons"), TAMPERED, ids=named(TAMPERED))
def test_tampering_changes_the_verdict(
    scenario: ReasonScenario, happens: Callable[[ReasonScenario], str], verdict: Verdict, reasons: list[str]
) -> None:
    made = happens(scenario)
    if happens in NOT_IN_THE_LOG:
        assert scenario.online(made)[0] == verdict.value
        assert reasons[0] in scenario.online(made)[1]
        return
    agrees(scenario, made, verdict, reasons)


def agrees(scenario: ReasonScenario, made: str, verdict: Verdict, reasons: list[str]) -> None:
    found, codes = scenario.online(made)
    assert (found, set(reasons) - set(codes)) == (verdict.value, set()), codes
    shown = {reason for reason in reasons if Reason(reason) not in ONLY_ONLINE}
    if shown:
        found, codes = scenario.offline(made)
        assert (found, shown - set(codes)) == (verdict.value, set()), codes


def test_every_reason_has_a_scenario() -> None:
    rows = ENDS + TAMPERED
    reached = {Reason(reason) for row in rows for reason in row[2]}

    assert set(Reason) - reached == {Reason.PAYLOAD_REDACTED}, "that of receipts alone, see tests/receipts"
    assert {row[1] for row in rows} == set(Verdict)
