"""Entries that are in the tree and cannot be true: who reads them all computes again what they say."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from attestlab.attestations.minting import MintRequest
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.errors import ValidationFailed
from attestlab.installation import Installation
from attestlab.issuers.rules import IssuerStatus
from attestlab.log import entries
from attestlab.log.entries import FIRST_LINK, Link
from attestlab.log.follower.follower import Alarm, AlarmName
from attestlab.log.follower.state import FollowerState
from attestlab.log.merkle.hashing import leaf_hash
from attestlab.log.status.status_list import StatusList
from attestlab.orgs.rules import Caller
from support.lab_checks import make_follower
from support.log.published import LOG_VKEY, PublishedLog
from support.witnesses import NOON, LogBranch, make_log_signer

ISSUER, OTHER = UUID(int=1), UUID(int=2)


PROFILE = entries.profile_name("Northfield", "northfield.example")


class History:
    """Entries as a server writes them that states whatever a test wants."""

    def __init__(self, *, issuer: str | None = "ACTIVE", key: str | None = "active") -> None:
        self.leaves: list[bytes] = []
        self.links: dict[str | None, Link] = {}
        if issuer is not None:
            self.issuer(issuer)
        if key is not None:
            self.key(key)

    def add(self, subject: str | None, make: Callable[[Link], bytes]) -> int:
        entry, link = make(self.links.get(subject, FIRST_LINK)), self.links.get(subject, FIRST_LINK)
        self.links[subject] = Link(link.seq + 1, leaf_hash(entry))
        self.leaves.append(entry)
        return len(self.leaves) - 1

    def issuer(self, status: str, issuer_id: UUID = ISSUER) -> int:
        facts: Any = {"trust_tier": "BASIC", "risk_rating": "LOW", "jurisdiction": None, "profile": PROFILE, "at": NOON}
        return self.add(
            entries.issuer_subject(issuer_id),
            lambda link: entries.issuer_status_entry(link, issuer_id=issuer_id, status=status, **facts),
        )

    def key(self, status: str, kid: str = "k1", public_spki: bytes = b"key") -> int:
        facts: Any = {"alg": "Ed25519", "at": NOON, "public_spki": public_spki, "status": status}
        return self.add(
            entries.key_subject(ISSUER, kid),
            lambda link: entries.key_status_entry(link, issuer_id=ISSUER, kid=kid, **facts),
        )

    def mint(self, number: int, *, kid: str = "k1", public_spki: bytes = b"key", issuer_id: UUID = ISSUER) -> int:
        facts: Any = {"alg": "Ed25519", "at": NOON, "commit": bytes(32), "public_spki": public_spki}
        entry = entries.minted_entry(attestation_id=UUID(int=number), issuer_id=issuer_id, kid=kid, **facts)
        return self.add(None, lambda _link: entry)

    def end(self, number: int, minted_index: Any, *, issuer_id: UUID = ISSUER) -> int:
        facts: Any = {"status": "REVOKED", "at": NOON, "minted_index": minted_index}
        return self.add(
            entries.attestation_subject(UUID(int=number)),
            lambda link: entries.attestation_status_entry(
                link, attestation_id=UUID(int=number), issuer_id=issuer_id, **facts
            ),
        )

    def mint_receipt(self, number: int, *, kid: str = "k1") -> int:
        facts: Any = {"alg": "Ed25519", "at": NOON, "commit": bytes(32), "public_spki": b"key"}
        entry = entries.receipt_minted_entry(receipt_id=UUID(int=number), issuer_id=ISSUER, kid=kid, **facts)
        return self.add(None, lambda _link: entry)

    def end_receipt(self, number: int, minted_index: Any) -> int:
        facts: Any = {"status": "REVOKED", "at": NOON, "minted_index": minted_index}
        return self.add(
            entries.receipt_subject(UUID(int=number)),
            lambda link: entries.receipt_status_entry(link, receipt_id=UUID(int=number), issuer_id=ISSUER, **facts),
        )

    def list(self, *, without: int | None = None, size: int | None = None) -> int:
        """The true list; or one that leaves out the entry at an index, or that tells of another size."""
        statuses = StatusList()
        for index, entry in enumerate(self.leaves):
            if index != without:
                statuses.apply(index, entries.parse_entry(entry))
        statuses.grow(len(self.leaves))
        digests = {"digest": statuses.digest(), "receipts_digest": statuses.receipts.digest()}
        facts: Any = {"size": len(self.leaves) if size is None else size, "at": NOON, **digests}
        return self.add(entries.STATUS_LIST_SUBJECT, lambda link: entries.status_list_entry(link, **facts))

    def publish(self, log: PublishedLog) -> None:
        LogBranch(tuple(self.leaves), make_log_signer()).publish(log.folder, len(self.leaves))


def test_valid_history_raises_no_alarm_after_resuming_at_any_entry(log: PublishedLog) -> None:
    history = History()
    first, second, receipt = history.mint(1), history.mint(2), history.mint_receipt(1)
    acts: list[Callable[[], int]] = [
        history.list,
        lambda: history.end_receipt(1, receipt),
        history.list,
        lambda: history.end(1, first),
        history.list,
        lambda: history.issuer("SUSPENDED"),
        history.list,
        lambda: history.issuer("ACTIVE"),
        lambda: history.key("rotated"),
        lambda: history.key("active", "k2", b"another key"),
        history.list,
        lambda: history.mint(3, kid="k2", public_spki=b"another key"),
        lambda: history.key("compromised"),
        lambda: history.end(2, second),
        history.list,
        lambda: history.issuer("REVOKED"),
        history.list,
    ]
    for act in acts:
        act()
        history.publish(log)
        log.follow()
    assert log.taken == history.leaves

    at_once = log.state.with_name("at once")
    log.state, log.taken, in_steps = at_once, [], log.state
    assert log.follow().auditor.as_json() == FollowerState.load(in_steps, LOG_VKEY).auditor.as_json()


@pytest.mark.parametrize("restarts", [False, True], ids=["in one go", "over a restart"])
@pytest.mark.parametrize("what", ["revocation", "key", "issuer"])
def test_status_list_that_omits_a_change_raises_an_alarm(log: PublishedLog, what: str, restarts: bool) -> None:
    """
    Every signature holds and every entry is in the tree; the list alone hides what became of a subject.
    """
    history = History()
    minted = history.mint(1)
    history.list()
    acts = {
        "revocation": lambda: history.end(1, minted),
        "key": lambda: history.key("revoked"),
        "issuer": lambda: history.issuer("REVOKED"),
    }
    hidden = acts[what]()
    if restarts:
        history.publish(log)
        log.follow()
    false = history.list(without=hidden)
    history.publish(log)

    alarm = log.alarm(AlarmName.FALSE_STATUS_LIST)

    assert f"Entry {false} of the log" in alarm.message
    assert "hides a change or invents one" in alarm.message


def test_status_list_with_the_wrong_size_raises_an_alarm(log: PublishedLog) -> None:
    history = History()
    history.mint(1)
    history.list(size=2)
    history.publish(log)
    assert "is of 2 entries, but 3 entries precede it" in log.alarm(AlarmName.FALSE_STATUS_LIST).message


def minted_by_unknown_key(history: History) -> None:
    history.mint(1, issuer_id=OTHER)


def minted_with_an_unheard_of_key(history: History) -> None:
    history.mint(1, kid="k2")


def minted_with_another_key_of_that_name(history: History) -> None:
    history.mint(1, public_spki=b"another key")


def minted_with_a_key_of_another_issuer(history: History) -> None:
    history.issuer("ACTIVE", OTHER)
    history.mint(1, issuer_id=OTHER)


def minted_with_a_pending_key(history: History) -> None:
    history.key("pending", "k2", b"another key")
    history.mint(1, kid="k2", public_spki=b"another key")


def minted_with_a_rotated_key(history: History) -> None:
    history.key("rotated")
    history.mint(1)


def minted_with_a_revoked_key(history: History) -> None:
    history.key("revoked")
    history.mint(1)


def minted_with_a_compromised_key(history: History) -> None:
    history.key("compromised")
    history.mint(1)


def minted_by_a_suspended_issuer(history: History) -> None:
    history.issuer("SUSPENDED")
    history.mint(1)


def minted_by_a_revoked_issuer(history: History) -> None:
    history.issuer("REVOKED")
    history.mint(1)


def minted_again_after_the_end(history: History) -> None:
    history.end(1, history.mint(1))
    history.mint(1)


def receipt_minted_by_an_unheard_of_key(history: History) -> None:
    history.mint_receipt(1, kid="k2")


def receipt_minted_again_after_the_end(history: History) -> None:
    history.end_receipt(1, history.mint_receipt(1))
    history.mint_receipt(1)


FALSE_MINTS = [
    receipt_minted_by_an_unheard_of_key,
    receipt_minted_again_after_the_end,
    minted_by_unknown_key,
    minted_with_an_unheard_of_key,
    minted_with_another_key_of_that_name,
    minted_with_a_key_of_another_issuer,
    minted_with_a_pending_key,
    minted_with_a_rotated_key,
    minted_with_a_revoked_key,
    minted_with_a_compromised_key,
    minted_by_a_suspended_issuer,
    minted_by_a_revoked_issuer,
    minted_again_after_the_end,
]


@pytest.mark.parametrize("restarts", [False, True], ids=["in one go", "over a restart"])
@pytest.mark.parametrize("happens", FALSE_MINTS)
def test_unauthorised_mint_raises_an_alarm(
    log: PublishedLog, happens: Callable[[History], None], restarts: bool
) -> None:
    history = History()
    happens(history)
    false = history.leaves.pop()
    history.publish(log)
    if restarts:
        log.follow()
    history.leaves.append(false)
    history.publish(log)

    alarm = log.alarm(AlarmName.FALSE_MINT)

    assert f"Entry {len(history.leaves) - 1} of the log" in alarm.message


def test_changed_public_key_breaks_the_chain(log: PublishedLog) -> None:
    history = History()
    history.key("rotated", public_spki=b"another key")
    history.publish(log)
    assert "changes its public key" in log.alarm(AlarmName.BROKEN_STATUS_CHAIN).message


@pytest.mark.parametrize("place", [3, 1, 4, 400, -2, "2", True, None])
def test_status_with_a_wrong_minted_index_breaks_the_chain(log: PublishedLog, place: object) -> None:
    """
    Its code would stand where no client looks for it.
    """
    history = History()
    history.mint(1)
    history.mint(2)
    history.publish(log)
    log.follow()
    history.end(1, place)
    history.publish(log)
    assert f"entry {place} is not its mint" in log.alarm(AlarmName.BROKEN_STATUS_CHAIN).message


def test_status_of_a_receipt_breaks_the_chain_of_no_mint(log: PublishedLog) -> None:
    """An attestation's mint is not that of a receipt with the same id."""
    history = History()
    history.end_receipt(1, history.mint(1))
    history.publish(log)
    assert "is not its mint" in log.alarm(AlarmName.BROKEN_STATUS_CHAIN).message


