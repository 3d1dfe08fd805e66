"""What a follower of the log knows of every subject: where its chain of status entries goes on, and how it stands.

The log proves that an entry stands where it stands; whether it may stand there is for those to
say who read every entry: a status after the one before, a mint by who may mint, a list of all
that changed. An entry of a type that is not ours is passed over.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from attestlab.core.errors import IntegrityFailed, ValidationFailed
from attestlab.core.strict_json import b64url_decode, parse_json
from attestlab.log import entries
from attestlab.log.entries import FIRST, EntryType, Link, ReadEntry
from attestlab.log.status.status_list import StatusList

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


SavedStanding = tuple[int, str, str | None, int | None, int, str | None]
EntryAt = Callable[[int], bytes]  # an entry that was read before, by its index


class InvalidEntry(IntegrityFailed):
    """An entry is in the tree, and contradicts the entries before it."""


class BrokenStatusChain(InvalidEntry):
    """A status entry does not follow from the one before of the same subject, or from the mint that it ends."""


class UnauthorisedMint(InvalidEntry):
    """A mint by whoever could not mint there, by the order of the log."""


class StatusListMismatch(InvalidEntry):
    """A status list is not that of the entries before it."""


@dataclass(frozen=True, slots=True)
class SubjectState:
    """A subject: the link that its next entry must have, and its status; None where its entries name none.

    `code` is what the status list says of it, at the index `place`; `key`, of a key, the SHA-256 of its public half.
    """

    following: Link = FIRST
    status: str | None = NOTHING_YET
    place: int | None = None
    code: int = 0
    key: str | None = None


UNHEARD_OF = SubjectState()


class Auditor:
    """Every subject that was read of, and the status list; small, for only what has a status has a standing."""

    def __init__(self, known: Mapping[str, SubjectState] | None = None, listed: StatusList | None = None) -> None:
        self._known = dict(known or {})
        self._list = listed or StatusList()

    def copy(self) -> Auditor:
        """The same, to go on from."""
        return Auditor(self._known, self._list.copy())

    def follow(self, index: int, entry: bytes, leaf_hash: bytes, entry_at: EntryAt) -> None:
        """Take in the next entry of the log.

        Raises:
            FalseEntry: it contradicts the entries before it.
        """
        kind = _kind(entry)
        if kind is None:
            return
        try:
            said = entries.read(entry)
        except IntegrityFailed as error:
            raise BrokenStatusChain(f"An entry of the type {kind} cannot be read. {error.message}") from error
        match kind:
            case EntryType.MINTED:
                self._require_may_mint(said.members)
            case EntryType.ATTESTATION_STATUS:
                _require_minted(said, index, entry_at)
            case EntryType.STATUS_LIST:
                self._require_list_of(index, said.members)
        if said.subject is not None and said.link is not None:
            self._known[said.subject] = self._going_on(index, said, said.subject, said.link, leaf_hash)

    def _going_on(self, index: int, said: ReadEntry, subject: str, link: Link, leaf_hash: bytes) -> SubjectState:
        """How a subject stands after its next entry."""
        known = self._known.get(subject, UNHEARD_OF)
        if link != known.following:
            raise BrokenStatusChain(f"{subject} goes on with {known.following}, and the entry says {link}.")
        status = _status(said.kind, said.members, known.status, subject)
        key = _key(said, known.key) if said.kind == EntryType.KEY_STATUS else None
        place = self._list.apply(index, said)
        code = 0 if place is None else self._list.code_of(place)
        return SubjectState(Link(link.seq + 1, leaf_hash), status, place, code, key)

    def _require_may_mint(self, mint: Mapping[str, object]) -> None:
        """An active issuer signed with an active key of its own, and the attestation has not ended before it began."""
        issuer_id, kid, attestation_id = (str(mint.get(name)) for name in ("issuer_id", "kid", "id"))
        for subject, active in (
            (entries.issuer_subject(issuer_id), "ACTIVE"),
            (entries.key_subject(issuer_id, kid), "active"),
        ):
            status = self._known.get(subject, UNHEARD_OF).status
            if status != active:
                message = f"{attestation_id} was minted by {subject}, which is {status or 'not in the log'} there."
                raise UnauthorisedMint(message)
        if mint.get("key") != self._known[entries.key_subject(issuer_id, kid)].key:
            raise UnauthorisedMint(f"{attestation_id} was minted with another key than the log has as {kid}.")
        if entries.attestation_subject(attestation_id) in self._known:
            raise UnauthorisedMint(f"{attestation_id} was minted after it had ended.")

    def _require_list_of(self, size: int, said: Mapping[str, object]) -> None:
        """The digest is that of the list which follows from the entries before it."""
        self._list.grow(size)
        digest = entries.sha256_name(self._list.digest())
        if said.get("size") != size:
            raise StatusListMismatch(f"The status list is of {said.get('size')} entries, and {size} stand before it.")
        if said.get("digest") != digest:
            told = f"the entries before it make {digest}, and it says {said.get('digest')}"
            raise StatusListMismatch(f"The status list hides a change or invents one: {told}.")

    def as_json(self) -> dict[str, SavedStanding]:
        """For a state file, by subject: the number of the next entry, the leaf hash before it, then the rest."""
        return {
            subject: (it.following.seq, (it.following.prev or b"").hex(), it.status, it.place, it.code, it.key)
            for subject, it in self._known.items()
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, SavedStanding]) -> Auditor:
        """Restore what `as_json` returned."""
        known, listed = {}, StatusList()
        for subject, (seq, prev, status, place, code, key) in saved.items():
            known[subject] = SubjectState(Link(seq, bytes.fromhex(prev)), status, place, code, key)
            if place is not None:
                listed.recall(subject, place, code)
        return cls(known, listed)


def _kind(entry: bytes) -> EntryType | None:
    """The type of an entry, if it is one of ours."""
    try:
        return EntryType(str(_members(entry).get("type")))
    except ValueError:
        return None


def _members(entry: bytes) -> dict[str, object]:
    """What an entry holds; nothing, where it is no JSON object."""
    try:
        members = parse_json(entry)
    except ValidationFailed:
        return {}
    return members if isinstance(members, dict) else {}


def _status(kind: str, members: Mapping[str, object], before: str | None, subject: str) -> str | None:
    may_follow = MAY_FOLLOW.get(kind)
    if may_follow is None or "status" not in members:
        return before
    status = str(members["status"])
    if status not in may_follow.get(before, frozenset()):
        raise BrokenStatusChain(f"{subject} cannot become {status}: it is {before or 'new'}.")
    return status


def _key(said: ReadEntry, before: str | None) -> str:
    """The SHA-256 of the public key, as mints name it; it stays the same under its name."""
    try:
        key = entries.sha256_name(hashlib.sha256(b64url_decode(str(said.members.get("public_key")))).digest())
    except ValidationFailed as error:
        raise BrokenStatusChain(f"{said.subject} has no public key that can be read.") from error
    if before not in (None, key):
        raise BrokenStatusChain(f"{said.subject} goes on with another public key.")
    return key


def _require_minted(said: ReadEntry, index: int, entry_at: EntryAt) -> None:
    """What ends was minted, by the same issuer, in the entry that is named."""
    place = said.members.get("minted_index")
    mint = _members(entry_at(place)) if type(place) is int and 0 <= place < index else {}
    wanted = {"type": EntryType.MINTED.value, "id": said.members.get("id"), "issuer_id": said.members.get("issuer_id")}
    if {name: mint.get(name) for name in wanted} != wanted:
        raise BrokenStatusChain(f"{said.subject} ends, and entry {place} is not its mint.")
