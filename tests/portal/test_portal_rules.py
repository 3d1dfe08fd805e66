"""What a page may show: readable colours, visible characters, the media type that was asked for."""

from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from attestlab.attestations.rules import Reason, Verdict
from attestlab.portal import layout, messages, rules, view_model
from attestlab.portal.rules import SearchKind
from attestlab.web.media_types import prefers_html, prefers_json

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "attestlab" / "portal" / "assets" / "page.css"
DASHBOARDS = ROOT / "dashboards" / "attestlab_dashboards" / "assets" / "tokens.css"
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
        light, dark = (part.partition("}")[0] for part in css.split("--brand:")[1:])

        assert rules.contrast_ratio(rules.text_color_on(primary), primary) >= rules.MIN_CONTRAST
        for shade, grounds in ((light, view_model.LIGHT_GROUNDS), (dark, view_model.DARK_GROUNDS)):
            if shade != "var(--al-text)":  # the page's own, which axe checks
                assert min(rules.contrast_ratio(shade, ground) for ground in grounds) >= rules.MIN_CONTRAST


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
    assert view_model.brand_of(SimpleNamespace(primary_color=text, accent_color=text)) == ""


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
    assert prefers_json(accept) is json


def test_there_are_words_for_every_verdict_reason_and_step() -> None:
    assert set(messages.VERDICTS) == set(Verdict)
    assert set(messages.REASONS) == set(Reason)
    assert len(messages.STEPS) == 8
    assert all(said.meaning.endswith(".") and said.advice.endswith(".") for said in messages.VERDICTS.values())


def test_a_moment_is_written_in_full() -> None:
    assert layout.format_utc(datetime(2027, 1, 2, 3, 4, tzinfo=UTC)) == "2 January 2027, 03:04 UTC"


@pytest.mark.parametrize(
    ("accept", "html"),
    [
        (None, False),
        ("*/*", False),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", True),
        ("application/json, text/plain, */*", False),
        ("text/html, application/json", False),
        ("text/*", True),
    ],
)
def test_only_a_client_that_prefers_html_is_a_browser(accept: str | None, html: bool) -> None:
    assert prefers_html(accept) is html


UUID_TEXT = "0193b5a0-7f3c-7abc-8def-0123456789ab"
KEY = "abcdefghijklmnopqrstuv"


@pytest.mark.parametrize(
    ("text", "kind", "value", "key"),
    [
        (UUID_TEXT, SearchKind.ATTESTATION, UUID_TEXT, None),
        (f"  {UUID_TEXT.upper()}\n", SearchKind.ATTESTATION, UUID_TEXT, None),
        (f"https://x.example/a/{UUID_TEXT}?k={KEY}&utm=1", SearchKind.ATTESTATION, UUID_TEXT, KEY),
        (f"https://x.example/a/{UUID_TEXT}?k={KEY}x", SearchKind.ATTESTATION, UUID_TEXT, None),
        ("0", SearchKind.INDEX, "0", None),
        ("12\u202f846", SearchKind.INDEX, "12846", None),
        ("9" * 16, SearchKind.NOTHING, "9" * 16, None),
        ("\u0663", SearchKind.NOTHING, "\u0663", None),
        ("1" * 64, SearchKind.SHA256, "1" * 64, None),
        ("AB" * 32, SearchKind.SHA256, "ab" * 32, None),
        (f"SHA256: {'ab' * 32}", SearchKind.SHA256, "ab" * 32, None),
        (f"{'ab' * 32}  diploma.pdf", SearchKind.SHA256, "ab" * 32, None),
        ("ab" * 33, SearchKind.NOTHING, "ab" * 33, None),
        ("", SearchKind.NOTHING, "", None),
        ("diploma", SearchKind.NOTHING, "diploma", None),
    ],
)
def test_the_search_box_recognises_what_is_pasted(text: str, kind: SearchKind, value: str, key: str | None) -> None:
    assert rules.parse_search(text) == (kind, value, key)


def read_tokens(style: Path, mode: int) -> dict[str, str]:
    """The custom properties of a mode, the light one first, spelt alike."""
    rule = re.findall(r":root[^{]*\{([^}]*)\}", style.read_text())[mode]
    return {name: value.replace(" ", "").lower() for name, value in re.findall(r"(--al-[\w-]+):\s*([^;]+)", rule)}


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_a_token_of_pages_has_its_value_in_the_dashboards_too(mode: int) -> None:
    pages, dashboards = read_tokens(PAGES, mode), read_tokens(DASHBOARDS, mode)

    shared = pages.keys() & dashboards.keys()
    assert len(shared) > 15
    assert [name for name in shared if pages[name] != dashboards[name]] == [], "page.css and tokens.css differ"
