"""New keys, of issuers and of agents: made by the service, or loaded from the public half that their owner sends."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypedDict
from uuid import UUID

from attestlab.core.crypto import signing
from attestlab.core.crypto.rsa_moduli import require_unfactorable
from attestlab.core.crypto.signing import Algorithm, PrivateKey, PublicKey
from attestlab.issuers import rules
from attestlab.issuers.rules import Custody, KeyStatus

KID_BYTES: Final = 6
UNLOGGED: Final = -1  # the log index of a row until the log has its entry


class NewKeyColumns(TypedDict):
    """The columns of a new key's row that issuers and agents share; the caller logs the key and sets `log_index`."""

    kid: str
    tenant_id: UUID
    alg: str
    spki: bytes
    sealed: bytes | None
    custody: str
    status: str
    created_at: datetime
    rotated_at: None
    compromised_at: None
    log_index: int
    changed_index: None


@dataclass(frozen=True)
class NewKey:
    """A key to register; `private` is None for an external key, whose private key only its owner holds."""

    kid: str
    alg: Algorithm
    public: PublicKey
    private: PrivateKey | None = field(repr=False)
    status: KeyStatus = KeyStatus.ACTIVE

    def build_columns(self, sealed: bytes | None, tenant_id: UUID, now: datetime) -> NewKeyColumns:
        """Build the columns of the key's row that issuers and agents share; `sealed` is a managed private key."""
        return {
            "kid": self.kid,
            "tenant_id": tenant_id,
            "alg": self.alg.value,
            "spki": signing.spki(self.public),
            "sealed": sealed,
            "custody": (Custody.EXTERNAL if sealed is None else Custody.MANAGED).value,
            "status": self.status.value,
            "created_at": now,
            "rotated_at": None,
            "compromised_at": None,
            "log_index": UNLOGGED,
            "changed_index": None,
        }


def make_managed_key(
    kid: str, alg: Algorithm, private: PrivateKey | None, status: KeyStatus = KeyStatus.ACTIVE
) -> NewKey:
    """Make a managed key from the given pair, or from a newly generated one."""
    kid, pair = rules.validate_kid(kid), private or signing.generate(alg)
    return NewKey(kid, alg, pair.public_key(), pair, status)


def load_external_key(kid: str, alg: Algorithm, public_key: bytes, prefix: str = "") -> NewKey:
    """Validate an external key; errors name its field, to which `prefix` is prepended.

    Testing an RSA modulus takes up to 0.3 s (8192 bits); the result is cached.
    """
    field = f"/{prefix}public_key_b64url"
    public = signing.load_new_public(alg, public_key, field=field)
    require_unfactorable(public, field=field)
    return NewKey(rules.validate_kid(kid), alg, public, None)


def generate_kid(alg: Algorithm) -> str:
    """Generate a kid for a key without one."""
    return f"{alg.value.lower()}-{secrets.token_hex(KID_BYTES)}"
