"""Layout of all pages: one template environment, one frame, and the headers that restrict every page.

All text that people wrote passes through `rules.escape_invisible` and Jinja's escaping. Both
are enabled for the whole environment, so no template line can omit them. `Markup` is used only
for markup that is built from validated values.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from attestlab.core.encoding import format_time
from attestlab.portal import assets, rules
from attestlab.portal.navigation import NAVIGATION

NOTHING_ALLOWED: Final = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NOT_INDEXED: Final = {"X-Robots-Tag": "noindex, nofollow"}
# Browsers send `Origin: null` with a form under `no-referrer`. Under this policy they send the origin, and as Referer
# the origin too, so that a token in an address stays in it.
_PRIVATE: Final = {**NOT_INDEXED, "Referrer-Policy": "strict-origin"}
_ALWAYS: Final = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}
_CACHE_SIZE = 256


class Html(NamedTuple):
    """A finished page."""

    status: int
    body: bytes
    headers: Mapping[str, str]


def render_page(template: str, *, status: int = 200, root: str, inline_css: str = "", **facts: object) -> Html:
    """Render a page by the name of its template.

    `root` leads from the page's address to that of the first page, such as `../`, so that the pages
    also work below a path of another server. `inline_css` is our own, or an issuer's validated colours.
    """
    text = render_text(template, root=root, inline_css=Markup(inline_css), **facts)
    return Html(status, text.encode("utf-8"), {**_ALWAYS, "Content-Security-Policy": content_policy(inline_css)})


def keep_private(html: Html) -> Html:
    """Return a page for one person: no search engine lists it, and its forms name their origin and no address."""
    return html._replace(headers={**html.headers, **_PRIVATE})


def render_text(template: str, **facts: object) -> str:
    """Render a template that is no page by itself, such as a picture; every value is escaped."""
    return _environment.get_template(template).render(**facts)


@lru_cache(_CACHE_SIZE)
def content_policy(inline_css: str = "") -> str:
    """Build the CSP of a page: it allows scripts, styles and images of this host, and exactly this inline style."""
    inline_source = f" {assets.csp_hash(inline_css)}" if inline_css else ""
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            f"style-src 'self'{inline_source}",
            "img-src 'self'",
            "connect-src 'none'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def format_day(at: datetime) -> str:
    """Format the day of a UTC time for people.

    >>> from datetime import UTC
    >>> format_day(datetime(2026, 11, 1, 9, 5, tzinfo=UTC))
    '1 November 2026'
    """
    return f"{at.day} {rules.MONTHS[at.month - 1]} {at.year}"


def format_utc(at: datetime) -> str:
    """Format a UTC time for people.

    >>> from datetime import UTC
    >>> format_utc(datetime(2026, 11, 1, 9, 5, tzinfo=UTC))
    '1 November 2026, 09:05 UTC'
    """
    return f"{format_day(at)}, {at:%H:%M} UTC"


def format_age(seconds: float) -> tuple[str, str]:
    """Format an age for people, as a number and its unit.

    >>> format_age(41.2), format_age(150), format_age(7300), format_age(200000)
    (('41', 's ago'), ('2', 'min ago'), ('2', 'h ago'), ('2', 'days ago'))
    """
    amount, unit = rules.largest_unit(max(0.0, seconds))
    words = unit if unit != "d" else "day" if amount == 1 else "days"
    return str(amount), f"{words} ago"


def shorten_hash(text: str) -> str:
    """Shorten a hash to its beginning and end.

    >>> shorten_hash("7ea1d201cfa4eb5cffea2885435dc3fada574f2ec0e6353ba1d64fc80ff3316d")
    '7ea1d201cfa4…0ff3316d'
    """
    return rules.shorten_middle(text, 12, 8)


def _escape_invisible(value: object) -> object:
    """Escape invisible characters in every value that Jinja prints, except in `Markup`."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return rules.escape_invisible(value)
    return value


def _time_element(at: datetime) -> Markup:
    return Markup('<time datetime="{}">{}</time>').format(format_time(at), format_utc(at))


def _day_element(at: datetime) -> Markup:
    return Markup('<time datetime="{}">{}</time>').format(format_time(at), format_day(at))


def _format_count(number: int) -> str:
    return f"{number:,}"


_environment = Environment(
    loader=PackageLoader("attestlab.portal", "templates"),
    autoescape=True,
    finalize=_escape_invisible,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_environment.filters |= {
    "time": _time_element,
    "day": _day_element,
    "day_text": format_day,
    "instant": format_time,
    "count": _format_count,
    "short": shorten_hash,
}
_environment.globals |= {"asset": assets.public_name, "navigation": NAVIGATION}
