"""Open Badges as pictures over HTTP: the picture, and the verification of what a stranger presents."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.crypto import jws
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import b64url_encode, format_time
from attestlab.exports.baking import limits
from attestlab.exports.baking.pictures import bake
from attestlab.installation import Installation
from attestlab.orgs import usage
from attestlab.orgs.rules import Plan
from support.badge_pictures import KEYWORD, make_png, read_png_texts, read_svg_credentials
from support.exports import decode_jws_part, mint_attestation, read_refusal, register_external_key, verify_badge
from support.in_process_server import make_client, wait_until
from support.issuers import register_issuer

pytestmark = [pytest.mark.one_world, pytest.mark.filterwarnings("ignore:EdDSA is deprecated via RFC 9864")]
LOGO = make_png((40, 30), Author="Northfield")


def export(client: httpx.Client, made: dict[str, Any], form: str) -> bytes:
    answer = client.get(f"/v1/attestations/{made['id']}/open-badge", params={"format": form})
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == {"png": "image/png", "svg": "image/svg+xml"}[form]
    assert answer.headers["Content-Disposition"] == f'attachment; filename="open-badge-{made["id"]}.{form}"'
    return answer.content


def token_of(client: httpx.Client, made: dict[str, Any]) -> str:
    return client.get(f"/v1/attestations/{made['id']}/open-badge").text


def present(client: httpx.Client, picture: bytes) -> httpx.Response:
    return client.post("/v1/open-badges/verify", json={"content_b64url": b64url_encode(picture)})


def judge(client: httpx.Client, picture: bytes) -> tuple[str, str | None]:
    found = present(client, picture).json()
    assert found["valid"] == (found["verdict"] == "VALID")
    return found["verdict"], found["problem"]


def upload_logo(client: httpx.Client, issuer: dict[str, Any], logo: bytes) -> None:
    put = client.put(f"/v1/issuers/{issuer['id']}/logo", json={"content_b64url": b64url_encode(logo)})
    assert put.status_code == 200, put.text


def forge(token: str, **changes: str) -> str:
    """A token of the same shape whose header, payload or signature is another one."""
    parts = dict(zip(("header", "payload", "signature"), token.split("."), strict=True))
    return ".".join((parts | changes).values())


def test_a_picture_holds_the_badge_that_the_jwt_alone_is(
    owner: httpx.Client, stranger: httpx.Client, issuer: dict[str, Any]
) -> None:
    made = mint_attestation(owner, issuer)
    png, svg = export(owner, made, "png"), export(owner, made, "svg")

    token = token_of(owner, made)
    assert read_png_texts(png)[KEYWORD] == token
    assert read_svg_credentials(svg) == [token]
    assert verify_badge(stranger, token)["name"] == "MSc"
    assert (export(owner, made, "png"), export(owner, made, "svg")) == (png, svg)


@pytest.mark.parametrize(
    ("accept", "form", "media_type"),
    [
        (None, None, "application/vc+jwt"),
        ("*/*", None, "application/vc+jwt"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", None, "application/vc+jwt"),
        ("application/json", None, "application/vc+jwt"),
        ("image/png", None, "image/png"),
        ("IMAGE/SVG+XML", None, "image/svg+xml"),
        ("image/*", None, "image/png"),
        ("image/png;q=0.5, image/svg+xml", None, "image/svg+xml"),
        ("image/png;q=0, */*;q=0.1", None, "application/vc+jwt"),
        ("image/png", "svg", "image/svg+xml"),
        ("image/png", "jwt", "application/vc+jwt"),
        ("application/vc+jwt", "png", "image/png"),
    ],
)
def test_accept_chooses_the_form_where_no_format_does(
    owner: httpx.Client, issuer: dict[str, Any], accept: str | None, form: str | None, media_type: str
) -> None:
    made = mint_attestation(owner, issuer)

    answer = owner.get(
        f"/v1/attestations/{made['id']}/open-badge",
        params={} if form is None else {"format": form},
        headers={} if accept is None else {"Accept": accept},
    )

    assert (answer.status_code, answer.headers["Content-Type"]) == (200, media_type)
    assert "Accept" in re.split(", *", answer.headers["Vary"])


def test_an_unknown_format_is_refused_with_those_that_there_are(owner: httpx.Client, issuer: dict[str, Any]) -> None:
    made = mint_attestation(owner, issuer)

    refused = owner.get(f"/v1/attestations/{made['id']}/open-badge", params={"format": "gif"})

    assert refused.status_code == 400
    assert all(form in refused.text for form in ("jwt", "png", "svg"))


def test_only_badges_have_a_picture(owner: httpx.Client, issuer: dict[str, Any]) -> None:
    passport = mint_attestation(owner, issuer, schema="passport", claims={"full_name": "Ada Lovelace"})

    answer = owner.get(f"/v1/attestations/{passport['id']}/open-badge", params={"format": "png"})

    assert read_refusal(answer) == (409, "CONFLICT", "not_a_badge")


def test_a_badge_that_no_picture_could_hold_stays_a_jwt(owner: httpx.Client, issuer: dict[str, Any]) -> None:
    claims = {"student_name": "Ada", "degree_type": "MSc " * 20_000}
    made = mint_attestation(owner, issuer, claims=claims)

    assert len(token_of(owner, made)) > limits.MAX_CREDENTIAL_BYTES
    refused = owner.get(f"/v1/attestations/{made['id']}/open-badge", params={"format": "svg"})
    assert read_refusal(refused) == (409, "CONFLICT", "badge_too_long")


def test_the_picture_is_the_uploaded_logo_of_the_issuer(owner: httpx.Client, issuer: dict[str, Any]) -> None:
    upload_logo(owner, issuer, LOGO)
    made = mint_attestation(owner, issuer)

    png, svg = export(owner, made, "png"), export(owner, made, "svg")

    assert png == bake(LOGO, token_of(owner, made))
    assert read_png_texts(png)["Author"] == "Northfield"
    assert b'width="40" height="30"' in svg
    assert judge(owner, svg) == ("VALID", None)


@pytest.mark.parametrize("logo", [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"], ids=["damaged PNG", "JPEG"])
def test_a_logo_that_cannot_be_baked_gives_way_to_a_drawn_card(
    owner: httpx.Client, issuer: dict[str, Any], logo: bytes
) -> None:
    drawn = export(owner, mint_attestation(owner, issuer), "png")
    upload_logo(owner, issuer, logo)

    picture = export(owner, mint_attestation(owner, issuer), "png")

    assert len(picture) - len(read_png_texts(picture)[KEYWORD]) == len(drawn) - len(read_png_texts(drawn)[KEYWORD])


def test_anyone_verifies_a_picture_and_learns_what_the_issuer_signed(
    owner: httpx.Client, stranger: httpx.Client, issuer: dict[str, Any]
) -> None:
    made = mint_attestation(owner, issuer)

    for form in ("png", "svg"):
        found = present(stranger, export(owner, made, form)).json()

        assert (found["verdict"], found["valid"], found["problem"]) == ("VALID", True, None)
        assert found["badge"] == {
            "name": "MSc",
            "earner": "Ada Lovelace",
            "issuer": decode_jws_part(token_of(owner, made), 1)["iss"],
            "issuer_name": issuer["name"],
            "valid_from": made["created_at"][:19] + ".000Z",
            "valid_until": None,
        }
        assert found["verification"]["attestation_id"] == made["id"]
        assert "transparency_proof_ok" in found["verification"]["reasons"]
    alone = stranger.post("/v1/open-badges/verify", json={"credential": token_of(owner, made)}).json()
    assert alone["verdict"] == "VALID"


def test_a_revoked_attestation_and_a_badge_that_expired_are_not_valid(
    clock: FixedClock, owner: httpx.Client, issuer: dict[str, Any]
) -> None:
    soon = format_time(clock.now() + timedelta(hours=1))
    revoked, expiring = mint_attestation(owner, issuer), mint_attestation(owner, issuer, expiry_at=soon)
    pictures = [export(owner, made, "png") for made in (revoked, expiring)]

    owner.post(f"/v1/attestations/{revoked['id']}/revoke", json={"reason": "a test"})
    clock.advance(timedelta(hours=2))

    assert [judge(owner, picture) for picture in pictures] == [("REVOKED", None), ("EXPIRED", None)]


def test_a_key_that_was_compromised_verifies_no_badge(owner: httpx.Client, issuer: dict[str, Any]) -> None:
    owner.post(f"/v1/issuers/{issuer['id']}/keys", json={"kid": "badges", "alg": "RS256"})
    picture = export(owner, mint_attestation(owner, issuer), "svg")
    assert judge(owner, picture) == ("VALID", None)

    assert owner.post("/v1/issuers/keys/badges/compromise", json={"reason": "a test"}).status_code == 200

    verdict, problem = judge(owner, picture)
    assert (verdict, str(problem)[:49]) == ("INVALID", "The badge was signed with no key that its issuer ")


@pytest.mark.parametrize("alg", ["ES256", "ES384", "ES512", "RS256", "PS256"])
def test_a_badge_of_each_kind_of_key_is_verified(owner: httpx.Client, alg: str) -> None:
    issuer = register_issuer(owner, kid="main", alg=alg)

    assert judge(owner, export(owner, mint_attestation(owner, issuer, alg=alg), "svg")) == ("VALID", None)


def test_a_forged_badge_proves_nothing_and_none_of_its_words_is_repeated(
    owner: httpx.Client, issuer: dict[str, Any]
) -> None:
    made, other = mint_attestation(owner, issuer), mint_attestation(owner, issuer)
    token, second = token_of(owner, made), token_of(owner, other)
    pieces = dict(zip(("header", "payload", "signature"), second.split("."), strict=True))
    none = b64url_encode(b'{"alg":"none"}')
    tokens = {
        "signature of another badge": forge(token, signature=pieces["signature"]),
        "payload of another badge": forge(token, payload=pieces["payload"]),
        "no algorithm": forge(token, header=none, signature=""),
        "padding": token + "==",
        "header in another order": forge(token, header=b64url_encode(b'{"typ":"JWT","alg":"EdDSA"}')),
    }

    for name, forged in tokens.items():
        answer = present(owner, bake(export(owner, made, "png"), forged)).json()
        assert (answer["verdict"], answer["badge"], answer["verification"]) == ("INVALID", None, None), name
        assert answer["problem"]


def test_an_issuer_vouches_for_no_attestation_of_another(
    owner: httpx.Client, stranger: httpx.Client, issuer: dict[str, Any]
) -> None:
    """Who holds a key of their own can sign any badge: also one that names a well-known issuer's attestation."""
    claims = decode_jws_part(token_of(owner, mint_attestation(owner, issuer)), 1)
    theirs = register_issuer(owner, kid="unused", name="Southfield")
    private = register_external_key(owner, theirs, "own")
    url = f"{claims['iss'].rpartition('/')[0]}/{theirs['id']}"
    header = {"kid": f"{url}/keys/own/jwk.json", "typ": "JWT"}

    def sign(**changes: object) -> str:
        stated = {**claims, "iss": url, "issuer": {**claims["issuer"], "id": url}, **changes}
        return jws.sign_jwt(header, stated, alg=Algorithm.ED25519, private=private)

    for token, problem in (
        (sign(), "which its issuer did not make here"),
        (sign(id="urn:uuid:0193b5a0-7f3c-7abc-8def-0123456789ab"), "contradict each other"),
        (sign(exp=1), "contradict each other"),
        (sign(name=7, credentialSubject={"id": claims["sub"]}), "a part is missing"),
    ):
        answer = stranger.post("/v1/open-badges/verify", json={"credential": token}).json()
        assert (answer["verdict"], answer["badge"]) == ("INVALID", None)
        assert problem in answer["problem"]


