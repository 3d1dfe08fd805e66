"""Any argument of a chart of a table is drawn or refused in our words, whatever it is."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pandas as pd
import pytest

from attestlab import plots
from attestlab.core.errors import ValidationFailed

DAYS = pd.to_datetime(["2026-11-01", "2026-11-02"], utc=True)
FRAME = pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=DAYS)
ROWS = pd.DataFrame({"at": DAYS, "series": ["a", "b"], "n": [3, 4], "score": [10.0, 20.0], "severity": ["high"] * 2})
NAMED = FRAME.set_axis(["Mon", "Tue"])
CALLS: dict[str, dict[str, Any]] = {
    "draw_bars": {"values": pd.Series([1, 2], index=["a", "b"]), "title": "", "xlabel": "", "loud": ()},
    "draw_columns": {"counts": NAMED, "title": "", "ylabel": "", "rot": 0, "loud": ()},
    "draw_counts": {"counts": NAMED, "title": ""},
    "draw_days": {"counts": FRAME, "title": "", "ylabel": ""},
    "draw_lines": {"series": FRAME.set_axis([1.0, 2.0]), "title": "", "ylabel": ""},
    "draw_times": {"series": FRAME, "title": "", "ylabel": ""},
    "draw_scores": {"scores": ROWS, "every": "day", "title": ""},
    "draw_severities": {"counts": ROWS, "title": ""},
    "draw_volume": {"counts": ROWS, "every": "day", "title": "", "order": (), "window": None},
    "draw_states": {"states": pd.DataFrame({"a": ["ok", "open"]}), "title": ""},
    "draw_contributions": {"factors": [], "title": ""},
    "draw_sweep": {"sweep": [], "what": "changes", "title": ""},
}
JUNK: list[Any] = [
    *(None, 3, float("nan"), "x", [], [3], {}, object(), ("a", "b"), (None, None), (DAYS[1], DAYS[0])),
    *(FRAME, ROWS, ROWS.drop(columns="at"), ROWS.assign(at="x"), pd.DataFrame(), pd.Series([1])),
]


@pytest.mark.parametrize(("verb", "argument"), [(verb, name) for verb, known in CALLS.items() for name in known])
def test_an_argument_is_drawn_or_refused(verb: str, argument: str) -> None:
    draw = getattr(plots, verb)
    assert draw(**CALLS[verb]) is not None
    for junk in JUNK:
        with suppress(ValidationFailed):
            draw(**{**CALLS[verb], argument: junk})
