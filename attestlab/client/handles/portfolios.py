"""The public portfolio of a consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Unpack, cast

from attestlab.client import arguments, consumer_cards
from attestlab.client.analysis.records import Records
from attestlab.client.analysis.refused_filters import refuse_filters
from attestlab.client.handles.base import Handle
from attestlab.client.service_client import PAGE_ROWS, Json, ServiceClient, path_of
from attestlab.protections.shapes import PortfolioEntryOut, PortfolioOut

if TYPE_CHECKING:
    import pandas as pd

    from attestlab.client.collections.filters import NoFilterArgs


class PortfolioHandle(PortfolioOut, Handle):
    """The public protections of a consumer, newest first; `protections` is a list and a table."""

    shown_fields: ClassVar = ("username", "name", "protection_count")
    protections: Records[PortfolioEntryOut]

    @property
    def username(self) -> str:
        """The owner's username."""
        return self.user.username

    @property
    def name(self) -> str:
        """The owner's name."""
        return self.user.name

    @property
    def protection_count(self) -> int:
        """The number of public protections."""
        return len(self.protections)

    @property
    def url(self) -> str:
        """The address of the public page."""
        return f"{self._client.public_url}/u/{self.user.username}"

    def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Return the protections as a data frame, with types as those of `Rows.df`.

        Args:
            filters: none; the message says where they go.

        Returns:
            One row for each protection, newest first.

        Raises:
            ValidationFailed: it was given a filter; the message says where that goes.
            MissingExtra: pandas is not installed.

        >>> photo = sofia.protect(b"a photo for the frame", title="Lighthouse", visibility="public")
        >>> "Lighthouse" in lab.portfolio("sofia").df()["title"].to_list()
        True
        """
        refuse_filters(filters, "df", "Filter the table that it returns.")
        return self.protections.df()

    def _repr_html_(self) -> str:
        return consumer_cards.draw_portfolio(self)


def fetch_portfolio(client: ServiceClient, name: str) -> PortfolioHandle:
    """Fetch all pages of a portfolio.

    Raises:
        NotFound: there is no public portfolio of this name.
    """
    path = f"/v1/consumer/portfolio{path_of(arguments.read_text(name, name='name').strip())}"
    asked: dict[str, object] = {"limit": PAGE_ROWS}
    found: list[Json] = []
    while True:
        page = client.get(path, asked)
        found.extend(cast("list[Json]", page["protections"]))
        if page["next_cursor"] is None:
            return PortfolioHandle.parse(client, {**page, "protections": found})
        asked["cursor"] = page["next_cursor"]
