"""What a view sends to the windows of a notebook: each pane once, and nothing while it is out of sight."""

from __future__ import annotations

import queue
from collections import Counter
from typing import cast

import pytest

from attestlab import Lab
from attestlab_dashboards.cell.explorer import Explorer
from attestlab_dashboards.cell.page import CellWindow
from attestlab_dashboards.conversation import PageMessage
from support.timeouts import WAIT_TIMEOUT_S


class Notebook:
    """A window of a view without a browser: what it sends, and what it gets."""

    def __init__(self, view: Explorer) -> None:
        self._view = view
        self._messages: queue.Queue[PageMessage] = queue.Queue()
        self._window: CellWindow = view._cell.open_window(self._messages.put)

    def send(self, **message: object) -> Counter[str]:
        """Send a message; returns how often each pane came until all that are in sight were drawn."""
        self._view._receive(self._window, {"n": 1, **message})
        return self.collect()

    def collect(self) -> Counter[str]:
        counted: Counter[str] = Counter()
        while (message := self._messages.get(timeout=WAIT_TIMEOUT_S))["do"] != "ready":
            if message["do"] == "panes":
                counted.update(pane["key"] for pane in cast(list[dict[str, str]], message["panes"]))
        return counted


@pytest.fixture
def view(owner: Lab) -> Explorer:
    return cast(Explorer, owner.explore("log"))


def test_a_window_gets_each_pane_once(view: Explorer) -> None:
    drawn = Notebook(view).send(hello=True)
    assert len(drawn) > 4
    assert drawn.pop("chips") == 1
    assert set(drawn.values()) == {1}


def test_a_window_out_of_sight_gets_what_it_missed_when_it_comes_back(view: Explorer) -> None:
    window = Notebook(view)
    window.send(hello=True)
    assert window.send(sight=False) == Counter()
    view.set(type="attestation.minted")
    assert set(window.collect()) <= {"chips"}
    missed = window.send(sight=True)
    assert missed["entries"] == 1
    assert window.send(sight=False) + window.send(sight=True) == Counter()


def test_a_view_that_is_not_shown_loads_nothing(view: Explorer) -> None:
    window = Notebook(view)
    view.set(type="attestation.minted")
    assert set(window.collect()) <= {"chips"}
