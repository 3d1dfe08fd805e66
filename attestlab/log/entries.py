"""Log entries: typed canonical JSON objects, each with `v` 1 and a `type` (CONTRACT section 7).

A minted entry commits to the payload without disclosing it: SHA-256 over a random nonce and the canonical JSON of
`{payload, signature}`. The status entries of one subject form a chain by `seq` and `prev`, which shows an omitted one.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypedDict, Unpack
from uuid import UUID

import orjson

from attestlab.core.crypto.canonical_json import canonical, canonical_trusted
from attestlab.core.encoding import b64url_encode, format_time, quote
from attestlab.core.errors import IntegrityFailed, NewerEntry, ValidationFailed
from attestlab.core.strict_json import parse_json

VERSION = 1
NONCE_BYTES = 32
_SHA256 = re.compile("sha256:[0-9a-f]{64}")


class EntryType(StrEnum):
    """The types of entries."""

    MINTED = "attestation.minted"
    ATTESTATION_STATUS = "attestation.status"
    KEY_STATUS = "key.status"
    ISSUER_STATUS = "issuer.status"
    STATUS_LIST = "status.list"
    RECEIPT_MINTED = "receipt.minted"
    RECEIPT_STATUS = "receipt.status"
    AGENT_STATUS = "agent.status"
    AGENT_KEY = "agent.key"
    DELEGATION_STATUS = "delegation.status"
    RUN_COMPLETED = "run.completed"


_ATTESTATION_STATUS = EntryType.ATTESTATION_STATUS  # looked up once: a batch builds up to a hundred thousand entries
STATUS_LIST_SUBJECT = EntryType.STATUS_LIST.value  # all lists form one chain


@dataclass(frozen=True, slots=True)
class Link:
    """Position of a status entry in its subject's chain: number from 0, and leaf hash of the entry before it."""

    seq: int
    prev: bytes | None

    def members(self) -> dict[str, object]:
        """The members `seq` and `prev` of the entry."""
        return {"seq": self.seq, "prev": None if self.prev is None else sha256_name(self.prev)}


FIRST_LINK = Link(0, None)


def sha256_name(digest: bytes) -> str:
    """Format a SHA-256 digest as the log writes it: `sha256:` and 64 hex digits."""
    return f"sha256:{digest.hex()}"


def parse_sha256(text: str) -> bytes:
    """Parse a hash as the log writes it.

    Raises:
        ValueError: the text is not `sha256:` and 64 lowercase hex digits.
    """
    if not _SHA256.fullmatch(text):
        raise ValueError(f"{text[:80]!r} does not have the form sha256:<hex>")
    return bytes.fromhex(text.removeprefix("sha256:"))


def commitment(nonce: bytes, payload: bytes, signature: str) -> bytes:
    """Compute a minted entry's commitment to a 32-byte nonce, the payload (canonical JSON) and the signature (JWS)."""
    if len(nonce) != NONCE_BYTES:
        raise ValidationFailed(f"The nonce of a commitment has {len(nonce)} bytes instead of {NONCE_BYTES}.")
    opened = b'{"payload":' + payload + b',"signature":' + canonical(signature) + b"}"
    return hashlib.sha256(nonce + opened).digest()


class MintFacts(TypedDict):
    """What the entry of a mint has of its issuer, its key, its time and its commitment."""

    issuer_id: UUID
    kid: str
    alg: str
    public_spki: bytes
    at: datetime
    commit: bytes


def minted_entry(*, attestation_id: UUID, **facts: Unpack[MintFacts]) -> bytes:
    """The entry of a minted attestation: issuer, key, time, and the commitment to payload and signature."""
    return _minted_entry(EntryType.MINTED, attestation_id, **facts)


def receipt_minted_entry(*, receipt_id: UUID, **facts: Unpack[MintFacts]) -> bytes:
    """The entry of a minted receipt: issuer, key, time, and the commitment to payload hash and signature.

    It commits to the hash, so that its commitment still opens when the payload was redacted.
    """
    return _minted_entry(EntryType.RECEIPT_MINTED, receipt_id, **facts)


def _minted_entry(
    kind: EntryType,
    record_id: UUID,
    *,
    issuer_id: UUID,
    kid: str,
    alg: str,
    public_spki: bytes,
    at: datetime,
    commit: bytes,
) -> bytes:
    return build_entry(
        kind,
        id=record_id,
        issuer_id=issuer_id,
        kid=kid,
        alg=alg,
        key=sha256_name(hashlib.sha256(public_spki).digest()),
        at=format_time(at),
        commit=sha256_name(commit),
    )


