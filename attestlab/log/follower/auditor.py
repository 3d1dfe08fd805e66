"""Auditor of the log: checks that each entry is allowed after the entries before it.

Inclusion proofs show that an entry is in the log. Whether it is allowed there must be checked by
an auditor that reads every entry: status transitions, the authority of each mint, and the content
of status lists. Entries of unknown types are skipped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from attestlab.core.encoding import b64url_decode
from attestlab.core.errors import IntegrityFailed, NewerEntry, ValidationFailed
from attestlab.core.strict_json import parse_json
from attestlab.log import entries
from attestlab.log.entries import FIRST_LINK, EntryType, Link, ParsedEntry
from attestlab.log.status.status_list import StatusList

NO_STATUS = None
# By entry type and status: the statuses that may follow. For other types, and for entries that name no status, only
# the links of the chain are checked (SPEC, States and transitions; CONTRACT sections 4 and 5).
ALLOWED_TRANSITIONS: Mapping[str, Mapping[str | None, frozenset[str]]] = {
    "attestation.status": {NO_STATUS: frozenset({"REVOKED", "SUPERSEDED", "EXPIRED"})},
    "receipt.status": {NO_STATUS: frozenset({"REVOKED"})},
    "key.status": {
        NO_STATUS: frozenset({"pending", "active"}),
        "pending": frozenset({"active", "revoked", "compromised"}),
        "active": frozenset({"rotated", "revoked", "compromised"}),
        "rotated": frozenset({"revoked", "compromised"}),
        "revoked": frozenset({"compromised"}),
    },
    # An issuer's entry also records a new tier or rating, so a status may follow itself.
    "issuer.status": {
        NO_STATUS: frozenset({"ACTIVE"}),
        "ACTIVE": frozenset({"ACTIVE", "SUSPENDED", "REVOKED"}),
        "SUSPENDED": frozenset({"ACTIVE", "SUSPENDED", "REVOKED"}),
        "REVOKED": frozenset({"REVOKED"}),
    },
    # A new agent is active without an entry; its first entry is its first change.
    "agent.status": {
        NO_STATUS: frozenset({"suspended", "revoked"}),
        "active": frozenset({"suspended", "revoked"}),
        "suspended": frozenset({"active", "revoked"}),
    },
    "agent.key": {
        NO_STATUS: frozenset({"active"}),
        "active": frozenset({"rotated", "compromised"}),
        "rotated": frozenset({"compromised"}),
    },
    "delegation.status": {NO_STATUS: frozenset({"active"}), "active": frozenset({"revoked"})},
    # A run ends once.
    "run.completed": {NO_STATUS: frozenset({"completed", "failed", "canceled"})},
}
_KEY_ENTRIES = frozenset({EntryType.KEY_STATUS.value, EntryType.AGENT_KEY.value})


SavedSubject = tuple[int, str, str | None, int | None, int, str | None]
EntryAt = Callable[[int], bytes]  # an entry that was read before, by its index


class InvalidEntry(IntegrityFailed):
    """An entry of the log contradicts the entries before it."""


class BrokenStatusChain(InvalidEntry):
    """A status entry does not follow from its subject's previous entry, or from the mint that it refers to."""


class UnauthorisedMint(InvalidEntry):
    """A mint by an issuer or key that was not active at that position of the log."""


class StatusListMismatch(InvalidEntry):
    """A status list differs from the list of the entries before it."""


@dataclass(frozen=True, slots=True)
class SubjectState:
    """State of a subject: the link that its next entry must have, and its status; None if its entries name none.

    `code` is its status list code, at the index `place`; `key`, for a key, is the SHA-256 of the public key.
    """

    next_link: Link = FIRST_LINK
    status: str | None = NO_STATUS
    place: int | None = None
    code: int = 0
    key: str | None = None


UNKNOWN_SUBJECT = SubjectState()


