"""A follower of a log: every entry once and proven, an alarm for every way in which a log can cheat."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.errors import Unavailable, ValidationFailed
from attestlab.log import entries
from attestlab.log.entries import FIRST_LINK, Link, issuer_status_entry, key_status_entry
from attestlab.log.follower.follower import Alarm, AlarmName, Follower, QuorumNotReached, VerifiedEntry
from attestlab.log.follower.http_log import HttpLog
from attestlab.log.follower.state import FollowerState
from attestlab.log.merkle.hashing import TileName, leaf_hash
from attestlab.log.note.note import NoteSigner
from support.hostile_server import BOMB_BYTES, compression_bomb, serve_hostile_answers
from support.log.instance import LogInstance, make_entry
from support.log.published import LOG_VKEY, PublishedLog
from support.log.server import serve_log
from support.memory import call_in_little_memory
from support.witnesses import NOON, WITNESS_KEY, LogBranch, make_log_signer

ISSUER = UUID("01935f00-0000-7000-8000-000000000001")
POLICY = f"witness w1 {WITNESS_KEY.vkey.cosigner()}\nquorum w1\n"


@pytest.mark.parametrize("sizes", [(1, 2, 7), (255, 256, 257), (600,), (5, 5, 256, 700)])
def test_every_entry_is_delivered_once_and_in_order(log: PublishedLog, sizes: tuple[int, ...]) -> None:
    branch = LogBranch.of(700)
    for size in sizes:
        branch.publish(log.folder, size)
        assert log.follow().size == size
        assert log.taken == list(branch.leaves[:size])


def test_a_service_is_followed_by_its_own_address_or_by_that_of_its_log(
    log_instance: LogInstance, tmp_path: Path
) -> None:
    """
    On both engines, over the true routes.
    """
    with serve_log(log_instance) as url:
        registered = log_instance.register()
        log_instance.grow(5)
        log = PublishedLog(tmp_path, url, log_instance.clock)
        with log_instance.storage.read() as connection:
            vkey = log_instance.log.vkey(connection)
        log.follow(vkey=vkey)
        log_instance.grow(300)
        log.url = f"{url}/log/"
        assert log.follow(vkey=vkey).size == 300
    assert log.taken == [*registered, *(make_entry(number, log_instance.clock) for number in range(2, 300))]


def test_entries_not_taken_are_delivered_again(log: PublishedLog) -> None:
    """
    The state is saved after an entry was processed and never before: a crash may repeat, not lose.
    """
    LogBranch.of(600).publish(log.folder, 600)
    source = HttpLog(log.url)
    follower = Follower(source, LOG_VKEY, log.state, clock=log.clock)
    handed: list[int] = []

    def fails_later(seen: Sequence[VerifiedEntry]) -> None:
        handed.append(len(seen))
        if len(handed) == 2:
            raise RuntimeError("the disk of the recipient is full")
        log.take(seen)

    with pytest.raises(RuntimeError):
        follower.advance(fails_later)
    source.close()

    assert FollowerState.load(log.state, LOG_VKEY).size == len(log.taken) == 256
    assert log.follow().size == 600
    assert log.taken == list(LogBranch.of(600).leaves)


def test_smaller_log_raises_the_shrink_alarm(log: PublishedLog) -> None:
    branch = LogBranch.of(20)
    branch.publish(log.folder, 9)
    log.follow()
    branch.publish(log.folder, 8)

    alarm = log.alarm(AlarmName.SHRINK)

    assert "8 entries, where it had 9" in alarm.message
    assert (alarm.evidence["shown"], alarm.evidence["known"]) == (branch.checkpoint(8), branch.checkpoint(9))


@pytest.mark.parametrize(("before", "after"), [(9, 9), (9, 12), (9, 300), (257, 513), (1, 2)])
def test_another_history_raises_the_fork_alarm(log: PublishedLog, before: int, after: int) -> None:
    """
    The same key signed both, and each is consistent in itself.
    """
    LogBranch.of(before).publish(log.folder, before)
    log.follow()
    LogBranch.of(after, other_from=before - 1).publish(log.folder, after)

    alarm = log.alarm(AlarmName.FORK)

    assert alarm.evidence["known"] == LogBranch.of(before).checkpoint(before)
    assert log.taken == list(LogBranch.of(before).leaves)


def test_replaced_entry_raises_an_alarm(log: PublishedLog) -> None:
    """
    The tree has a revocation; what the log shows in its place is something harmless.
    """
    true, shown = LogBranch.of(300), LogBranch.of(300, other_from=299)
    true.publish(log.folder, 300)
    bundle = log.folder / "tile/entries/001.p/44"
    shown.publish(log.folder.with_name("harmless"), 300)
    shutil.copy(log.folder.with_name("harmless") / "tile/entries/001.p/44", bundle)

    with pytest.raises(Alarm, match="entry 299") as raised:
        log.follow()

    assert raised.value.name is AlarmName.WRONG_ENTRY
    assert log.taken == list(true.leaves[:256]), "what was proven before it was handed over"


def test_omitted_entry_raises_an_alarm(log: PublishedLog) -> None:
    LogBranch.of(9).publish(log.folder, 9)
    bundle = log.folder / "tile/entries/000.p/9"
    whole = bundle.read_bytes()
    for shown in (whole[: -(2 + len(b"leaf 8"))], whole[:-1], b""):
        bundle.write_bytes(shown)
        log.alarm(AlarmName.WRONG_ENTRY)


@pytest.mark.parametrize("tile", ["tile/0/001.p/44", "tile/1/000.p/1", "tile/0/000"])
def test_tiles_of_an_unsigned_tree_raise_an_alarm(log: PublishedLog, tile: str) -> None:
    LogBranch.of(300).publish(log.folder, 300)
    LogBranch.of(300, other_from=0).publish(log.folder.with_name("other"), 300)
    shutil.copy(log.folder.with_name("other") / tile, log.folder / tile)

    log.alarm(AlarmName.WRONG_TILE)

    assert log.taken == []


@pytest.mark.parametrize(
    "damage", [lambda tile: tile[:-1], lambda tile: bytes([tile[0] ^ 1]) + tile[1:], lambda _: b""]
)
@pytest.mark.parametrize("tile", ["tile/0/001.p/44", "tile/1/000.p/1", "tile/0/000"])
def test_a_damaged_tile_is_no_fork(log: PublishedLog, tile: str, damage: Callable[[bytes], bytes]) -> None:
    """
    A fork is two signed statements that contradict each other; no one signs a tile.
    """
    branch = LogBranch.of(300)
    branch.publish(log.folder, 300)
    whole = (log.folder / tile).read_bytes()
    (log.folder / tile).write_bytes(damage(whole))

    log.alarm(AlarmName.WRONG_TILE)

    (log.folder / tile).write_bytes(whole)
    assert log.follow().size == 300
    assert log.taken == list(branch.leaves)


class Damaging(HttpLog):
    """A log of which the first transfers of tiles are damaged."""

    damaged = 0

    def tile(self, name: TileName) -> bytes:
        self.damaged -= 1
        return super().tile(name)[: -1 if self.damaged >= 0 else None]


@pytest.mark.parametrize("transfers", range(1, 4))
def test_data_damaged_in_transfer_is_fetched_again(log: PublishedLog, transfers: int) -> None:
    branch = LogBranch.of(300)
    branch.publish(log.folder, 300)
    with closing(Damaging(log.url)) as source:
        source.damaged = transfers
        follower = Follower(source, LOG_VKEY, log.state, clock=log.clock)
        if transfers < 3:
            follower.advance(log.take)
            assert log.taken == list(branch.leaves)
        else:
            with pytest.raises(Alarm, match="instead of"):
                follower.advance(log.take)


def test_follower_that_requires_witnesses_later_keeps_its_checkpoint(log: PublishedLog) -> None:
    branch = LogBranch.of(12)
    branch.publish(log.folder, 12)
    log.follow()
    cosigned = branch.checkpoint(7) + WITNESS_KEY.cosign(branch.head(7).text, at_s=int(NOON.timestamp()))
    (log.folder / "checkpoint.witnessed").write_text(cosigned)

    assert log.follow(policy=POLICY).size == 12
    assert log.follow().checkpoint == branch.checkpoint(12)


def test_checkpoint_of_an_unknown_key_raises_an_alarm(log: PublishedLog) -> None:
    branch = LogBranch.of(9)
    for signer in (make_log_signer(seed=2), make_log_signer("log.example/other", seed=1)):
        LogBranch(branch.leaves, signer).publish(log.folder, 9)
        log.alarm(AlarmName.UNKNOWN_KEY)
    branch.publish(log.folder, 9)
    (log.folder / "checkpoint").write_text(branch.checkpoint(9).replace("\n9\n", "\n8\n"))
    log.alarm(AlarmName.UNKNOWN_KEY)


def test_a_head_is_stale_when_its_newest_time_is_too_long_ago(log: PublishedLog, clock: FixedClock) -> None:
    LogBranch.of(9).publish(log.folder, 9)
    assert log.follow(max_age_s=60).size == 9
    clock.advance(timedelta(seconds=61))
    log.alarm(AlarmName.STALE_HEAD, max_age_s=60)
    log.follow(max_age_s=62)


def test_cosignature_time_keeps_an_idle_log_fresh(log: PublishedLog, clock: FixedClock) -> None:
    branch = LogBranch.of(9)
    clock.advance(timedelta(hours=3))
    later_s = int(clock.now().timestamp())
    branch.publish(log.folder, 9, WITNESS_KEY.cosign(branch.head(9).text, at_s=later_s))

    assert log.follow(policy=POLICY, max_age_s=60).at_s == later_s


def test_entries_are_delivered_once_a_quorum_cosigned_them(log: PublishedLog) -> None:
    """
    The newest checkpoint may still be waiting for them; until then the one that they cosigned counts.
    """
    branch = LogBranch.of(12)
    cosigned = branch.checkpoint(7) + WITNESS_KEY.cosign(branch.head(7).text, at_s=int(NOON.timestamp()))
    branch.publish(log.folder, 12)
    with pytest.raises(QuorumNotReached):
        log.follow(policy=POLICY)
    assert log.taken == []

    (log.folder / "checkpoint.witnessed").write_text(cosigned)
    assert log.follow(policy=POLICY).size == 7
    assert log.taken == list(branch.leaves[:7])

    branch.publish(log.folder, 12, WITNESS_KEY.cosign(branch.head(12).text, at_s=int(NOON.timestamp())))
    assert log.follow(policy=POLICY).size == 12


def test_history_unlike_the_witnesses_raises_the_fork_alarm(log: PublishedLog) -> None:
    """
    A hidden revocation: the service signs a second tree for us, and the witnesses will not cosign that one.
    """
    seen, shown = LogBranch.of(9), LogBranch.of(12, other_from=8)
    shown.publish(log.folder, 12)
    cosigned = seen.checkpoint(9) + WITNESS_KEY.cosign(seen.head(9).text, at_s=int(NOON.timestamp()))
    (log.folder / "checkpoint.witnessed").write_text(cosigned)

    log.alarm(AlarmName.FORK, policy=POLICY)
    assert log.taken == []


def test_log_smaller_than_witnessed_raises_the_shrink_alarm(log: PublishedLog) -> None:
    branch = LogBranch.of(12)
    branch.publish(log.folder, 7)
    cosigned = branch.checkpoint(12) + WITNESS_KEY.cosign(branch.head(12).text, at_s=int(NOON.timestamp()))
    (log.folder / "checkpoint.witnessed").write_text(cosigned)

    log.alarm(AlarmName.SHRINK, policy=POLICY)


def test_missing_cosignatures_make_the_head_stale(log: PublishedLog, clock: FixedClock) -> None:
    branch = LogBranch.of(12)
    branch.publish(log.folder, 7, WITNESS_KEY.cosign(branch.head(7).text, at_s=int(NOON.timestamp())))
    log.follow(policy=POLICY, max_age_s=60)
    branch.publish(log.folder, 12)
    with pytest.raises(QuorumNotReached):
        log.follow(policy=POLICY, max_age_s=60)
    clock.advance(timedelta(seconds=61))
    log.alarm(AlarmName.STALE_HEAD, policy=POLICY, max_age_s=60)


def key(link: Link, status: str, at: datetime = NOON) -> bytes:
    return key_status_entry(link, issuer_id=ISSUER, kid="k1", alg="Ed25519", public_spki=b"key", status=status, at=at)


def issuer(link: Link, status: str) -> bytes:
    return issuer_status_entry(
        link,
        issuer_id=ISSUER,
        status=status,
        trust_tier="BASIC",
        risk_rating="LOW",
        jurisdiction=None,
        profile=entries.profile_name("Northfield", "northfield.example"),
        at=NOON,
    )


def chained(*made: tuple[object, str]) -> tuple[bytes, ...]:
    """Status entries of one subject, each linked to the one before."""
    link, done = FIRST_LINK, []
    for make, status in made:
        done.append(make(link, status))  # type: ignore[operator]
        link = Link(link.seq + 1, leaf_hash(done[-1]))
    return tuple(done)


@pytest.mark.parametrize(
    "statuses",
    [("active", "rotated", "revoked", "compromised"), ("pending", "active"), ("active", "compromised")],
)
def test_key_transitions_follow_the_specification(log: PublishedLog, statuses: tuple[str, ...]) -> None:
    leaves = (*chained(*((key, status) for status in statuses)), *chained((issuer, "ACTIVE"), (issuer, "SUSPENDED")))
    LogBranch(leaves, make_log_signer()).publish(log.folder, len(leaves))
    assert log.follow().size == len(leaves)


@pytest.mark.parametrize(
    "leaves",
    [
        chained((key, "active"), (key, "revoked"), (key, "active")),
        chained((key, "active"), (key, "compromised"), (key, "revoked")),
        chained((key, "rotated")),
        chained((issuer, "ACTIVE"), (issuer, "REVOKED"), (issuer, "ACTIVE")),
        chained((key, "active"), (key, "rotated"), (key, "revoked"))[::2],
        chained((key, "active"), (key, "revoked"))[1:],
        (key(FIRST_LINK, "active"), key(FIRST_LINK, "active", NOON + timedelta(1))),
        (key(FIRST_LINK, "active"), key(Link(1, bytes(32)), "rotated")),
        (b'{"type":"key.status","v":1}',),
        (b'{"v":1, "type":"key.status"}',),
    ],
    ids=[
        "revived",
        "after the end",
        "from nothing",
        "reinstated",
        "left out",
        "beheaded",
        "twice",
        "elsewhere",
        "bare",
        "spelt",
    ],
)
def test_invalid_status_transition_raises_an_alarm(log: PublishedLog, leaves: tuple[bytes, ...]) -> None:
    """
    The tree is in order and the entries are in it; only who reads them all can tell.
    """
    LogBranch(leaves, make_log_signer()).publish(log.folder, len(leaves))
    log.alarm(AlarmName.BROKEN_STATUS_CHAIN)


def test_chain_continues_after_a_restart(log: PublishedLog) -> None:
    leaves = chained((key, "active"), (key, "rotated"), (key, "revoked"))
    for size in (1, 2, 3):
        LogBranch(leaves, make_log_signer()).publish(log.folder, size)
        assert log.follow().size == size
    broken = (*leaves, key(Link(3, leaf_hash(leaves[2])), "active"))
    LogBranch(broken, make_log_signer()).publish(log.folder, 4)
    log.alarm(AlarmName.BROKEN_STATUS_CHAIN)


def test_entries_of_unknown_types_are_delivered(log: PublishedLog) -> None:
    leaves = (b'{"type":"weather.report","v":1}', b"no JSON at all", b"", b"\xff")
    LogBranch(leaves, make_log_signer()).publish(log.folder, 4)
    log.follow()
    assert log.taken == list(leaves)


def test_entry_of_a_newer_version_raises_no_alarm_and_is_not_passed_over(log: PublishedLog) -> None:
    """This version cannot audit it, and so nothing after it either."""
    leaves = (*chained((key, "active")), b'{"type":"key.status","v":2}')
    LogBranch(leaves, make_log_signer()).publish(log.folder, 2)

    with pytest.raises(Unavailable, match=r"Entry 1 of the log cannot be audited.*version 2.*Upgrade attestlab"):
        log.follow()
    assert log.taken == []


def test_every_status_entry_type_has_transitions() -> None:
    from attestlab.log.follower.auditor import ALLOWED_TRANSITIONS

    statuses = {kind.value for kind in entries.EntryType if kind.value.endswith(".status")}
    assert statuses <= set(ALLOWED_TRANSITIONS)


@pytest.mark.parametrize("shown", ["<html>Sign in to the airport's network</html>", "", "x\n\n— y AAAA\n"])
def test_invalid_checkpoint_text_raises_no_alarm(log: PublishedLog, shown: str) -> None:
    log.folder.mkdir(exist_ok=True)
    (log.folder / "checkpoint").write_text(shown)
    with pytest.raises(Unavailable):
        log.follow()


def test_unreachable_log_raises_no_alarm(log: PublishedLog) -> None:
    with pytest.raises(Unavailable, match="There is no log"):
        log.follow()
    LogBranch.of(9).publish(log.folder, 9)
    (log.folder / "tile/entries/000.p/9").unlink()
    with pytest.raises(Unavailable, match="although its checkpoint implies it"):
        log.follow()
    log.url = "http://127.0.0.1:1"
    with pytest.raises(Unavailable, match="cannot be read"):
        log.follow(max_age_s=0)


@pytest.mark.parametrize("coding", ["gzip", "gzip, gzip"])
def test_compressed_log_response_raises_no_alarm_and_needs_no_memory(log: PublishedLog, coding: str) -> None:
    with serve_hostile_answers(compression_bomb(coding)) as server, pytest.raises(Unavailable, match="content coding"):
        log.url = server.url
        call_in_little_memory(log.follow, max_bytes=BOMB_BYTES // 2)


def test_missing_partial_tile_is_read_from_the_full_tile(log: PublishedLog) -> None:
    """
    C2SP tlog-tiles: a log may drop a partial tile once the full one is there.
    """
    branch = LogBranch.of(300)
    branch.publish(log.folder, 300)
    (log.folder / "checkpoint").write_text(branch.checkpoint(200))
    assert log.follow().size == 200
    assert log.taken == list(branch.leaves[:200])


def test_state_of_another_log_is_rejected(log: PublishedLog) -> None:
    LogBranch.of(9).publish(log.folder, 9)
    log.follow()
    other: NoteSigner = make_log_signer(seed=2)
    with pytest.raises(ValidationFailed, match="another log"):
        FollowerState.load(log.state, str(other.vkey))
    for damaged in ("", "[]", "\n", json.dumps({"v": 3}), json.dumps({"v": 2, "vkey": "x"})):
        log.state.write_text(damaged)
        with pytest.raises(ValidationFailed):
            log.follow()
