"""`lab.explore`: what a view gives to the next cell, what it refuses, and what it leaves in a notebook."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from attestlab import Lab
from attestlab.client.asynchronous.calls import VerbThreads
from attestlab.client.asynchronous.connecting import AsyncLab
from attestlab.core.errors import NotFound, PermissionDenied, ValidationFailed
from attestlab_dashboards.cell.explorer import Explorer
from attestlab_dashboards.cell.script import assign_last
from attestlab_dashboards.page_list import PAGES
from attestlab_dashboards.stills.bounds import MAX_PAGE_BYTES, MAX_PANE_BYTES
from support.risk_story import HOSTILE_USER

EACH_PAGE = pytest.mark.parametrize("path", [page.path for page in PAGES])


class MarkupReader(HTMLParser):
    """Reads the names of elements and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def explore(lab: Lab, path: str = "risk", **state: object) -> Explorer:
    view = lab.explore(path, **state)
    assert isinstance(view, Explorer)
    return view


def read_frame(view: Explorer, pane: str) -> Any:
    """Read the rows of a pane; None where the page says that there are none, such as no second head of the log."""
    try:
        return view.rows(pane).df()
    except NotFound:
        return None


@EACH_PAGE
def test_each_pane_with_rows_gives_them_and_their_code(owner: Lab, path: str) -> None:
    view = explore(owner, path)
    panes = [pane for pane in view._list_panes() if pane.export is not None]
    assert len(panes) >= 4
    for pane in panes:
        frame = read_frame(view, pane.key)
        if frame is None:
            assert path in ("log", "policy"), pane.key
            continue
        assert view.python(pane.key)
        if pane.copy_sql is not None:
            assert owner.sql(view.sql(pane.key)).df().equals(frame), pane.key


@EACH_PAGE
def test_a_notebook_stores_bounded_markup_that_can_do_nothing(owner: Lab, path: str) -> None:
    bundle = explore(owner, path)._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"] == f'lab.explore("{path}")'
    text = bundle["text/html"]
    assert len(text.encode()) <= MAX_PAGE_BYTES
    found = MarkupReader(text)
    assert not found.tags & {"script", "form", "input", "button", "select", "iframe", "link", "meta", "template"}
    assert not {name for name in found.attributes if name.startswith("on")}
    assert "javascript:" not in text
    assert " UTC" in text


def test_a_still_without_its_style_says_so_and_keeps_its_words_apart(owner: Lab) -> None:
    text = explore(owner)._repr_mimebundle_()["text/html"]
    unstyled = re.sub(r"<[^>]*>", "", re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL))
    assert "Trust Notebook" in unstyled
    assert "Session Gateway" in " ".join(unstyled.split())
    assert ".al-unstyled{display:none}" in text


def test_one_pane_is_as_small_as_a_chart(owner: Lab) -> None:
    text = explore(owner)["when"]._repr_mimebundle_()["text/html"]
    assert len(text.encode()) <= MAX_PANE_BYTES
    assert 'data-pane="when"' in text
    assert 'data-pane="who"' not in text


@pytest.mark.parametrize(("source", "has_graph"), [(None, True), ("nothing", False)])
def test_the_code_of_the_graph_runs_also_where_no_entity_is_named(
    owner: Lab, source: str | None, has_graph: bool
) -> None:
    names: dict[str, Any] = {"lab": owner}
    exec(assign_last(explore(owner, source=source).python("graph"), "graph"), names)
    assert (names["graph"] is not None) == has_graph


def test_two_stills_on_one_page_share_no_id(owner: Lab) -> None:
    first, second = (explore(owner)._repr_mimebundle_()["text/html"] for _ in range(2))
    ids = [set(re.findall(r'\sid="([^"]+)"', text)) for text in (first, second)]
    assert all(ids)
    assert not ids[0] & ids[1]


def test_no_text_of_a_stranger_becomes_markup_in_a_notebook(owner: Lab) -> None:
    view = explore(owner, entity=f"user:{HOSTILE_USER}")
    assert HOSTILE_USER not in view._repr_mimebundle_()["text/html"]


