"""fsck finds every change of the records and their files that was made outside the service."""

from __future__ import annotations

import hashlib
import random
import shutil
import sqlite3
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

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
from attestlab.governance.rules import RequestType
from attestlab.governance.shapes import IssuerRequestIn
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.issuers.rules import KeyStatus
from attestlab.log.note.note import Note, NoteSigner
from attestlab.log.witnessing import cosignatures
from attestlab.log.witnessing.cosignatures import Cosignature
from attestlab.migrations import VERSION_TABLE
from attestlab.migrations.models import metadata
from attestlab.orgs.rules import Caller, Plan, Role
from attestlab.orgs.service import TenantCreated
from attestlab.orgs.shapes import UserIn
from attestlab.policy.active_policies import PolicyQuery
from attestlab.policy.language.document import Category, Document, TargetType
from attestlab.risk.enforcement.shapes import CasesQuery
from attestlab.risk.normalization.mapping import MappingItem
from attestlab.risk.rules import CaseOutcome, Entity, EntityType, ListName
from attestlab.settings import Settings
from attestlab.web.idempotency import keys as idempotency
from attestlab.web.idempotency.keys import IdempotencyKey
from attestlab.web.response import Response
from support.faults import mint_jobs, record_mutations
from support.policies import documents

MUTATIONS = 100  # of each place in the soak, by chance; here each place is changed a few times
FLIPS = 300
CLOCK = FixedClock(datetime(2026, 11, 21, 12, 0, tzinfo=UTC))
THE_LOG = ("log_head", "log_leaves", "log_tiles", "log_checkpoints")
# What serves only later scores, and is deleted when none depends on it; no check covers it.
SHORT_LIVED = {"risk_bulk_progress", "risk_velocity_events"} | {
    f"risk_login_{name}" for name in ("documents", "learning", "backfill")
}
# How far deliveries to webhooks are: each request to a receiver changes it, and events can be delivered again.
OPERATIONAL = {"webhook_endpoint_health", "webhook_deliveries", "webhook_attempts", "webhook_dispatch"}
COVERED = [*sorted({table.name for table in metadata().sorted_tables} - SHORT_LIVED - OPERATIONAL), VERSION_TABLE]


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
    for letter in (b"a", b"b"):
        shown = lab.issuers.create({**profile, "name": f"Shows {letter.decode()}"}, caller=caller).issuer.id
        lab.logos.upload(shown, b"\xff\xd8\xff" + letter, caller=caller)
        decide(lab, shown, caller)
    for tenant in (caller, lab.orgs.service_caller(second.tenant_id)):
        notice_risks(lab, tenant)
        receive_events(lab, tenant)
    for name in ("first", "second"):
        write_post(lab, name, caller)
        keep_account(lab, name)
    lab.close()
    return folder


def keep_account(lab: Installation, name: str) -> None:
    """A sign-up that waits, and an account with a username and a further address that is not verified yet."""
    lab.consumers.signups.sign_up(PreparedSignup(f"{name}@waiting.example", "Ada", name, "a hash"))
    made = lab.orgs.add_consumer(f"{name}@people.example", "correct horse battery staple", name="Ada")
    consumer = lab.orgs.service_caller(made.tenant_id)
    lab.consumers.accounts.choose_username(name, caller=consumer)
    lab.consumers.addresses.add(f"{name}@further.example", caller=consumer)


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


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return founded(tmp_path_factory.mktemp("small") / "data", external_keys=3)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return founded(tmp_path_factory.mktemp("large") / "data", external_keys=260)


def first_problem(folder: Path) -> object:
    """What `attestlab log fsck` would print first, also where it cannot open the records."""
    try:
        lab = Installation.open(Settings(data=folder), clock=CLOCK)
    except Exception as error:
        return error
    problems = fsck(lab)
    try:
        return next(problems, None)
    except sqlite3.DatabaseError as error:  # of a file so damaged that not even the look at it can be ended
        return error
    finally:
        with suppress(sqlite3.DatabaseError):  # a damaged file may refuse even the end of a look at it
            problems.close()
        lab.close()


def test_unchanged_folder_has_no_problems(small: Path, large: Path, tmp_path: Path) -> None:
    """
    Nor has what was only opened as the mutations open it.
    """
    for world in (small, large):
        copy = shutil.copytree(world, tmp_path / world.parent.name)
        with record_mutations.open_records(copy / record_mutations.RECORDS):
            pass
        assert first_problem(copy) is None


def test_every_table_has_rows_to_change(large: Path) -> None:
    with sqlite3.connect(large / record_mutations.RECORDS) as records:
        empty = [table for table in COVERED if not records.execute(f"SELECT count(*) FROM {table}").fetchone()[0]]
    records.close()
    assert empty == []


@pytest.mark.parametrize("quarter", range(4))
def test_every_random_mutation_of_a_data_folder_is_found(
    small: Path, large: Path, tmp_path: Path, quarter: int, is_long: bool
) -> None:
    """
    One in each place; in the soak hundreds, by other chances each time, which a failure names. The log's tables are
    changed in the world that has full tiles.
    """
    seed = random.SystemRandom().getrandbits(32) if is_long else quarter
    chance = random.Random(seed)
    for place in (*COVERED, *record_mutations.FILES) * (MUTATIONS // 4 if is_long else 1):
        copy = shutil.copytree(large if place in THE_LOG else small, tmp_path / "data")
        done = record_mutations.mutate(copy, place, chance)
        assert first_problem(copy), f"{done}, by random.Random({seed})"
        shutil.rmtree(copy)


def test_flipped_bit_in_the_file_is_found_or_changes_no_row(small: Path, tmp_path: Path, is_long: bool) -> None:
    """
    A file has room that holds nothing: a flip there is no damage, and need not be found. Small pages leave less of it.
    """
    chance, untouched, flips = random.Random(9), 0, FLIPS if is_long else FLIPS // 8
    packed = shutil.copytree(small, tmp_path / "packed")
    pack(packed / record_mutations.RECORDS)
    before = contents(packed / record_mutations.RECORDS)
    for _ in range(flips):
        copy = shutil.copytree(packed, tmp_path / "data")
        done = record_mutations.flip_file(copy / record_mutations.RECORDS, chance)
        if first_problem(copy) is None:
            assert contents(copy / record_mutations.RECORDS) == before, done
            untouched += 1
        shutil.rmtree(copy)
    assert untouched < flips * 3 // 4, "most of the file is used"


def pack(path: Path) -> None:
    """Put the same rows on pages of 2 KiB, as full as they get; each empty table and index has a page too."""
    with sqlite3.connect(path) as records:
        for pragma in ("journal_mode = DELETE", "page_size = 2048"):
            records.execute(f"PRAGMA {pragma}").fetchall()
        records.execute("VACUUM")
        records.execute("PRAGMA journal_mode = WAL").fetchall()
    records.close()


def contents(path: Path) -> list[object]:
    """Everything that the tables of a database hold, and how they are made."""
    with sqlite3.connect(path) as records:
        records.text_factory = bytes
        found: list[object] = records.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
        for table in COVERED:
            quoted = ", ".join(f'quote("{name.decode()}")' for name in record_mutations.columns(records, table))
            found += records.execute(f"SELECT {quoted} FROM {table} ORDER BY 1").fetchall()
    records.close()
    return found
