"""Log follower: verifies each new entry and the consistency of the tree, and raises an alarm on a fork or rewrite.

A follower stores the last tree that it verified. The next checkpoint must be signed, its tree
must begin with the stored tree, and each entry must be the one that the tree has at its index.
The follower delivers the entries, and stores the new tree only when the receiver has taken them.
So an entry may be delivered twice after a crash, and none is skipped.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from glob import escape
from pathlib import Path

from attestlab.core import atomic_files
from attestlab.core.clock import Clock
from attestlab.core.errors import (
    IntegrityFailed,
    NewerEntry,
    ProofInvalid,
    SignatureInvalid,
    Unavailable,
    ValidationFailed,
)
from attestlab.core.strict_json import parse_json
from attestlab.log.entries import sha256_name
from attestlab.log.follower.auditor import (
    Auditor,
    BrokenStatusChain,
    EntryAt,
    InvalidEntry,
    StatusListMismatch,
    UnauthorisedMint,
)
from attestlab.log.follower.http_log import LogSource, RemoteTree
from attestlab.log.follower.state import FollowerState
from attestlab.log.merkle.hashing import TILE_WIDTH, TileName, decode_bundle, leaf_hash
from attestlab.log.note.note import Note, TreeHead
from attestlab.log.note.trust_policy import Checkpoint, TrustPolicy

MAX_CACHED_BUNDLES = 16  # status entries refer back to mints in earlier bundles
MAX_ATTEMPTS = 3  # for wrong tiles and entries, which a transfer or a cache may have damaged


class AlarmName(StrEnum):
    """The names of a follower's alarms."""

    SHRINK = "shrink"  # the log has fewer entries than it had
    FORK = "fork"  # it signed another tree than before, or than its witnesses saw
    STALE_HEAD = "stale_head"  # its newest time is too long ago
    BROKEN_STATUS_CHAIN = "broken_status_chain"  # a status entry does not follow from the one before, or from the mint
    FALSE_MINT = "false_mint"  # a mint by an issuer or with a key that is not active there
    FALSE_STATUS_LIST = "false_status_list"  # a status list is not that of the entries before it
    UNKNOWN_KEY = "unknown_key"  # another key signed its checkpoint
    WRONG_ENTRY = "wrong_entry"  # an entry is not the one that the tree has
    WRONG_TILE = "wrong_tile"  # a tile is not that of the signed tree; no two signed statements contradict each other


_ALARMS: dict[type[InvalidEntry], AlarmName] = {
    BrokenStatusChain: AlarmName.BROKEN_STATUS_CHAIN,
    UnauthorisedMint: AlarmName.FALSE_MINT,
    StatusListMismatch: AlarmName.FALSE_STATUS_LIST,
}


# Alarms about unsigned data, which damage in transfer would raise too.
_RETRIED_ALARMS = (AlarmName.WRONG_ENTRY, AlarmName.WRONG_TILE)


class Alarm(IntegrityFailed):
    """The log was changed, or contradicts itself; `evidence` has the checkpoints that prove it."""

    def __init__(self, name: AlarmName, message: str, **evidence: str) -> None:
        super().__init__(message, details={"alarm": name.value, **evidence})
        self.name = name
        self.evidence = evidence


class QuorumNotReached(Unavailable):
    """No checkpoint with the required cosignatures is available yet; likely temporary."""


@dataclass(frozen=True, slots=True)
class VerifiedEntry:
    """An entry that the signed tree was verified to have at `index`."""

    index: int
    leaf_hash: bytes
    entry: bytes


def entry_as_json(seen: VerifiedEntry) -> dict[str, object]:
    """Render an entry like `GET /v1/log/entries`; `type` and `entry` are null if it is no JSON object."""
    try:
        entry = parse_json(seen.entry)
    except ValidationFailed:
        entry = None
    members = entry if isinstance(entry, dict) else {}
    return {
        "log_index": seen.index,
        "leaf_hash": sha256_name(seen.leaf_hash),
        "type": members.get("type"),
        "entry_b64": b64encode(seen.entry).decode(),
        "entry": entry,
    }


DeliverEntries = Callable[[Sequence[VerifiedEntry]], None]


