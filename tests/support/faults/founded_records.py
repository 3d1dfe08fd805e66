"""An installation whose records have rows in every table, for tests that change any of them from outside."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from attestlab.annotations.shapes import AnnotationIn
from attestlab.attestations.minting import MintRequest
from attestlab.attestations.rules import Verdict
from attestlab.attestations.verification.steps import VerifierInput
from attestlab.blog.rules import PostCategory
from attestlab.blog.shapes import BlogPostIn, BlogPostPatch
from attestlab.consumer.accounts.signups import PreparedSignup
from attestlab.core.clock import FixedClock
from attestlab.core.crypto import signing
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import parse_uuid
from attestlab.core.errors import PermissionDenied
from attestlab.governance.rules import RequestType
from attestlab.governance.shapes import IssuerRequestIn
from attestlab.installation import Installation
from attestlab.issuers.rules import KeyStatus
from attestlab.log.note.note import Note, NoteSigner
from attestlab.log.witnessing import cosignatures
from attestlab.log.witnessing.cosignatures import Cosignature
from attestlab.orgs.rules import Caller, Plan, Role
from attestlab.orgs.service import TenantCreated
from attestlab.orgs.shapes import UserIn
from attestlab.policy.active_policies import PolicyQuery
from attestlab.policy.language.document import Category, Document, TargetType
from attestlab.protections.rules import Visibility
from attestlab.protections.shapes import ProtectionIn
from attestlab.receipts.rules import RetentionPolicy
from attestlab.receipts.shapes import ReceiptIn
from attestlab.receipts.types.shapes import DeprecateTypeIn
from attestlab.risk.enforcement.shapes import CasesQuery
from attestlab.risk.normalization.mapping import MappingItem
from attestlab.risk.rules import CaseOutcome, Entity, EntityType, ListName
from attestlab.settings import Settings
from attestlab.views.schedules.shapes import ScheduleIn
from attestlab.views.shapes import ViewIn, ViewPatchIn
from attestlab.web.idempotency import keys as idempotency
from attestlab.web.idempotency.keys import IdempotencyKey
from attestlab.web.response import Response
from support.faults import mint_jobs
from support.faults.founded_agents import employ_agents
from support.faults.founded_billing import keep_paying
from support.policies import documents
from support.receipts import create_type

CLOCK = FixedClock(datetime(2026, 11, 21, 12, 0, tzinfo=UTC))


def founded(folder: Path, *, external_keys: int) -> Path:
    """An installation in which every table has rows; with many keys its log has a full tile."""
    clock = FixedClock(CLOCK.now() - timedelta(days=1))
    lab, made = Installation.init(Settings(data=folder), clock=clock)
    caller = lab.orgs.service_caller(made.tenant.tenant_id)
    live(lab, caller, clock)
    second = lab.orgs.create_tenant("A second tenant", plan=Plan.FREE)
    for tenant in (caller, lab.orgs.service_caller(second.tenant_id)):
        rule_by_policies(lab, tenant)
    for name in ("ada", "grace"):
        lab.people.invite(UserIn(email=f"{name}@example.com", role=Role.MEMBER), caller=caller)
    for _ in range(2):
        sign_in(lab, second)
    mints = list(mint_jobs.mint_repeatedly(lab, 6))
    profile = {"name": "Southfield", "domain": "southfield.example", "jurisdiction": "SE"}
    issuer = lab.issuers.create(profile, caller=caller, alg=Algorithm.ES256).issuer.id
    lab.issuers.update(issuer, {"jurisdiction": "NO", "display_name": "South"}, caller=caller)
    for number in range(external_keys):
        public = signing.spki(signing.generate(Algorithm.ED25519).public_key())
        lab.signing_keys.add(issuer, kid=f"key-{number}", alg=Algorithm.ED25519, public_key=public, caller=caller)
    verify(lab, mints[0].id, times=130)
    verify(lab, mints[1].id, times=3, presented=bytes(32))
    for number in range(5):
        store_response(lab, str(number))
    for name in ("w1", "w2"):
        cosign(lab, name)
    lab.orgs.add_consumer("ada@people.example", "correct horse battery staple", name="Ada")
    sender = lab.issuers.create(profile, caller=caller, alg=Algorithm.ED25519, kid="sender").issuer.id
    for address in ("ada@people.example", "grace@people.example"):
        mint_of(lab, caller, sender, kid="sender", recipient_email=address)
    keep_views(lab, caller)
    for letter in (b"a", b"b"):
        shown = lab.issuers.create({**profile, "name": f"Shows {letter.decode()}"}, caller=caller).issuer.id
        lab.logos.upload(shown, b"\xff\xd8\xff" + letter, caller=caller)
        decide(lab, shown, caller)
    for tenant in (caller, lab.orgs.service_caller(second.tenant_id)):
        notice_risks(lab, tenant)
        receive_events(lab, tenant)
    lab.platform_issuer.ensure()
    create_types(lab, caller)
    for name in ("first", "second"):
        write_post(lab, name, caller)
        protect(lab, name, keep_account(lab, name))
        mint_receipts(lab, name, sender, caller)
        employ_agents(lab, name, caller)
    keep_paying(lab)
    lab.close()
    return folder


def keep_views(lab: Installation, caller: Caller) -> None:
    """Views of which one was changed and one deleted, and annotations of which one was removed."""
    (person, *_) = lab.people.list_page(caller=caller, limit=1)
    owner = replace(caller, actor_type="USER", actor_id=str(person.id))
    made = [
        lab.views.save(ViewIn(name=name, page="risk", query=f"source={name}"), caller=owner)
        for name in ("login", "media", "velocity")
    ]
    lab.views.update(made[0].id, ViewPatchIn(name="Logins", shared=True), caller=owner)
    lab.views.delete(made[1].id, caller=owner)
    members = [each.id for each in lab.people.list_page(caller=caller, limit=50) if each.status in (None, "ACTIVE")]
    weekly = ScheduleIn(weekday=0, hour=8, recipients=members[:1])
    for view in (made[0], made[2]):
        lab.views.schedules.set(view.id, weekly, caller=owner)
    lab.views.schedules.end(made[2].id, caller=owner)
    now = lab.clock.now()
    notes = [
        lab.annotations.add(AnnotationIn(at=now, until=until, text=f"Campaign {number}"), caller=caller)
        for number, until in enumerate((None, now + timedelta(days=1), None))
    ]
    lab.annotations.remove(notes[0].id, caller=caller)


def create_types(lab: Installation, caller: Caller) -> None:
    """A receipt type with a deprecated version and a newer one."""
    for version in ("1.0.0", "1.1.0"):
        create_type(lab, caller, version, display_name=f"Delivery {version}")
    lab.receipt_types.deprecate("delivery", DeprecateTypeIn(version="1.0.0", reason="has a successor"), caller=caller)


def mint_receipts(lab: Installation, name: str, issuer: UUID, caller: Caller) -> None:
    """Receipts of which one is kept, one revoked and one redacted."""
    kept, revoked, redacted = (
        lab.receipts.mint(
            ReceiptIn(
                receipt_type="delivery",
                issuer_id=issuer,
                subject=f"parcel {number} of {name}",
                payload={"n": number, "note": name},
                metadata={"route": name},
                retention_policy=policy,
            ),
            caller=caller,
        )
        for number, policy in enumerate(RetentionPolicy)
    )
    assert kept.status == "ACTIVE"
    lab.receipts.revoke(revoked.id, reason=f"{name} came back", caller=caller)
    lab.receipts.redact(redacted.id, reason=f"{name} asked for it", caller=caller)


def protect(lab: Installation, name: str, consumer: Caller) -> None:
    """Protected content that was verified, more of it that is public, and a protection that was deleted."""
    made = []
    for visibility in Visibility:
        content = hashlib.sha256(f"{name} {visibility}".encode()).hexdigest()
        body = ProtectionIn(content_hash=content, title=f"{name} {visibility}", visibility=visibility)
        prepared = lab.protections.prepare(body, caller=consumer)
        assert prepared is not None
        done = lab.protections.create(prepared)
        assert not isinstance(done, PermissionDenied)
        made.append(done)
        verify(lab, str(done.row.attestation_id), times=len(made))
    lab.protections.delete(made[-1].row.id, caller=consumer)


def keep_account(lab: Installation, name: str) -> Caller:
    """A sign-up that waits, and an account with a username and a further address that is not verified yet."""
    lab.consumers.signups.sign_up(PreparedSignup(f"{name}@waiting.example", "Ada", name, "a hash"))
    made = lab.orgs.add_consumer(f"{name}@people.example", "correct horse battery staple", name="Ada")
    consumer = lab.orgs.service_caller(made.tenant_id)
    lab.consumers.accounts.choose_username(name, caller=consumer)
    lab.consumers.addresses.add(f"{name}@further.example", caller=consumer)
    return consumer


def write_post(lab: Installation, name: str, caller: Caller) -> None:
    """A post with a picture, which was public under two slugs."""
    picture = lab.blog.upload(b"\xff\xd8\xff" + name.encode(), caller=caller).sha256
    draft = BlogPostIn(
        title=f"A {name} post",
        category=PostCategory.COMPANY,
        content=f"Of {name}.",
        cover_image_url=f"/blog/media/{picture}",
        tags=[name],
    )
    post = lab.blog.create(draft, caller=caller)
    lab.blog.publish(post.id, caller=caller)
    lab.blog.update(post.id, BlogPostPatch(slug=name), caller=caller)


def rule_by_policies(lab: Installation, caller: Caller) -> None:
    """Attributes of the tenant's own, a policy in shadow with two versions, decisions, and what they would become."""
    lab.policy_attributes.replace([{"path": "channel", "type": "text"}], caller=caller)
    allow = documents.make_rule("known", "ALLOW", documents.make_condition("status", "exists", True))
    for default in ("ALLOW", "DENY"):
        lab.verification_profiles.create(f"Profile {default}", description=default, caller=caller)
        made = lab.policies.create(Document.read(documents.make_document(allow, default_effect=default)), caller=caller)
        lab.policies.update(made.id, Document.read(documents.make_document(allow, name="again")), caller=caller)
        lab.policies.shadow(made.id, caller=caller)
        question = PolicyQuery(Category.MINT, TargetType.TENANT_DEFAULT)
        lab.policy_decisions.evaluate_and_record(question, {"status": "ACTIVE", "absent": default}, caller=caller)
        with lab.simulations.of(made.id, caller=caller) as simulation:
            simulation.report()