def test_list_that_hides_the_end_of_a_receipt_raises_an_alarm(log: PublishedLog) -> None:
    history = History()
    hidden = history.end_receipt(1, history.mint_receipt(1))
    history.list(without=hidden)
    history.publish(log)
    assert "expected receipts_digest" in log.alarm(AlarmName.FALSE_STATUS_LIST).message


def test_status_by_another_issuer_breaks_the_chain(log: PublishedLog) -> None:
    history = History()
    history.end(1, history.mint(1), issuer_id=OTHER)
    history.publish(log)
    log.alarm(AlarmName.BROKEN_STATUS_CHAIN)


def test_second_final_status_breaks_the_chain(log: PublishedLog) -> None:
    history = History()
    minted = history.mint(1)
    history.end(1, minted)
    history.publish(log)
    log.follow()
    history.end(1, minted)
    history.publish(log)
    assert "it is REVOKED" in log.alarm(AlarmName.BROKEN_STATUS_CHAIN).message


def long_history() -> History:
    """The mints fill more than one bundle."""
    history = History()
    for number in range(600):
        history.mint(number)
    return history


def test_old_mint_is_looked_up_for_a_status_entry(log: PublishedLog) -> None:
    history = long_history()
    history.publish(log)
    log.follow()
    for number in (0, 254, 300, 599):
        history.end(number, number + 2)
    history.list()
    history.publish(log)
    assert log.follow().size == 607

    history.end(17, 20)
    history.publish(log)
    log.alarm(AlarmName.BROKEN_STATUS_CHAIN)


