"""A stranger who verifies exports with packages of others, from nothing but what the service publishes."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import httpx
from joserfc import jwt
from joserfc.jwk import KeySet
from jwcrypto.jwk import JWK
from sd_jwt.verifier import SDJWTVerifier

from attestlab.core.crypto.signing import Algorithm, PrivateKey, generate, sign, spki
from attestlab.core.encoding import b64url_encode, format_time
from support.attestations import make_mint_body, mint

ALGORITHMS = ["EdDSA", "ES256", "RS256", "PS256"]
# One attestation of each badge-like schema, whose achievement is named "Rust".
BADGE_CLAIMS: dict[str, dict[str, Any]] = {
    "degree": {"student_name": "Ada Lovelace", "degree_type": "Rust", "field_of_study": ["Mathematics", "Machines"]},
    "completion-cert": {"participant_name": "Ada Lovelace", "program_name": "Rust", "hours": 12.5},
    "course-credit": {"student_name": "Ada Lovelace", "course_name": "Rust", "credits": 6, "grade": 1.3},
    "micro-credential": {"earner_name": "Ada Lovelace", "credential_name": "Rust", "skills": ["ownership"]},
    "training-completion": {"trainee_name": "Ada Lovelace", "training_program": "Rust", "score": 93},
    "professional-certification": {"holder_name": "Ada Lovelace", "certification_name": "Rust"},
    "board-certification": {"physician_name": "Ada Lovelace", "specialty": "Rust", "board": "Northfield"},
    "skill-badge": {"earner_name": "Ada Lovelace", "skill_name": "Rust", "proficiency_level": "expert"},
    "competency": {"individual_name": "Ada Lovelace", "competency": "Rust", "level": 3},
    "industry-cert": {"holder_name": "Ada Lovelace", "certification": "Rust", "cert_id": "R-1"},
}


def mint_attestation(client: httpx.Client, issuer: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A fresh attestation."""
    answer = mint(client, make_mint_body(issuer, **changes))
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def register_external_key(client: httpx.Client, issuer: dict[str, Any], kid: str) -> PrivateKey:
    """A key that the issuer gets, and whose private half only the caller has."""
    private = generate(Algorithm.ED25519)
    key = {"kid": kid, "alg": "Ed25519", "public_key_b64url": b64url_encode(spki(private.public_key()))}
    assert client.post(f"/v1/issuers/{issuer['id']}/keys", json=key).status_code == 201
    return private


def mint_with_external_key(
    client: httpx.Client, issuer: dict[str, Any], private: PrivateKey, kid: str, *, created_at: datetime
) -> dict[str, Any]:
    """An attestation that an external key signed."""
    body = make_mint_body(issuer, kid=kid, alg="Ed25519", created_at=format_time(created_at))
    unsigned = mint(client, body).json()["details"]
    message: str = unsigned["signing_input_b64url"]
    token = f"{message}.{b64url_encode(sign(Algorithm.ED25519, private, message.encode()))}"
    answer = mint(client, {**body, "id": unsigned["id"], "signature": token})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def read_refusal(answer: httpx.Response) -> tuple[int, str, str]:
    """Status, code and reason of a refusal."""
    body = answer.json()
    return answer.status_code, body["code"], body["details"].get("reason", "")


def decode_jws_part(token: str, place: int) -> dict[str, Any]:
    """The header (0) or the payload (1) of a compact JWS, believed without a look at its signature."""
    text = token.partition("~")[0].split(".")[place]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return found


def fetch(client: httpx.Client, url: str) -> httpx.Response:
    """What a URL in an export leads to; the test's server has another host and port than the one in it."""
    answer = client.get(urlsplit(url).path)
    assert answer.status_code == 200, answer.text
    return answer


def fetch_issuer_keys(client: httpx.Client, issuer_url: str) -> dict[str, Any]:
    """Return the keys of the issuer that `iss` names, found as draft-ietf-oauth-sd-jwt-vc specifies."""
    metadata = client.get(f"/.well-known/jwt-vc-issuer{urlsplit(issuer_url).path}").json()
    assert metadata["issuer"] == issuer_url
    keys: dict[str, Any] = metadata["jwks"]
    return keys


@dataclass(frozen=True)
class VerifiedStatusList:
    """A verified status list."""

    token: str
    credential: dict[str, Any]
    bits: bytes

    def says(self, index: int) -> bool:
        """Whether the bit at an index is set, counted from the left."""
        return bool(self.bits[index // 8] & (128 >> index % 8))

    @property
    def set_indexes(self) -> list[int]:
        """Where a bit is set."""
        return [index for index in range(len(self.bits) * 8) if self.says(index)]


def fetch_status_list(client: httpx.Client, issuer_id: str) -> VerifiedStatusList:
    """An issuer's list, its signature verified with joserfc and the key that `iss` and `kid` lead to."""
    answer = client.get(f"/v1/status-lists/{issuer_id}")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/vc+jwt"), answer.text
    keys = KeySet.import_key_set(fetch_issuer_keys(client, decode_jws_part(answer.text, 1)["iss"]))  # type: ignore[arg-type]
    credential = dict(jwt.decode(answer.text, keys, algorithms=["EdDSA"]).claims)
    encoded = credential["credentialSubject"]["encodedList"]
    assert encoded[0] == "u"
    assert "=" not in encoded
    bits = gzip.decompress(base64.urlsafe_b64decode(encoded[1:] + "=" * (-(len(encoded) - 1) % 4)))
    return VerifiedStatusList(answer.text, credential, bits)


def verify_sd_jwt(client: httpx.Client, token: str) -> dict[str, Any]:
    """What the `sd-jwt` package finds verified in an SD-JWT, with the issuer's key of the metadata."""

    def key_of(issuer: str, header: dict[str, Any]) -> JWK:
        (found,) = [key for key in fetch_issuer_keys(client, issuer)["keys"] if key["kid"] == header["kid"]]
        return JWK(**{name: value for name, value in found.items() if name != "status"})

    payload: dict[str, Any] = SDJWTVerifier(token, key_of).get_verified_payload()
    return payload


def verify_badge(client: httpx.Client, token: str) -> dict[str, Any]:
    """The badge in a JWT, verified with joserfc and the key that its `kid` leads to."""
    key = fetch(client, decode_jws_part(token, 0)["kid"])
    assert key.headers["Content-Type"] == "application/jwk+json"
    keys = KeySet.import_key_set({"keys": [{**key.json(), "kid": decode_jws_part(token, 0)["kid"]}]})
    return dict(jwt.decode(token, keys, algorithms=ALGORITHMS).claims)
