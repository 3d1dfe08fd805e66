"""Access tokens: JWTs (RFC 7519, 8725) as compact JWS (RFC 7515), and their signing keys (RFC 7517, 7638).

A token does not choose how it is verified: its header must equal, byte for byte, the header of a stored key. A
verified signature stays valid, so its claims are cached. `Sessions` checks on every request whether the session is
still open.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from attestlab.core.crypto import jws, sealing, signing
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.crypto.signing import Algorithm, PrivateKey, PublicKey
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AuthInvalid, SignatureInvalid
from attestlab.core.records import audited_write
from attestlab.core.records.actors import SystemActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.identity import store
from attestlab.identity.rules import Claims
from attestlab.identity.tables import TokenKeyRecord
from attestlab.orgs import store as org_store

CACHE_CAPACITY = 10_000
ACTOR = SystemActor("attestlab")


@dataclass(frozen=True, slots=True)
class Verifier:
    """The public key of a token signing key."""

    kid: str
    alg: Algorithm
    public: PublicKey


@dataclass(frozen=True, slots=True)
class Signer:
    """The private key of a token signing key."""

    kid: str
    alg: Algorithm
    private: PrivateKey = field(repr=False)


class AccessTokens:
    """Signs and verifies access tokens; `issuer` returns the `iss` claim."""

    def __init__(self, *, storage: Storage, keyring: Keyring, issuer: Callable[[], str]) -> None:
        self.storage = storage
        self.keyring = keyring
        self.issuer = issuer
        self._signer: Signer | None = None
        self._verifiers: dict[str, Verifier] = {}  # by the protected header, of which each key has exactly one
        self._verified: dict[bytes, Claims] = {}  # by the SHA-256 of the token

    def sign(self, tx: Transaction, claims: Claims, *, at: datetime) -> str:
        """Sign the claims; the first token of an installation creates the key."""
        signer = self._signer or self._load_signer(tx) or self.create_key(tx, at=at)
        if self._signer is None:
            tx.after_commit(lambda: self._remember_signer(signer))
        return jws.sign_compact(signer.alg, signer.private, signer.kid, claims.canonical())

    def verify(self, token: str) -> Claims:
        """Verify a token's signature and return its claims, whether it is current or not.

        Raises:
            AuthInvalid: it was not signed here, or is not in canonical form.
        """
        digest = hashlib.sha256(token.encode()).digest()
        claims = self._verified.get(digest)
        if claims is None:
            claims = self._verify_signature(token)
            if len(self._verified) >= CACHE_CAPACITY:
                self._verified.clear()
            self._verified[digest] = claims
        return claims

    def public_jwks(self) -> list[dict[str, str]]:
        """Return all public keys as JWKs, newest first; the first login creates the first key."""
        return [signing.jwk(key.alg, key.public, key.kid) for key in self._list_verifiers()]

    def create_key(self, tx: Transaction, *, at: datetime, alg: Algorithm = Algorithm.ED25519) -> Signer:
        """Create a signing key. Processes that have not signed yet use it from now on; older keys still verify."""
        private = signing.generate(alg)
        public = private.public_key()
        kid = signing.thumbprint(alg, public)
        der = signing.dump_private(private)
        sealed = sealing.seal(tx, self.keyring, der, tenant_id=None, issuer_id=None, kid=kid, alg=alg.value)
        row = TokenKeyRecord(kid, alg.value, signing.spki(public), sealed, at)
        deed = AuditContext(org_store.get_operator_id(tx), ACTOR, "token_key.create", at)
        audited_write.insert(tx, store.token_keys, row, deed)
        return Signer(kid, alg, private)

    def rewrap(self, tx: Transaction, new: Keyring, *, at: datetime) -> int:
        """Seal the private keys under another key-encryption key; return their number."""
        rows = store.list_token_keys(tx)
        for row in rows:
            sealed = self.keyring.rewrap(row.sealed, new, tenant_id=None, issuer_id=None, kid=row.kid, alg=row.alg)
            deed = AuditContext(org_store.get_operator_id(tx), ACTOR, "token_key.rewrap", at)
            audited_write.change(tx, store.token_keys, row, {"sealed": sealed}, deed)
        return len(rows)

    def _verify_signature(self, token: str) -> Claims:
        try:
            header, payload = jws.split_compact(token)
            key = self._find_verifier(header)
            jws.verify_compact(key.alg, key.public, token, kid=key.kid, payload=payload)
        except SignatureInvalid:
            raise AuthInvalid from None
        claims = Claims.parse(payload)
        claims.require_valid(issuer=self.issuer())
        return claims

    def _find_verifier(self, header: str) -> Verifier:
        """Return the key with this header; reload the keys, since another process may have just created it."""
        if header not in self._verifiers:
            self._verifiers = {jws.protected_header(key.alg, key.kid): key for key in self._list_verifiers()}
        if header not in self._verifiers:
            raise AuthInvalid
        return self._verifiers[header]

    def _list_verifiers(self) -> list[Verifier]:
        with self.storage.read() as connection:
            return [_verifier_from(row) for row in store.list_signing_keys(connection)]

    def _remember_signer(self, signer: Signer) -> None:
        """Cache the signer; this runs after the commit, because the transaction may have created the key."""
        self._signer = signer

    def _load_signer(self, tx: Transaction) -> Signer | None:
        row = store.find_newest_signing_key(tx)
        if row is None:
            return None
        der = self.keyring.unseal(row.sealed, tenant_id=None, issuer_id=None, kid=row.kid, alg=row.alg)
        alg = Algorithm(row.alg)
        return Signer(row.kid, alg, signing.load_private(alg, der))


def _verifier_from(row: TokenKeyRecord) -> Verifier:
    alg = Algorithm(row.alg)
    return Verifier(row.kid, alg, signing.load_public(alg, row.spki))
