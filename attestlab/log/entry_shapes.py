"""The members of each type of log entry, for the data dictionary (CONTRACT section 7); `entries.py` writes them."""

from typing import Literal

from attestlab.core.shapes import Out


class EntryMembers(Out, source="CONTRACT 7"):
    """The members of every entry."""

    v: int
    """Version of the entry. Format: 1."""
    at: str
    """When the entry was made. Format: RFC 3339 date-time, UTC, milliseconds."""


class StatusMembers(EntryMembers, source="CONTRACT 7"):
    """The members of an entry in the chain of its subject."""

    seq: int
    """Its number among the entries of its subject. Format: from 0."""
    prev: str | None
    """Leaf hash of the previous entry of that chain; null for the first. Format: sha256: and 64 hex digits."""


class MintedMembers(EntryMembers, wire_name="log_entry:attestation.minted", source="CONTRACT 7"):
    """The entry of a mint; it discloses neither payload nor signature."""

    type: Literal["attestation.minted"]
    """The type of the entry. Format: attestation.minted."""
    id: str
    """The attestation. Format: UUID, 36 characters."""
    issuer_id: str
    """The issuer that attests. Format: UUID, 36 characters."""
    kid: str
    """The key that signed. Format: 1-64 of A-Z a-z 0-9 . _ : -."""
    alg: str
    """Its algorithm. Format: Ed25519, ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384 or PS512."""
    key: str
    """Hash of the public key's SubjectPublicKeyInfo. Format: sha256: and 64 hex digits."""
    commit: str
    """Hash of the nonce followed by canonical JSON of payload and signature; reveals neither.
    Format: sha256: and 64 hex digits.
    """


class AttestationStatusMembers(StatusMembers, wire_name="log_entry:attestation.status", source="CONTRACT 7"):
    """The entry that ends an attestation."""

    type: Literal["attestation.status"]
    """The type of the entry. Format: attestation.status."""
    id: str
    """The attestation. Format: UUID, 36 characters."""
    issuer_id: str
    """The issuer of the attestation. Format: UUID, 36 characters."""
    minted_index: int
    """The index of the attestation's mint. Format: from 0."""
    status: str
    """Its final status. Format: REVOKED, SUPERSEDED or EXPIRED."""
    reason: str | None
    """Hash of the attestation's nonce followed by canonical JSON of the reason; null if there is none.
    Format: sha256: and 64 hex digits.
    """
    superseded_by: str | None
    """The attestation that replaced it. Format: UUID, 36 characters."""


class ReceiptMintedMembers(MintedMembers, wire_name="log_entry:receipt.minted", source="CONTRACT 11.5"):
    """The entry of a receipt's mint; it discloses neither payload nor signature."""

    type: Literal["receipt.minted"]  # type: ignore[assignment]
    """The type of the entry. Format: receipt.minted."""
    id: str
    """The receipt. Format: UUID, 36 characters."""
    commit: str
    """Hash of the nonce followed by canonical JSON of payload, here the payload's hash, and signature; reveals neither.
    Format: sha256: and 64 hex digits.
    """


class ReceiptStatusMembers(StatusMembers, wire_name="log_entry:receipt.status", source="CONTRACT 11.5"):
    """The entry that ends a receipt."""

    type: Literal["receipt.status"]
    """The type of the entry. Format: receipt.status."""
    id: str
    """The receipt. Format: UUID, 36 characters."""
    issuer_id: str
    """The issuer of the receipt. Format: UUID, 36 characters."""
    minted_index: int
    """The index of the receipt's mint. Format: from 0."""
    status: str
    """Its final status. Format: REVOKED."""
    reason: str | None
    """Hash of the log entry's nonce followed by canonical JSON of the reason; null if there is none.
    Format: sha256: and 64 hex digits.
    """


class KeyStatusMembers(StatusMembers, wire_name="log_entry:key.status", source="CONTRACT 7"):
    """The entry of a key's new status; `reason` and `compromised_at` are left out where they are not known."""

    type: Literal["key.status"]
    """The type of the entry. Format: key.status."""
    issuer_id: str
    """The issuer of the key. Format: UUID, 36 characters."""
    kid: str
    """The key. Format: 1-64 of A-Z a-z 0-9 . _ : -."""
    alg: str
    """Its algorithm. Format: Ed25519, ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384 or PS512."""
    public_key: str
    """The public key. Format: DER SubjectPublicKeyInfo, base64url."""
    status: str
    """Its new status. Format: pending, active, rotated, revoked or compromised."""
    reason: str
    """The reason. Format: text; left out if none was given."""
    compromised_at: str
    """Since when others may have signed with it.
    Format: RFC 3339 date-time, UTC, milliseconds; left out if it is not known.
    """


