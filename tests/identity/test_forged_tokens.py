"""Known ways to forge an access token (RFC 8725): all get the same error.

A case is a function of a `Forge`, which has everything an attacker has (a real token, the public key, keys of their
own) and also our private key, which no attacker has, so that single claims and headers can be wrong.
"""

from __future__ import annotations

import hmac
import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives import serialization

from attestlab.core.clock import FixedClock
from attestlab.core.crypto import signing
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.crypto.signing import Algorithm, PrivateKey
from attestlab.core.encoding import b64url_decode, b64url_encode
from attestlab.identity import store
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.settings import Settings
from support.identity import INVALID_CREDENTIALS, AuthClient, add_user, change_user, read_refusal
from support.in_process_server import make_client, serve_in_thread

AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
ORDER = 2**252 + 27742317777372353535851937790883648493  # of the group that Ed25519 signs in
OWN = {alg: signing.generate(alg) for alg in (Algorithm.ED25519, Algorithm.ES256, Algorithm.RS256)}


@dataclass
class Forge:
    """A real session and its data."""

    lab: Installation
    auth_client: AuthClient
    token: str
    refresh_token: str
    ended: str
    removed: str
    private: PrivateKey

    @property
    def parts(self) -> list[str]:
        return self.token.split(".")

    @property
    def header(self) -> dict[str, Any]:
        header: dict[str, Any] = json.loads(b64url_decode(self.parts[0]))
        return header

    @property
    def claims(self) -> dict[str, Any]:
        claims: dict[str, Any] = json.loads(b64url_decode(self.parts[1]))
        return claims

    @property
    def spki(self) -> bytes:
        return signing.spki(self.private.public_key())

    @property
    def pem(self) -> bytes:
        return self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    @property
    def raw(self) -> bytes:
        return self.private.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)

    def ours(self, header: Any = None, payload: Any = None) -> str:
        """Signs with our key, whatever the header is."""
        return self.own(header, payload, alg=Algorithm.ED25519, key=self.private)

    def own(self, header: Any = None, payload: Any = None, *, alg: Algorithm, key: PrivateKey | None = None) -> str:
        """Signs with the attacker's key, under our kid unless the header has another."""
        signed = f"{part(header or {**self.header, 'alg': alg.jose})}.{part(payload or self.claims)}"
        return f"{signed}.{b64url_encode(signing.sign(alg, key or OWN[alg], signed.encode()))}"

    def mac(self, secret: bytes, alg: str = "HS256", **header: Any) -> str:
        """Computes a MAC with public data as its secret."""
        signed = f"{part({**self.header, 'alg': alg, **header})}.{part(self.claims)}"
        return f"{signed}.{b64url_encode(hmac.digest(secret, signed.encode(), alg.replace('HS', 'sha')))}"

    def unsigned(self, alg: Any, signature: str = "") -> str:
        return f"{part({**self.header, 'alg': alg})}.{part(self.claims)}.{signature}"

    def saying(self, **changes: Any) -> str:
        """Signs other claims with our key."""
        return self.ours(payload={**self.claims, **changes})

    def headed(self, **changes: Any) -> str:
        """Signs with our key under another header."""
        return self.ours(header={**self.header, **changes})

    def without(self, claim: str) -> str:
        return self.ours(payload={name: value for name, value in self.claims.items() if name != claim})

    def at(self, offset_s: int, **changes: Any) -> str:
        """Issues a token at this offset from now, valid for an hour."""
        iat = int(self.lab.clock.now().timestamp()) + offset_s
        return self.saying(**{"iat": iat, "exp": iat + 3600, **changes})


def part(value: Any) -> str:
    """Encodes a part of a token: bytes unchanged, anything else as our JSON."""
    return b64url_encode(value if isinstance(value, bytes) else canonical(value))


