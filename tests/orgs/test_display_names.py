"""Display names, and the slugs derived from them."""

from __future__ import annotations

import pytest

from attestlab.core.errors import ValidationFailed
from attestlab.orgs.rules import free_slug, slug, validate_display_name


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("  Acme  ", "Acme"),
        ("山田　太郎", "山田　太郎"),
        ("Zoë & Søn, Ltd.", "Zoë & Søn, Ltd."),
        ("x" * 200, "x" * 200),
    ],
)
def test_a_name_is_trimmed_and_otherwise_unchanged(sent: str, kept: str) -> None:
    assert validate_display_name("name", sent) == kept


@pytest.mark.parametrize(
    "name", ["", "   ", "two\nlines", "two\u2029lines", "a\x00b", "bell\x07", "\u202egnp.exe", "\ud800", "x" * 201]
)
def test_a_name_is_one_printable_line(name: str) -> None:
    with pytest.raises(ValidationFailed) as refused:
        validate_display_name("legal_name", name)

    assert refused.value.fields[0].field == "/legal_name"


@pytest.mark.parametrize(
    ("name", "address"),
    [("ACME!", "acme"), ("Äcme  Corp.", "acme-corp"), ("株式会社", "tenant"), ("--", "tenant"), ("x" * 90, "x" * 40)],
)
def test_a_slug_has_small_letters_digits_and_hyphens(name: str, address: str) -> None:
    assert slug(name) == address


def test_a_truncated_slug_does_not_end_with_a_hyphen() -> None:
    assert slug("a" * 39 + " b") == "a" * 39


def test_a_taken_slug_gets_the_first_free_number() -> None:
    assert free_slug("acme", {"acme", "acme-2", "acme-4", "acme-corp"}) == "acme-3"
