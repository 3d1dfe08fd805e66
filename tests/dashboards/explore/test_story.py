"""The story of an analyst in a real JupyterLab: from a click to the culprit, its rows, a rule, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Locator

from support.browser import needs_chromium, open_browser
from support.jupyter_lab import LIVE, NotebookPage, serve_jupyter_lab, watch_page, write_notebook

pytestmark = needs_chromium
NAME = "story.ipynb"
CULPRIT = "device-5c1e07d2"
STORY = (
    "import attestlab\n\nlab = attestlab.demo()",
    'view = lab.explore("risk", days=7)\nview',
    'found = view.rows("who").df()\nfound[["entity_id", "score", "signals"]]',
    """\
media = {"attr": "signal.source", "op": "eq", "value": "media"}
high = {"attr": "signal.score", "op": "gte", "value": float(found["score"].min())}
rule = {"id": "media", "when": {"all": [media, high]}}
lab.signals.simulate([rule], since="2026-10-31", until="2026-11-01").rules.df()[["rule_id", "escalated"]]""",
    """\
costs = {"missed_fraud": 200, "false_alarm": 12}
f"{lab.signals.simulate([rule], costs=costs).cost:,.0f}\"""",
)
CLICKED_WHILE_IT_RUNS = (
    "import attestlab, time\n\nlab = attestlab.demo(history=False)",
    """\
view = lab.explore("log")
display(view)
while view.state.type is None:
    time.sleep(0.05)
view.state.type""",
)


@contextmanager
def open_notebook(folder: Path) -> Iterator[NotebookPage]:
    """Open the notebook of a folder, which does not complain and asks no other host."""
    with serve_jupyter_lab(folder) as url, open_browser() as browser, watch_page(browser, url) as page:
        yield NotebookPage(page, url, NAME)


def find_culprit_by_clicking(view: Locator) -> None:
    """Click the device that the first sentence names, and all that is known of it."""
    view.locator(LIVE).wait_for()
    view.locator(f"[data-pane=answer] [data-ev=entity][data-v='device:{CULPRIT}']").click()
    view.locator(".al-drawer [data-ev=about]").click()
    view.locator("[data-pane=chips]", has_text=CULPRIT).wait_for()
    view.locator(LIVE).wait_for()


def read_words(outputs: Locator) -> list[str]:
    return outputs.inner_text().split()


def test_an_analyst_finds_the_culprit_by_clicking(caches: None, tmp_path: Path) -> None:
    write_notebook(tmp_path / NAME, STORY)
    with open_notebook(tmp_path) as notebook:
        notebook.run(1)
        find_culprit_by_clicking(notebook.run(2))
        assert sum(word.startswith("upload-") for word in read_words(notebook.run(3))) >= 10
        assert read_words(notebook.run(4))[-2:] == ["media", "60"]
        assert len(notebook.run(5).inner_text()) >= len("'1,000'")
        notebook.save()
    assert CULPRIT in (tmp_path / NAME).read_text()  # the still, as no cell names it


@pytest.mark.usefixtures("caches")
def test_a_view_answers_while_its_own_cell_runs(tmp_path: Path) -> None:
    write_notebook(tmp_path / NAME, CLICKED_WHILE_IT_RUNS)
    with open_notebook(tmp_path) as notebook:
        notebook.run(1)
        view = notebook.begin(2)
        view.locator(LIVE).wait_for()
        view.locator("[data-ev=type]:not([data-v=''])").first.click()
        notebook.wait_for_end(2)
