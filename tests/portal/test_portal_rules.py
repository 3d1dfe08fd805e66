"""What a page may show: readable colours, visible characters, the media type that was asked for."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from attestlab.attestations.rules import Reason, Verdict
from attestlab.portal import messages, rules, view_model

CHANNELS = ("00", "33", "59", "77", "99", "bb", "ff")
COLORS = ["#" + "".join(parts) for parts in itertools.product(CHANNELS, repeat=3)]


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [
        ("#ffffff", "#000000", 21.0),
        ("#767676", "#ffffff", 4.54),
        ("#777777", "#ffffff", 4.48),
        ("#0000ff", "#ff0000", 2.15),
    ],
)
def test_contrast_is_that_of_wcag(one: str, other: str, ratio: float) -> None:
    """The figures are those that the WCAG's own contrast checkers give."""
    assert round(rules.contrast_ratio(one, other), 2) == round(rules.contrast_ratio(other, one), 2) == ratio


@pytest.mark.parametrize("at", range(0, len(COLORS), 49))
def test_text_is_readable_on_any_brand_colour(at: int) -> None:
    for primary in COLORS[at : at + 49]:
        css = view_model.brand_of(SimpleNamespace(primary_color=primary, accent_color=None))
        light, dark = css.split("--brand:")[1][:7], css.split("--brand:")[2][:7]

        assert rules.contrast_ratio(rules.text_color_on(primary), primary) >= rules.MIN_CONTRAST
        assert min(rules.contrast_ratio(light, ground) for ground in ("#ffffff", "#f4f5f7")) >= rules.MIN_CONTRAST
        assert min(rules.contrast_ratio(dark, ground) for ground in ("#1b2027", "#12161b")) >= rules.MIN_CONTRAST


def test_a_readable_brand_is_taken_and_an_unreadable_one_is_not() -> None:
    readable = view_model.brand_of(SimpleNamespace(primary_color="#7a1f3d", accent_color=None))
    unreadable = view_model.brand_of(SimpleNamespace(primary_color="#ffee00", accent_color=None))

    assert "--brand:#7a1f3d" in readable
    assert "--brand:#ffee00" not in unreadable.partition("@media")[0]


@pytest.mark.parametrize(
    "text", ["red", "#fff", "#12345g", "#123456;}body{display:none}", "</style>", "url(//a)", "", None]
)
def test_invalid_colour_is_none(text: str | None) -> None:
    assert rules.parse_color(text) is None
    assert view_model.brand_of(SimpleNamespace(primary_color=text, accent_color=text)).count("#1f3a5f") == 3


@pytest.mark.parametrize("sign", [*map(chr, (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))])
def test_bidi_control_character_is_escaped(sign: str) -> None:
    assert rules.escape_invisible(f"a{sign}b") == f"a[U+{ord(sign):04X}]b"


def test_what_people_write_stays_as_it_is() -> None:
    written = "Zoë Ångström\n\t\u0915\u094d\u200c\u0937 \U0001f469\u200d\U0001f52c 株式会社 עברית"

    assert rules.escape_invisible(written) == written


@pytest.mark.parametrize(
    ("accept", "json"),
    [
        (None, False),
        ("*/*", False),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", False),
        ("application/json", True),
        ("APPLICATION/JSON", True),
        ("application/*", True),
        ("application/json, text/plain, */*", False),
        ("application/json;q=0.9, text/html;q=0.8", True),
        ("application/json;q=0", False),
        ("text/html;q=0, */*", True),
        ("application/json;q=nonsense", False),
    ],
)
def test_the_media_type_is_the_one_that_is_preferred(accept: str | None, json: bool) -> None:
    """Weights count (RFC 9110 section 12.5.1); where both are welcome alike, people come first."""
    assert rules.wants_json(accept) is json


def test_there_are_words_for_every_verdict_reason_and_step() -> None:
    assert set(messages.VERDICTS) == set(Verdict)
    assert set(messages.REASONS) == set(Reason)
    assert len(messages.STEPS) == 8
    assert all(said.meaning.endswith(".") and said.advice.endswith(".") for said in messages.VERDICTS.values())


def test_a_moment_is_written_in_full() -> None:
    assert view_model.format_utc(datetime(2027, 1, 2, 3, 4, tzinfo=UTC)) == "2 January 2027, 03:04 UTC"