def reason_commitment(nonce: bytes, reason: str) -> bytes:
    """Commit to a status reason; a reason may name people, so only a holder of the nonce can open it."""
    return hashlib.sha256(nonce + canonical(reason)).digest()


def attestation_status_entry(
    link: Link,
    *,
    attestation_id: UUID,
    issuer_id: UUID,
    minted_index: int,
    status: str,
    at: datetime,
    reason: bytes | None = None,
    superseded_by: UUID | None = None,
) -> bytes:
    """The entry that ends an attestation; `minted_index` is the index of its mint, `reason` a `reason_commitment`."""
    return build_entry(
        _ATTESTATION_STATUS,
        id=attestation_id,
        issuer_id=issuer_id,
        minted_index=minted_index,
        status=status,
        at=format_time(at),
        reason=None if reason is None else sha256_name(reason),
        superseded_by=superseded_by,
        **link.members(),
    )


def receipt_status_entry(
    link: Link,
    *,
    receipt_id: UUID,
    issuer_id: UUID,
    minted_index: int,
    status: str,
    at: datetime,
    reason: bytes | None = None,
) -> bytes:
    """The entry that ends a receipt; `minted_index` is the index of its mint, `reason` a `reason_commitment`."""
    return build_entry(
        EntryType.RECEIPT_STATUS,
        id=receipt_id,
        issuer_id=issuer_id,
        minted_index=minted_index,
        status=status,
        at=format_time(at),
        reason=None if reason is None else sha256_name(reason),
        **link.members(),
    )


class LoggedKeyFacts(TypedDict):
    """What the entry of a key's status has of the key, of an issuer or an agent."""

    kid: str
    alg: str
    public_spki: bytes
    status: str
    at: datetime


def key_status_entry(
    link: Link,
    *,
    issuer_id: UUID,
    reason: str | None = None,
    compromised_at: datetime | None = None,
    **key: Unpack[LoggedKeyFacts],
) -> bytes:
    """The entry of a key's new status; `compromised_at` is when others may have begun to sign with it, if known."""
    members = {"issuer_id": issuer_id, **key_members(key, compromised_at)}
    if reason is not None:
        members["reason"] = reason
    return build_entry(EntryType.KEY_STATUS, **members, **link.members())


def key_members(key: LoggedKeyFacts, compromised_at: datetime | None) -> dict[str, object]:
    """The members of an entry about a key; `compromised_at` is left out where it is not known."""
    known = {"public_key": b64url_encode(key["public_spki"]), "at": format_time(key["at"])}
    since = {} if compromised_at is None else {"compromised_at": format_time(compromised_at)}
    return {"kid": key["kid"], "alg": key["alg"], "status": key["status"], **known, **since}


def profile_name(name: str, domain: str | None) -> str:
    """Digest the name and the domain of an issuer, both public, as the log writes them."""
    return sha256_name(hashlib.sha256(canonical({"name": name, "domain": domain})).digest())


def issuer_status_entry(
    link: Link,
    *,
    issuer_id: UUID,
    status: str,
    trust_tier: str,
    risk_rating: str,
    jurisdiction: str | None,
    profile: str,
    at: datetime,
) -> bytes:
    """The entry of an issuer's new status, trust tier, risk rating, jurisdiction and profile (`profile_name`)."""
    return build_entry(
        EntryType.ISSUER_STATUS,
        issuer_id=issuer_id,
        status=status,
        trust_tier=trust_tier,
        risk_rating=risk_rating,
        jurisdiction=jurisdiction,
        profile=profile,
        at=format_time(at),
        **link.members(),
    )


def status_list_entry(
    link: Link, *, size: int, digest: bytes, at: datetime, receipts_digest: bytes | None = None
) -> bytes:
    """The entry of a status list: the digests of the lists of the `size` entries before it.

    Receipts have a list of their own, so that a verifier that does not know them computes the same `digest`. Entries
    of versions without receipts lack `receipts_digest`.
    """
    receipts = {} if receipts_digest is None else {"receipts_digest": sha256_name(receipts_digest)}
    return build_entry(
        EntryType.STATUS_LIST,
        size=size,
        digest=sha256_name(digest),
        at=format_time(at),
        **receipts,
        **link.members(),
    )


def build_entry(kind: EntryType, **members: object) -> bytes:
    """The canonical JSON of an entry of this version."""
    return canonical_trusted({"v": VERSION, "type": kind, **members})


def attestation_subject(attestation_id: UUID | str) -> str:
    """The name of the chain of one attestation's status entries."""
    return f"attestation:{attestation_id}"


