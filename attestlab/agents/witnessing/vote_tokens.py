"""Votes as compact JWS (RFC 7515): what an agent says about the claim of a request, signed with its key.

The header is the canonical `{"alg": "EdDSA", "kid", "typ": "agent-vote+jwt"}` (RFC 8725 section 3.11), and the payload
the canonical JSON (RFC 8785) of `{v, iss, jti, iat, request_id, claim_sha256, verdict, evidence_sha256, confidence}`
(CONTRACT 11.11). A vote has one spelling: another one, with the same meaning, is refused.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple, TypedDict
from uuid import UUID

from attestlab.agents import holder_signatures
from attestlab.agents.witnessing.rules import VoteVerdict
from attestlab.core.crypto import jws, signing
from attestlab.core.crypto.canonical_json import canonical, sha256_b64url
from attestlab.core.crypto.signing import Algorithm, PrivateKey
from attestlab.core.encoding import parse_uuid
from attestlab.core.errors import IntegrityFailed, ValidationFailed
from attestlab.core.strict_json import parse_json

if TYPE_CHECKING:
    from attestlab.agents.tables import AgentKeyRecord

TYP: Final = "agent-vote+jwt"
ALGORITHM: Final = Algorithm.ED25519
VERSION: Final = 1
MAX_VOTE_LENGTH: Final = 2048  # characters; the longest vote has 800


class VoteMembers(TypedDict):
    """The payload of a vote."""

    v: int
    iss: str
    jti: str
    iat: int
    request_id: str
    claim_sha256: str
    verdict: str
    evidence_sha256: str | None
    confidence: float | None


class UnsignedVote(NamedTuple):
    """What an agent says about the claim of a request."""

    id: UUID
    agent_id: UUID
    request_id: UUID
    claim_sha256: str
    verdict: VoteVerdict
    evidence_sha256: str | None
    confidence: float | None
    issued_at: datetime

    def payload(self) -> bytes:
        """Return the canonical JSON that the agent signs; the time is in whole seconds."""
        members = VoteMembers(
            v=VERSION,
            iss=str(self.agent_id),
            jti=str(self.id),
            iat=int(self.issued_at.timestamp()),
            request_id=str(self.request_id),
            claim_sha256=self.claim_sha256,
            verdict=self.verdict.value,
            evidence_sha256=self.evidence_sha256,
            confidence=self.confidence,
        )
        return canonical(members)

    def signing_input(self, kid: str) -> str:
        """Return the text that the owner of key `kid` signs: `header.payload`, both base64url."""
        return jws.typed_signing_text(ALGORITHM, kid, TYP, self.payload())


class SignedVote(NamedTuple):
    """A vote's JWS, and the vote that it states."""

    jws: str
    vote: UnsignedVote


def compute_evidence_digest(evidence: str | None) -> str | None:
    """Compute the SHA-256 of the evidence's UTF-8, as base64url; None without evidence."""
    return None if evidence is None else sha256_b64url(evidence.encode())


def sign_vote(
    unsigned: UnsignedVote, key: AgentKeyRecord, private: PrivateKey | None, signature: str | None, *, now: datetime
) -> SignedVote:
    """Sign a vote, or take it as the holder of the agent's own key signed it; `private` is None for such a key.

    Raises:
        ValidationFailed: the signature is missing, superfluous, not current, or not of this vote and key.
    """
    if private is not None:
        if signature is not None:
            raise holder_signatures.refuse_superfluous("signature")
        return SignedVote(jws.sign_typed(ALGORITHM, private, key.kid, TYP, unsigned.payload()), unsigned)
    if signature is None:
        signing_input = unsigned.signing_input(key.kid)
        raise holder_signatures.ask_for_signature(signing_input, "the same body with the JWS as signature")
    return SignedVote(signature, _read_signed(signature, unsigned, key, now))


def _read_signed(signature: str, unsigned: UnsignedVote, key: AgentKeyRecord, now: datetime) -> UnsignedVote:
    """Read the signed vote; id and time are those that the service proposed in the answer before."""
    try:
        signed_id, issued_at = _read_proposal(signature)
        proposed = unsigned._replace(id=signed_id, issued_at=issued_at)
        verify_vote(signature, proposed, key)
    except IntegrityFailed as error:
        raise holder_signatures.refuse_signature("vote", error.message) from None
    holder_signatures.require_recent(proposed.issued_at.timestamp(), now=now)
    return proposed


def verify_vote(token: str, vote: UnsignedVote, key: AgentKeyRecord) -> None:
    """Verify that a JWS is exactly this vote, signed with this key.

    Raises:
        IntegrityFailed: its type, key, payload or signature differs.
    """
    if not token.isascii():
        raise IntegrityFailed("A vote is a compact JWS, a text of ASCII characters.")
    read = jws.read_typed(token, alg=ALGORITHM, typ=TYP)
    if read.kid != key.kid or read.payload != vote.payload():
        raise IntegrityFailed("It states another vote, or names another key.")
    read.verify(ALGORITHM, signing.load_public(ALGORITHM, key.spki))


def read_issued_at(token: str) -> datetime:
    """Read the time that a vote states; its signature is verified elsewhere.

    Raises:
        IntegrityFailed: it is no vote.
    """
    return _read_proposal(token)[1]


def _read_proposal(token: str) -> tuple[UUID, datetime]:
    """Read id and time of a vote, which only its signer knows again; what else it states is compared as a whole."""
    if not token.isascii():
        raise IntegrityFailed("A vote is a compact JWS, a text of ASCII characters.")
    try:
        members = parse_json(jws.read_typed(token, alg=ALGORITHM, typ=TYP).payload)
    except ValidationFailed as error:
        raise IntegrityFailed(f"The payload cannot be read: {error.message}") from None
    if not isinstance(members, dict):
        raise IntegrityFailed("The payload is not a JSON object.")
    jti, iat = members.get("jti"), members.get("iat")
    if not isinstance(jti, str) or type(iat) is not int or not 0 <= iat <= _END_OF_TIME:
        raise IntegrityFailed("The payload lacks jti or iat as they were proposed.")
    try:
        return parse_uuid(jti), datetime.fromtimestamp(iat, UTC)
    except ValidationFailed:
        raise IntegrityFailed("The payload's jti is not a UUID.") from None


_END_OF_TIME: Final = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp())
