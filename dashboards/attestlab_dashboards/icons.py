"""Icons of the dashboards, as inline SVG of 24 units; decoration only, a word always stands next to them."""

from __future__ import annotations

from functools import cache
from typing import Final, LiteralString

from markupsafe import Markup

from attestlab_dashboards.safe import html

_PATHS: Final[dict[str, LiteralString]] = {
    "risk": '<path d="M3 12h4l3-8 4 16 3-8h4"/>',
    "policy": '<path d="M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6z"/><path d="M9 12l2 2 4-4"/>',
    "log": '<path d="M12 4v6M6 20v-6h12v6M12 10v4"/><circle cx="12" cy="3.5" r="1.5"/>',
    "issuers": '<path d="M4 20h16M6 20V10M18 20V10M3 10l9-6 9 6zM10 20v-5h4v5"/>',
    "agents": '<rect x="5" y="8" width="14" height="11" rx="3"/><path d="M12 8V4M9 13v1M15 13v1M3 13v3M21 13v3"/>',
    "access": '<circle cx="8" cy="8" r="3.5"/><path d="M2.5 20c.5-4 2.5-6 5.5-6s5 2 5.5 6M17 11v8M17 16h3"/>'
    '<circle cx="17" cy="8" r="2.5"/>',
    "usage": '<path d="M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6"/>',
    "api": '<path d="M6 3h9l4 4v14H6z"/><path d="M14 3v5h5"/>',
    "search": '<circle cx="11" cy="11" r="6"/><path d="M20 20l-4.5-4.5"/>',
    "theme": '<circle cx="12" cy="12" r="8"/><path d="M12 4a8 8 0 0 1 0 16z" fill="currentColor"/>',
    "check": '<path d="M5 12.5l4.5 4.5L19 7.5"/>',
    "cross": '<path d="M6 6l12 12M18 6L6 18"/>',
    "up": '<path d="M12 19V5M6 11l6-6 6 6"/>',
    "down": '<path d="M12 5v14M6 13l6 6 6-6"/>',
    "eye": '<path d="M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12z"/><circle cx="12" cy="12" r="2.5"/>',
    "key": '<circle cx="8" cy="15" r="4"/><path d="M11 12l8-8M16 7l3 3"/>',
    "clock": '<circle cx="12" cy="12" r="8.5"/><path d="M12 7v5l3 2"/>',
    "warn": '<path d="M12 4L2.5 20h19z"/><path d="M12 10v4M12 17v.5"/>',
    "lock": '<rect x="5" y="11" width="14" height="9" rx="2"/><path d="M8 11V8a4 4 0 0 1 8 0v3"/>',
    "inbox": '<path d="M4 13l3-8h10l3 8v6H4z"/><path d="M4 13h5l1.5 2.5h3L15 13h5"/>',
    "copy": '<rect x="9" y="9" width="11" height="11" rx="2"/><path d="M5 15V5h10"/>',
    "download": '<path d="M12 4v11M7 11l5 5 5-5M5 20h14"/>',
    "plus": '<path d="M12 5v14M5 12h14"/>',
    "minus": '<path d="M6 12h12"/>',
    "user": '<circle cx="12" cy="8" r="4"/><path d="M4 20c1-4 4-6 8-6s7 2 8 6"/>',
    "device": '<rect x="7" y="3" width="10" height="18" rx="2"/><path d="M11 18h2"/>',
    "globe": '<circle cx="12" cy="12" r="8.5"/><path d="M3.5 12h17M12 3.5c5 5 5 12 0 17M12 3.5c-5 5-5 12 0 17"/>',
    "document": '<path d="M6 3h9l4 4v14H6z"/><path d="M9 12h6M9 16h6"/>',
    "play": '<path d="M7 5l11 7-11 7z"/>',
    "out": '<path d="M10 5H5v14h5M14 8l4 4-4 4M18 12H9"/>',
}


@cache
def draw(name: str) -> Markup:
    """Draw an icon by its name.

    Raises:
        KeyError: there is no such icon.
    """
    return html('<svg class="i" viewBox="0 0 24 24" aria-hidden="true">{path}</svg>', path=html(_PATHS[name]))
