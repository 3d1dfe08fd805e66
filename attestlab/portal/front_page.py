"""Rendering of the first page and of its search: the state of the log, and what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, NamedTuple

from attestlab.attestations.rules import Status, compute_current_status
from attestlab.attestations.schemas.catalogue import CATALOGUE
from attestlab.issuers.rules import KNOWN_BY
from attestlab.portal.layout import NOT_INDEXED, Html, format_age, format_day, render_page
from attestlab.portal.rules import SearchKind, SearchTerm
from attestlab.portal.search import SearchResult
from attestlab.portal.service import LogOverview
from attestlab.portal.store import FoundAttestation

CHART_WIDTH, BARS_HEIGHT, BARS_TOP = 330, 74, 22  # units of the chart's viewBox
ENTRY_KINDS: Final = {
    "key.status": "a change of an issuer's key",
    "issuer.status": "a change of an issuer's standing",
    "status.list": "a list of what is no longer valid",
}


class Bar(NamedTuple):
    """A bar of the chart of new entries, in units of its viewBox, and its label."""

    x: float
    y: float
    width: float
    height: float
    label: str


@dataclass(frozen=True, slots=True)
class FoundView:
    """An attestation in the list of those found, with the current status of its row."""

    row: FoundAttestation
    title: str
    status: Status

    @property
    def issuer(self) -> Mapping[str, str | None]:
        """The issuer as the sentences of the pages call it."""
        known_by = KNOWN_BY.get(self.row.issuer_tier)
        return {"known_by": known_by, "registered_name": self.row.issuer_name, "domain": self.row.issuer_domain}


def front_page(overview: LogOverview, *, now: datetime) -> Html:
    """Render the first page."""
    head = overview.head
    signed, signed_unit = format_age((now - head.at).total_seconds())
    counts = overview.new_entries
    return render_page(
        "home.html",
        root="./",
        query="",
        head=head,
        root_hash=head.root.hex(),
        signed=signed,
        signed_unit=signed_unit,
        today=counts[-1],
        bars=draw_bars(counts, overview.last_day),
        total=sum(counts),
        days=len(counts),
        average=round(sum(counts) / len(counts)),
        highest=max(counts),
        first_day=_short_day(overview.last_day - timedelta(days=len(counts) - 1)),
        last_day=_short_day(overview.last_day),
        witness_count=overview.witness_count,
        cosigned=overview.cosigned,
        vkey=overview.vkey,
        key_name="+".join(overview.vkey.split("+")[:2]),
    )


def found_page(term: SearchTerm, result: SearchResult, *, now: datetime, is_file: bool) -> Html:
    """Render the result of a search that leads to no single attestation; with status 404 if it found nothing.

    Without a text to search, it is the page of the search box.
    """
    html = render_page(
        "found.html",
        status=404 if term.value and result.is_empty else 200,
        root="./",
        query=term.value,
        kind=term.kind.value,
        is_hash=term.kind is SearchKind.SHA256,
        is_file=is_file,
        result=result,
        found=[_found_view(row, now) for row in result.attestations],
        entry_kind=ENTRY_KINDS.get(result.entry_kind or "", "an entry"),
    )
    return html._replace(headers={**html.headers, **NOT_INDEXED})


def badge_page(problem: str, *, is_read: bool) -> Html:
    """Render the page of a picture whose Open Badge cannot be read, with status 400, or is not valid."""
    html = render_page(
        "badge_not_valid.html", status=200 if is_read else 400, root="./", query="", problem=problem, is_read=is_read
    )
    return html._replace(headers={**html.headers, **NOT_INDEXED})


def draw_bars(counts: Sequence[int], last_day: date) -> list[Bar]:
    """Draw one bar for each day; a day with entries has a visible bar.

    >>> [round(bar.height) for bar in draw_bars([0, 1, 1000], date(2026, 11, 21))]
    [0, 2, 74]
    """
    step, highest = CHART_WIDTH / len(counts), max(*counts, 1)
    bars = []
    for place, count in enumerate(counts):
        day = last_day - timedelta(days=len(counts) - 1 - place)
        height = max(2.0, BARS_HEIGHT * count / highest) if count else 0.0
        label = f"{_short_day(day)}: {count:,} new"
        bars.append(Bar(round(place * step, 1), round(BARS_TOP + BARS_HEIGHT - height, 1), step * 0.74, height, label))
    return bars


def _short_day(day: date) -> str:
    return " ".join(format_day(datetime(day.year, day.month, day.day)).split()[:2])


def _found_view(row: FoundAttestation, now: datetime) -> FoundView:
    title = CATALOGUE[row.schema_id].title if row.schema_id in CATALOGUE else "Attestation"
    return FoundView(row, title, compute_current_status(Status(row.status), row.expiry_at, now=now))
