"""How objects show themselves: a short line without secrets, and a card that survives what notebooks remove."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest

from attestlab.client.cards import CardRow, CardTone, draw_card
from attestlab.client.lab import Lab
from attestlab.core.short_text import MAX_REPR_CHARACTERS
from support.new_labs import open_new_lab

EVIL = '"><img src=x onerror=alert(1)>'
TAGS = {"table", "tbody", "tr", "td", "b", "span", "code"}
ATTRIBUTES = {"style", "colspan"}
MAX_CARD_CHARACTERS = 4_500
POLICY = """
name = '{evil}'
category = "MINT"
target_type = "TENANT_DEFAULT"
default_effect = "DENY"
[[rules]]
id = "known"
effect = "ALLOW"
priority = 1
when = {{ attr = "jurisdiction", op = "eq", value = "CH" }}
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with open_new_lab(tmp_path_factory.mktemp("lab")) as opened:
        yield opened


@pytest.fixture(scope="module")
def shown(lab: Lab) -> dict[str, object]:
    """An object of each kind that has a card, with hostile texts where people choose them."""
    issuer = lab.issuers.create(EVIL, "registrar.example", display_name=EVIL)
    minted = lab.mint(b"x", issuer=issuer, schema="degree", claims={"student_name": EVIL})
    policy = lab.policies.create(POLICY.format(evil=EVIL))
    decision = lab.policies.evaluate("MINT", {"jurisdiction": EVIL, "unknown.attribute": EVIL})
    return {
        "lab": lab,
        "issuer": issuer,
        "minted": minted,
        "attestation": lab.attestations[minted.id],
        "valid": minted.verify(file=b"x"),
        "altered": minted.verify(file=b"y"),
        "unknown": lab.verify("0193b5a0-7f3c-7abc-8def-0123456789ab"),
        "bundle": minted.bundle(),
        "offline": minted.bundle().verify(file=b"x"),
        "policy": policy,
        "summary": lab.policies[policy.id],
        "report": policy.simulate(),
        "decision": decision,
        "explanation": decision.explain(),
        "head": lab.log.head(),
        "key": issuer.active_key,
        "signal": lab.signals.add("gateway", "behavior", 91, "user:u-1"),
        "case": lab.cases[0],
        "entry": lab.log[0],
        "audit": lab.audit[0],
        "me": lab.me(),
        "endpoint": lab.webhooks.create("https://receiver.invalid/", "key.*", name=EVIL),
        "issuers": lab.issuers,
        "log": lab.log,
        "rows": lab.signals.rows,
        "query": lab.sql(f"select '{EVIL}'"),
    }


KINDS = (
    *("lab", "issuer", "minted", "attestation", "valid", "altered", "unknown", "bundle", "offline"),
    *("policy", "summary", "report", "decision", "explanation", "head"),
    *("key", "signal", "case", "entry", "audit", "me", "endpoint", "issuers", "log", "rows", "query"),
)


class CardReader(HTMLParser):
    """Collects the tags, attributes and styles of a card, and whether each tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.styles: list[str] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes += [name for name, _ in attributes]
        self.styles += [value or "" for name, value in attributes if name == "style"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, text: str) -> None:
        self.text += text


def read_card(value: object) -> CardReader:
    reader = CardReader()
    reader.feed(value._repr_html_())  # type: ignore[attr-defined]
    return reader


@pytest.mark.parametrize("kind", KINDS)
def test_a_card_is_one_closed_table_with_literal_styles(shown: dict[str, object], kind: str) -> None:
    card = read_card(shown[kind])

    assert card.open == []
    assert (card.tags.count("table"), set(card.tags) - TAGS, set(card.attributes) - ATTRIBUTES) == (1, set(), set())
    assert [
        style for style in card.styles if re.search(r"var\(|gap|grid|currentColor|light-dark|[:(,]\.\d", style)
    ] == []
    assert [style for style in card.styles if re.search(r"(?<!-)color:", style) and "#ffffff" not in style] == []
    assert len(shown[kind]._repr_html_()) < MAX_CARD_CHARACTERS  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", KINDS)
def test_a_repr_is_one_short_line(shown: dict[str, object], kind: str) -> None:
    text = repr(shown[kind])

    assert len(text) <= MAX_REPR_CHARACTERS
    assert "\n" not in text


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("attestation", ["✓\xa0VALID", f"Degree of {EVIL}", "Issued"]),
        ("altered", ["✗\xa0ALTERED", "The file is not the one that was signed", "✗\xa0File", "Your file"]),
        ("unknown", ["✗\xa0NOT_FOUND", "✗\xa0Found"]),
        ("offline", ["✓\xa0VALID", "Verified here, offline.", "Not checked"]),
        ("bundle", ["Nothing is verified yet"]),
        ("issuer", ["✓\xa0ACTIVE", EVIL, "Self signed, low risk"]),
        ("explanation", ["MINT"]),
        ("report", ["CHANGE", "decisions replayed", "Self-check"]),
        ("head", ["entries", "Root", "Signed"]),
        ("lab", ["Operator", "ENTERPRISE", "Attestations", "Signals"]),
    ],
)
def test_a_card_says_everything_without_its_styles(shown: dict[str, object], kind: str, words: list[str]) -> None:
    text = read_card(shown[kind]).text

    assert [word for word in words if word not in text] == []


def test_long_texts_are_cut_short() -> None:
    card = draw_card(CardTone.CALM, "X", "t" * 10_000, [CardRow("l" * 10_000, "v" * 10_000)])

    assert len(card) < MAX_CARD_CHARACTERS


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("tone", CardTone)
def test_a_pill_is_readable_in_light_and_dark(tone: CardTone) -> None:
    own = _luminance(tone.value)

    assert (_luminance("#ffffff") + 0.05) / (own + 0.05) >= 5.3
    assert (own + 0.05) / (_luminance("#111111") + 0.05) >= 3.4
