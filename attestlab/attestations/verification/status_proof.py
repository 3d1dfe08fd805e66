"""How an attestation, its key and its issuer stand, as a bundle shows it: log entries, and a list of all that changed.

What changed is proven by its own entry. That nothing changed is proven by the status list
of the first n entries, up to n and no further. Where the two contradict each other, or the
bundle's own word contradicts them, nothing of it is believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from attestlab.attestations.bundle.reader import Reader, decode_base64, parse_sha256
from attestlab.attestations.rules import Reason, Statement, Status
from attestlab.attestations.verification.steps import IssuerFacts, StepResult
from attestlab.core.errors import IntegrityFailed, ProofInvalid, ValidationFailed
from attestlab.core.strict_json import b64url_encode, parse_time
from attestlab.issuers.rules import IssuerStatus, KeyStatus
from attestlab.log import entries
from attestlab.log.entries import EntryType, ParsedEntry
from attestlab.log.merkle import hashing as log_rules
from attestlab.log.status.status_list import CHUNK_BYTES, CODES, INDEXES_PER_CHUNK, Chunk, verify_chunk

NO_STATUS_LIST = (
    "no status list shows that nothing happened since; "
    "get the bundle again after the next one, or demand one with --as-of SIZE"
)
_UNCHANGED_REASONS = frozenset({Reason.STATUS_CURRENT, Reason.GOVERNANCE_OK})


def drop_unproven_reasons(finding: StepResult, shown: bool) -> StepResult:
    """Leave a check open, without the reasons that say so, where no status list has `shown` that nothing happened.

    What ended the verification is proven by an entry of its own, and so is an issuer's revocation, which is final.
    """
    if shown or finding.verdict is not None or Reason.ISSUER_REVOKED in finding.reasons:
        return finding
    reasons = tuple(reason for reason in finding.reasons if reason not in _UNCHANGED_REASONS)
    return replace(finding, reasons=reasons, detail=NO_STATUS_LIST, is_open=True)


@dataclass(frozen=True)
class EntryWithProof:
    """An entry, where it is said to stand, and the path that is to prove it, leaf to root."""

    entry: bytes = field(repr=False)
    index: int
    hashes: tuple[bytes, ...] = field(repr=False)

    @classmethod
    def read(cls, reader: Reader) -> EntryWithProof:
        """Of an object of the bundle."""
        return cls(
            decode_base64(reader.string("entry_b64"), f"{reader.path}/entry_b64"),
            reader.count("log_index"),
            tuple(parse_sha256(item) for item in reader.strings("hashes")),
        )

    def parse(self) -> ParsedEntry:
        """What the entry says.

        Raises:
            ProofInvalid: it is not one of the log's.
        """
        try:
            return entries.parse_entry(self.entry)
        except IntegrityFailed as error:
            raise ProofInvalid(error.message) from error


@dataclass(frozen=True)
class StatusHistory:
    """The first entry of a chain, at whose index lists tell of it, and the one from which its standing follows.

    That is the newest; of an issuer that was revoked, the one that revoked it.
    """

    first: EntryWithProof
    newest: EntryWithProof

    @classmethod
    def read(cls, reader: Reader) -> StatusHistory:
        """Of an object of the bundle."""
        return cls(EntryWithProof.read(reader.object("first")), EntryWithProof.read(reader.object("newest")))


@dataclass(frozen=True)
class StatusProof:
    """The status proof of a bundle, taken apart; nothing in it is believed yet.

    Its list is missing where none was logged since the attestation.
    """

    change: EntryWithProof | None
    key: StatusHistory
    issuer: StatusHistory
    list_entry: EntryWithProof | None
    chunks: tuple[Chunk, ...] = field(repr=False)

    @classmethod
    def read(cls, reader: Reader) -> StatusProof:
        """Of the member `status_proof`."""
        change, listed = (reader.object_or_none(name) for name in ("attestation", "list"))
        return cls(
            change=None if change is None else EntryWithProof.read(change),
            key=StatusHistory.read(reader.object("key")),
            issuer=StatusHistory.read(reader.object("issuer")),
            list_entry=None if listed is None else EntryWithProof.read(listed.object("entry")),
            chunks=() if listed is None else tuple(_read_chunk(item) for item in listed.objects("chunks")),
        )

    @property
    def entries(self) -> list[EntryWithProof]:
        """Every entry that it shows."""
        chained = (entry for chain in (self.key, self.issuer) for entry in (chain.first, chain.newest))
        shown = (self.change, self.list_entry, *chained)
        return [entry for entry in shown if entry is not None]


def _read_chunk(reader: Reader) -> Chunk:
    return Chunk(
        reader.count("number"),
        decode_base64(reader.string("data_b64"), f"{reader.path}/data_b64"),
        tuple(parse_sha256(item) for item in reader.strings("hashes")),
    )


@dataclass(frozen=True)
class CurrentStatus:
    """How all three stand; `as_of` is the size of the list that was compared, None without one."""

    status: Status
    issuer: IssuerFacts
    key_status: KeyStatus = KeyStatus.ACTIVE
    key_changed_index: int | None = None
    compromised_at: datetime | None = None
    as_of: int | None = None


def derive_current_status(
    proof: StatusProof, *, statement: Statement, public_key: bytes, index: int, said: Status
) -> CurrentStatus:
    """What the entries of a status proof say of an attestation at `index`; `verify_status_entries` is to prove them.

    A verifier knows what time does: that an attestation has run out needs no entry.

    Raises:
        ProofInvalid: they speak of something else, or contradict each other or what the bundle `said`.
    """
    status = Status.VALID if proof.change is None else _read_final_status(proof.change, statement, index)
    if status is not said and (status, said) != (Status.VALID, Status.EXPIRED):
        raise ProofInvalid(f"The bundle says {said.value}, and its log entries {status.value}.")
    newest = _verify_key_history(proof.key, statement, public_key)
    key_status, since = _read_key_status(newest), _read_compromised_at(newest)
    issuer = _read_issuer_facts(proof.issuer, statement)
    as_of = None
    if proof.list_entry is not None:
        as_of = _read_list_size(proof.list_entry)
        if len({chunk.number for chunk in proof.chunks}) != len(proof.chunks):
            raise ProofInvalid("A chunk of the status list stands in the bundle twice.")
        change = None if proof.change is None else proof.change.index
        _verify_listed_code(proof, as_of, index, CODES[EntryType.ATTESTATION_STATUS].get(status, 0), change)
        _verify_listed_history(proof, as_of, proof.key, CODES[EntryType.KEY_STATUS][key_status])
        _verify_listed_history(proof, as_of, proof.issuer, CODES[EntryType.ISSUER_STATUS][issuer.status])
    shown = said if status is Status.VALID else status
    return CurrentStatus(shown, issuer, key_status, proof.key.newest.index, since, as_of)


def _read_final_status(change: EntryWithProof, statement: Statement, index: int) -> Status:
    read = change.parse()
    told = (read.members.get("id"), read.members.get("issuer_id"), read.members.get("minted_index"))
    if read.kind != EntryType.ATTESTATION_STATUS or told != (str(statement.id), str(statement.issuer_id), index):
        raise ProofInvalid("The status entry is about another attestation.")
    try:
        return Status(str(read.members.get("status")))
    except ValueError:
        raise ProofInvalid("The status entry names no status.") from None


def verify_status_fields(told: Mapping[str, object], proof: StatusProof, nonce: bytes) -> None:
    """What a bundle says of the end in plain words is what the log's entry says; a word may be left out.

    Raises:
        ProofInvalid: it says something else.
    """
    said = {} if proof.change is None else proof.change.parse().members
    revoked_at = said.get("at") if said.get("status") == Status.REVOKED else None
    proven = {"superseded_by_attestation_id": said.get("superseded_by"), "revoked_at": revoked_at}
    proven["status_log_index"] = None if proof.change is None else proof.change.index
    wrong = [name for name, value in proven.items() if told.get(name, value) != value]
    reason = told.get("revocation_reason")
    opened = entries.sha256_name(entries.reason_commitment(nonce, reason)) if isinstance(reason, str) else reason
    if "revocation_reason" in told and opened != said.get("reason"):
        wrong.append("revocation_reason")
    if wrong:
        raise ProofInvalid(f"/attestation/{wrong[0]} is not what the log says.")


def verify_trust_level(told: Mapping[str, object], proof: StatusProof) -> None:
    """The trust level that a bundle names is the one of the issuer's entry.

    Raises:
        ProofInvalid: it is another.
    """
    proven = proof.issuer.newest.parse().members.get("trust_tier")
    if told.get("trust_level", proven) != proven:
        raise ProofInvalid("/issuer/trust_level is not what the log says.")


def _verify_key_history(chain: StatusHistory, statement: Statement, public_key: bytes) -> ParsedEntry:
    first, newest = _verify_history(chain, entries.key_subject(statement.issuer_id, statement.kid))
    if any(read.members.get("public_key") != b64url_encode(public_key) for read in (first, newest)):
        raise ProofInvalid("The key's status entry is about another key.")
    return newest


def _verify_history(chain: StatusHistory, subject: str) -> tuple[ParsedEntry, ParsedEntry]:
    """Both entries, which are to be of this subject, and the first the first of its chain."""
    first, newest = chain.first.parse(), chain.newest.parse()
    if (first.subject, newest.subject) != (subject, subject):
        raise ProofInvalid("A status entry of the key or the issuer is about another one.")
    if first.link is None or first.link.seq != 0:
        raise ProofInvalid("The first entry of a chain is not its first.")
    return first, newest


def _read_issuer_facts(chain: StatusHistory, statement: Statement) -> IssuerFacts:
    _first, newest = _verify_history(chain, entries.issuer_subject(statement.issuer_id))
    try:
        status = IssuerStatus(str(newest.members.get("status")))
    except ValueError:
        raise ProofInvalid("The issuer's status entry names no status.") from None
    return IssuerFacts(status, chain.newest.index if status is IssuerStatus.REVOKED else None)


def _read_key_status(read: ParsedEntry) -> KeyStatus:
    try:
        return KeyStatus(str(read.members.get("status")))
    except ValueError:
        raise ProofInvalid("The key's status entry names no status.") from None


def _read_compromised_at(read: ParsedEntry) -> datetime | None:
    told = read.members.get("compromised_at")
    try:
        return None if told is None else parse_time(str(told))
    except ValidationFailed as error:
        raise ProofInvalid(error.message) from error


def _read_list_size(logged: EntryWithProof) -> int:
    """A list's size is the index of its entry: it is of all that stands before it."""
    read = logged.parse()
    if read.kind != EntryType.STATUS_LIST or read.members.get("size") != logged.index:
        raise ProofInvalid("The status list's entry is not one of a list of all entries before it.")
    return logged.index