def test_a_badge_of_another_service_is_not_ours(owner: httpx.Client, issuer: dict[str, Any]) -> None:
    """A payload of any content reaches the look-up of its issuer, and no further."""
    token = token_of(owner, mint_attestation(owner, issuer))
    for iss in ("https://other.example/v1/issuers/1", "", f"https://other.example{urlsplit(issuer['id']).path}"):
        payload = b64url_encode(f'{{"iss":"{iss}","type":["OpenBadgeCredential"]}}'.encode())

        answer = owner.post("/v1/open-badges/verify", json={"credential": forge(token, payload=payload)}).json()

        assert "is no issuer of this service" in answer["problem"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"content_b64url": "AAAA", "credential": "a.b.c"},
        {"content_b64url": "AAAA"},
        {"content_b64url": "!"},
        {"credential": ""},
        {"credential": "a.b"},
        {"credential": "a.e30.c"},
        {"credential": f"a.{b64url_encode(b'[]')}.c"},
        {"credential": f"a.{b64url_encode(b'nonsense')}.c"},
        {"credential": "ä.ö.ü"},
    ],
    ids=str,
)
def test_what_is_no_badge_is_a_400_that_says_so(stranger: httpx.Client, body: dict[str, str]) -> None:
    answer = stranger.post("/v1/open-badges/verify", json=body)

    assert (answer.status_code, answer.json()["code"]) == (400, "VALIDATION_ERROR")


def test_a_proven_badge_is_metered_as_any_verification(lab: Installation, url: str) -> None:
    tenant = lab.orgs.create_tenant("Southfield", plan=Plan.ENTERPRISE)

    def count_used() -> int:
        with lab.storage.read() as connection:
            return usage.get_used(connection, tenant.tenant_id, usage.VERIFICATIONS, lab.clock.now().date())

    with make_client(url, key=tenant.api_key) as client:
        made = mint_attestation(client, register_issuer(client, kid="main"))
        picture = export(client, made, "png")
        forged = bake(picture, forge(token_of(client, made), signature="AAAA"))

        assert (judge(client, forged)[0], judge(client, picture)[0]) == ("INVALID", "VALID")
        wait_until(lambda: count_used() > 0, True)
    assert count_used() == 1
