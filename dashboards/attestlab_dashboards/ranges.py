"""Own ranges of days: how an address carries one, how a person enters it, and how it reads."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab_dashboards.formats import day
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import chip

FIRST_DAY: Final = date(2000, 1, 1)
LAST_DAY: Final = date(2099, 12, 31)
_DAY: Final = timedelta(days=1)


class DayRange(NamedTuple):
    """The UTC days from `first` to `last`, both of them included."""

    first: date
    last: date

    def __str__(self) -> str:
        return f"{self.first}/{self.last}"

    @classmethod
    def parse(cls, text: str) -> DayRange:
        """Read a range such as 2026-10-04/2026-11-02; the days may stand in either order.

        Raises:
            ValueError: it is none, or a day is not of 2000 to 2099.
        """
        first, last = sorted(_parse_day(part) for part in text.split("/"))
        return cls(first, last)

    @property
    def words(self) -> str:
        """The days in words, with their year."""
        return write_days(self.start, datetime.combine(self.last, time(), UTC))

    @property
    def start(self) -> datetime:
        """When the first day begins (UTC)."""
        return datetime.combine(self.first, time(), UTC)

    @property
    def end(self) -> datetime:
        """When the day after the last one begins (UTC)."""
        return datetime.combine(self.last, time(), UTC) + _DAY


def _parse_day(text: str) -> date:
    found = date.fromisoformat(text)
    if not FIRST_DAY <= found <= LAST_DAY:
        raise ValueError(f"{text!r} is not in the years {FIRST_DAY.year} to {LAST_DAY.year}.")
    return found


def read_range(text: str) -> str:
    """Read a range and write it in its one form.

    >>> read_range("2026-11-02/2026-10-04")
    '2026-10-04/2026-11-02'

    Raises:
        ValueError: it is none.
    """
    return str(DayRange.parse(text))


def draw_own_range(ev: str, chosen: DayRange | None, *, label: str = "Own range", others: Markup = NOTHING) -> Markup:
    """Draw the chip that opens two days to choose; both together are sent as one range, an event `ev`.

    `others` can be chosen instead of days.
    """
    return html(
        '<details class="al-range" id="range-{ev}"><summary class="chip{on}">{label}</summary>{others}'
        '<form data-ev="{ev}">{first}{last}<button class="btn sm primary" data-key="range:{ev}">Show</button></form>'
        "</details>",
        ev=ev,
        on=" on" if chosen else "",
        label=label,
        others=html('<div class="al-range-others">{others}</div>', others=others) if others else NOTHING,
        first=_draw_day("From", "from", ev, chosen.first if chosen else None),
        last=_draw_day("To", "to", ev, chosen.last if chosen else None),
    )


def draw_days(ev: str, chosen: str, today: date) -> Markup:
    """Draw the chips of the days to which a list is narrowed: yesterday, the last 7 and 30 days, and own ones.

    A chip sends its range as an event `ev`, and the chosen one sends it again, to drop it. `chosen` is empty for all
    days.
    """
    choices = {
        "Yesterday": DayRange(today - _DAY, today - _DAY),
        **{f"{days} days": DayRange(today - (days - 1) * _DAY, today) for days in (7, 30)},
    }
    own = DayRange.parse(chosen) if chosen else None
    chips = join(
        chip(label, ev=ev, v=str(days), pressed=own == days, removable=own == days) for label, days in choices.items()
    )
    is_own = own is not None and own not in choices.values()
    dropped = (
        chip(own.words, ev=ev, v=str(own), pressed=True, removable=True) if own is not None and is_own else NOTHING
    )
    return html(
        "{chips}{range}{dropped}", chips=chips, range=draw_own_range(ev, own if is_own else None), dropped=dropped
    )


def find_bounds(chosen: str) -> dict[str, str]:
    """Return when a range begins and ends, as parameters `since` and `until` of a query; all time without one.

    >>> find_bounds("2026-10-04/2026-10-04")
    {'since': '2026-10-04T00:00:00+00:00', 'until': '2026-10-05T00:00:00+00:00'}
    """
    days = DayRange.parse(chosen) if chosen else DayRange(FIRST_DAY, LAST_DAY)
    return {"since": days.start.isoformat(), "until": days.end.isoformat()}


def write_days(first: datetime, last: datetime) -> str:
    """Write the days from one to another, both included, with their year.

    >>> write_days(datetime(2026, 10, 4, tzinfo=UTC), datetime(2026, 11, 2, 15, tzinfo=UTC))
    '4 Oct to 2 Nov 2026'
    """
    return day(last) if day(first) == day(last) else f"{day(first, last)} to {day(last)}"


def write_span(start: datetime, end: datetime) -> str:
    """Write a span of time; whole days are inclusive, other times have their minute.

    >>> write_span(datetime(2026, 10, 4, tzinfo=UTC), datetime(2026, 11, 3, tzinfo=UTC))
    '4 Oct to 2 Nov'
    """
    if start.time() == end.time() == datetime.min.time():
        last = end - timedelta(days=1)
        return day(start, end) if last <= start else f"{day(start, end)} to {day(last, end)}"
    same_day = day(start, end) == day(end, end)
    until = f"{end:%H:%M}" if same_day else f"{day(end, end)}, {end:%H:%M}"
    return f"{day(start, end)}, {start:%H:%M} to {until}"


def _draw_day(label: str, name: str, ev: str, value: date | None) -> Markup:
    return html(
        '<label>{label} <input type="date" name="{name}" data-key="{ev}:{name}" min="{min}" max="{max}"{value} '
        "required></label>",
        label=label,
        name=name,
        ev=ev,
        min=FIRST_DAY,
        max=LAST_DAY,
        value=html(' value="{value}"', value=value) if value else NOTHING,
    )
