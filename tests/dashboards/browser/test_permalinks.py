"""A copied link shows the same rows in another browser, on every page; one drag narrows every pane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest
from playwright.sync_api import Page

from attestlab_dashboards.risk.state import RiskState
from support.browser import needs_chromium
from support.dashboards.clicks import Mouse
from support.dashboards.demo_server import DemoServer
from support.dashboards.windows import Windows, list_failed_panes, read_number, wait_for_redraw

pytestmark = needs_chromium

CHOSEN: Final[dict[str, Callable[[Mouse], None]]] = {}  # what a person chooses on a page, before the link is copied


def _choose(path: str) -> Callable[[Callable[[Mouse], None]], None]:
    def keep(steps: Callable[[Mouse], None]) -> None:
        CHOSEN[path] = steps

    return keep


@_choose("policy")
def choose_window_and_draft(mouse: Mouse) -> None:
    mouse.press("365 days")
    mouse.click(
        mouse.page.locator("[data-pane=rules] tr[data-row='old-key']").get_by_role("button", name="Try without")
    )


@_choose("log")
def choose_type_page_and_entry(mouse: Mouse) -> None:
    mouse.click("[data-pane=entries] button[data-ev=type][data-v='attestation.minted']")
    mouse.click("[data-pane=entries] tr[data-row] button.al-open")


@_choose("issuers")
def choose_status_and_order(mouse: Mouse) -> None:
    mouse.choose("[data-pane=chips] select[data-ev=status]", "ACTIVE")
    mouse.click("[data-pane=issuers] button[data-ev=sort][data-key='sort:name']")


@pytest.mark.parametrize("path", CHOSEN)
def test_a_copied_link_shows_the_same_rows(windows: Windows, path: str) -> None:
    with windows.visit(f"/dash/{path}") as page:
        CHOSEN[path](Mouse(page))
        link, expected = page.url, read_rows(page)
        assert "?" in link
    with windows.visit(link.removeprefix(windows.url), fresh=True) as page:
        found = read_rows(page)

    assert sum(map(len, expected.values())) > 1
    assert found == expected


def test_one_drag_selects_time_and_score_for_every_pane(windows: Windows, demo: DemoServer) -> None:
    with windows.visit("/dash/risk") as page:
        mouse = Mouse(page)
        before = {key: mouse.read_pane(key) for key in ("kpis", "when", "what", "who")}
        drag(page, "svg[data-brush=brush] [data-plot]", (0.2, 0.05), (0.9, 0.5))
        after = {key: mouse.read_pane(key) for key in before}
        state = RiskState.from_query(
            dict(part.split("=") for part in page.url.partition("?")[2].replace("%3A", ":").split("&"))
        )[0]
        kinds = [
            int(text.replace(",", ""))
            for text in page.locator("[data-pane=what] [data-ev=source] .num").all_text_contents()
        ]
        assert list_failed_panes(page) == []
    with demo.connect() as lab:
        (row,) = lab.sql(
            "SELECT count(*) AS signals FROM signals WHERE occurred_at >= $since AND occurred_at < $until "
            "AND score BETWEEN $low AND $high",
            {"since": state.since, "until": state.until, "low": state.min_score, "high": state.max_score},
        )

    assert 0 < state.min_score < state.max_score <= 100
    assert [key for key in before if before[key] == after[key]] == []
    assert f"{row['signals']:,} signals selected" in after["when"]
    assert not kinds or sum(kinds) <= int(str(row["signals"]))


def drag(page: Page, target: str, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag over a plot, between two points that are fractions of its width and height, and wait for the redraw."""
    number = read_number(page)
    plot = page.locator(target).first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box is not None
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in (start, end)]
    page.mouse.move(*places[0])
    page.mouse.down()
    page.mouse.move(*places[1], steps=4)
    page.mouse.up()
    wait_for_redraw(page, number)


def read_rows(page: Page) -> dict[str, list[str]]:
    """Read the keys of all rows by the place of their pane, and which drawer is open."""
    panes = page.locator("[data-pane]:has(tr[data-row])").all()
    rows = {
        str(pane.get_attribute("data-pane")): pane.locator("tr[data-row]").evaluate_all(
            "all => all.map((one) => one.dataset.row)"
        )
        for pane in panes
    }
    return rows | {"drawer": [str(each.get_attribute("aria-label")) for each in page.locator("[role=dialog]").all()]}
