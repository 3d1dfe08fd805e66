"""The cards of a lab and of its nouns: what is in them, as of when, what to try next, and what cannot be read."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import attestlab
from attestlab.cli.python_reference import NOUNS
from attestlab.client.analysis.records import Records
from attestlab.client.lab import Lab
from attestlab.client.lab_cards import MAX_WORD, choose_moves, write_kinds
from attestlab.core.errors import NotFound
from attestlab.core.short_text import MAX_REPR_CHARACTERS
from attestlab.orgs.rules import Plan
from support.demo_caches import use_demo_caches
from support.new_labs import open_new_lab
from support.server_process import ServerProcess

DEMO_PASSWORD = "only for the demo"
OF_PEOPLE = {"api_keys", "inbox", "protections", "sessions", "views"}  # that only a person reads
MAX_CARD_CHARACTERS = 4_500


@pytest.fixture(scope="module")
def demo() -> Iterator[Lab]:
    with use_demo_caches(), attestlab.demo() as lab:
        yield lab


def read_lines(card: str) -> dict[str, str]:
    """The lines of a card by their labels; those without one belong to the line before."""
    lines: dict[str, str] = {}
    label = ""
    for row in re.findall(r"<tr[^>]*>(.*?)</tr>", card):
        cells = [unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
        if len(cells) == 2:
            label = cells[0] or label
            lines[label] = f"{lines[label]}\n{cells[1]}" if label in lines else cells[1]
        else:
            lines["head" if "head" not in lines else "foot"] = cells[0]
    return lines


def codes_of(card: str) -> list[str]:
    return [unescape(code) for code in re.findall(r"<code[^>]*>(.*?)</code>", card)]


def test_a_lab_says_what_is_in_it_as_of_when_and_what_is_next(demo: Lab) -> None:
    card = demo._repr_html_()
    lines = read_lines(card)

    assert lines["Signals"].replace(",", "") == str(len(demo.signals))
    assert re.fullmatch(r"[\d,]+, [\d,]+ open", lines["Cases"])
    assert lines["As of"].startswith("2 Nov 2026, 12:0")
    assert "signed" in lines["Log"]
    assert "Operator" in lines["Caller"]
    assert len(lines["Next"].splitlines()) == 3
    assert len(card) < MAX_CARD_CHARACTERS


def test_the_next_things_of_a_lab_work(demo: Lab) -> None:
    for move in read_lines(demo._repr_html_())["Next"].splitlines():
        assert eval(move, {"lab": demo}) is not None, move


def test_an_empty_lab_says_how_to_begin(tmp_path: Path) -> None:
    with open_new_lab(tmp_path) as lab:
        moves = read_lines(lab._repr_html_())["Next"].splitlines()

        assert moves[0].startswith("lab.issuers.create(")
        for move in moves:
            assert eval(move, {"lab": lab}) is not None, move


@pytest.mark.parametrize(
    ("counts", "first"),
    [({"signals": 1}, "lab.signals.plot"), ({"policies": 2}, "lab.policies[0]"), ({}, "lab.issuers.create")],
)
def test_the_next_things_fit_what_there_is(counts: dict[str, int], first: str) -> None:
    assert choose_moves(counts)[0].startswith(first)


@pytest.mark.parametrize("noun", NOUNS)
def test_a_noun_shows_its_newest_and_how_many_there_are(demo: Lab, noun: str) -> None:
    card = getattr(demo, noun)._repr_html_()
    lines = read_lines(card)

    assert noun.replace("_", " ").upper() in lines["head"]
    assert {"[0]", "Empty", "Not read", "Count"} & set(lines)
    assert ("Not read" in lines) <= (noun in OF_PEOPLE)
    assert len(card) < MAX_CARD_CHARACTERS


def test_counts_and_rows_are_those_of_the_noun(demo: Lab) -> None:
    signals, cases = read_lines(demo.signals._repr_html_()), read_lines(demo.cases._repr_html_())
    log = read_lines(demo.log._repr_html_())

    assert signals["Count"].partition(":")[0].replace(",", "") == str(len(demo.signals))
    assert demo.signals[0].signal_type in signals["[0]"]
    assert "open" in cases["Count"]
    assert f"[{len(demo.log) - 1}]" in log


@pytest.mark.parametrize("noun", ["attestations", "signals", "cases", "issuers", "log", "policies", "decisions"])
def test_what_a_noun_suggests_works(demo: Lab, noun: str) -> None:
    tried = [code for code in codes_of(getattr(demo, noun)._repr_html_()) if code.startswith("lab.")]

    assert len(tried) == 2
    for code in tried:
        assert eval(code, {"lab": demo}) is not None, code


@pytest.mark.parametrize("noun", ["agents", "webhooks", "billing", "audit", "receipts", "people"])
def test_what_a_smaller_noun_suggests_works_or_finds_nothing(demo: Lab, noun: str) -> None:
    for code in [code for code in codes_of(getattr(demo, noun)._repr_html_()) if code.startswith("lab.")]:
        with suppress(NotFound):
            eval(code, {"lab": demo})


def test_a_card_names_the_scope_that_its_caller_lacks(demo: Lab) -> None:
    agent = demo.agents.register("Card reader", scopes=["issuers:read"])
    worker = demo.as_(agent.session())

    lab, signals = read_lines(worker._repr_html_()), read_lines(worker.signals._repr_html_())

    assert "signals needs risk:read" in lab["Not read"]
    assert "Issuers" in lab
    assert "risk:read" in signals["Not read"]
    assert "\n" not in signals["Not read"], "one reason is one line"


def test_cards_of_a_closed_lab_say_so_and_its_reprs_read_nothing(tmp_path: Path) -> None:
    with open_new_lab(tmp_path) as lab:
        pass

    for shown in (lab, *(getattr(lab, noun) for noun in NOUNS)):
        assert "closed" in read_lines(shown._repr_html_())["Not read"]
        assert str(tmp_path) in repr(shown) or "…" in repr(shown)
        assert len(repr(shown)) <= MAX_REPR_CHARACTERS


def test_a_repr_says_what_reads_the_noun(demo: Lab) -> None:
    assert repr(demo.signals) == "Signals(demo, seed 7; a loop, [:3], .df() or .sql() reads it)"
    assert repr(demo.lists) == "Lists(demo, seed 7; a loop, [:3] or .list() reads it)"


def test_without_a_key_the_cards_show_what_is_public(running: ServerProcess) -> None:
    with attestlab.connect(running.url) as lab:
        shown, log, issuers = (read_lines(each._repr_html_()) for each in (lab, lab.log, lab.issuers))

    assert "signed" in shown["Log"]
    assert "attestlab.connect(url, api_key)" in shown["API key"]
    assert shown["Next"].startswith("lab.log.explore()")
    assert "signed" in log["Count"]
    assert "X-API-Key" in issuers["Not read"]


def test_cards_of_an_async_lab_read_nothing(running: ServerProcess) -> None:
    installation = running.open_lab()
    key = installation.orgs.create_tenant("Shows", plan=Plan.ENTERPRISE).api_key
    installation.close()

    async def show() -> list[str]:
        async with attestlab.connect_async(running.url, key) as lab:
            shown: list[Any] = [lab, lab.signals, lab.issuers, lab.log, lab.webhooks]
            return [each._repr_html_() for each in shown]

    for card in asyncio.run(show()):
        assert {"Not read", "Count", "Empty"} & set(read_lines(card)) == set()


def test_a_list_without_pandas_is_a_card(demo: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    keys: Records[Any] = demo.issuers["Canton Archive"].keys
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.delitem(sys.modules, "attestlab.client.analysis.frames", raising=False)

    lines = read_lines(keys._repr_html_())

    assert "pip install 'attestlab[notebook]'" in lines["No table"] or "[0]" in lines
    assert keys[0].kid in lines["[0]"]


def test_long_ids_do_not_widen_a_card(demo: Lab) -> None:
    lines = read_lines(demo.cases._repr_html_())

    words = [word for label, line in lines.items() if label.startswith("[") for word in line.split()]
    assert any("…" in word for word in words)
    assert max(map(len, words)) <= MAX_WORD


def test_kinds_beyond_the_largest_four_are_counted() -> None:
    counts = [(name, 10 - place) for place, name in enumerate("abcdef")]

    assert write_kinds(counts) == "45: a 10, b 9, c 8, d 7 and 2 others"
    assert write_kinds([("rows", 3)]) == "3"
    assert write_kinds([]) == "0"
