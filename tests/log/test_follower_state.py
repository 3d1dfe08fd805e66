"""The state file of a follower: damage is found, has a remedy, and never accuses the log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from attestlab.core.errors import ValidationFailed
from attestlab.log.follower.state import FollowerState
from support.fork_server import run_command
from support.log.instance import make_issuer_and_key_entries
from support.log.published import LOG_VKEY, PublishedLog
from support.witnesses import LogBranch, make_log_signer

REMEDY = "Restore it from a copy, or remove it to follow the log again"


@pytest.fixture
def followed(log: PublishedLog) -> PublishedLog:
    """A log that was followed through entries that leave a standing, and others."""
    leaves = (*make_issuer_and_key_entries(log.clock), *LogBranch.of(3).leaves)
    LogBranch(leaves, make_log_signer()).publish(log.folder, len(leaves))
    log.follow()
    return log


def damaged(saved: bytes) -> Iterator[bytes]:
    """A file with each of its bits flipped, and cut at each of its bytes."""
    for at, byte in enumerate(saved):
        for bit in range(8):
            yield saved[:at] + bytes([byte ^ 1 << bit]) + saved[at + 1 :]
        yield saved[:at]


def write_signed(state: Path, members: dict[str, Any]) -> None:
    """A state that was never saved, under a SHA-256 that matches it."""
    line = json.dumps(members).encode()
    state.write_bytes(line + f"\nsha256:{sha256(line).hexdigest()}\n".encode())


def test_each_flipped_bit_and_each_cut_is_refused(followed: PublishedLog, is_long: bool) -> None:
    """
    Of 200 flipped bits 52 were once accepted, and 36 accused the log.
    """
    saved = followed.state.read_bytes()
    for content in islice(damaged(saved), 0, None, 1 if is_long else 37):
        followed.state.write_bytes(content)
        with pytest.raises(ValidationFailed, match=REMEDY):
            FollowerState.load(followed.state, LOG_VKEY)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"judged": 25}, "25 judged entries of 5"),
        ({"judged": 1}, "at an index beyond its 1 judged entries"),
        ({"judged": -1}, "judged: Input should be greater"),
        ({"judged": 5.0}, "judged: Input should be a valid integer"),
        ({"judged": True}, "judged: Input should be a valid integer"),
        ({"size": 6}, "states 6 entries, and its signed checkpoint 5"),
        ({"root": "00" * 32}, "root is not the one"),
        ({"root": "00"}, "root: String should match"),
        ({"checkpoint": "x"}, "cannot be used"),
        ({"vkey": "x"}, "cannot be used"),
        ({"at_s": 2**63}, "at_s: Input should be less"),
        ({"standings": []}, "standings"),
        ({"standings": {"x": [1]}}, "standings"),
        ({"standings": {"x": [1, "00" * 32, None, 10**15, 1, None]}}, "at an index beyond"),
        ({"standings": {"x": [1, "00" * 32, None, 1, 4, None]}}, "standings"),
        ({"more": 1}, "more: Extra inputs"),
        ({"v": 2}, "v: Input should be 3"),
    ],
    ids=repr,
)
def test_inconsistent_state_is_rejected(followed: PublishedLog, changes: dict[str, Any], reason: str) -> None:
    members = json.loads(followed.state.read_bytes().splitlines()[0])
    write_signed(followed.state, members)
    assert FollowerState.load(followed.state, LOG_VKEY).size == 5, "the unchanged one is accepted"

    write_signed(followed.state, members | changes)

    with pytest.raises(ValidationFailed, match=reason) as refused:
        FollowerState.load(followed.state, LOG_VKEY)
    assert REMEDY in refused.value.message


def watched(log: PublishedLog) -> tuple[int, str]:
    """Exit status and stderr of the command."""
    done = run_command("log", "watch", log.url, "--vkey", LOG_VKEY, "--state", str(log.state), "--once")
    return done.returncode, done.stderr


def test_the_command_ends_with_2_and_one_line(followed: PublishedLog) -> None:
    saved = followed.state.read_bytes()
    followed.state.write_bytes(saved.replace(b'"judged": 5', b'"judged": 4'))

    code, talk = watched(followed)

    assert (code, talk.count("\n")) == (2, 1)
    assert "Its SHA-256 does not match: it is damaged." in talk
    assert REMEDY in talk


@pytest.mark.soak
def test_the_command_never_accuses_the_log_for_a_damaged_state(followed: PublishedLog) -> None:
    saved = followed.state.read_bytes()
    for content in islice(damaged(saved), 0, None, len(saved) // 3):  # some 27 of them
        followed.state.write_bytes(content)
        code, talk = watched(followed)
        assert (code, talk.count("\n")) == (2, 1), talk
