"""By whom: the name of a bundle's issuer is in the log, and an offline report calls the issuer by its tier."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import update

from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.report import NAME_NOT_PROVEN, OfflineReport
from attestlab.attestations.bundle.verifier import verify_bundle
from attestlab.attestations.minting import MintRequest
from attestlab.attestations.rendering import render_bundle
from attestlab.cli import verify as verify_command
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import parse_time
from attestlab.core.errors import ValidationFailed
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.issuers import service as issuer_service
from attestlab.issuers import store as issuer_store
from attestlab.issuers.rules import IssuerStatus, TrustTier
from attestlab.log import entries
from attestlab.log import store as log_store
from attestlab.log.follower.auditor import Auditor
from attestlab.log.merkle.hashing import leaf_hash
from attestlab.log.note.trust_policy import TrustPolicy
from attestlab.orgs.rules import Caller
from attestlab.server.profile_upgrade import ProfileUpgrade
from attestlab.server.write_queue import WriteQueue
from support.own_log import TRUST, change_entry, log_again
from support.release_bundles import FOLDER
from support.timeouts import WAIT_TIMEOUT_S

PROFILE = {"name": "Northfield University", "domain": "northfield.example"}


class World:
    """An issuer that minted one attestation."""

    def __init__(self, lab: Installation, caller: Caller, clock: FixedClock) -> None:
        self.lab, self.caller, self.clock = lab, caller, clock
        made = lab.issuers.create(PROFILE, caller=caller, alg=Algorithm.ED25519, kid="main")
        self.issuer = made.issuer.id
        request = MintRequest(issuer_id=self.issuer, kid="main", schema="degree", claims={"student_name": "Ada"})
        self.minted = lab.attestations.mint(request, caller=caller).id

    def change(self, **governance: Any) -> None:
        self.lab.issuers.set_governance(self.issuer, caller=self.caller, **governance)

    def rename(self, **profile: str) -> None:
        self.lab.issuers.update(self.issuer, profile, caller=self.caller)

    def bundle(self) -> dict[str, Any]:
        found, proofs, head = self.lab.attestations.load_evidence(self.minted, caller=self.caller)
        shown = render_bundle(found, proofs, head, now=self.clock.now()).model_dump_json(by_alias=True)
        document: dict[str, Any] = json.loads(shown)
        return document

    def verify(self, document: dict[str, Any] | None = None) -> OfflineReport:
        return verify_bundle(Bundle.parse(document or self.bundle()), trust=self.lab.trust, now=self.clock.now())

    def entries(self) -> list[dict[str, object]]:
        """The members of the issuer's entries."""
        with self.lab.storage.read() as connection:
            chain = log_store.chain_of(connection, entries.issuer_subject(self.issuer))
        return [entries.parse_entry(leaf.entry).members for leaf in chain]


@pytest.fixture
def world(lab: Installation, caller: Caller, clock: FixedClock) -> World:
    return World(lab, caller, clock)