def notice_risks(lab: Installation, caller: Caller) -> None:
    """Raw events, signals, cases, challenges, list entries, a mapping and settings of the tenant."""
    risk, now = lab.risk, lab.clock.now()
    for name in ("ada", "grace"):
        entity = Entity(EntityType.USER, name)
        risk.normalization.record("session.hijack_suspect", entity, data={"ip": name}, occurred_at=now, caller=caller)
        risk.lists.add(ListName.ALLOW, entity, reason=f"{name} is known", caller=caller)
        risk.challenges.create(name, reason="Login from a new country", risk_score=91, caller=caller)
    (case, *_) = risk.cases.page(CasesQuery(), caller=caller)
    for text in ("The device is new.", "Support reached the customer."):
        risk.comments.add(case.id, text, caller=caller)
    risk.cases.resolve(case.id, CaseOutcome.FRAUD, note="seen by support", caller=caller)
    for score in (10.0, 20.0):
        risk.normalization.replace_mapping([MappingItem("login.odd", "behavior", score)], caller=caller)
    risk.preferences.set_threshold(75.5, caller=caller)


def receive_events(lab: Installation, caller: Caller) -> None:
    """An endpoint with a new and an old secret."""
    made = lab.webhooks.create("A receiver", "https://receiver.example.com/", ["risk.*"], caller=caller).row
    lab.webhooks.rotate(made.id, overlap=timedelta(hours=1), caller=caller)