def receipt_subject(receipt_id: UUID | str) -> str:
    """The name of the chain of one receipt's status entries."""
    return f"receipt:{receipt_id}"


def is_receipt_subject(subject: str) -> bool:
    """Whether a chain is that of a receipt's status entries."""
    return subject.startswith("receipt:")


def key_subject(issuer_id: UUID | str, kid: str) -> str:
    """The name of the chain of one key's status entries."""
    return f"key:{issuer_id}:{kid}"


def issuer_subject(issuer_id: UUID | str) -> str:
    """The name of the chain of one issuer's status entries."""
    return f"issuer:{issuer_id}"


@dataclass(frozen=True, slots=True)
class ParsedEntry:
    """A parsed entry: type, members, and its chain with its position there (both None for a minted entry)."""

    kind: str
    members: dict[str, object]
    subject: str | None
    link: Link | None


def parse_entry(entry: bytes) -> ParsedEntry:
    """Parse a stored entry.

    Raises:
        NewerEntry: the entry is canonical JSON of a newer version or of an unknown type.
        IntegrityFailed: it is no entry of the log at all.
    """
    try:
        members = _flat_members(entry) or parse_json(entry)
        if not isinstance(members, dict) or canonical(members) != entry:
            raise ValueError("not a canonical object")
        kind = _read_type(members)
        if kind is EntryType.ISSUER_STATUS and "profile" in members:  # entries of earlier versions have none
            parse_sha256(str(members["profile"]))
        subject = _subject(kind, members)
        return ParsedEntry(kind, members, subject, _link(members) if subject is not None else None)
    except (ValidationFailed, ValueError, KeyError) as error:
        raise IntegrityFailed(f"The log entry has no known format: {error}.") from error


def is_newer(entry: bytes) -> bool:
    """Whether an entry has a version or type that this version does not know."""
    try:
        parse_entry(entry)
    except NewerEntry:
        return True
    except IntegrityFailed:
        return False
    return False


def _read_type(members: dict[str, object]) -> EntryType:
    """Read the type of an entry of this version.

    Raises:
        NewerEntry: the version is newer, or the type is unknown.
        ValueError: there is no version, or no type.
    """
    version, kind = members.get("v"), members.get("type")
    if type(version) is not int or version < VERSION or not isinstance(kind, str):
        raise ValueError("it has no version or no type")
    if version > VERSION or kind not in _TYPES:
        raise NewerEntry(f"The log entry has version {version} and type {quote(kind)}, which this version cannot read.")
    return EntryType(kind)


_TYPES = frozenset(EntryType)
_SCALARS = frozenset({str, int, bool, type(None)})


def _flat_members(entry: bytes) -> dict[str, object] | None:
    """Parse a flat object without escapes in a third of `parse_json`'s time; None for any other entry.

    `parse_entry` checks that the canonical form of the members equals the entry, so duplicates, white space and
    other spellings are rejected; nesting and escaped characters, which `parse_json` restricts, are left to it.
    """
    if b"\\" in entry:
        return None
    try:
        members = orjson.loads(entry)
    except orjson.JSONDecodeError:
        return None
    if type(members) is not dict or not all(type(value) in _SCALARS for value in members.values()):
        return None
    return members


_SUBJECTS: dict[EntryType, tuple[str, ...]] = {
    EntryType.ATTESTATION_STATUS: ("attestation", "id"),
    EntryType.RECEIPT_STATUS: ("receipt", "id"),
    EntryType.KEY_STATUS: ("key", "issuer_id", "kid"),
    EntryType.ISSUER_STATUS: ("issuer", "issuer_id"),
    EntryType.AGENT_STATUS: ("agent", "agent_id"),
    EntryType.AGENT_KEY: ("agent-key", "agent_id", "kid"),
    EntryType.DELEGATION_STATUS: ("delegation", "delegation_id"),
    EntryType.RUN_COMPLETED: ("run", "orchestration_id"),
    EntryType.STATUS_LIST: (STATUS_LIST_SUBJECT,),
}  # the first part of a chain's name, and the members of its entries that are the others


def _subject(kind: EntryType, members: dict[str, object]) -> str | None:
    parts = _SUBJECTS.get(kind)
    return None if parts is None else ":".join([parts[0], *(str(members[name]) for name in parts[1:])])


def _link(members: dict[str, object]) -> Link:
    seq, prev = members["seq"], members["prev"]
    if type(seq) is not int or seq < 0:
        raise ValueError("its seq is not a number from 0")
    if (seq == 0) is not (prev is None):
        raise ValueError("only the first entry of a chain has no prev")
    return Link(seq, None if prev is None else parse_sha256(str(prev)))
