"""The drawers, dialogs and menus of the pages, and how a person opens each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from playwright.sync_api import Page

from support.dashboards.clicks import Mouse


def open_first(target: str) -> Callable[[Page], None]:
    """Return what clicks an element, and waits for what it opens."""
    return lambda page: Mouse(page).click(target)


def ask_in_drawer(page: Page) -> None:
    """Ask for a suspension in the drawer of an issuer, as on a phone, whose table has no buttons."""
    mouse = Mouse(page)
    mouse.click("[data-pane=issuers] tr[data-row] button.al-open")
    mouse.click("[data-pane=issuer] button[data-v^='suspend:']")


def open_part(name: str) -> Callable[[Page], None]:
    """Return what opens an agent that has worked, and a part of its drawer or the question of a button there."""

    def open_it(page: Page) -> None:
        mouse = Mouse(page)
        mouse.click("[data-pane=fleet] tr[data-row] button.al-open")
        mouse.press(name, "[data-pane=agent]")

    return open_it


def ask_about_key(page: Page) -> None:
    """Report a key as lost, up to the question."""
    mouse = Mouse(page)
    mouse.click("[data-pane=keys] tr[data-row] button.al-open")
    mouse.press("Report as lost", "[data-pane=who]")


def open_at_once(target: str) -> Callable[[Page], None]:
    """Return what opens a part that the page holds already, without asking the server."""
    return lambda page: Mouse(page).click(target, redraws=False)


def open_menus(page: Page) -> None:
    """Open each menu of a pane, and that of the person, by the keyboard: an open menu may lie over the next."""
    for menu in page.locator("details:visible > summary").all():
        menu.press("Enter")


OPENED: Final[Mapping[str, tuple[str, Callable[[Page], None]]]] = {
    "an entity": ("risk?kind=user", open_first("[data-pane=who] tr[data-row] button.al-open")),
    "menus": ("risk", open_menus),
    "saved views": ("risk", open_at_once("[data-pane=views] summary")),
    "an annotation": ("risk", open_at_once("[data-pane=when] [data-annotate]")),
    "a range to compare with": ("risk", open_at_once("#range-compare > summary")),
    "an export": ("risk", open_at_once("[data-pane=export] summary")),
    "two times side by side": ("risk?compare=before", open_menus),
    "an own range of risk": ("risk", open_at_once("#range-window > summary")),
    "an own range of entries": ("log", open_at_once("[data-pane=entries] .al-range > summary")),
    "an own range of acts": ("agents", open_at_once("[data-pane=acts] .al-range > summary")),
    "an own range of the trail": ("access", open_at_once("[data-pane=trail] .al-range > summary")),
    "an own range of usage": ("usage", open_at_once(".al-range > summary")),
    "a dialog of activation": ("policy", open_first("[data-pane=activation] button[data-ev=dialog]")),
    "a draft with an error": ("policy?policy=new&category=MINT", open_menus),
    "an entry": ("log", open_first("[data-pane=entries] tr[data-row] button.al-open")),
    "an issuer": ("issuers", open_first("[data-pane=issuers] tr[data-row] button.al-open")),
    "an agent": ("agents", open_first("[data-pane=fleet] tr[data-row] button.al-open")),
    "the trust of an agent": ("agents", open_part("Trust")),
    "the runs of an agent": ("agents", open_part("Runs")),
    "a person with access": ("access", open_first("[data-pane=people] tr[data-row] button.al-open")),
    "an API key": ("access", open_first("[data-pane=keys] tr[data-row] button.al-open")),
    "a lost key": ("access", ask_about_key),
    "a kill": ("agents?status=active", open_part("Kill its tree")),
    "a suspension": ("issuers?status=ACTIVE", ask_in_drawer),
    "a registration": ("issuers?ask=add", lambda page: None),
}
