"""The small files that browsers and crawlers look for at fixed addresses of a site."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Final

SECURITY_TXT_DAYS: Final = 180  # RFC 9116 section 2.5.5 recommends less than a year
# Pages of attestations are not listed here: a crawler must be able to read that they forbid indexing.
ROBOTS_TXT: Final = """\
User-agent: *
Disallow: /find
Disallow: /log/
Disallow: /v1/
"""


def security_txt(contact: str, *, portal_url: str, now: datetime) -> str:
    """Render security.txt (RFC 9116); `contact` is a `mailto:`, `https:` or `tel:` address.

    It expires at a midnight half a year ahead, so the file changes once a day.

    >>> print(security_txt("mailto:a@b.example", portal_url="https://c.example", now=datetime(2026, 11, 1, tzinfo=UTC)))
    Contact: mailto:a@b.example
    Expires: 2027-04-30T00:00:00Z
    Preferred-Languages: en
    Canonical: https://c.example/.well-known/security.txt
    <BLANKLINE>
    """
    expires = datetime.combine(now.date() + timedelta(days=SECURITY_TXT_DAYS), time(), UTC)
    return (
        f"Contact: {contact}\n"
        f"Expires: {expires:%Y-%m-%dT%H:%M:%SZ}\n"
        "Preferred-Languages: en\n"
        f"Canonical: {portal_url}/.well-known/security.txt\n"
    )
