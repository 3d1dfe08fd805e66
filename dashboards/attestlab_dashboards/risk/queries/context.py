"""What every pane of the page needs first: the newest signal, at which windows end, and the tenant's threshold."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from attestlab import Lab
from attestlab_dashboards.risk.queries.sharing import SharedLoad
from attestlab_dashboards.risk.state import RiskState
from attestlab_dashboards.risk.windows import Period, find_period

KEEP_S: Final = 20.0  # the window ends with the step of the newest signal, so an older answer shows the same window
_NEWEST: Final = "SELECT max(occurred_at) AS newest FROM signals"


class RiskContext(NamedTuple):
    """The time of the newest signal, None if there is none, and the score from which a signal is escalated."""

    newest: datetime | None
    threshold: float


def _load(lab: Lab, _key: str) -> RiskContext:
    (row,) = lab.sql(_NEWEST)
    newest = row["newest"]
    return RiskContext(newest if isinstance(newest, datetime) else None, lab.signals.settings().escalation_threshold)


_SHARED: Final = SharedLoad(_load, keep_s=KEEP_S)


def load_context(lab: Lab) -> RiskContext:
    """Load it, at most once in 20 seconds."""
    return _SHARED(lab, "")


def load_period(lab: Lab, state: RiskState, now: datetime) -> Period:
    """Return the period that a state shows; without signals its window ends now."""
    newest = load_context(lab).newest or now
    return find_period(state.shown_window, newest, state.since, state.until)
