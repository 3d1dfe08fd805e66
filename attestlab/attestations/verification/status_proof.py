"""Status proof of a bundle: the current status of an attestation or receipt, its key and its issuer, offline.

A change is proven by its own log entry. The absence of a change is proven by the status list
of the first n entries, and only up to entry n. If entries, list and the bundle's own fields
contradict each other, the verifier rejects the bundle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from attestlab.attestations.bundle.reader import Reader, decode_base64, find_different
from attestlab.attestations.rules import ATTESTATION, RECEIPT, Reason, RecordKind, SignedStatement, Status
from attestlab.attestations.verification.steps import IssuerFacts, StepResult
from attestlab.core.encoding import b64url_encode, parse_time
from attestlab.core.errors import IntegrityFailed, ProofInvalid, ValidationFailed
from attestlab.issuers.rules import IssuerStatus, KeyStatus
from attestlab.log import entries
from attestlab.log.entries import EntryType, ParsedEntry, parse_sha256
from attestlab.log.merkle import hashing as log_rules
from attestlab.log.status.status_list import CHUNK_BYTES, CODES, INDEXES_PER_CHUNK, Chunk, verify_chunk

NO_STATUS_LIST = (
    "no status list proves that the status has not changed since; "
    "get the bundle again after the next list, or require one with --as-of SIZE"
)
_UNCHANGED_REASONS = frozenset({Reason.STATUS_CURRENT, Reason.GOVERNANCE_OK})


def drop_unproven_reasons(result: StepResult, has_status_list: bool) -> StepResult:
    """Leave a step open and drop its reasons "nothing changed" if no status list proves them.

    A verdict that ends the verification is proven by its own log entry, and so is an issuer's revocation, which is
    final; these results stay unchanged.
    """
    if has_status_list or result.verdict is not None or Reason.ISSUER_REVOKED in result.reasons:
        return result
    reasons = tuple(reason for reason in result.reasons if reason not in _UNCHANGED_REASONS)
    return replace(result, reasons=reasons, detail=NO_STATUS_LIST, is_open=True)


@dataclass(frozen=True)
class EntryWithProof:
    """A log entry with its claimed index, and the path that must prove it, leaf to root."""

    entry: bytes = field(repr=False)
    index: int
    hashes: tuple[bytes, ...] = field(repr=False)

    @classmethod
    def read(cls, reader: Reader) -> EntryWithProof:
        """Read an entry from an object of the bundle."""
        return cls(
            decode_base64(reader.string("entry_b64"), f"{reader.path}/entry_b64"),
            reader.count("log_index"),
            tuple(parse_sha256(item) for item in reader.strings("hashes")),
        )

    def verify_inclusion(self, *, size: int, root: bytes) -> None:
        """Verify that the entry is in the tree with this root.

        Raises:
            ProofInvalid: the path does not lead to the root.
        """
        log_rules.verify_inclusion(self.index, size, log_rules.leaf_hash(self.entry), self.hashes, root)

    def parse(self) -> ParsedEntry:
        """Parse the entry.

        Raises:
            ProofInvalid: the bytes are not a log entry.
        """
        try:
            return entries.parse_entry(self.entry)
        except IntegrityFailed as error:
            raise ProofInvalid(error.message) from error


@dataclass(frozen=True)
class StatusHistory:
    """The first status entry, whose index is its position in status lists, and the entry with the current status.

    The latter is the newest entry; for a revoked issuer, the entry that revoked it.
    """

    first: EntryWithProof
    newest: EntryWithProof

    @classmethod
    def read(cls, reader: Reader) -> StatusHistory:
        """Read a status history from an object of the bundle."""
        return cls(EntryWithProof.read(reader.object("first")), EntryWithProof.read(reader.object("newest")))


@dataclass(frozen=True)
class StatusProof:
    """The parsed status proof of a bundle; its content is not verified yet.

    It has no status list if none was logged since the mint. `profile` is an entry of a revoked issuer that follows the
    revocation: the newest one, which names the issuer. `receipt_chunks` are of the list of receipts.
    """

    change: EntryWithProof | None
    key: StatusHistory
    issuer: StatusHistory
    profile: EntryWithProof | None
    list_entry: EntryWithProof | None
    chunks: tuple[Chunk, ...] = field(repr=False)
    receipt_chunks: tuple[Chunk, ...] = field(default=(), repr=False)

    @classmethod
    def read(cls, reader: Reader, kind: RecordKind = ATTESTATION) -> StatusProof:
        """Read the member `status_proof` of a bundle of this kind."""
        change, listed = (reader.object_or_none(name) for name in (kind.noun, "list"))
        profile = reader.object("issuer").object_or_none("profile")
        return cls(
            change=None if change is None else EntryWithProof.read(change),
            key=StatusHistory.read(reader.object("key")),
            issuer=StatusHistory.read(reader.object("issuer")),
            profile=None if profile is None else EntryWithProof.read(profile),
            list_entry=None if listed is None else EntryWithProof.read(listed.object("entry")),
            chunks=() if listed is None else _read_chunks(listed, "chunks"),
            receipt_chunks=_read_chunks(listed, "receipt_chunks") if listed and kind is RECEIPT else (),
        )

    @property
    def entries(self) -> list[EntryWithProof]:
        """All log entries in the proof."""
        chained = (entry for chain in (self.key, self.issuer) for entry in (chain.first, chain.newest))
        candidates = (self.change, self.list_entry, self.profile, *chained)
        return [entry for entry in candidates if entry is not None]


def _read_chunks(listed: Reader, name: str) -> tuple[Chunk, ...]:
    return tuple(_read_chunk(item) for item in listed.objects(name))


def _read_chunk(reader: Reader) -> Chunk:
    return Chunk(
        reader.count("number"),
        decode_base64(reader.string("data_b64"), f"{reader.path}/data_b64"),
        tuple(parse_sha256(item) for item in reader.strings("hashes")),
    )


@dataclass(frozen=True)
class CurrentStatus:
    """Status of attestation, key and issuer; `as_of` is the size of the status list it agrees with, or None."""

    status: Status
    issuer: IssuerFacts
    key_status: KeyStatus = KeyStatus.ACTIVE
    key_changed_index: int | None = None
    compromised_at: datetime | None = None
    as_of: int | None = None


def derive_current_status(
    proof: StatusProof, *, statement: SignedStatement, public_key: bytes, index: int, claimed: Status
) -> CurrentStatus:
    """Derive the current status of the record at `index` from the entries of a status proof.

    The caller must prove the entries with `verify_status_entries`. Expiry needs no entry, because the verifier can
    compare the expiry time with its own clock.

    Raises:
        ProofInvalid: the entries are about other subjects, or contradict each other or the status that the bundle
            `claimed`.
    """
    status = Status.VALID if proof.change is None else _read_final_status(proof.change, statement, index)
    if status is not claimed and (status, claimed) != (Status.VALID, Status.EXPIRED):
        raise ProofInvalid(f"The bundle's status is {claimed.value}, but its log entries prove {status.value}.")
    newest = _verify_key_history(proof.key, statement, public_key)
    key_status, since = _read_key_status(newest), _read_compromised_at(newest)
    issuer = _read_issuer_facts(proof.issuer, statement)
    as_of = None
    if proof.list_entry is not None:
        as_of = _read_list_size(proof.list_entry)
        _require_distinct(proof.chunks)
        _require_distinct(proof.receipt_chunks)
        change = None if proof.change is None else proof.change.index
        chunks = proof.receipt_chunks if statement.kind is RECEIPT else proof.chunks
        _verify_listed_code(chunks, as_of, index, CODES[statement.kind.status_entry].get(status, 0), change)
        _verify_listed_history(proof, as_of, proof.key, CODES[EntryType.KEY_STATUS][key_status])
        _verify_listed_history(proof, as_of, proof.issuer, CODES[EntryType.ISSUER_STATUS][issuer.status])
    current = claimed if status is Status.VALID else status
    return CurrentStatus(current, issuer, key_status, proof.key.newest.index, since, as_of)


def _require_distinct(chunks: tuple[Chunk, ...]) -> None:
    if len({chunk.number for chunk in chunks}) != len(chunks):
        raise ProofInvalid("The bundle contains a chunk of the status list twice.")


def _read_final_status(change: EntryWithProof, statement: SignedStatement, index: int) -> Status:
    read = change.parse()
    subject = (read.members.get("id"), read.members.get("issuer_id"), read.members.get("minted_index"))
    is_same = subject == (str(statement.id), str(statement.issuer_id), index) and type(subject[2]) is int
    if read.kind != statement.kind.status_entry or not is_same:
        raise ProofInvalid(f"The status entry is about another {statement.kind.noun}.")
    status = next((each for each in statement.kind.final if each == read.members.get("status")), None)
    if status is None:
        raise ProofInvalid("The status entry has no valid status.")
    return status


def verify_status_fields(record: Mapping[str, object], proof: StatusProof, nonce: bytes, kind: RecordKind) -> None:
    """Verify that the status fields of a bundle's record equal those of its log entry; fields may be missing.

    Raises:
        ProofInvalid: a field differs from the log entry.
    """
    entry = {} if proof.change is None else proof.change.parse().members
    revoked_at = entry.get("at") if entry.get("status") == Status.REVOKED else None
    proven = {"superseded_by_attestation_id": entry.get("superseded_by"), "revoked_at": revoked_at}
    proven["status_log_index"] = None if proof.change is None else proof.change.index
    wrong = find_different(record, proven)
    reason = record.get("revocation_reason")
    commitment = entries.sha256_name(entries.reason_commitment(nonce, reason)) if isinstance(reason, str) else reason
    if "revocation_reason" in record and commitment != entry.get("reason"):
        wrong = wrong or "revocation_reason"
    if wrong is not None:
        raise ProofInvalid(f"/{kind.noun}/{wrong} differs from the log.")


def _verify_key_history(chain: StatusHistory, statement: SignedStatement, public_key: bytes) -> ParsedEntry:
    first, newest = _verify_history(chain, entries.key_subject(statement.issuer_id, statement.kid))
    if any(read.members.get("public_key") != b64url_encode(public_key) for read in (first, newest)):
        raise ProofInvalid("The key's status entry is about another key.")
    return newest


def _verify_history(chain: StatusHistory, subject: str) -> tuple[ParsedEntry, ParsedEntry]:
    """Parse both entries of a history; verify that they are about `subject`, and that the first starts its chain."""
    first, newest = chain.first.parse(), chain.newest.parse()
    if (first.subject, newest.subject) != (subject, subject):
        raise ProofInvalid("A status entry of the key or the issuer is about another subject.")
    if first.link is None or first.link.seq != 0:
        raise ProofInvalid("The first status entry does not start its chain.")
    return first, newest


def _read_issuer_facts(chain: StatusHistory, statement: SignedStatement) -> IssuerFacts:
    _first, newest = _verify_history(chain, entries.issuer_subject(statement.issuer_id))
    try:
        status = IssuerStatus(str(newest.members.get("status")))
    except ValueError:
        raise ProofInvalid("The issuer's status entry has no valid status.") from None
    return IssuerFacts(status, chain.newest.index if status is IssuerStatus.REVOKED else None)


def _read_key_status(read: ParsedEntry) -> KeyStatus:
    try:
        return KeyStatus(str(read.members.get("status")))
    except ValueError:
        raise ProofInvalid("The key's status entry has no valid status.") from None


def _read_compromised_at(read: ParsedEntry) -> datetime | None:
    text = read.members.get("compromised_at")
    try:
        return None if text is None else parse_time(str(text))
    except ValidationFailed as error:
        raise ProofInvalid(error.message) from error


def _read_list_size(logged: EntryWithProof) -> int:
    """Return the size of a status list, which equals the index of its entry: the list covers all entries before it."""
    read = logged.parse()
    size = read.members.get("size")
    if read.kind != EntryType.STATUS_LIST or type(size) is not int or size != logged.index:
        raise ProofInvalid("The status list's entry is not that of a list of all entries before it.")
    return logged.index


def _verify_listed_history(proof: StatusProof, size: int, chain: StatusHistory, code: int) -> None:
    _verify_listed_code(proof.chunks, size, chain.first.index, code, chain.newest.index)


def _verify_listed_code(chunks: tuple[Chunk, ...], size: int, index: int, code: int, changed_index: int | None) -> None:
    """Verify that the status list has `code` for the entry at `index`, unless the change came after the list."""
    if index >= size:
        raise ProofInvalid(f"The status list covers {size} entries, and does not include entry {index}.")
    chunk = {chunk.number: chunk for chunk in chunks}.get(index // INDEXES_PER_CHUNK)
    if chunk is None or len(chunk.data) != CHUNK_BYTES:
        raise ProofInvalid(f"The bundle lacks the chunk of the status list that covers entry {index}.")
    is_later = changed_index is not None and changed_index >= size
    if not is_later and chunk.code_of(index) != code:
        raise ProofInvalid("The status list contains a change that is missing from the bundle.")


def verify_status_entries(proof: StatusProof, *, size: int, root: bytes) -> None:
    """Verify that every entry is in the tree with this root, and every chunk in the status list.

    Raises:
        ProofInvalid: a path does not lead to the root or to the list's digest.
    """
    for logged in proof.entries:
        logged.verify_inclusion(size=size, root=root)
    if proof.list_entry is not None:
        members = proof.list_entry.parse().members
        for name, chunks in (("digest", proof.chunks), ("receipts_digest", proof.receipt_chunks)):
            for chunk in chunks:
                verify_chunk(chunk, size=proof.list_entry.index, digest=_read_digest(members, name))


def _read_digest(members: dict[str, object], name: str) -> bytes:
    try:
        return parse_sha256(str(members.get(name)))
    except ValueError as error:
        raise ProofInvalid(f"The status list's digest is invalid: {error}.") from error
