"""Signing of hops: with a managed key, or by the holder of an external one, who returns what the service proposed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from attestlab.agents.delegation.hops import ALGORITHM, Hop, read_hop
from attestlab.agents.tables import AgentKeyRecord
from attestlab.core.crypto import signing
from attestlab.core.crypto.signing import PrivateKey
from attestlab.core.errors import IntegrityFailed, ValidationFailed

MAX_AGE: Final = timedelta(minutes=5)  # between what the service proposed and the signature


class SignedByParent(NamedTuple):
    """A hop's JWS, and the hop that it states."""

    jws: str
    hop: Hop


def sign_hop(
    unsigned: Hop,
    key: AgentKeyRecord,
    private: PrivateKey | None,
    signature: str | None,
    *,
    now: datetime,
    is_end_fixed: bool,
) -> SignedByParent:
    """Sign a hop, or take it as the holder of the parent's own key signed it; `private` is None for such a key.

    With `is_end_fixed` the signed hop must end when `unsigned` does: its end was requested.

    Raises:
        ValidationFailed: the signature is missing, superfluous, not current, or not of this hop and key.
    """
    if private is not None:
        if signature is not None:
            message = "The service holds the parent's key and signs itself. Omit signature."
            raise ValidationFailed.of("/signature", "external_only", message)
        return SignedByParent(unsigned.sign(key.kid, private), unsigned)
    if signature is None:
        raise _ask_for_signature(unsigned, key)
    return SignedByParent(signature, _read_signed(signature, unsigned, key, now, is_end_fixed))


def _ask_for_signature(unsigned: Hop, key: AgentKeyRecord) -> ValidationFailed:
    message = (
        "The parent's key is its own: sign details.signing_input_b64url within five minutes, then send the same body "
        "with the JWS as signature."
    )
    error = ValidationFailed.of("/signature", "signature_required", message)
    error.details["signing_input_b64url"] = unsigned.signing_input(key.kid)
    return error


def _read_signed(signature: str, unsigned: Hop, key: AgentKeyRecord, now: datetime, is_end_fixed: bool) -> Hop:
    """Read the signed hop; id and times are those that the service proposed in the answer before."""
    try:
        read = read_hop(signature)
        proposed = unsigned._replace(id=read.hop.id, issued_at=read.hop.issued_at)
        if not is_end_fixed:
            proposed = proposed._replace(expires_at=read.hop.expires_at)
        if read.hop != proposed or read.kid != key.kid:
            raise IntegrityFailed("It states another delegation than the request.")
        read.jws.verify(ALGORITHM, signing.load_public(ALGORITHM, key.spki))
    except IntegrityFailed as error:
        message = f"The signature is not that of the parent's key over this delegation. {error.message}"
        raise ValidationFailed.of("/signature", "signature_invalid", message) from None
    if abs(now - read.hop.issued_at) > MAX_AGE:
        message = "The signed iat differs from the service's time by more than 300 s. Ask again what to sign."
        raise ValidationFailed.of("/signature", "not_recent", message)
    return read.hop