class AgentKeyMembers(StatusMembers, wire_name="log_entry:agent.key", source="CONTRACT 11.8"):
    """The entry of an agent's new key, or of a key's new status; it has no reason, which may name people."""

    type: Literal["agent.key"]
    """The type of the entry. Format: agent.key."""
    agent_id: str
    """The agent. Format: UUID, 36 characters."""
    kid: str
    """The key. Format: agk_ and 24 hex digits."""
    alg: str
    """Its algorithm. Format: Ed25519."""
    public_key: str
    """The public key. Format: DER SubjectPublicKeyInfo, base64url."""
    status: str
    """Its new status. Format: active, rotated or compromised."""
    compromised_at: str
    """Since when others may have signed with it.
    Format: RFC 3339 date-time, UTC, milliseconds; left out if it is not known.
    """


class AgentStatusMembers(StatusMembers, wire_name="log_entry:agent.status", source="CONTRACT 11.8"):
    """The entry of an agent's change of status; a new agent is active without one."""

    type: Literal["agent.status"]
    """The type of the entry. Format: agent.status."""
    agent_id: str
    """The agent. Format: UUID, 36 characters."""
    status: str
    """Its new status. Format: active, suspended or revoked."""


class DelegationStatusMembers(StatusMembers, wire_name="log_entry:delegation.status", source="CONTRACT 11.10"):
    """The entry of a new delegation, or of its revocation; it names neither agents nor scopes."""

    type: Literal["delegation.status"]
    """The type of the entry. Format: delegation.status."""
    delegation_id: str
    """The delegation. Format: UUID, 36 characters."""
    hop: str
    """The SHA-256 of the hop's JWS, by which a holder of the chain recognizes it. Format: base64url, 43 characters."""
    status: str
    """Its new status. Format: active or revoked."""


class RunCompletedMembers(StatusMembers, wire_name="log_entry:run.completed", source="CONTRACT 11.12"):
    """The entry of a run that ended; it names neither agents nor steps."""

    type: Literal["run.completed"]
    """The type of the entry. Format: run.completed."""
    orchestration_id: str
    """The run. Format: UUID, 36 characters."""
    status: str
    """How it ended. Format: completed, failed or canceled."""
    run_hash: str
    """The SHA-256 of the run's RFC 8785 form, by which a holder of the run recognizes it.
    Format: base64url, 43 characters.
    """
    seq: int
    """Its number among the entries of the run, which has one. Format: 0."""
    prev: str | None
    """The leaf hash of an entry before; a run ends once, so it has none. Format: null."""


class IssuerStatusMembers(StatusMembers, wire_name="log_entry:issuer.status", source="CONTRACT 7"):
    """The entry of an issuer's new status, ratings and profile."""

    type: Literal["issuer.status"]
    """The type of the entry. Format: issuer.status."""
    issuer_id: str
    """The issuer. Format: UUID, 36 characters."""
    status: str
    """Its new status. Format: ACTIVE, SUSPENDED or REVOKED."""
    trust_tier: str
    """Its new trust tier. Format: SELF_SIGNED, BASIC, VERIFIED or ENTERPRISE."""
    risk_rating: str
    """Its new risk rating. Format: LOW, MEDIUM, HIGH or CRITICAL."""
    jurisdiction: str | None
    """Its new jurisdiction. Format: ISO 3166-1 alpha-2."""
    profile: str
    """SHA-256 of the canonical JSON of {name, domain}; entries of earlier versions have none.
    Format: sha256: and 64 hex digits.
    """


class StatusListMembers(StatusMembers, wire_name="log_entry:status.list", source="CONTRACT 7"):
    """The entry of a status list."""

    type: Literal["status.list"]
    """The type of the entry. Format: status.list."""
    size: int
    """The number of entries that the list covers; also the index of this entry. Format: from 1."""
    digest: str
    """RFC 6962 Merkle tree hash of the list's chunks. Format: sha256: and 64 hex digits."""
    receipts_digest: str
    """The same hash of the list of receipts; entries of earlier versions have none. Format: sha256: and 64 hex digits.
    """
    seq: int
    """Its number among the lists. Format: from 0."""
    prev: str | None
    """Leaf hash of the previous list; null for the first. Format: sha256: and 64 hex digits."""


ALL = (
    *(MintedMembers, AttestationStatusMembers, KeyStatusMembers, IssuerStatusMembers, StatusListMembers),
    *(ReceiptMintedMembers, ReceiptStatusMembers),
    *(AgentKeyMembers, AgentStatusMembers, DelegationStatusMembers, RunCompletedMembers),
)
