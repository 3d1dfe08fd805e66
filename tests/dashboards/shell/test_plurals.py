"""A count agrees with its noun: the pages of a tenant that has one of everything say `1 signal`, never `1 signals`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from itertools import chain
from typing import Any

import pytest

import attestlab
from attestlab import Lab
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab_dashboards.frame import PaneTools, draw_pane
from attestlab_dashboards.page_list import PAGES
from attestlab_dashboards.pages import AnyPage
from support.dashboards.markup import read_words

BETWEEN = "closed|escalated|labelled|more|new|old|recorded|unexpected|valid"
DISAGREES = re.compile(rf"(?<![\d.,])1 (?:(?:{BETWEEN}) )?[a-z]{{2,}}[^\Ws]s\b")
SPOKEN = re.compile(r' (?:aria-label|title|data-tip)="([^"]*)"')  # what a hover or a screen reader reads
ADDRESSES: dict[str, list[dict[str, str]]] = {
    "risk": [{"entity": "user:only", "graph": "user:only", "cases": "all"}, {"entity": "device:pc-1"}],
    "log": [{}, {"entry": "0"}],
}


@pytest.fixture(scope="module")
def lonely(caches: None) -> Iterator[Lab]:
    """The lab of a tenant with one issuer, one attestation, one signal and one case."""
    with attestlab.demo(history=False) as service:
        installation: Installation = service._door.installation  # type: ignore[attr-defined]  # that of this process
        lab = service.as_(installation.orgs.create_tenant("Lonely", plan=Plan.ENTERPRISE).tenant_id)
        issuer = lab.issuers.create("Only Press", "only.example")
        lab.mint(issuer=issuer, schema="degree", claims={"student_name": "Sofia", "degree_name": "Law"})
        lab.signals.add("login", "ato", 95, "user", "only", details={"device": "pc-1"})
        yield lab


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
def test_a_page_with_one_of_everything_writes_no_plural(lonely: Lab, page: AnyPage) -> None:
    for address in ADDRESSES.get(page.path, [{}]):
        for words in read_page(lonely, page, page.state().change(**address)):
            assert DISAGREES.findall(words) == [], words


@pytest.mark.parametrize("words", ["1 signals", "and 1 labelled signals of", "in 1 cases.", "1 hashes"])
def test_a_plural_is_found(words: str) -> None:
    assert DISAGREES.search(words)


@pytest.mark.parametrize("words", ["21 signals", "1.1 entries", "1 signal names it", "1 issuer", "1 pass"])
def test_what_agrees_is_no_plural(words: str) -> None:
    assert not DISAGREES.search(words)


def read_page(lab: Lab, page: AnyPage, state: Any) -> Iterator[str]:
    """Read the text of each pane, and what is only spoken or shown on a hover."""
    for pane in page.panes:
        markup = str(draw_pane(PaneTools(page.path), pane, pane.load(lab, state), state))
        yield from chain([read_words(markup)], map(unescape, SPOKEN.findall(markup)))