def _verify_listed_history(proof: StatusProof, size: int, chain: StatusHistory, code: int) -> None:
    _verify_listed_code(proof, size, chain.first.index, code, chain.newest.index)


def _verify_listed_code(proof: StatusProof, size: int, index: int, code: int, changed_index: int | None) -> None:
    """The list says of the entry at `index` what its own entry says, unless that came after the list."""
    if index >= size:
        raise ProofInvalid("The status list is older than what it is to speak of.")
    held = {chunk.number: chunk for chunk in proof.chunks}.get(index // INDEXES_PER_CHUNK)
    if held is None or len(held.data) != CHUNK_BYTES:
        raise ProofInvalid("The chunk of the status list is missing that it takes.")
    is_later = changed_index is not None and changed_index >= size
    if not is_later and held.code_of(index) != code:
        raise ProofInvalid("The status list tells of a change that the bundle hides.")


def verify_status_entries(proof: StatusProof, *, size: int, root: bytes) -> None:
    """Every entry is in the tree of this root, and every chunk in the list.

    Raises:
        ProofInvalid: one is not.
    """
    for logged in proof.entries:
        log_rules.verify_inclusion(logged.index, size, log_rules.leaf_hash(logged.entry), logged.hashes, root)
    if proof.list_entry is not None:
        members = proof.list_entry.parse().members
        for chunk in proof.chunks:
            verify_chunk(chunk, size=proof.list_entry.index, digest=_read_digest(members))


def _read_digest(members: dict[str, object]) -> bytes:
    try:
        return parse_sha256(str(members.get("digest")))
    except ValueError as error:
        raise ProofInvalid(f"The status list's digest: {error}.") from error