def test_changed_old_entry_raises_an_alarm(log: PublishedLog) -> None:
    """
    It is read again for an end, and must be the one that the tree has.
    """
    history = long_history()
    history.publish(log)
    log.follow()
    history.end(5, 7)
    history.publish(log)
    shown = History()
    for number in range(600):
        shown.mint(number if number != 5 else 9999)
    elsewhere = log.folder.with_name("elsewhere")
    LogBranch(tuple(shown.leaves), make_log_signer()).publish(elsewhere, len(shown.leaves))
    shutil.copy(elsewhere / "tile/entries/000", log.folder / "tile/entries/000")

    assert "entry 7" in log.alarm(AlarmName.WRONG_ENTRY).message


def members_of(state: Path) -> dict[str, Any]:
    """What a state file says, without its SHA-256."""
    members: dict[str, Any] = json.loads(state.read_bytes().splitlines()[0])
    return members


def saved_by_an_earlier_version(state: Path, version: int = 1, **changes: object) -> None:
    """As versions 1 to 3 left it: the first two without a SHA-256, and the third without subjects that are receipts.

    Version 1 kept of a subject its chain and its status.
    """
    saved = members_of(state)
    if version == 1:
        del saved["judged"]
        saved["standings"] = {subject: standing[:3] for subject, standing in saved["standings"].items()}
    line = json.dumps({**saved, "v": version, **changes})
    checksum = f"\n{entries.sha256_name(hashlib.sha256(line.encode()).digest())}\n" if version == 3 else ""
    state.write_text(line + checksum)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_state_of_an_earlier_version_is_audited_again(log: PublishedLog, version: int) -> None:
    history = long_history()
    history.end(3, 5)
    history.publish(log)
    log.follow()
    saved_by_an_earlier_version(log.state, version)
    history.list()
    history.mint(1000)
    history.publish(log)

    followed = log.follow()

    assert log.taken == history.leaves, "none was handed over twice"
    assert (followed.size, followed.judged) == (605, 605)
    assert members_of(log.state)["v"] == 4


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"root": "00" * 32}, "root is not the one of its signed checkpoint"),
        ({"size": 7}, "states 7 entries, and its signed checkpoint 2"),
        ({"size": 1}, "signed checkpoint is of 2 entries instead of 1"),
        ({"v": 3}, "SHA-256 is missing"),
        ({"v": 4}, "SHA-256 is missing"),
        ({"v": 5}, "v: Input should be 1, 2, 3 or 4"),
        ({"checkpoint": ""}, "cannot be used"),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value.items()))[0],
)
def test_state_without_checksum_needs_a_signed_checkpoint(
    log: PublishedLog, changes: dict[str, object], reason: str
) -> None:
    LogBranch.of(2).publish(log.folder, 2)
    log.follow()
    saved_by_an_earlier_version(log.state, 2, **changes)

    with pytest.raises(ValidationFailed, match=reason):
        log.follow()


