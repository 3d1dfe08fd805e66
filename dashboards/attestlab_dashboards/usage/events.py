"""What a click does to the state of the usage page: pure functions of state and value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attestlab_dashboards.reducers import Reducer, clear_filters, set_parameter, toggle_parameter
from attestlab_dashboards.usage.state import FILTERS, UsageState

EVENTS: Final[Mapping[str, Reducer[UsageState]]] = {
    **{name: set_parameter(name) for name in ("meter", "page")},
    "days": set_parameter("days", resets=["range"]),
    "range": set_parameter("range", resets=["days"]),
    "clear": clear_filters(FILTERS),
    "offer": toggle_parameter("offer"),
}
