"""Wire models of proofs: of inclusion in the log, and of a status; the signed statement (CONTRACT sections 5 and 7)."""

from pydantic import Field

from attestlab.core.shapes import Moment, Out
from attestlab.log.shapes import InclusionOut


class ProofOut(InclusionOut, wire_name="inclusion_proof"):
    """An inclusion proof; `hashes` are ordered from leaf to root, each `sha256:<hex>`."""


class TreeHeadOut(Out, wire_name="signed_tree_head", source="SPEC Proof bundle"):
    """A signed tree head; a verifier must trust only the `checkpoint` note."""

    tree_size: int
    """A copy for human readers; a verifier reads it from checkpoint. Format: entries."""
    root_hash: str
    """A copy for human readers; a verifier reads it from checkpoint. Format: sha256: and 64 hex digits."""
    signature: str
    """The log's signature, as in checkpoint. Format: C2SP signature blob, standard base64."""
    checkpoint: str
    """The signed note, verbatim; the only part that a verifier trusts. Format: C2SP signed note, text.
    Source: CONTRACT 7.
    """
    timestamp: Moment
    """The time in the log's cosignature. Format: RFC 3339 date-time, UTC, milliseconds. Source: CONTRACT 7."""
    cosignatures: list[str]
    """The signatures of witnesses. Format: C2SP signature lines. Source: CONTRACT 7."""


class LogEntryOut(Out, wire_name="bundle_log_entry", source="CONTRACT 7"):
    """The log entry (standard base64) and the nonce (hex) that opens its commitment."""

    entry_b64: str
    """The entry's exact bytes. Format: standard base64."""
    nonce: str
    """Opens the entry's commit. Format: 32 bytes, hex."""


class LoggedOut(Out, wire_name="logged_entry", source="CONTRACT 7"):
    """A log entry (standard base64) and its path to the root of the bundle's checkpoint, leaf to root."""

    entry_b64: str
    """The entry's exact bytes. Format: standard base64."""
    log_index: int
    """Its index in the log. Format: from 0."""
    hashes: list[str]
    """The path from leaf to root, under the bundle's checkpoint. Format: sha256: and 64 hex digits each."""


class ChainOut(Out, wire_name="entry_chain", source="CONTRACT 7"):
    """The first and the newest status entry of a key or an issuer, which are the same until the first change.

    For a revoked issuer, `newest` is the entry that revoked it.
    """

    first: LoggedOut
    """The first entry of a key or an issuer."""
    newest: LoggedOut
    """The newest entry; the same as first while nothing changed; for a revoked issuer the entry that revoked it."""


class IssuerChainOut(ChainOut, wire_name="issuer_entry_chain", source="CONTRACT 7"):
    """The status entries of an issuer; `profile` is an entry after the one that revoked it, and names the issuer."""

    first: LoggedOut
    """The first entry of the issuer."""
    profile: LoggedOut | None
    """The newest entry of a revoked issuer, where it is not newest; it names the issuer."""


class ChunkOut(Out, wire_name="status_chunk", source="CONTRACT 7"):
    """A chunk of a status list (standard base64) and its path to the list's digest."""

    number: int
    """Its number in the list; its first index is 4096 times this number. Format: from 0."""
    data_b64: str
    """Two bits for each index of the log. Format: standard base64, 1024 bytes."""
    hashes: list[str]
    """The path from leaf to the list's digest. Format: sha256: and 64 hex digits each."""


class StatusListOut(Out, source="CONTRACT 7"):
    """A status list that is in the log, with its chunks that cover the attestation, its key and its issuer."""

    entry: LoggedOut
    """The entry of the list."""
    chunks: list[ChunkOut]
    """The chunks that hold the attestation and its key."""
    receipt_chunks: list[ChunkOut] | None = Field(default=None, exclude_if=lambda value: value is None)
    """The chunk of the list of receipts that holds the receipt. Format: left out of an attestation's bundle.
    Source: CONTRACT 11.5.
    """


class StatusChainsOut(Out, source="CONTRACT 7"):
    """Status entries of the key and the issuer of a record, and the newest status list."""

    key: ChainOut
    """The entries of the signing key."""
    issuer: IssuerChainOut
    """The entries of the issuer."""
    list: StatusListOut | None
    """The newest status list that covers all three; null if none does yet."""


class StatusProofOut(StatusChainsOut, source="CONTRACT 7"):
    """Status entries of the attestation, its key and its issuer, and the newest status list."""

    attestation: LoggedOut | None
    """The entry that ended the attestation; null while there is none."""


class StatementMembers(Out, wire_name="statement", source="CONTRACT 5"):
    """The statement that an issuer's key signs, as RFC 8785 canonical JSON; for the data dictionary."""

    v: int
    """Version of the statement. Format: 1."""
    id: str
    """The attestation. Format: UUID, 36 characters."""
    issuer_id: str
    """The issuer that attests. Format: UUID, 36 characters."""
    kid: str
    """The key that signs. Format: 1-64 of A-Z a-z 0-9 . _ : -."""
    alg: str
    """The specification's name of the algorithm; the JWS header has EdDSA for Ed25519.
    Format: Ed25519, ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384 or PS512.
    """
    schema_id: str = Field(serialization_alias="schema")
    """The schema of the attested claims. Format: a schema id of the catalogue."""
    content_type: str
    """The type of the attested file. Format: a MIME type of the content type list."""
    payload_hash: str
    """Hash of the payload's bytes. Format: base64url SHA-256, 43 characters."""
    document_hash: str | None
    """Hash of the original file. Format: SHA-256, 64 lowercase hex digits."""
    claims_hash: str
    """Hash of the claims as RFC 8785 canonical JSON. Format: base64url SHA-256, 43 characters."""
    expiry_at: str | None
    """When it expires. Format: RFC 3339 date-time, UTC, milliseconds."""
    created_at: str
    """When it was minted. Format: RFC 3339 date-time, UTC, milliseconds."""