class Follower:
    """Follows one log. `state` is the file of its verified state, which no other process may write.

    `vkey` pins the log; `witnesses`, a tlog-policy for it, requires cosignatures; `max_age_s`
    is the maximum age of the newest signed time.
    """

    def __init__(
        self,
        source: LogSource,
        vkey: str,
        state: Path,
        *,
        clock: Clock,
        witnesses: TrustPolicy | None = None,
        max_age_s: float | None = None,
    ) -> None:
        atomic_files.remove_drafts(state.parent, escape(state.name))
        self._source, self._state_file, self._clock, self._max_age_s = source, state, clock, max_age_s
        self._log = TrustPolicy.without_witnesses(vkey)
        self._witnesses = witnesses
        self.progress = FollowerState.load(state, vkey)

    def advance(self, deliver: DeliverEntries) -> FollowerState:
        """Verify and deliver the new entries; returns the new state.

        `deliver` gets the entries in order, in batches; when it returns, the batch counts as taken.

        Raises:
            Alarm: the log was changed, or contradicts itself.
            QuorumNotReached: the witnesses have not cosigned yet.
            Unavailable: the log cannot be reached.
        """
        for _ in range(MAX_ATTEMPTS - 1):
            try:
                return self._advance_once(deliver)
            except Alarm as alarm:
                if alarm.name not in _RETRIED_ALARMS:
                    raise
        return self._advance_once(deliver)

    def _advance_once(self, deliver: DeliverEntries) -> FollowerState:
        witnessed = self._source.witnessed_checkpoint() if self._witnesses else None
        note = self._source.checkpoint()
        newest = self._verify_newest(note)
        tree = self._verify_growth(newest, note)
        accepted, note = self._select_accepted(newest, note, witnessed, tree)
        if accepted is not None:
            if tree is not None and accepted.size > self.progress.judged:
                self._deliver_entries(tree, newest.size, accepted.size, note, deliver)
            known = self.progress
            shown = note if accepted.size >= known.size else known.checkpoint
            self._save(replace(known, checkpoint=shown, at_s=max(known.at_s, _newest_time_s(accepted))))
        self._require_fresh(note)
        if accepted is None:
            raise QuorumNotReached("The log has no checkpoint yet with the required cosignatures.")
        return self.progress

    def _verify_newest(self, note: str) -> Checkpoint:
        """Require that the newest checkpoint is signed by the pinned key and no smaller than the last."""
        try:
            TreeHead.parse(Note.parse(note).text)
        except SignatureInvalid as error:
            raise Unavailable(f"The log returned no valid checkpoint. {error.message}") from error
        try:
            newest = self._log.verify_checkpoint(note)
        except SignatureInvalid as error:
            raise self._alarm(AlarmName.UNKNOWN_KEY, error.message, note) from error
        if newest.size < self.progress.size:
            message = f"The log has {newest.size} entries, where it had {self.progress.size}."
            raise self._alarm(AlarmName.SHRINK, message, note)
        return newest

    def _verify_growth(self, newest: Checkpoint, note: str) -> RemoteTree | None:
        """Verify that the newest tree begins with the stored one; returns its tree, or None if nothing is new."""
        known = self.progress
        if newest.size == known.judged:
            self._require_root(newest.root, known.root, known.size, note)
            return None
        with self._alarm_on_bad_tiles(note):
            tree = RemoteTree(self._source, newest.size)
        if tree.root != newest.root:
            raise self._alarm(AlarmName.WRONG_TILE, "The tiles are not those of the signed tree.", note)
        self._require_root(self._root_at(tree, known.size, note), known.root, known.size, note)
        return tree

    def _select_accepted(
        self, newest: Checkpoint, note: str, witnessed: str | None, tree: RemoteTree | None
    ) -> tuple[Checkpoint | None, str]:
        """Select the checkpoint up to which entries count, and its note: the newest one, witnessed if required."""
        if self._witnesses is None:
            return newest, note
        for candidate in (note, witnessed):
            try:
                accepted = self._witnesses.verify_checkpoint(candidate or "")
            except SignatureInvalid:
                continue
            self._require_same_tree(accepted, newest, candidate or "", tree)
            return accepted, candidate or ""
        return None, note

    def _require_same_tree(self, accepted: Checkpoint, newest: Checkpoint, note: str, tree: RemoteTree | None) -> None:
        """Require that the tree that the witnesses cosigned is the beginning of the newest tree."""
        if accepted.size > newest.size:
            message = f"Witnesses cosigned {accepted.size} entries, but the log returned a checkpoint of {newest.size}."
            raise self._alarm(AlarmName.SHRINK, message, note)
        if tree is not None:
            self._require_root(self._root_at(tree, accepted.size, note), accepted.root, accepted.size, note)

    def _deliver_entries(self, tree: RemoteTree, size: int, end: int, note: str, deliver: DeliverEntries) -> None:
        """Deliver the entries up to `end` of a tree of `size`, a bundle at a time, and save the state after each.

        Entries that an earlier version delivered without auditing are audited first, and not delivered again.
        """
        bundle = lru_cache(MAX_CACHED_BUNDLES)(lambda number: self._bundle(tree, size, number, note))
        while self.progress.judged < end:
            known = self.progress
            seen = [item for item in bundle(known.judged // TILE_WIDTH) if known.judged <= item.index < end]
            auditor = self._audit(seen, note, lambda index: bundle(index // TILE_WIDTH)[index % TILE_WIDTH].entry)
            judged = known.judged + len(seen)
            reached = replace(known, judged=judged, auditor=auditor)
            if judged > known.size:
                deliver([item for item in seen if item.index >= known.size])
                root = self._root_at(tree, judged, note)
                reached = replace(reached, size=judged, root=root, checkpoint=note)
            self._save(reached)

    def _bundle(self, tree: RemoteTree, size: int, number: int, note: str) -> list[VerifiedEntry]:
        """Read a bundle and verify that each entry is the one that the tree has at its index."""
        start = number * TILE_WIDTH
        width = min(TILE_WIDTH, size - start)
        try:
            entries = decode_bundle(self._source.tile(TileName(None, number, width)))[:width]
        except ProofInvalid as error:
            raise self._alarm(AlarmName.WRONG_ENTRY, error.message, note) from error
        seen = [VerifiedEntry(start + place, leaf_hash(entry), entry) for place, entry in enumerate(entries)]
        with self._alarm_on_bad_tiles(note):
            wrong = [item.index for item in seen if item.leaf_hash != tree.leaf(item.index)]
        if wrong or len(seen) != width:
            place = wrong[0] if wrong else start + len(seen)
            message = f"The log returned an entry {place} that differs from the one in its tree."
            raise self._alarm(AlarmName.WRONG_ENTRY, message, note)
        return seen

    def _audit(self, seen: Sequence[VerifiedEntry], note: str, entry_at: EntryAt) -> Auditor:
        """Audit these entries; returns the state of every subject after them.

        Raises:
            Alarm: an entry contradicts the entries before it.
            Unavailable: an entry needs a newer version of this package.
        """
        auditor = self.progress.auditor.copy()
        for item in seen:
            try:
                auditor.audit(item.index, item.entry, item.leaf_hash, entry_at)
            except InvalidEntry as error:
                message = f"Entry {item.index} of the log: {error.message}"
                raise self._alarm(_ALARMS[type(error)], message, note) from error
            except NewerEntry as error:
                message = f"Entry {item.index} of the log cannot be audited. {error.message} Upgrade attestlab."
                raise Unavailable(message) from error
        return auditor

    def _save(self, followed: FollowerState) -> None:
        if followed != self.progress:
            followed.save(self._state_file)
            self.progress = followed

    def _require_fresh(self, note: str) -> None:
        if self._max_age_s is None:
            return
        age_s = self._clock.now().timestamp() - self.progress.at_s
        if age_s > self._max_age_s:
            stated = f"is {age_s:.0f} seconds old" if self.progress.at_s else "was never stated"
            raise self._alarm(AlarmName.STALE_HEAD, f"The newest time of the log {stated}.", note)

    def _root_at(self, tree: RemoteTree, size: int, note: str) -> bytes:
        with self._alarm_on_bad_tiles(note):
            return tree.root_at(size)

    @contextmanager
    def _alarm_on_bad_tiles(self, note: str) -> Iterator[None]:
        """Raise the alarm for wrong tiles, which has its own name because tiles are not signed."""
        try:
            yield
        except ProofInvalid as error:
            raise self._alarm(AlarmName.WRONG_TILE, error.message, note) from error

    def _require_root(self, found: bytes, wanted: bytes, size: int, note: str) -> None:
        if found != wanted:
            raise self._alarm(AlarmName.FORK, f"The log returned another tree of {size} entries before.", note)

    def _alarm(self, name: AlarmName, message: str, note: str) -> Alarm:
        return Alarm(name, message, shown=note, known=self.progress.checkpoint)


def _newest_time_s(checkpoint: Checkpoint) -> int:
    """The newest time that the log or a witness states."""
    return max([checkpoint.timestamp_s or 0, *checkpoint.witnesses.values()])
