"""The Python that a pane copies: the call of the facade, and the filters of the page over its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attestlab_dashboards.access.register import STATUSES
from attestlab_dashboards.access.state import AccessState
from attestlab_dashboards.access.words import IDLE_DAYS, RECENT_DAYS

_USES: Final = {
    "never": '{rows}["last_used_at"].isna()',
    "idle": f'({{rows}}["last_used_at"] <= lab.now() - timedelta(days={IDLE_DAYS}))',
    "recent": f'({{rows}}["last_used_at"] > lab.now() - timedelta(days={RECENT_DAYS}))',
}


def write_filtered(call: str, rows: str, state: AccessState, *, role: str = "") -> str:
    """Write Python that reads all rows of a call and keeps those that the page lists.

    Args:
        call: the call of the facade, such as `lab.people.list()`.
        rows: what the variable of the rows is called.
        state: the page's filters.
        role: the role that the rows must have, if they have roles.
    """
    conditions = [*([f'{rows}["roles"].map(lambda roles: "{role}" in roles)'] if role else []), *_list(rows, state)]
    if not conditions:
        return f"{call}.df()"
    imports = "from datetime import timedelta\n\n" if state.use in ("idle", "recent") else ""
    return f"{imports}{rows} = {call}.df()\n{rows}[{' & '.join(conditions)}]"


def _list(rows: str, state: AccessState) -> Iterator[str]:
    if state.state:
        yield f'{rows}["status"].isin({list(STATUSES[state.state])})'
    if state.use:
        yield _USES[state.use].format(rows=rows)