class Auditor:
    """Audits entries in order; holds the state of every subject with status entries, and the status list."""

    def __init__(self, known: Mapping[str, SubjectState] | None = None, status_list: StatusList | None = None) -> None:
        self._known = dict(known or {})
        self._list = status_list or StatusList()

    def copy(self) -> Auditor:
        """Return an independent copy."""
        return Auditor(self._known, self._list.copy())

    def audit(self, index: int, entry: bytes, leaf_hash: bytes, entry_at: EntryAt) -> None:
        """Check the next entry of the log and update the state of its subject.

        Raises:
            InvalidEntry: the entry contradicts the entries before it.
            NewerEntry: this version cannot audit the entry, nor what follows from it.
        """
        kind = _entry_type(entry)
        if kind is None:
            return
        try:
            parsed = entries.parse_entry(entry)
        except NewerEntry:
            raise
        except IntegrityFailed as error:
            raise BrokenStatusChain(f"An entry of the type {kind} cannot be read. {error.message}") from error
        match kind:
            case EntryType.MINTED:
                self._require_authorised_mint(parsed.members, entries.attestation_subject)
            case EntryType.RECEIPT_MINTED:
                self._require_authorised_mint(parsed.members, entries.receipt_subject)
            case EntryType.ATTESTATION_STATUS:
                _require_mint_of(parsed, index, entry_at, EntryType.MINTED)
            case EntryType.RECEIPT_STATUS:
                _require_mint_of(parsed, index, entry_at, EntryType.RECEIPT_MINTED)
            case EntryType.STATUS_LIST:
                self._require_correct_list(index, parsed.members)
        if parsed.subject is not None and parsed.link is not None:
            self._known[parsed.subject] = self._next_state(index, parsed, parsed.subject, parsed.link, leaf_hash)

    def _next_state(self, index: int, parsed: ParsedEntry, subject: str, link: Link, leaf_hash: bytes) -> SubjectState:
        """Compute the state of a subject after its next entry."""
        known = self._known.get(subject, UNKNOWN_SUBJECT)
        if link != known.next_link:
            raise BrokenStatusChain(f"The next entry of {subject} must carry {known.next_link}; it carries {link}.")
        status = _next_status(parsed.kind, parsed.members, known.status, subject)
        key = _key_digest(parsed, known.key) if parsed.kind in _KEY_ENTRIES else None
        place = self._list.apply(index, parsed)
        code = 0 if place is None else self._list.codes_of(parsed.kind).code_of(place)
        return SubjectState(Link(link.seq + 1, leaf_hash), status, place, code, key)

    def _require_authorised_mint(self, mint: Mapping[str, object], name_subject: Callable[[str], str]) -> None:
        """Require an active issuer, an active key of that issuer, and a subject without a status entry so far."""
        issuer_id, kid, minted_id = (str(mint.get(name)) for name in ("issuer_id", "kid", "id"))
        for subject, active in (
            (entries.issuer_subject(issuer_id), "ACTIVE"),
            (entries.key_subject(issuer_id, kid), "active"),
        ):
            status = self._known.get(subject, UNKNOWN_SUBJECT).status
            if status != active:
                message = f"{minted_id} was minted by {subject}, which is {status or 'not in the log'} there."
                raise UnauthorisedMint(message)
        if mint.get("key") != self._known[entries.key_subject(issuer_id, kid)].key:
            raise UnauthorisedMint(f"{minted_id} was minted with another key than the log has as {kid}.")
        if name_subject(minted_id) in self._known:
            raise UnauthorisedMint(f"{minted_id} was minted after it had ended.")

    def _require_correct_list(self, size: int, members: Mapping[str, object]) -> None:
        """Require that a status list has the size and digest that follow from the entries before it."""
        self._list.grow(size)
        if members.get("size") != size:
            raise StatusListMismatch(
                f"The status list is of {members.get('size')} entries, but {size} entries precede it."
            )
        for name, expected in self._list.digest_members(members).items():
            if members.get(name) != expected:
                detail = f"expected {name} {expected} from the entries before it, found {members.get(name)}"
                raise StatusListMismatch(f"The status list hides a change or invents one: {detail}.")

    def as_json(self) -> dict[str, SavedSubject]:
        """Serialise for a state file, by subject: number of the next entry, leaf hash before it, then the rest."""
        return {
            subject: (
                state.next_link.seq,
                (state.next_link.prev or b"").hex(),
                state.status,
                state.place,
                state.code,
                state.key,
            )
            for subject, state in self._known.items()
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, SavedSubject]) -> Auditor:
        """Restore what `as_json` returned."""
        known, status_list = {}, StatusList()
        for subject, (seq, prev, status, place, code, key) in saved.items():
            known[subject] = SubjectState(Link(seq, bytes.fromhex(prev)), status, place, code, key)
            if place is not None:
                status_list.restore(subject, place, code)
        return cls(known, status_list)


def _entry_type(entry: bytes) -> EntryType | None:
    """The type of an entry; None if it is unknown."""
    try:
        return EntryType(str(_entry_members(entry).get("type")))
    except ValueError:
        return None


def _entry_members(entry: bytes) -> dict[str, object]:
    """Parse the members of an entry; empty if it is no JSON object."""
    try:
        members = parse_json(entry)
    except ValidationFailed:
        return {}
    return members if isinstance(members, dict) else {}


def _next_status(kind: str, members: Mapping[str, object], before: str | None, subject: str) -> str | None:
    transitions = ALLOWED_TRANSITIONS.get(kind)
    if transitions is None or "status" not in members:
        return before
    status = str(members["status"])
    if status not in transitions.get(before, frozenset()):
        raise BrokenStatusChain(f"{subject} cannot become {status}: it is {before or 'new'}.")
    return status


def _key_digest(parsed: ParsedEntry, before: str | None) -> str:
    """The SHA-256 of the public key, by which mints name it; a key must not change under its kid."""
    try:
        key = entries.sha256_name(hashlib.sha256(b64url_decode(str(parsed.members.get("public_key")))).digest())
    except ValidationFailed as error:
        raise BrokenStatusChain(f"{parsed.subject} has no public key that can be read.") from error
    if before not in (None, key):
        raise BrokenStatusChain(f"{parsed.subject} changes its public key.")
    return key


def _require_mint_of(parsed: ParsedEntry, index: int, entry_at: EntryAt, minted: EntryType) -> None:
    """Require that the status entry of an attestation or receipt refers to its mint by the same issuer."""
    place = parsed.members.get("minted_index")
    mint = _entry_members(entry_at(place)) if type(place) is int and 0 <= place < index else {}
    wanted = {
        "type": minted.value,
        "id": parsed.members.get("id"),
        "issuer_id": parsed.members.get("issuer_id"),
    }
    if {name: mint.get(name) for name in wanted} != wanted:
        raise BrokenStatusChain(f"{parsed.subject} ends, and entry {place} is not its mint.")