def decide(lab: Installation, issuer_id: UUID, caller: Caller) -> None:
    """A request about an issuer that a second person approved, and that was executed."""
    asked = IssuerRequestIn(type=RequestType.SUSPEND_ISSUER, target_issuer_id=issuer_id, reason="seen in the news")
    request_id = lab.governance.request(asked, caller=caller).id
    reviewer = replace(caller, actor_type="USER", actor_id=str(request_id), roles=frozenset({Role.REVIEWER}))
    lab.governance.approve(request_id, caller=reviewer)
    lab.governance.execute(request_id, caller=caller)


def live(lab: Installation, caller: Caller, clock: FixedClock) -> None:
    """A day on which attestations end in every way, and keys in every way; the log lists what became of them."""
    profile = {"name": "Westfield", "domain": "westfield.example"}
    issuer = lab.issuers.create(profile, caller=caller, alg=Algorithm.ED25519, kid="first").issuer.id
    packs = [lab.packs.create(name, description=name, caller=caller).id for name in ("Degrees", "Licences")]
    made = [mint_of(lab, caller, issuer, pack_id=pack) for pack in packs for _ in range(3)]
    lab.attestations.revoke(made[0], reason="typo in name", caller=caller)
    lab.attestations.revoke(made[1], reason="typo in date", caller=caller)
    for attestation_id in made[2:4]:
        lab.attestations.supersede(attestation_id, request_of(issuer), caller=caller)
    for hours in (1, 2):
        mint_of(lab, caller, issuer, expiry_at=clock.now() + timedelta(hours=hours))
    keys = lab.signing_keys
    prepared = keys.add(issuer, kid="second", alg=Algorithm.ED25519, status=KeyStatus.PENDING, caller=caller)
    keys.rotate("first", new_kid="second", alg=Algorithm.ED25519, public_key=prepared.spki, caller=caller)
    keys.compromise("second", reason="laptop lost", compromised_at=clock.now(), caller=caller)
    lab.signing_keys.add(issuer, kid="third", alg=Algorithm.ED25519, caller=caller)
    keys.revoke("third", reason="retired", caller=caller)
    clock.advance(timedelta(days=1))
    with lab.storage.write() as tx:
        lab.expire(tx)
    with lab.storage.write() as tx:
        lab.list_statuses(tx)
    with lab.storage.write() as tx:
        lab.log.time.confirm(tx)


