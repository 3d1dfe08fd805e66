"""Signing of hops: with a managed key, or by the holder of an external one, who returns what the service proposed."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from attestlab.agents import holder_signatures
from attestlab.agents.delegation.hops import ALGORITHM, Hop, read_hop
from attestlab.agents.tables import AgentKeyRecord
from attestlab.core.crypto import signing
from attestlab.core.crypto.signing import PrivateKey
from attestlab.core.errors import IntegrityFailed


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
            raise holder_signatures.refuse_superfluous("signature")
        return SignedByParent(unsigned.sign(key.kid, private), unsigned)
    if signature is None:
        signing_input = unsigned.signing_input(key.kid)
        raise holder_signatures.ask_for_signature(signing_input, "the same body with the JWS as signature")
    return SignedByParent(signature, _read_signed(signature, unsigned, key, now, is_end_fixed))


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
        raise holder_signatures.refuse_signature("delegation", error.message) from None
    holder_signatures.require_recent(read.hop.issued_at.timestamp(), now=now)
    return read.hop
