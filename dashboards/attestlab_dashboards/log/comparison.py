"""Did the log change? The head that this browser kept against the head of now, with a verified proof."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from attestlab import Lab
from attestlab.client.handles.log import TreeHeadHandle, parse_hash
from attestlab.core.encoding import parse_time
from attestlab.core.errors import ProofInvalid
from attestlab_dashboards.formats import utc
from attestlab_dashboards.log.heads import KeptHead, SeenHead
from attestlab_dashboards.log.merkle_layout import Block, build_blocks
from attestlab_dashboards.log.public_reads import NO_RIGHTS, find_size_before
from attestlab_dashboards.log.state import LogState

COMPARED: Final = ("kept", "seen", "looked")  # of the state
COMPARED_DAYS: Final = 7  # how far the older head is back, if the browser kept none
SIZE_BEFORE: Final = "SELECT count(*) AS size FROM log_entries WHERE logged_at <= CAST($before AS TIMESTAMPTZ)"


class ComparisonResult(StrEnum):
    """The result of comparing two heads."""

    GREW = "grew"
    SAME = "same"
    FORKED = "forked"
    ROLLED_BACK = "rolled back"
    UNPROVEN = "unproven"


@dataclass(frozen=True)
class Head:
    """A tree head: the number of entries, the root (64 hex digits), and when its last entry was logged, if known."""

    size: int
    root: str
    at: datetime | None


@dataclass(frozen=True)
class Change:
    """Two heads compared at `now`. `is_kept` tells whether the older one is the browser's, not the service's word.

    `seen_at` is when this browser saw the older one; None if it comes from elsewhere. `key_id` is that of the key
    that signed the head of now. `proven_root` is the root that the log proves for the older size; of a fork it
    differs from the kept one.
    """

    now: datetime
    signed: TreeHeadHandle
    newer: Head
    older: Head
    is_kept: bool
    outcome: ComparisonResult
    blocks: tuple[Block, ...] = ()
    proven_root: str = ""
    detail: str = ""
    witnesses: tuple[str, ...] = ()
    key_id: str = ""
    seen_at: datetime | None = None

    @property
    def growth(self) -> int:
        """How many entries the newer head has more."""
        return self.newer.size - self.older.size

    @property
    def is_sound(self) -> bool:
        """Whether the newer tree provably begins with the older one."""
        return self.outcome in (ComparisonResult.GREW, ComparisonResult.SAME)


def load_change(lab: Lab, state: LogState) -> Change:
    """Compare the head of now with the one of the link, or of the browser's last look at a log with the same key.

    Without either, it is compared with the service's own of a week before its newest entry.
    """
    signed = lab.log.head()
    key_id = read_key_id(signed)
    newer = Head(signed.tree_size, parse_hash(signed.root_hash).hex(), signed.timestamp)
    seen = state.seen if state.kept is None and state.seen is not None and state.seen.key_id == key_id else None
    kept = state.kept if seen is None else seen.head
    older = kept or _find_earlier(lab, signed)
    change = Change(
        now=lab.now(),
        signed=signed,
        newer=newer,
        older=Head(older.size, older.root, None),
        is_kept=kept is not None,
        outcome=ComparisonResult.UNPROVEN,
        witnesses=list_witnesses(signed),
        key_id=key_id,
        seen_at=None if seen is None else seen.at,
    )
    return _compare(lab, change)


def remember_head(change: Change, state: LogState) -> str:
    """Return the head of now for the browser to remember, if it provably continues the one that it remembers.

    After a fork or a rollback the browser keeps the evidence, and so it does while a link has another head to compare.
    """
    is_uncompared = state.kept is not None and state.seen is not None
    if not change.is_sound or is_uncompared or not change.newer.size:
        return ""
    return str(SeenHead(KeptHead(change.newer.size, change.newer.root), change.key_id, change.now))


def read_key_id(signed: TreeHeadHandle) -> str:
    """Return the id of the key that signed a head (8 hex digits): it begins the signature (C2SP signed-note)."""
    own = f"— {signed.origin} "
    line = next((line for line in signed.checkpoint.split("\n") if line.startswith(own)), own)
    return base64.b64decode(line.removeprefix(own))[:4].hex()


def list_witnesses(signed: TreeHeadHandle) -> tuple[str, ...]:
    """List the names of those besides the log whose signature lines the checkpoint has; unverified."""
    lines = [line.split(" ") for line in signed.checkpoint.split("\n") if line.startswith("— ")]
    return tuple(dict.fromkeys(words[1] for words in lines if len(words) == 3 and words[1] != signed.origin))


def _find_earlier(lab: Lab, signed: TreeHeadHandle) -> KeptHead:
    """Return the size that the log had a week before its newest head, at least 1; the root is left to the proof."""
    before = signed.timestamp - timedelta(days=COMPARED_DAYS)
    try:
        (row,) = lab.sql(SIZE_BEFORE, {"before": before.isoformat()})
        size = int(str(row["size"]))
    except NO_RIGHTS:
        size = find_size_before(lab, signed.tree_size, before)
    return KeptHead(min(max(size, 1), signed.tree_size), "")


def _compare(lab: Lab, change: Change) -> Change:
    older, newer = change.older, change.newer
    if older.size > newer.size:
        return replace(change, outcome=ComparisonResult.ROLLED_BACK)
    if older.size == 0:
        return replace(change, outcome=ComparisonResult.GREW if newer.size else ComparisonResult.SAME)
    try:
        proof = lab.log.consistency(older.size, newer.size)
    except ProofInvalid as error:
        return replace(change, detail=error.message)
    if proof.to_root != change.signed.root_hash:
        return replace(change, detail="The proof leads to another root than the signed one.")
    proven = parse_hash(proof.from_root)
    change = replace(change, proven_root=proven.hex(), older=replace(older, at=_read_time(lab, older.size - 1)))
    if change.is_kept and proven.hex() != older.root:
        return replace(change, outcome=ComparisonResult.FORKED)
    blocks = build_blocks(older.size, newer.size, proven, tuple(parse_hash(each) for each in proof.hashes))
    outcome = ComparisonResult.SAME if older.size == newer.size else ComparisonResult.GREW
    return replace(change, outcome=outcome, blocks=blocks, older=replace(change.older, root=proven.hex()))


def _read_time(lab: Lab, index: int) -> datetime | None:
    members = lab.log.entry(index).entry
    return parse_time(str(members["at"])) if isinstance(members, dict) and "at" in members else None


def explain_comparison(change: Change, state: LogState) -> str:
    """Explain where the older head comes from, and so what the comparison proves."""
    if change.seen_at is not None:
        return f"The head that this browser saw on {utc(change.seen_at)}, against the head of now"
    if change.is_kept:
        return "The head that this link carries, against the head of now"
    first = "This browser has seen no head before"
    if state.seen is not None:
        first = f"This browser saw a log with another key ({state.seen.key_id}, now {change.key_id})"
    return f"{first}, so the newest head is compared with the log's own of {COMPARED_DAYS} days earlier"
