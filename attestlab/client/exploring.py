"""`lab.explore`: pages of the dashboards in cells of notebooks, which the extra `notebook` brings."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

from attestlab.client.asynchronous.calls import is_waiting_possible
from attestlab.core.errors import ValidationFailed
from attestlab.core.extras import naming_extras, require_extra

if TYPE_CHECKING:
    from pydantic import BaseModel

    from attestlab.client.analysis.records import Records
    from attestlab.client.analysis.rows import Rows
    from attestlab.client.service_client import ServiceClient

_HOME = "attestlab_dashboards.cell.explorer"  # found late: a client loads no dashboards


class LiveView(Protocol):
    """A page of the dashboards in a cell. What is clicked in it is data for the next cell."""

    state: Any
    param: Any

    @property
    def link(self) -> str:
        """The address of the same page at the service."""

    def set(self, **settings: object) -> Self:
        """Move the page, as clicks do."""

    def rows(self, pane: str) -> Rows | Records[BaseModel]:
        """Return the rows behind a pane, as they are filtered now."""

    def sql(self, pane: str) -> str:
        """Return the query that gives these rows."""

    def python(self, pane: str | None = None) -> str:
        """Return Python that gives what a pane shows, or a script for the whole view."""

    def save(self, path: str | PathLike[str]) -> Path:
        """Save what the page shows as one HTML file."""

    def __getitem__(self, pane: str) -> Any:
        """Return one pane, to be shown alone."""


def explore(client: ServiceClient, page: object, settings: Mapping[str, object]) -> LiveView:
    """Open a page of the dashboards for the caller of a client.

    Raises:
        MissingExtra: a package of the extra `notebook` is not installed.
        ValidationFailed: there is no such page, a setting is not acceptable, or the lab is that of an event loop.
    """
    if is_waiting_possible():
        raise ValidationFailed("A lab of an event loop has no views. Explore one of attestlab.connect(url, api_key).")
    require_extra("notebook")
    with naming_extras():
        home = import_module(_HOME)
    return cast("LiveView", home.open_explorer(client, page, dict(settings)))


class ExploringLab:
    """What a lab shows in cells of a notebook."""

    _client: ServiceClient

    def explore(self, page: str = "risk", **state: object) -> LiveView:
        """Show a page of the dashboards in a cell: what is clicked in it is data for the next cell.

        The page acts as the caller of this lab.

        Args:
            page: `risk`, `policy`, `log`, `issuers`, `agents`, `access` or `usage`.
            state: what it shows at first: the parameters of its address, and `days=7` for the window of the last days.

        Returns:
            The view, which the last line of a cell shows: `view.state`, `view.rows("who").df()`, `view.sql("who")`,
            `view.python()`, `view.set(days=30)`, `view["when"]`, `view.save("risk.html")`.

        Raises:
            MissingExtra: a package of the extra `notebook` is not installed.
            ValidationFailed: there is no such page, parameter or value; the message names those that there are.
            PermissionDenied: a lab without an API key has only the page `log`.

        >>> view = lab.explore("risk", days=7, source="login")
        >>> view.state
        RiskState(window='7d', source='login')
        >>> len(view.rows("what").df()) == len(lab.sql(view.sql("what")))
        True
        """
        return explore(self._client, page, state)