def request_of(issuer: UUID, **changes: Any) -> MintRequest:
    named: dict[str, Any] = {"issuer_id": issuer, "kid": "first", "schema": "degree"}
    return MintRequest(**{**named, "claims": {"student_name": "Ada"}, **changes})


def mint_of(lab: Installation, caller: Caller, issuer: UUID, **changes: Any) -> UUID:
    return lab.attestations.mint(request_of(issuer, **changes), caller=caller).id


def sign_in(lab: Installation, tenant: TenantCreated) -> None:
    """A session of the owner's, whose first refresh token is used up."""
    email, password = tenant.owner_email, tenant.owner_password
    tokens = lab.identity.sign_in(lab.identity.authenticate(email, password, peer="192.0.2.1", now=lab.clock.now()))
    lab.identity.sessions.refresh(tokens.refresh_token)


def verify(lab: Installation, attestation_id: str, *, times: int, presented: bytes | None = None) -> None:
    """Verifications, of which an issuer's first hundred in a minute are reported singly."""
    verified = lab.attestations.verify(parse_uuid(attestation_id), VerifierInput(payload_sha256=presented))
    assert verified.verdict is (Verdict.VALID if presented is None else Verdict.ALTERED)
    with lab.storage.write() as tx:
        for _ in range(times):
            lab.attestations.meter(tx, verified)


def cosign(lab: Installation, name: str) -> None:
    """What a witness signs of the newest checkpoints."""
    witness = NoteSigner(f"witness.example/{name}", Ed25519PrivateKey.generate())
    with lab.storage.read() as connection:
        newest = lab.log.checkpoints(connection, limit=3)
    for row in reversed(newest):
        line = witness.cosign(Note.parse(row.note).text, at_s=int(CLOCK.now().timestamp()) + row.size)
        cosignature = Cosignature.verify(row.note, row.size, witness.vkey.cosigner(), line)
        with lab.storage.write() as tx:
            cosignatures.record(tx, cosignature)


def store_response(lab: Installation, key: str) -> None:
    """An answer that is kept under an Idempotency-Key, each in a separate commit."""
    place, request = (hashlib.sha256(f"{what} {key}".encode()).digest() for what in ("place", "request"))
    with lab.storage.write() as tx:
        answer = Response(201, {"Location": f"/v1/issuers/{key}"}, b'{"id": "%s"}' % key.encode())
        idempotency.store_response(tx, IdempotencyKey(place, request, lab.clock.now()), answer)
