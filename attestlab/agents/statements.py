"""Statements of agents: typed JWTs that can never pass as a delegation, an assertion or a vote (CONTRACT 11.8).

The header names the type `agent-statement+jwt` (RFC 8725 section 3.11), and the service wraps what the agent states, so
that no member of it stands where another kind of token has one.
"""

from __future__ import annotations

from typing import Final, NamedTuple
from uuid import UUID

from attestlab.agents import holder_signatures, rules, store
from attestlab.agents.keys import ALG, AgentKeys
from attestlab.agents.lifecycle import get_active
from attestlab.agents.shapes import AgentStatementIn
from attestlab.agents.tables import AgentKeyRecord
from attestlab.core.clock import Clock
from attestlab.core.crypto import jws, signing
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import b64url_decode, b64url_encode
from attestlab.core.errors import SignatureInvalid, ValidationFailed
from attestlab.core.ids import new_id
from attestlab.core.records import audit
from attestlab.core.records.audit import AuditEntry
from attestlab.orgs.rules import Caller

STATEMENT_LIMIT_BYTES: Final = 16 * 1024


class AgentStatement(NamedTuple):
    """A statement as compact JWS, and the key that signed it."""

    jws: str
    kid: str


class _Claims(NamedTuple):
    """The members with which the service wraps a statement."""

    iss: UUID
    iat: int
    jti: UUID

    def encode(self, body: AgentStatementIn) -> bytes:
        """Return the canonical JSON that is signed."""
        claims = {"iss": str(self.iss), "iat": self.iat, "jti": str(self.jti)}
        return canonical({**claims, "statement": body.payload})


class AgentStatements:
    """Signs what agents state. `tx` is the unit of work to join; without it, a verb commits its own."""

    def __init__(self, *, storage: Storage, clock: Clock, keys: AgentKeys) -> None:
        self.storage = storage
        self.clock = clock
        self.keys = keys

    def sign(
        self, agent_id: UUID, body: AgentStatementIn, *, caller: Caller, tx: Transaction | None = None
    ) -> AgentStatement:
        """Sign a statement with an agent's key, or take the signature that its holder made.

        Raises:
            NotFound: the caller's tenant has no such agent.
            PermissionDenied: the caller is another agent.
            Conflict: the agent is not active.
            ValidationFailed: the statement is too large; or the key is the agent's own, and the signature is missing
                or not of this statement. `details` has what to sign.
        """
        rules.require_own(caller, agent_id, verb="state something for")
        rules.encode_object("payload", body.payload, STATEMENT_LIMIT_BYTES)
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            agent = get_active(tx.exec, agent_id, caller, now, verb="sign")
            key = store.get_key(tx.exec, agent_id, agent.key_id)
            claims = _Claims(agent_id, body.iat or int(now.timestamp()), body.jti or new_id(now))
            token = self._sign(key, claims, body)
            metadata = {"kid": key.kid, "jti": str(claims.jti)}
            entry = AuditEntry(
                caller.tenant_id, caller, "agent.sign", "agent", str(agent_id), at=now, metadata=metadata
            )
            audit.record(tx, entry)
        return AgentStatement(token, key.kid)

    def _sign(self, key: AgentKeyRecord, claims: _Claims, body: AgentStatementIn) -> str:
        signed = jws.signing_input(jws.typed_header(ALG, key.kid, rules.STATEMENT_TYPE), claims.encode(body))
        private = self.keys.unseal_signer(key)
        if private is not None:
            _require_no_signature(body)
            return f"{signed.decode('ascii')}.{b64url_encode(signing.sign(ALG, private, signed))}"
        if body.signature is None or body.iat is None or body.jti is None:
            what = "iat, jti and the JWS as signature, with the same payload"
            raise holder_signatures.ask_for_signature(signed.decode("ascii"), what, iat=claims.iat, jti=str(claims.jti))
        holder_signatures.require_recent(claims.iat, now=self.clock.now(), field="/iat")
        _require_signed(body.signature, signed, key)
        return body.signature


def _require_no_signature(body: AgentStatementIn) -> None:
    for name in ("signature", "iat", "jti"):
        if getattr(body, name) is not None:
            raise holder_signatures.refuse_superfluous(name)


def _require_signed(token: str, signed: bytes, key: AgentKeyRecord) -> None:
    start, _, signature = token.rpartition(".")
    try:
        if start != signed.decode("ascii") or signature.endswith("="):
            raise SignatureInvalid("another header or payload")
        signing.verify(ALG, signing.load_public(ALG, key.spki), b64url_decode(signature), signed)
    except (SignatureInvalid, ValidationFailed):
        raise holder_signatures.refuse_signature("payload, iat and jti") from None
