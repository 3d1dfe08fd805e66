"""Measurements of the layout of a page in a browser; the script (layout.js) runs in the page."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from playwright.sync_api import Page

TARGET_PX: Final = 24  # the least height and width of what a finger is to hit (WCAG 2.2, 2.5.8)
SCRIPT: Final = Path(__file__).with_suffix(".js").read_text()


def list_layout_faults(
    page: Page, width: int, *, is_touched: bool = True, may_be_half_empty: bool = False
) -> list[str]:
    """List what breaks in a window of `width` px: sideways scrolling, boxes that scroll, empty halves, small targets.

    Where the window `is_touched`, targets are at least 24 px, and no words are about hovering. A page whose texts are
    far longer in one card than in the card at its side `may_be_half_empty`.
    """
    options = {"width": width, "targetPx": TARGET_PX, "isTouched": is_touched}
    call = f"async (options) => {{ {SCRIPT}\n await settle(); return measure(options); }}"
    faults: list[str] = page.evaluate(call, options)
    return [fault for fault in faults if not (may_be_half_empty and fault.startswith("half-empty"))]


def list_unreadable_texts(page: Page) -> list[str]:
    """List the cut texts that stay cut when the focus moves to them."""
    unread: list[str] = page.evaluate(f"async () => {{ {SCRIPT}\n await settle(); return listUnread(); }}")
    return unread
