"""What a click does to the state of the usage page: pure functions of state and value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attestlab_dashboards.reducers import Reducer, set_parameter, toggle_parameter
from attestlab_dashboards.usage.state import UsageState

EVENTS: Final[Mapping[str, Reducer[UsageState]]] = {
    **{name: set_parameter(name) for name in ("meter", "days", "page")},
    "offer": toggle_parameter("offer"),
}