def spelled_with(raw: str, spare_bits: int) -> str:
    """Encodes the same bytes in base64url with an unused bit set."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    assert len(raw) % 4, "no spare bits"
    return raw[:-1] + alphabet[alphabet.index(raw[-1]) ^ spare_bits]


def malleated(forge: Forge) -> str:
    """Returns the same signature with S + L in place of S: RFC 8032 forbids it, some verifiers accept it."""
    signature = b64url_decode(forge.parts[2])
    s = int.from_bytes(signature[32:], "little") + ORDER
    return ".".join([*forge.parts[:2], b64url_encode(signature[:32] + s.to_bytes(32, "little"))])


def with_part(forge: Forge, place: int, change: Callable[[str], str]) -> str:
    parts = forge.parts
    parts[place] = change(parts[place])
    return ".".join(parts)


def of_another_installation(forge: Forge) -> str:
    """Everything is right but the key; even the kid is ours."""
    return forge.own(alg=Algorithm.ED25519)


def json_serialised(forge: Forge, flattened: bool) -> str:
    protected, payload, signature = forge.parts
    one = {"protected": protected, "signature": signature}
    return json.dumps({"payload": payload, **one} if flattened else {"payload": payload, "signatures": [one]})


def with_twice(forge: Forge, name: str, value: Any) -> str:
    """Signs JSON with a duplicate claim with our key: parsers differ in which one they use."""
    once = canonical(forge.claims)
    return forge.ours(payload=once[:-1] + b"," + canonical({name: value})[1:])


JWK = signing.jwk(Algorithm.ED25519, OWN[Algorithm.ED25519].public_key(), "own")
SQL = "x' UNION SELECT kid, alg, spki, sealed, created_at FROM token_keys --"
Case = Callable[[Forge], str]

UNSIGNED: dict[str, Case] = {
    f"alg {alg!r}": lambda forge, alg=alg: forge.unsigned(alg)  # type: ignore[misc]
    for alg in ("none", "None", "NONE", "nOnE", "", None, "null", " none", 0, [], ["none"])
}
SYMMETRIC: dict[str, Case] = {
    "HS256 with the raw public key": lambda forge: forge.mac(forge.raw),
    "HS256 with the PEM": lambda forge: forge.mac(forge.pem),
    "HS256 with the PEM without its last line break": lambda forge: forge.mac(forge.pem.strip()),
    "HS256 with the SPKI": lambda forge: forge.mac(forge.spki),
    "HS256 with x of the JWK": lambda forge: forge.mac(b64url_encode(forge.raw).encode()),
    "HS256 with the kid": lambda forge: forge.mac(forge.header["kid"].encode()),
    "HS256 with nothing": lambda forge: forge.mac(b""),
    "HS384 with the SPKI": lambda forge: forge.mac(forge.spki, "HS384"),
    "HS512 with the PEM": lambda forge: forge.mac(forge.pem, "HS512"),
    "HS256 and a kid that is an empty file": lambda forge: forge.mac(b"", kid="../../../../dev/null"),
    "HS256 and a kid that is SQL": lambda forge: forge.mac(b"", kid=SQL),
}
OTHER_KEYS: dict[str, Case] = {
    "a key of one's own under our kid": of_another_installation,
    "RS256 under our kid": lambda forge: forge.own(alg=Algorithm.RS256),
    "ES256 under our kid": lambda forge: forge.own(alg=Algorithm.ES256),
    "ES256 signed but called EdDSA": lambda forge: forge.own(forge.header, alg=Algorithm.ES256),
    "ES256 with a signature of zeros": lambda forge: forge.unsigned("ES256", b64url_encode(bytes(64))),
    "EdDSA with a signature of zeros": lambda forge: forge.unsigned("EdDSA", b64url_encode(bytes(64))),
    "the key beside the token (jwk)": lambda forge: forge.own({**forge.header, "jwk": JWK}, alg=Algorithm.ED25519),
    "the key beside the token, without a kid": lambda forge: forge.own(
        {"alg": "EdDSA", "jwk": JWK}, alg=Algorithm.ED25519
    ),
    "the key at an address (jku)": lambda forge: forge.own(
        {**forge.header, "jku": "https://attacker.example/jwks.json"}, alg=Algorithm.ED25519
    ),
    "a certificate at an address (x5u)": lambda forge: forge.own(
        {**forge.header, "x5u": "https://attacker.example/c.pem"}, alg=Algorithm.ED25519
    ),
    "a certificate beside the token (x5c)": lambda forge: forge.own(
        {**forge.header, "x5c": [b64encode(forge.spki).decode()]}, alg=Algorithm.ED25519
    ),
    "its own kid": lambda forge: forge.own({"alg": "EdDSA", "kid": "own"}, alg=Algorithm.ED25519),
    "no kid": lambda forge: forge.own({"alg": "EdDSA"}, alg=Algorithm.ED25519),
}
HEADERS: dict[str, Case] = {
    "our key, no kid": lambda forge: forge.ours(header={"alg": "EdDSA"}),
    "our key, no alg": lambda forge: forge.ours(header={"kid": forge.header["kid"]}),
    "our key, kid with a path": lambda forge: forge.headed(kid="../" + forge.header["kid"]),
    "our key, kid that is SQL": lambda forge: forge.headed(kid=SQL),
    "our key, kid in capitals": lambda forge: forge.headed(kid=forge.header["kid"].upper()),
    "our key, kid in a list": lambda forge: forge.headed(kid=[forge.header["kid"]]),
    "our key, alg by its newer name": lambda forge: forge.headed(alg="Ed25519"),
    "our key, alg in small letters": lambda forge: forge.headed(alg="eddsa"),
    "our key, called RS256": lambda forge: forge.headed(alg="RS256"),
    "our key, embedded jwk": lambda forge: forge.headed(jwk=JWK),
    "our key, crit exp": lambda forge: forge.headed(crit=["exp"]),
    "our key, crit empty": lambda forge: forge.headed(crit=[]),
    "our key, crit unknown": lambda forge: forge.headed(crit=["bork"], bork=True),
    "our key, b64 false": lambda forge: forge.headed(b64=False, crit=["b64"]),
    "our key, b64 false without crit": lambda forge: forge.headed(b64=False),
    "our key, typ JWT": lambda forge: forge.headed(typ="JWT"),
    "our key, typ of a refresh token": lambda forge: forge.headed(typ="refresh+jwt"),
    "our key, typ none": lambda forge: forge.headed(typ=None),
    "our key, cty JWT": lambda forge: forge.headed(cty="JWT"),
    "our key, zip": lambda forge: forge.headed(zip="DEF"),
    "our key, header with a blank": lambda forge: forge.ours(header=json.dumps(forge.header).encode()),
    "our key, header in another order": lambda forge: forge.ours(
        header=json.dumps(dict(reversed(forge.header.items())), separators=(",", ":")).encode()
    ),
    "our key, header with alg twice": lambda forge: forge.ours(header=b'{"alg":"none",' + canonical(forge.header)[1:]),
    "our key, header is no object": lambda forge: forge.ours(header=b"[]"),
}
WRONG_TYPES: dict[str, tuple[Any, ...]] = {
    "sub": (None, 1, ["x"], "", "not a uuid", {"id": 1}),
    "tenant_id": (None, 1, "", "not a uuid"),
    "email": (None, 1, ["a@example.org"]),
    "roles": (None, "owner", {"owner": True}, [1], [None], [["owner"]]),
    "iat": (None, "1795251522", True, [], 1.5),
    "exp": (None, "9999999999", True, [], 1e300),
    "iss": (None, 1, ["x"]),
    "sid": (None, 1, "", "not a uuid"),
    "jti": (None, 1, []),
}
CLAIMS: dict[str, Case] = {
    **{
        f"without {name}": lambda forge, name=name: forge.without(name)  # type: ignore[misc]
        for name in WRONG_TYPES
    },
    **{
        f"{name} is {value!r}": lambda forge, name=name, value=value: forge.saying(**{name: value})  # type: ignore[misc]
        for name, values in WRONG_TYPES.items()
        for value in values
    },
    "expired by an hour": lambda forge: forge.at(-7200),
    "expired by a second": lambda forge: forge.at(-3601),
    "expired this very moment": lambda forge: forge.at(-3600),
    "begins a second later than a host may be ahead": lambda forge: forge.at(301),
    "begins tomorrow": lambda forge: forge.at(86400),
    "ends a second later than we let it": lambda forge: forge.at(0, exp=forge.claims["iat"] + 3601),
    "ends in a year": lambda forge: forge.at(0, exp=forge.claims["iat"] + 31_536_000),
    "ends before it begins": lambda forge: forge.at(0, exp=forge.claims["iat"] - 3600),
    "begins before there was time": lambda forge: forge.saying(iat=-(2**53) + 1, exp=-(2**53) + 3601),
    "ends when no date can say": lambda forge: forge.saying(iat=2**53 - 3601, exp=2**53 - 1),
    "another issuer": lambda forge: forge.saying(iss="https://attacker.example"),
    "our issuer with a slash": lambda forge: forge.saying(iss=forge.claims["iss"] + "/"),
    "our issuer in capitals": lambda forge: forge.saying(iss=forge.claims["iss"].upper()),
    "a claim more: nbf": lambda forge: forge.saying(nbf=0),
    "a claim more: aud": lambda forge: forge.saying(aud="another service"),
    "a claim more: scope": lambda forge: forge.saying(scope="users:write"),
    "roles twice": lambda forge: with_twice(forge, "roles", ["super_admin"]),
    "exp twice": lambda forge: with_twice(forge, "exp", 9_999_999_999),
    "claims with blanks": lambda forge: forge.ours(payload=json.dumps(forge.claims).encode()),
    "claims with an escape": lambda forge: forge.ours(
        payload=canonical(forge.claims).replace(b'"sub"', b'"\\u0073ub"')
    ),
    "claims are a list": lambda forge: forge.ours(payload=b"[]"),
    "claims are no JSON": lambda forge: forge.ours(payload=b"\xff\xfe"),
    "claims within claims": lambda forge: forge.ours(payload=b"[" * 5000 + b"]" * 5000),
    "another person's id": lambda forge: forge.saying(sub=str(uuid4())),
    "the id in capitals": lambda forge: forge.saying(sub=forge.claims["sub"].upper()),
    "another tenant": lambda forge: forge.saying(tenant_id=str(forge.lab.operator.tenant_id)),  # type: ignore[attr-defined]
    "a session that never was": lambda forge: forge.saying(sid=str(uuid4())),
    "a session that ended": lambda forge: forge.ended,
    "a removed person": lambda forge: forge.removed,
}
SPELLINGS: dict[str, Case] = {
    "one point": lambda forge: ".",
    "two points": lambda forge: "..",
    "no signature": lambda forge: ".".join(forge.parts[:2]),
    "an empty signature": lambda forge: ".".join([*forge.parts[:2], ""]),
    "a signature one byte short": lambda forge: with_part(
        forge, 2, lambda text: b64url_encode(b64url_decode(text)[:-1])
    ),
    "a signature one byte long": lambda forge: with_part(
        forge, 2, lambda text: b64url_encode(b64url_decode(text) + b"\0")
    ),
    "a signature with spare bits": lambda forge: with_part(forge, 2, lambda text: spelled_with(text, 1)),
    "a signature with S + L": malleated,
    "a padded signature": lambda forge: forge.token + "==",
    "a padded header": lambda forge: with_part(forge, 0, lambda text: text + "=" * (-len(text) % 4 or 4)),
    "a padded payload": lambda forge: with_part(forge, 1, lambda text: text + "=" * (-len(text) % 4 or 4)),
    "a blank in the signature": lambda forge: with_part(forge, 2, lambda text: text[:9] + " " + text[9:]),
    "a tab in the payload": lambda forge: with_part(forge, 1, lambda text: text[:8] + "\t" + text[8:]),
    "blanks around the points": lambda forge: forge.token.replace(".", " . "),
    "the other alphabet": lambda forge: with_part(
        forge, 2, lambda text: text.replace("-", "+").replace("_", "/") + "+"
    ),
    "a character of Latin-1": lambda forge: forge.token + "\xe9",
    "another payload": lambda forge: with_part(forge, 1, lambda text: part({**forge.claims, "roles": ["super_admin"]})),
    "a fourth part": lambda forge: forge.token + ".e30",
    "five parts, as of JWE": lambda forge: forge.token + ".e30.e30",
    "a point before it": lambda forge: "." + forge.token,
    "twice": lambda forge: f"{forge.token},{forge.token}",
    "in quotes": lambda forge: f'"{forge.token}"',
    "JSON serialisation": lambda forge: json_serialised(forge, flattened=False),
    "flattened JSON serialisation": lambda forge: json_serialised(forge, flattened=True),
    "a token in a token": lambda forge: forge.ours(payload=forge.token.encode()),
    "a refresh token": lambda forge: forge.refresh_token,
    "an API key": lambda forge: forge.auth_client.tenant.api_key,
    "null": lambda forge: "null",
}
CASES = {**UNSIGNED, **SYMMETRIC, **OTHER_KEYS, **HEADERS, **CLAIMS, **SPELLINGS}


def forge_of(lab: Installation, auth_client: AuthClient) -> Forge:
    """Creates an open session, an ended one, and the session of a removed person."""
    real, ended = auth_client.signed_in(), auth_client.signed_in()
    auth_client.logout(ended)
    add_user(lab, auth_client.tenant, "ada@example.org", "a long password")
    removed = auth_client.signed_in(email="ada@example.org", password="a long password")
    change_user(lab, auth_client.tenant, email="ada@example.org", status="REMOVED")
    with lab.storage.read() as connection:
        (row,) = store.list_signing_keys(connection)
    der = lab.keyring.unseal(row.sealed, tenant_id=None, issuer_id=None, kid=row.kid, alg=row.alg)
    private = signing.load_private(Algorithm.ED25519, der)
    tokens = (real["access_token"], real["refresh_token"], ended["access_token"], removed["access_token"])
    return Forge(lab, auth_client, *tokens, private)


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    """One installation for all cases of the file."""
    clock = FixedClock(AT)
    lab, made = Installation.init(Settings(data=tmp_path_factory.mktemp("forge")), clock=clock)
    lab.operator = lab.orgs.service_caller(made.tenant.tenant_id)  # type: ignore[attr-defined]
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url, make_client(url) as client:
        yield forge_of(lab, AuthClient(client, tenant))
    lab.close()


def presented(forge: Forge, token: str) -> Any:
    """Sends a token byte for byte; returns the response."""
    return forge.auth_client.client.get("/v1/me", headers={"Authorization": b"Bearer " + token.encode("latin-1")})


def test_the_cases_are_many_and_distinct() -> None:
    assert len(CASES) >= 48
    assert len(CASES) == sum(map(len, (UNSIGNED, SYMMETRIC, OTHER_KEYS, HEADERS, CLAIMS, SPELLINGS)))


def test_the_forged_tokens_start_from_a_valid_token(forge: Forge) -> None:
    """Otherwise a broken forge could be the reason why the cases below are rejected."""
    good = (forge.token, forge.ours(), forge.saying(jti="another"), forge.at(-3599), forge.at(300))

    assert [presented(forge, token).status_code for token in good] == [200] * 5


@pytest.mark.parametrize("case", CASES, ids=lambda name: name.replace("/", "|"))
def test_a_forged_token_is_rejected(forge: Forge, case: str) -> None:
    """Sent right after the valid token, so that its cache entry must not help the forgery."""
    assert presented(forge, forge.token).status_code == 200

    answer = presented(forge, CASES[case](forge))

    assert answer.status_code == 401
    assert read_refusal(answer) == INVALID_CREDENTIALS


def test_both_engines_reject_forged_tokens_alike(lab: Installation, auth_client: AuthClient) -> None:
    """All cases again, on either engine; none of them signs in."""
    forge = forge_of(lab, auth_client)
    refused = {name: presented(forge, forged(forge)) for name, forged in CASES.items()}

    assert [
        name
        for name, answer in refused.items()
        if answer.status_code != 401 or read_refusal(answer) != INVALID_CREDENTIALS
    ] == []
    assert presented(forge, forge.token).status_code == 200


def test_an_access_token_is_not_accepted_as_api_key_or_refresh_token(forge: Forge) -> None:
    for headers in ({"X-API-Key": forge.token}, {"Authorization": f"ApiKey {forge.token}"}):
        assert read_refusal(forge.auth_client.client.get("/v1/me", headers=headers)) == INVALID_CREDENTIALS
    assert forge.auth_client.refresh(forge.token).status_code == 400
    assert read_refusal(forge.auth_client.refresh(forge.token[:256])) == INVALID_CREDENTIALS


def test_two_different_credentials_are_rejected(forge: Forge) -> None:
    """A person's token together with a tenant's key is ambiguous."""
    headers = {"Authorization": f"Bearer {forge.token}", "X-API-Key": forge.auth_client.tenant.api_key}

    assert read_refusal(forge.auth_client.client.get("/v1/me", headers=headers)) == INVALID_CREDENTIALS
