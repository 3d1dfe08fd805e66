"""What a follower of the log knows of every subject: where its chain of status entries goes on, and how it stands.

The log proves that an entry stands where it stands; whether a status may follow the one before
is for those to say who read every entry. An entry of a type that is not ours is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attestlab.core.errors import IntegrityFailed, ValidationFailed
from attestlab.core.wire import parse_json
from attestlab.log import entries
from attestlab.log.entries import EntryType, Link

NOTHING_YET = None
# By the type of entry: what may follow a status. A type without a line, or an entry that names no status, is a chain
# of links and nothing more (SPEC, States and transitions; CONTRACT sections 4 and 5).
MAY_FOLLOW: Mapping[str, Mapping[str | None, frozenset[str]]] = {
    "attestation.status": {NOTHING_YET: frozenset({"REVOKED", "SUPERSEDED", "EXPIRED"})},
    "key.status": {
        NOTHING_YET: frozenset({"pending", "active"}),
        "pending": frozenset({"active", "revoked", "compromised"}),
        "active": frozenset({"rotated", "revoked", "compromised"}),
        "rotated": frozenset({"revoked", "compromised"}),
        "revoked": frozenset({"compromised"}),
    },
    # An issuer's entry also tells of a new tier or rating, so a status may follow itself.
    "issuer.status": {
        NOTHING_YET: frozenset({"ACTIVE"}),
        "ACTIVE": frozenset({"ACTIVE", "SUSPENDED", "REVOKED"}),
        "SUSPENDED": frozenset({"ACTIVE", "SUSPENDED", "REVOKED"}),
        "REVOKED": frozenset({"REVOKED"}),
    },
}


class BrokenChain(IntegrityFailed):
    """A status entry does not follow from the one before of the same subject."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A subject: the link that its next entry must have, and its status; None where its entries name none."""

    following: Link
    status: str | None


class Standings:
    """Every subject that was read of; small, for only what has a status has a standing."""

    def __init__(self, known: Mapping[str, Standing] | None = None) -> None:
        self._known = dict(known or {})

    def copy(self) -> Standings:
        """The same, to go on from."""
        return Standings(self._known)

    def follow(self, entry: bytes, leaf_hash: bytes) -> None:
        """Take in the next entry of the log.

        Raises:
            BrokenChain: it is a status entry that does not follow from the one before.
        """
        kind = _kind(entry)
        if kind is None or kind is EntryType.MINTED:
            return
        try:
            said = entries.read(entry)
        except IntegrityFailed as fault:
            raise BrokenChain(f"An entry of the type {kind} cannot be read. {fault.message}") from fault
        if said.subject is None or said.link is None:
            return
        known = self._known.get(said.subject, Standing(entries.FIRST, NOTHING_YET))
        if said.link != known.following:
            raise BrokenChain(f"{said.subject} goes on with {known.following}, and the entry says {said.link}.")
        status = _status(kind, said.members, known.status, said.subject)
        self._known[said.subject] = Standing(Link(said.link.seq + 1, leaf_hash), status)

    def as_json(self) -> dict[str, list[object]]:
        """For a state file: by subject the number of the next entry, the leaf hash before it, and the status."""
        return {
            subject: [standing.following.seq, (standing.following.prev or b"").hex(), standing.status]
            for subject, standing in self._known.items()
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, list[object]]) -> Standings:
        """What `as_json` wrote."""
        return cls(
            {
                subject: Standing(
                    Link(int(str(seq)), bytes.fromhex(str(prev))), None if status is None else str(status)
                )
                for subject, (seq, prev, status) in saved.items()
            }
        )


def _kind(entry: bytes) -> EntryType | None:
    """The type of an entry, if it is one of ours."""
    try:
        members = parse_json(entry)
        return EntryType(str(members.get("type"))) if isinstance(members, dict) else None
    except (ValidationFailed, ValueError):
        return None


def _status(kind: str, members: Mapping[str, object], before: str | None, subject: str) -> str | None:
    may_follow = MAY_FOLLOW.get(kind)
    if may_follow is None or "status" not in members:
        return before
    status = str(members["status"])
    if status not in may_follow.get(before, frozenset()):
        raise BrokenChain(f"{subject} cannot become {status}: it is {before or 'new'}.")
    return status
