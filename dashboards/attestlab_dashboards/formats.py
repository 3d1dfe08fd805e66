"""How numbers, times and ids read in the dashboards, the same on every page."""

from __future__ import annotations

from datetime import UTC, datetime

from markupsafe import Markup

from attestlab.core.counting import plural as plural  # the panes import it from here
from attestlab.portal import rules
from attestlab_dashboards import icons
from attestlab_dashboards.safe import html


def count(number: int) -> str:
    """Format a count.

    >>> count(102410)
    '102,410'
    """
    return f"{number:,}"


def compact(number: float) -> str:
    """Format a number in at most four characters, for axes.

    >>> [compact(number) for number in (0, 950, 1600, 102_410, 2_000_000)]
    ['0', '950', '1.6k', '102k', '2M']
    """
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if abs(number) >= size:
            scaled = number / size
            return f"{scaled:.0f}{unit}" if scaled >= 100 or scaled == int(scaled) else f"{scaled:.1f}{unit}"
    return f"{number:g}" if isinstance(number, int) or number == int(number) else f"{number:.1f}"


def percent(part: float, whole: float) -> str:
    """Format a share; `whole` may be 0.

    >>> percent(1842, 20114), percent(1, 2), percent(0, 0)
    ('9.2 %', '50 %', '0 %')
    """
    share = 100 * part / whole if whole else 0.0
    return f"{share:.1f} %" if 0 < share < 10 else f"{share:.0f} %"


def day(at: datetime, now: datetime | None = None) -> str:
    """Format the day of a time, in UTC; with the year unless it is that of `now`.

    >>> day(datetime(2026, 11, 12, tzinfo=UTC), datetime(2026, 11, 22, tzinfo=UTC))
    '12 Nov'
    >>> day(datetime(2025, 11, 12, tzinfo=UTC))
    '12 Nov 2025'
    """
    at = at.astimezone(UTC)
    text = f"{at.day} {rules.MONTHS[at.month - 1][:3]}"
    return text if now is not None and now.astimezone(UTC).year == at.year else f"{text} {at.year}"


def utc(at: datetime) -> str:
    """Format a time to the minute.

    >>> utc(datetime(2026, 11, 12, 10, 53, 7, tzinfo=UTC))
    '12 Nov 2026, 10:53 UTC'
    """
    at = at.astimezone(UTC)
    return f"{day(at)}, {at:%H:%M} UTC"


def ago(at: datetime, now: datetime) -> str:
    """Format how long ago a time was, or how far ahead it is.

    >>> now = datetime(2026, 11, 12, 12, tzinfo=UTC)
    >>> ago(datetime(2026, 11, 12, 11, 58, tzinfo=UTC), now), ago(datetime(2026, 11, 14, 13, tzinfo=UTC), now)
    ('2 min ago', 'in 2 d')
    """
    seconds = (now - at).total_seconds()
    if abs(seconds) < 60:
        return "just now"
    amount, unit = rules.largest_unit(abs(seconds))
    return f"{amount} {unit} ago" if seconds > 0 else f"in {amount} {unit}"


def time_tag(at: datetime, now: datetime) -> Markup:
    """Draw a time: relative text, with the UTC time on hover."""
    return html('<time datetime="{iso}" title="{utc}">{ago}</time>', iso=at.isoformat(), utc=utc(at), ago=ago(at, now))


def short_id(value: str) -> Markup:
    """Draw an id or hash: its first eight and last four characters, and a button that copies all of it."""
    return html(
        '<span class="al-id"><code title="{value}">{shown}</code>'
        '<button type="button" class="al-copy" data-copy="{value}" aria-label="Copy {value}">{icon}</button></span>',
        value=value,
        shown=rules.shorten_middle(value, 8, 4),
        icon=icons.draw("copy"),
    )
