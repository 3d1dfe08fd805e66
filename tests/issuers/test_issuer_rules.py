"""What may stand in a profile, and who may mint: sentences over values."""

from __future__ import annotations

import pytest

from attestlab.core.errors import Conflict, PermissionDenied, ValidationFailed
from attestlab.issuers.rules import (
    IssuerStatus,
    KeyStatus,
    TrustTier,
    normalize_profile,
    require_domain_may_change,
    require_may_mint,
    validate_kid,
)


def refused_field(sent: dict[str, str | None]) -> str:
    with pytest.raises(ValidationFailed) as refused:
        normalize_profile(sent)
    [fault] = refused.value.fields
    return fault.field


@pytest.mark.parametrize(
    ("part", "sent", "stored"),
    [
        ("name", "  Universität Zürich ", "Universität Zürich"),
        ("name", "山田　太郎", "山田　太郎"),
        ("domain", "Registry.EXAMPLE.edu", "registry.example.edu"),
        ("domain", "registry.example.edu.", "registry.example.edu"),
        ("domain", "xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("domain", "1.2.3.4.example", "1.2.3.4.example"),
        ("jurisdiction", "ch", "CH"),
        ("primary_color", "#AaBbCc", "#aabbcc"),
        ("accent_color", "#000000", "#000000"),
        ("logo_url", "https://cdn.example/l%C3%B6go.png?v=2#x", "https://cdn.example/l%C3%B6go.png?v=2#x"),
        ("logo_url", "https://[2001:db8::1]:8443/logo", "https://[2001:db8::1]:8443/logo"),
        ("display_name", None, None),
    ],
)
def test_profile_fields_are_normalized(part: str, sent: str | None, stored: str | None) -> None:
    assert normalize_profile({part: sent}) == {part: stored}


@pytest.mark.parametrize(
    ("part", "sent"),
    [
        ("name", " "),
        ("name", "x" * 201),
        ("name", "two\nlines"),
        ("name", "two\u2028lines"),
        ("legal_name", "nul\x00"),
        ("display_name", "knab\u202e elpmaxe"),
        ("domain", "localhost"),
        ("domain", "127.0.0.1"),
        ("domain", "a..example"),
        ("domain", "-a.example"),
        ("domain", "a_b.example"),
        ("domain", "bücher.example"),
        ("domain", "\u212aelvin.example"),
        ("domain", "https://a.example"),
        ("domain", "a.example\n"),
        ("domain", "a" * 64 + ".example"),
        ("domain", "a." * 127 + "example"),
        ("jurisdiction", "XX"),
        ("jurisdiction", "CHE"),
        ("jurisdiction", ""),
        ("jurisdiction", "ß"),
        ("primary_color", "#abc"),
        ("primary_color", "#aabbcg"),
        ("accent_color", "aabbcc"),
        ("accent_color", "#aabbcc;"),
        ("logo_url", "http://cdn.example/l.png"),
        ("logo_url", "//cdn.example/l.png"),
        ("logo_url", "data:image/png;base64,AAAA"),
        ("logo_url", "https:///l.png"),
        ("logo_url", "https://user:secret@cdn.example/l.png"),
        ("logo_url", "https://@cdn.example/l.png"),
        ("logo_url", "https://[::1/l.png"),
        ("logo_url", "https://cdn.example:port/l.png"),
        ("logo_url", "https://cdn.example/a b.png"),
        ("logo_url", "https://cdn.example/'onload=x"),
        ("logo_url", "https://cdn.example/\u00e9.png"),
        ("logo_url", "https://cdn.example/" + "x" * 2048),
    ],
)
def test_invalid_profile_field_is_rejected_by_name(part: str, sent: str) -> None:
    assert refused_field({part: sent}) == f"/{part}"


@pytest.mark.parametrize("text", ["a", "A-b_c.d:e", "2026", "...", "x" * 64])
def test_valid_kids_are_accepted(text: str) -> None:
    assert validate_kid(text) == text


@pytest.mark.parametrize("text", ["", "x" * 65, "a b", "a/b", "é", "a\n", "a%2Fb", ".", ".."])
def test_kid_unusable_in_a_path_is_rejected(text: str) -> None:
    with pytest.raises(ValidationFailed):
        validate_kid(text)


@pytest.mark.parametrize("issuer", [IssuerStatus.SUSPENDED, IssuerStatus.REVOKED])
def test_only_an_active_issuer_mints(issuer: IssuerStatus) -> None:
    with pytest.raises(PermissionDenied) as refused:
        require_may_mint(issuer, KeyStatus.ACTIVE)

    assert refused.value.details == {"reason": "issuer_not_active", "issuer_status": issuer.value}


@pytest.mark.parametrize("key", [status for status in KeyStatus if status is not KeyStatus.ACTIVE])
def test_only_an_active_key_mints(key: KeyStatus) -> None:
    require_may_mint(IssuerStatus.ACTIVE, KeyStatus.ACTIVE)

    with pytest.raises(Conflict) as refused:
        require_may_mint(IssuerStatus.ACTIVE, key)
    assert refused.value.details == {"key_status": key.value}


@pytest.mark.parametrize("tier", [tier for tier in TrustTier if tier is not TrustTier.SELF_SIGNED])
def test_verified_domain_cannot_change(tier: TrustTier) -> None:
    require_domain_may_change(TrustTier.SELF_SIGNED)

    with pytest.raises(Conflict):
        require_domain_may_change(tier)