def test_a_state_is_set_by_names_that_a_person_would_try(owner: Lab) -> None:
    view = explore(owner, days=7)
    assert view.state.window == "7d"
    assert explore(owner, days=1).state.window == "24h"
    assert explore(owner, "issuers", days=90).state.range == "90d"
    assert explore(owner, "usage", days=365).state.days == 365
    view.set(source="login", since=datetime(2026, 10, 30, tzinfo=UTC), until="2026-11-01T00:00Z", min_score=80)
    assert repr(view.state) == (
        "RiskState(window='7d', source='login', min_score=80, since=datetime.datetime(2026, 10, 30, 0, 0, "
        "tzinfo=datetime.timezone.utc), until=datetime.datetime(2026, 11, 1, 0, 0, tzinfo=datetime.timezone.utc))"
    )
    view.set(source=None, since=None, until="", min_score=None)
    assert repr(view) == 'lab.explore("risk", window="7d")'


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sorce": "login"}, "no 'sorce'. Did you mean source?"),
        ({"days": 8}, "Pass days=1, 7, 30, 90 or 365"),
        ({"days": True}, "Pass days=1, 7, 30, 90 or 365"),
        ({"window": "9d"}, "'24h', '7d', '30d', '90d' or '365d', or days from/to"),
        ({"kind": "usr"}, "'user', 'device', 'ip'"),
        ({"min_score": 101}, "Pass a number from 0 to 100."),
        ({"min_score": True}, "Pass a number from 0 to 100."),
        ({"min_score": [80]}, "Pass a number from 0 to 100."),
        ({"source": "a b"}, "The source of the signals"),
        ({"source": 10**400}, "The source of the signals"),
        ({"since": "yesterday"}, "Pass a time such as '2026-11-02T12:00Z'."),
        ({"since": "2026-11-01"}, "a part is missing"),
        ({"depth": 9}, "Pass a number from 1 to 3."),
        ({"depth": "x" * 10_000}, "Pass a number from 1 to 3."),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_setting_names_what_is_acceptable(owner: Lab, given: dict[str, Any], words: str) -> None:
    view = explore(owner, days=30)
    with pytest.raises(ValidationFailed) as raised:
        view.set(**given)
    assert words in raised.value.message
    assert len(raised.value.message) < 600
    assert repr(view.state) == "RiskState()"


def test_what_a_page_does_not_have_is_named(owner: Lab) -> None:
    view = explore(owner)
    for wrong, words in [
        (lambda: owner.explore("rsk"), "Did you mean 'risk'? Pass one of risk, policy, log"),
        (lambda: owner.explore(7), "There is no page 7."),
        (lambda: view.rows("whoo"), "no pane 'whoo'. Did you mean who?"),
        (lambda: view["nothing"], "It has answer, kpis"),
        (lambda: view.rows("kpis"), "These have: when, what"),
        (lambda: view.sql("graph"), "view.python('graph')"),
        (lambda: view.link, "in this process, which serves no page"),
        (lambda: setattr(view, "state", view.state.replace(source="login")), "view.set("),
        (lambda: view.param.update(state=view.state.replace()), "view.set("),
        (lambda: setattr(view["who"], "state", view.state), "view.set("),
        (lambda: setattr(view.state, "source", "login"), "view.set(source="),
        (lambda: setattr(view.set(days=7).state, "source", "login"), "view.set(source="),
        (lambda: view.state.param.update(source="login"), "view.set(source="),
    ]:
        with pytest.raises(ValidationFailed) as raised:
            wrong()
        assert words in raised.value.message
    assert view.state == explore(owner, days=7).state


def test_who_watches_the_state_is_called_after_each_change(owner: Lab) -> None:
    view = explore(owner)
    seen: list[object] = []
    view.param.watch(lambda event: seen.append(event.new.source), "state")
    view.set(source="login").set(source="gateway")
    assert seen == ["login", "gateway"]


def test_a_view_is_saved_as_one_file(owner: Lab, tmp_path: Path) -> None:
    written = explore(owner, days=7).save(tmp_path / "risk.html")
    text = written.read_text()
    assert text.startswith("<!doctype html>")
    assert "Filters: 7 days" in text
    with pytest.raises(ValidationFailed):
        explore(owner).save(tmp_path / "no folder" / "risk.html")


def test_objects_show_themselves(owner: Lab) -> None:
    issuer = next(iter(owner.issuers))
    assert issuer.explore().state.issuer == str(issuer.id)
    assert owner.explore("issuers", issuer=issuer).state.issuer == str(issuer.id)
    assert repr(owner.log.explore(entry=0)) == 'lab.explore("log", entry=0)'
    assert repr(owner.signals.explore(days=7)) == 'lab.explore("risk", window="7d")'
    assert repr(owner.agents.explore()) == 'lab.explore("agents")'


def test_a_lab_without_a_scope_shows_the_forbidden_state(owner: Lab) -> None:
    worker = owner.agents.register("Reader", scopes=["agents:read"])
    view = explore(owner.as_(worker.session()), "issuers")
    assert "This needs the scope" in view._repr_mimebundle_()["text/html"]
    with pytest.raises(PermissionDenied, match="issuers:read"):
        view.rows("issuers")


def test_a_lab_of_an_event_loop_has_no_views(owner: Lab) -> None:
    async def ask() -> None:
        twin: Any = AsyncLab(owner, VerbThreads(), "")
        assert "explore" not in dir(twin)
        await twin.explore("log")

    with pytest.raises(ValidationFailed, match="event loop has no views"):
        asyncio.run(ask())


@pytest.mark.parametrize(("key", "words"), [("", "What is happening, and who is behind it?"), ("who", "<h2>Who</h2>")])
def test_a_view_is_seen_before_it_has_loaded_anything(
    owner: Lab, key: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, **_: shown.append(bundle["text/html"]))
    page = explore(owner)
    view = page[key] if key else page
    view._ipython_display_()
    (opening,) = shown
    assert words in opening
    assert 'class="sk' in opening
    assert "data-ev" not in opening
    assert "Entities affected" not in opening
