"""Hops: delegations from one agent to the next as compact JWS (RFC 7515), each with the hash of the hop before.

The header is the canonical `{"alg": "EdDSA", "kid", "typ": "agent-delegation+jwt"}`, and the payload the canonical
JSON (RFC 8785) of `{v, id, tenant_id, parent, child, child_key, scopes, denies, depth, iat, exp, prev}`
(CONTRACT 11.10). A hop has one spelling: another one, with the same meaning, is refused.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final, NamedTuple, TypedDict

from attestlab.agents.scopes import SCOPE_PATTERN, ScopeSet
from attestlab.core.crypto import jws
from attestlab.core.crypto.canonical_json import canonical_trusted, sha256_b64url
from attestlab.core.crypto.jws import TypedToken
from attestlab.core.crypto.signing import Algorithm, PrivateKey
from attestlab.core.errors import IntegrityFailed, ValidationFailed
from attestlab.core.strict_json import parse_json

TYP: Final = "agent-delegation+jwt"
ALGORITHM: Final = Algorithm.ED25519
VERSION: Final = 1
MAX_HOP_LENGTH: Final = 32 * 1024  # characters; a hop with the most and longest scopes has 24,000
MAX_HOP_SCOPES: Final = 64  # of allows, and of denies
_END_OF_TIME: Final = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp())
_UUID: Final = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_SHA256: Final = "[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]"  # base64url of 32 bytes
_SCOPES: Final = f'(?:"{SCOPE_PATTERN}"(?:,"{SCOPE_PATTERN}")*)?'
_TIME: Final = "0|[1-9][0-9]{0,11}"
# The canonical JSON of a hop, whole. What another parser could read differently, such as a duplicate member, an escape
# or another order, does not match.
_PAYLOAD: Final = re.compile(
    (
        rf'\{{"child":"({_UUID})","child_key":"({_SHA256})","denies":\[({_SCOPES})\],"depth":([1-9][0-9]{{0,3}}),'
        rf'"exp":({_TIME}),"iat":({_TIME}),"id":"({_UUID})","parent":"({_UUID})","prev":(?:null|"({_SHA256})"),'
        rf'"scopes":\[({_SCOPES})\],"tenant_id":"({_UUID})","v":{VERSION}\}}'
    ).encode("ascii")
)


class HopMembers(TypedDict):
    """The payload of a hop."""

    v: int
    id: str
    tenant_id: str
    parent: str
    child: str
    child_key: str
    scopes: list[str]
    denies: list[str]
    depth: int
    iat: int
    exp: int
    prev: str | None


class Hop(NamedTuple):
    """What a parent grants to a child; `scopes` has the allows of the hop, and every deny that holds from here on.

    Ids are UUIDs as texts, in lower case: a chain has four a hop, and parsing them would take a tenth of its time.
    """

    id: str
    tenant_id: str
    parent: str
    child: str
    child_key: str
    """The JWK thumbprint (RFC 7638) of the child's key when the parent signed."""
    scopes: ScopeSet
    depth: int
    issued_at: datetime
    expires_at: datetime
    prev: str | None
    """The SHA-256 of the hop before, as base64url; None for the hop of a root."""

    def payload(self) -> bytes:
        """Return the canonical JSON that the parent signs; times are whole seconds."""
        members = HopMembers(
            v=VERSION,
            id=self.id,
            tenant_id=self.tenant_id,
            parent=self.parent,
            child=self.child,
            child_key=self.child_key,
            scopes=sorted(self.scopes.allows),
            denies=sorted(self.scopes.denies),
            depth=self.depth,
            iat=int(self.issued_at.timestamp()),
            exp=int(self.expires_at.timestamp()),
            prev=self.prev,
        )
        return canonical_trusted(members)

    def signing_input(self, kid: str) -> str:
        """Return the text that the owner of key `kid` signs: `header.payload`, both base64url."""
        return jws.typed_signing_text(ALGORITHM, kid, TYP, self.payload())

    def sign(self, kid: str, private: PrivateKey) -> str:
        """Sign the hop with the parent's key."""
        return jws.sign_typed(ALGORITHM, private, kid, TYP, self.payload())


class SignedHop(NamedTuple):
    """A hop as it was read from its JWS, with a signature that is yet to be verified."""

    hop: Hop
    jws: TypedToken
    digest: str
    """The SHA-256 of the JWS, as base64url: what the next hop names as `prev`."""

    @property
    def kid(self) -> str:
        """The key that its header names."""
        return self.jws.kid


def compute_digest(token: str) -> str:
    """Compute what the next hop names as `prev`: the SHA-256 of a hop's JWS, as base64url."""
    return sha256_b64url(token.encode("ascii"))


def read_hop(token: object) -> SignedHop:
    """Read a hop from its JWS, strictly; the caller has yet to verify its signature.

    Raises:
        IntegrityFailed: it is no compact JWS of this type, or its payload is no canonical hop.
    """
    if not isinstance(token, str) or not token.isascii():
        raise IntegrityFailed("A hop is a compact JWS, a text of ASCII characters.")
    if len(token) > MAX_HOP_LENGTH:
        raise IntegrityFailed(f"A hop has at most {MAX_HOP_LENGTH:,} characters; this one has {len(token):,}.")
    read = jws.read_typed(token, alg=ALGORITHM, typ=TYP)
    return SignedHop(_read_payload(read.payload), read, compute_digest(token))


def _read_payload(payload: bytes) -> Hop:
    found = _PAYLOAD.fullmatch(payload)
    if found is None:
        raise IntegrityFailed(_explain_payload(payload))
    texts = [None if part is None else part.decode("ascii") for part in found.groups()]
    child, child_key, denies, depth, exp, iat, hop_id, parent, prev, scopes, tenant_id = texts
    return Hop(
        str(hop_id),
        str(tenant_id),
        str(parent),
        str(child),
        str(child_key),
        ScopeSet(_read_list(str(scopes)), _read_list(str(denies))),
        int(str(depth)),
        _read_time(str(iat)),
        _read_time(str(exp)),
        prev,
    )


def _read_list(text: str) -> frozenset[str]:
    """Read the inside of a JSON array of scopes."""
    scopes = text[1:-1].split('","') if text else []
    found = frozenset(scopes)
    if len(scopes) > MAX_HOP_SCOPES:
        raise IntegrityFailed(f"The payload lists {len(scopes)} scopes; at most {MAX_HOP_SCOPES} are allowed.")
    if sorted(found) != scopes:
        raise IntegrityFailed("The payload does not list its scopes in alphabetical order, each once.")
    return found


def _read_time(text: str) -> datetime:
    seconds = int(text)
    if seconds > _END_OF_TIME:
        raise IntegrityFailed(f"The payload has the time {seconds}, which is after the year 9999.")
    return datetime.fromtimestamp(seconds, UTC)


def _explain_payload(payload: bytes) -> str:
    try:
        members = parse_json(payload)
    except ValidationFailed as error:
        return f"The payload cannot be read: {error.message}"
    version = members.get("v") if isinstance(members, dict) else None
    if type(version) is int and version > VERSION:
        return f"The payload has version {version}; this verifier knows {VERSION}. Update it."
    return f"The payload is not the canonical JSON (RFC 8785) of a hop of version {VERSION}."