def test_invalid_entry_accepted_by_an_earlier_version_raises_an_alarm(log: PublishedLog) -> None:
    history = History()
    minted = history.mint(1)
    hidden = history.end(1, minted)
    history.publish(log)
    log.follow()
    history.list(without=hidden)
    history.publish(log)
    branch = LogBranch(tuple(history.leaves), make_log_signer())
    saved_by_an_earlier_version(log.state, size=5, root=branch.head(5).root.hex(), checkpoint=branch.checkpoint(5))

    log.alarm(AlarmName.FALSE_STATUS_LIST)


@pytest.fixture
def minted(lab: Installation, caller: Caller) -> list[UUID]:
    issuer = lab.issuers.create({"name": "N", "domain": "n.example"}, caller=caller, alg=Algorithm.ED25519, kid="main")
    request = MintRequest(issuer_id=issuer.issuer.id, kid="main", schema="degree", claims={"student_name": "Ada"})
    return [lab.attestations.mint(request, caller=caller).id for _ in range(3)]


def append_status_list(lab: Installation) -> None:
    with lab.storage.write() as tx:
        assert lab.status_lists.append_if_due(tx) is not None


@pytest.mark.tampered
@pytest.mark.parametrize("restarts", [False, True], ids=["in one go", "over a restart"])
def test_revocation_hidden_in_the_status_list_raises_an_alarm(
    lab: Installation, caller: Caller, minted: list[UUID], clock: FixedClock, tmp_path: Path, restarts: bool
) -> None:
    """
    Made by the service itself, on both engines: its bundles prove by this list that nothing was revoked.
    """
    state = tmp_path / "state"
    lab.status_lists.warm()
    lab.attestations.revoke(minted[0], reason="a test", caller=caller)
    if restarts:
        make_follower(lab, state).advance(lambda _seen: None)
    clock.advance(timedelta(minutes=2))
    with lab.storage.read() as connection:
        lab.status_lists._newest.grow(lab.log.size(connection))
    append_status_list(lab)

    for _look in range(2):
        with pytest.raises(Alarm, match="Entry 6 of the log: The status list hides") as raised:
            make_follower(lab, state).advance(lambda _seen: None)
        assert raised.value.name is AlarmName.FALSE_STATUS_LIST


