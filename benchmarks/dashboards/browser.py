"""The same waits in a real browser: first paint, first data, everything drawn, and a click on a filter.

Times are those of the browser's own clock, from the request of the document. Each opening is a new window of one
profile, so that the scripts are cached, as they are for a person who opens a second page.
"""

from __future__ import annotations

from collections.abc import Iterator

from playwright.sync_api import BrowserContext, Page

from benchmarks.chromium import has_chromium, open_chromium
from benchmarks.dashboards.crowd import PAGES
from benchmarks.dashboards.world import DashboardWorld

OPENINGS = 10
CLICKS = 3  # in each window, each on another filter
TIMEOUT_MS = 300_000
WAITS = ("first_paint", "first_data", "all_drawn", "click")
_DATA = "[data-pane]:not([data-pane=chips], :has(.sk), :empty)"
_READY = "body[data-ready]:not([data-ready=''])"
_FILTERS = "[data-pane=chips] button[data-ev][aria-pressed=false]"  # the log inspector has none, but pages of entries
_PAGER = "button[data-ev=page]:not([disabled], [aria-current])"
_KEYS = "buttons => buttons.map((button) => button.dataset.key)"
_NOW = "() => performance.now()"
_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"
_CLICK = """button => new Promise((resolve) => {
  const was = document.body.dataset.ready, begin = performance.now();
  const watch = new MutationObserver(() => {
    if (!document.body.dataset.ready || document.body.dataset.ready === was) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begin)));
  });
  watch.observe(document.body, { attributeFilter: ["data-ready"] });
  button.click();
})"""

Waits = dict[str, list[float]]


def measure_pages(world: DashboardWorld) -> Iterator[tuple[str, Waits]]:
    """Yield the waits of each page in ms, by their names; nothing where there is no Chromium."""
    if not has_chromium():
        return
    with open_chromium() as browser:
        profile = browser.new_context()
        profile.set_default_timeout(TIMEOUT_MS)
        _sign_in(profile, world)
        for path in PAGES:
            yield path, _measure_page(profile, f"{world.server.url}/dash/{path}")


def _sign_in(profile: BrowserContext, world: DashboardWorld) -> None:
    url = world.server.url
    fields: dict[str, str | float | bool] = {"email": world.email, "password": world.password}
    answer = profile.request.post(f"{url}/dash/sign-in", form=fields, headers={"Origin": url}, max_redirects=0)
    if answer.status != 303:
        raise RuntimeError(f"The sign-in was answered with {answer.status}.")


def _measure_page(profile: BrowserContext, url: str) -> Waits:
    """Measure windows one after the other; the first one loads the scripts, and does not count."""
    waits: Waits = {name: [] for name in WAITS}
    for number in range(OPENINGS + 1):
        page = profile.new_page()
        found = _measure_window(page, url)
        page.close()
        if number:
            for name in WAITS:
                waits[name] += found[name]
    return waits


def _measure_window(page: Page, url: str) -> Waits:
    page.goto(url, wait_until="commit")
    page.wait_for_selector(_DATA, state="attached")
    first_data = page.evaluate(_NOW)
    page.wait_for_selector(_READY)
    all_drawn = page.evaluate(_NOW)
    keys = page.locator(_FILTERS).evaluate_all(_KEYS) or page.locator(_PAGER).evaluate_all(_KEYS)
    clicks = [page.locator(f"[data-key='{key}']").first.evaluate(_CLICK) for key in keys[:CLICKS]]
    return {
        "first_paint": [page.evaluate(_PAINT)],
        "first_data": [first_data],
        "all_drawn": [all_drawn],
        "click": clicks,
    }