@pytest.mark.parametrize("member", ["name", "domain"])
def test_a_bundle_with_another_name_put_in_is_unusable(
    world: World, member: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forged = world.bundle()
    forged["issuer"][member] = "famous.example"
    (tmp_path / "forged.json").write_text(json.dumps(forged))
    with world.lab.storage.read() as connection:
        (tmp_path / "log.policy").write_text(f"log {world.lab.log.vkey(connection)}\nquorum none\n")

    with pytest.raises(ValidationFailed, match="/issuer/name and /issuer/domain differ from the issuer's profile"):
        Bundle.parse(forged)
    arguments = [str(tmp_path / "forged.json"), "--trust", str(tmp_path / "log.policy")]
    assert verify_command.command(arguments) == verify_command.UNUSABLE
    assert "Unusable input" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tier", "known_as"),
    [
        (TrustTier.SELF_SIGNED, None),
        (TrustTier.BASIC, PROFILE["domain"]),
        (TrustTier.VERIFIED, PROFILE["name"]),
        (TrustTier.ENTERPRISE, PROFILE["name"]),
    ],
)
def test_a_report_calls_the_issuer_by_what_was_verified(
    world: World, tier: TrustTier, known_as: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world.change(trust_tier=tier)
    report = world.verify()
    assert report.issuer is not None
    assert (report.issuer.name, report.issuer.domain) == (PROFILE["name"], PROFILE["domain"])
    assert (report.issuer.known_as, report.issuer.trust_tier) == (known_as, tier.value)
    assert NAME_NOT_PROVEN not in report.not_checked

    with world.lab.storage.read() as connection:
        (tmp_path / "trust.txt").write_text(f"log {world.lab.log.vkey(connection)}\nquorum none\n")
    (tmp_path / "bundle.json").write_text(json.dumps(world.bundle()))
    arguments = [str(tmp_path / "bundle.json"), "--trust", str(tmp_path / "trust.txt")]
    assert verify_command.command(arguments) == verify_command.VALID
    assert f"  issuer  {known_as or 'of unverified identity'} ({tier.value})\n" in capsys.readouterr().out
    assert verify_command.command([*arguments, "--json"]) == verify_command.VALID
    assert json.loads(capsys.readouterr().out)["issuer"] == {
        **PROFILE,
        "trust_tier": tier.value,
        "known_as": known_as,
    }


@pytest.mark.parametrize("change", [{"name": "Northfield College"}, {"domain": "college.example"}])
def test_a_rename_is_logged_and_proven(world: World, change: dict[str, str]) -> None:
    before = world.bundle()
    world.rename(**change)
    after = world.bundle()

    assert len(world.entries()) == 2
    report = world.verify(after)
    assert (report.verdict.value, report.issuer and report.issuer.name) == ("VALID", after["issuer"]["name"])
    assert world.verify(before).issuer is not None, "a bundle keeps the name of its time"
    with pytest.raises(ValidationFailed, match="differ from the issuer's profile"):
        world.verify({**before, "issuer": after["issuer"]})


def test_other_changes_of_the_profile_are_not_logged(world: World) -> None:
    world.rename(legal_name="Northfield Ltd", display_name="Northfield")

    assert len(world.entries()) == 1


def test_a_revoked_issuer_that_was_renamed_has_its_new_name(world: World) -> None:
    """Its revocation is proven by the entry that revoked it, its name by the newest."""
    world.change(status=IssuerStatus.REVOKED)
    world.rename(name="Northfield College")
    document = world.bundle()

    report = world.verify(document)

    assert report.verdict.value == "VALID"
    assert "issuer_revoked" in [reason.value for reason in report.report.reasons]
    assert report.issuer is not None
    assert report.issuer.name == "Northfield College"
    older = {**document["status_proof"]["issuer"], "profile": document["status_proof"]["issuer"]["first"]}
    assert world.verify({**document, "status_proof": {**document["status_proof"], "issuer": older}}).verdict.value == (
        "INVALID"
    )


def test_a_bundle_of_an_earlier_release_does_not_prove_the_name() -> None:
    release = FOLDER / "0.1.0"
    document = json.loads((release / "Ed25519.json").read_text())
    document["issuer"]["name"] = "Famous University"

    report = verify_bundle(
        Bundle.parse(document),
        trust=TrustPolicy.parse((release / "trust.txt").read_bytes()),
        now=parse_time("2026-11-22T12:00:00Z"),
    )

    assert (report.verdict.value, report.issuer) == ("VALID", None)
    assert NAME_NOT_PROVEN in report.not_checked


def test_a_wrong_signature_is_by_no_issuer(world: World) -> None:
    document = world.bundle()
    document["attestation"]["signature"] = document["attestation"]["signature"][:-4] + "AAAA"

    assert world.verify(document).issuer is None


@pytest.mark.parametrize("profile", [None, "", "sha256:" + "A" * 64, "md5:0", 1])
def test_a_profile_that_is_no_hash_is_invalid(world: World, profile: object) -> None:
    document = world.bundle()
    forged = log_again(document, {"issuer/newest": change_entry(document, "issuer/newest", profile=profile)})

    assert verify_bundle(Bundle.parse(forged), trust=TRUST, now=world.clock.now()).verdict.value == "INVALID"


@pytest.mark.tampered
def test_fsck_finds_an_issuer_that_was_renamed_by_hand(world: World) -> None:
    with world.lab.storage.write() as tx:
        tx.exec(update(issuer_store.issuers).values(name="Famous University"))

    problems = [problem.message for problem in fsck(world.lab) if problem.where == str(world.issuer)]

    assert "the row differs from the log in name or domain" in problems
    with pytest.raises(ValidationFailed, match="differ from the issuer's profile"):
        world.verify()


@pytest.fixture
def of_an_earlier_version(lab: Installation, caller: Caller, monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    """Issuers whose entries have no profile, as an earlier version wrote them; one is revoked."""
    written = entries.issuer_status_entry

    def without_profile(*arguments: Any, **members: Any) -> bytes:
        entry = json.loads(written(*arguments, **members))
        del entry["profile"]
        return json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()

    with monkeypatch.context() as earlier:
        earlier.setattr(entries, "issuer_status_entry", without_profile)
        made = [lab.issuers.create({**PROFILE, "name": f"School {n}"}, caller=caller).issuer.id for n in range(7)]
        lab.issuers.set_governance(made[3], status=IssuerStatus.REVOKED, caller=caller)
    return made


@dataclass
class Writer:
    """Commits as a server does, until it is killed."""

    lab: Installation
    lives: int = 100

    async def write(self, job: Callable[[Transaction], UUID | None]) -> UUID | None:
        if self.lives == 0:
            raise ConnectionAbortedError("killed")
        self.lives -= 1
        with self.lab.storage.write() as tx:
            return job(tx)

    def upgrade(self) -> None:
        """What the sweep of a fresh server does."""
        asyncio.run(ProfileUpgrade(self.lab.issuers).run(self.write))


@pytest.mark.both_engines
def test_upgrade_logs_the_profile_of_each_issuer_once_even_if_it_is_killed(
    lab: Installation, of_an_earlier_version: list[UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuer_service, "PROFILES_PER_WRITE", 2)
    before = count_entries(lab)
    assert list(fsck(lab)) == [], "entries without a profile stay valid"

    with pytest.raises(ConnectionAbortedError):
        Writer(lab, lives=2).upgrade()
    assert count_entries(lab) == before + 4
    Writer(lab).upgrade()
    Writer(lab).upgrade()

    assert count_entries(lab) == before + 7
    assert [len(profiles_of(lab, issuer_id)) for issuer_id in of_an_earlier_version] == [1] * 7
    assert list(fsck(lab)) == []
    audit_all(lab)


def test_a_server_upgrades_the_log_when_it_starts(lab: Installation, of_an_earlier_version: list[UUID]) -> None:
    asyncio.run(sweep_twice(lab))

    assert [len(profiles_of(lab, issuer_id)) for issuer_id in of_an_earlier_version] == [1] * 7


async def sweep_twice(lab: Installation) -> None:
    """Two rounds of the periodic work of a server."""
    desk, rounds = WriteQueue(lab), asyncio.Semaphore(0)
    sweeping = asyncio.create_task(desk.sweep_forever(rounds.release, every_s=0.01))
    try:
        for _ in range(2):
            await asyncio.wait_for(rounds.acquire(), WAIT_TIMEOUT_S)
    finally:
        sweeping.cancel()
        await desk.finish()


def profiles_of(lab: Installation, issuer_id: UUID) -> list[object]:
    with lab.storage.read() as connection:
        chain = log_store.chain_of(connection, entries.issuer_subject(issuer_id))
    members = [entries.parse_entry(leaf.entry).members for leaf in chain]
    return [each["profile"] for each in members if "profile" in each]


def count_entries(lab: Installation) -> int:
    with lab.storage.read() as connection:
        return lab.log.size(connection)


def audit_all(lab: Installation) -> None:
    """What a follower does with every entry."""
    with lab.storage.read() as connection:
        read = [row.entry for row in lab.log.entries(connection, 0, 1000)]
    auditor = Auditor()
    for index, entry in enumerate(read):
        auditor.audit(index, entry, leaf_hash(entry), read.__getitem__)


def test_upgrade_without_issuers_writes_nothing(lab: Installation) -> None:
    before = count_entries(lab)

    Writer(lab).upgrade()

    assert count_entries(lab) == before