def test_honest_server_raises_no_alarm(
    lab: Installation, caller: Caller, minted: list[UUID], clock: FixedClock, tmp_path: Path
) -> None:
    """
    Followed after each change by a follower with nothing but its saved state; the model's stories are followed as well.
    """
    issuer_id = lab.attestations.get(minted[0], caller=caller).issuer_id
    named: Any = {"issuer_id": issuer_id, "schema": "degree", "claims": {"student_name": "Ada"}}
    keys, attestations = lab.signing_keys, lab.attestations
    soon = clock.now() + timedelta(minutes=5)

    def expire() -> None:
        clock.advance(timedelta(minutes=6))
        with lab.storage.write() as tx:
            assert attestations.expire_due(tx, limit=10) == 1

    acts: list[Callable[[], object]] = [
        lambda: attestations.mint(MintRequest(**named, kid="main", expiry_at=soon), caller=caller),
        lambda: attestations.revoke(minted[0], reason="a test", caller=caller),
        lambda: attestations.supersede(minted[1], MintRequest(**named, kid="main"), caller=caller),
        expire,
        lambda: keys.rotate("main", new_kid="next", alg=Algorithm.ED25519, caller=caller),
        lambda: attestations.mint(MintRequest(**named, kid="next"), caller=caller),
        lambda: lab.issuers.set_governance(issuer_id, status=IssuerStatus.SUSPENDED, caller=caller),
        lambda: lab.issuers.set_governance(issuer_id, status=IssuerStatus.ACTIVE, caller=caller),
        lambda: attestations.mint(MintRequest(**named, kid="next"), caller=caller),
        lambda: keys.compromise("main", reason="a test", compromised_at=clock.now(), caller=caller),
        lambda: keys.revoke("next", reason="a test", caller=caller),
        lambda: attestations.revoke(minted[2], reason="a test", caller=caller),
        lambda: lab.issuers.set_governance(issuer_id, status=IssuerStatus.REVOKED, caller=caller),
    ]
    for act in acts:
        act()
        clock.advance(timedelta(minutes=2))
        append_status_list(lab)
        followed = make_follower(lab, tmp_path / "state").advance(lambda _seen: None)
    with lab.storage.read() as connection:
        assert followed.size == lab.log.size(connection)
