"""Walks through the states of a page: rows of the view, its SQL and its script are the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from attestlab import Lab
from attestlab_dashboards.cell.explorer import Explorer
from support.property_tests import examples

CHOICES: dict[str, list[Any]] = {
    "window": ["24h", "7d", "30d", "90d", "yesterday", "2026-10-05/2026-10-20"],
    "source": [None, "login", "session", "gateway", "payments", "nothing"],
    "type": [None, "ato", "behavior", "geo_anomaly"],
    "kind": [None, "user", "ip"],
    "min_score": [0, 30, 80],
    "about": [None, "user:u-3", "ip:10.0.0.1"],
    "sort": ["-escalated", "score", "-signals", "seen", "-change"],
    "by": ["source", "type"],
}
STEPS = st.sampled_from([(name, value) for name, values in CHOICES.items() for value in values])


def read_frames(script: str, lab: Lab) -> dict[str, Any]:
    names: dict[str, Any] = {"lab": lab}
    exec(compile(script, "<the script of a view>", "exec"), names)
    return names


@pytest.mark.more_in_soak
@settings(max_examples=examples(4, many=50), phases=[Phase.explicit, Phase.generate])  # no shrinking: a walk is short
@given(st.lists(STEPS, min_size=1, max_size=4))
def test_rows_sql_and_script_are_the_same(owner: Lab, steps: list[tuple[str, Any]]) -> None:
    view = owner.explore("risk")
    assert isinstance(view, Explorer)
    for name, value in steps:
        view.set(**{name: value})
    frames = read_frames(view.python(), owner)
    for key in ("when", "what", "queue", "who"):
        rows = view.rows(key).df()
        assert owner.sql(view.sql(key)).df().equals(rows)
        assert frames[key].equals(rows)


def test_a_script_notices_that_its_numbers_have_changed(owner: Lab) -> None:
    view = owner.explore("risk", source="login")
    script = view.python()
    read_frames(script, owner)
    with pytest.raises(AssertionError):
        read_frames(script.replace("source = 'login'", "source = 'session'"), owner)
