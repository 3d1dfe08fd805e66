"""The dashboards in a real browser, on the demo: every page opens whole, in both modes, on a desk and on a phone.

Chromium comes from the system; where there is none, these tests are skipped and say so.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from attestlab_dashboards.page_list import PAGES
from support.fork_server import get_fork_server
from support.timeouts import WAIT_TIMEOUT_S

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# Whatever the browser would like to know from elsewhere, it gets no address for.
ALONE = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
WAIT_MS = 1000 * WAIT_TIMEOUT_S
READY = "body[data-ready]:not([data-ready=''])"
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
PATHS = [page.path for page in PAGES]

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine; apt-get install chromium")
Visit = Callable[..., AbstractContextManager[Page]]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a served demo."""
    folder = tmp_path_factory.mktemp("demo")
    out, errors = folder / "out", folder / "errors"
    arguments = ("--port", "0", "--data", str(folder / "data"), "--json")
    demo = get_fork_server().start("attestlab", "demo", *arguments, out=out, errors=errors)
    try:
        deadline = time.monotonic() + WAIT_TIMEOUT_S
        while not out.exists() or not out.read_text().endswith("\n"):
            assert demo.poll() is None, errors.read_text()
            assert time.monotonic() < deadline, errors.read_text()
            time.sleep(0.05)
        yield json.loads(out.read_text())["url"]
    finally:
        demo.kill()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=ALONE)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def visit(browser: Browser, url: str, tmp_path_factory: pytest.TempPathFactory) -> Visit:
    """Open a page as the owner of the demo; at the end, nothing was asked of another host and no page complained."""
    signed_in = tmp_path_factory.mktemp("browser") / "state.json"
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{url}/dash/sign-in")
        page.click("button[name=person] >> nth=0")
        page.wait_for_selector(READY, timeout=WAIT_MS)
        context.storage_state(path=signed_in)

    @contextmanager
    def opened(path: str, **options: Any) -> Iterator[Page]:
        asked: list[str] = []
        complaints: list[str] = []
        with browser.new_context(storage_state=signed_in, **{"viewport": DESK, **options}) as context:
            page = context.new_page()
            page.set_default_timeout(WAIT_MS)
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda fault: complaints.append(str(fault)))
            page.goto(f"{url}{path}")
            page.wait_for_selector(READY)
            yield page
        others = [address for address in asked if not address.startswith((f"{url}/", "blob:", "data:"))]
        assert [address for address in others if not address.startswith(f"ws{url[4:]}/")] == []
        assert complaints == []

    return opened


def failed_panes(page: Page) -> list[str]:
    """The panes that show an error or a refusal instead of their content."""
    shown = page.locator("#al-main .state h3").all_inner_texts()
    return [text for text in shown if text.startswith(("This could not", "You may not"))]


def serious_violations(page: Page) -> list[str]:
    """What axe finds that is critical or serious, as rule and element."""
    found = Axe().run(page).response["violations"]
    serious = [rule for rule in found if rule["impact"] in ("critical", "serious")]
    return [f"{rule['id']}: {node['html'][:160]}" for rule in serious for node in rule["nodes"]]


@pytest.mark.parametrize("path", PATHS)
def test_a_page_answers_in_every_pane(visit: Visit, path: str) -> None:
    with visit(f"/dash/{path}") as page:
        question = next(each.question for each in PAGES if each.path == path)

        assert page.locator("h1.q").inner_text() == question
        assert failed_panes(page) == []
        assert page.locator("#al-main .answer b").count() >= 1
        assert page.locator(".al-nav a[aria-current=page]").inner_text() == page.title().split(" · ")[0]


@pytest.mark.parametrize("mode", ["light", pytest.param("dark", marks=pytest.mark.soak)])
@pytest.mark.parametrize("path", PATHS)
def test_axe_finds_nothing_serious(visit: Visit, path: str, mode: str) -> None:
    with visit(f"/dash/{path}", color_scheme=mode) as page:
        assert page.locator("html").get_attribute("data-theme") == mode
        assert serious_violations(page) == []


@pytest.mark.parametrize("path", PATHS)
def test_a_phone_needs_no_sideways_scrolling(visit: Visit, path: str) -> None:
    with visit(f"/dash/{path}", viewport=PHONE) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_the_theme_is_remembered(visit: Visit) -> None:
    with visit("/dash/log", color_scheme="light") as page:
        page.get_by_label("Dark theme").click()
        page.reload()
        page.wait_for_selector(READY)
        assert page.locator("html").get_attribute("data-theme") == "dark"


def test_slash_goes_to_the_search_and_the_bar_leads_to_the_log(visit: Visit) -> None:
    with visit("/dash/issuers") as page:
        page.keyboard.press("/")
        page.keyboard.type("3")
        page.keyboard.press("Enter")
        page.wait_for_url("**/dash/log?q=3")
        page.wait_for_selector(READY)
        assert failed_panes(page) == []


def test_filters_are_in_the_address_and_back_works(visit: Visit, url: str) -> None:
    with visit("/dash/risk") as page:
        page.get_by_role("button", name="7 days", exact=True).click()
        page.wait_for_selector("body[data-ready='2']")
        narrowed, figures = page.url, page.locator(".kpis").inner_text()
        page.go_back()
        page.wait_for_selector("body[data-ready='3']")
        before = page.url
    with visit(narrowed.removeprefix(url)) as page:
        again = page.locator(".kpis").inner_text()

    assert narrowed != before
    assert again == figures


def test_sign_out_closes_the_other_windows(browser: Browser, url: str) -> None:
    with browser.new_context() as context:
        first, second = context.new_page(), context.new_page()
        first.goto(f"{url}/dash/sign-in?next=/dash/log")
        first.click("button[name=person] >> nth=0")
        first.wait_for_selector(READY, timeout=WAIT_MS)
        second.goto(f"{url}/dash/log")
        second.wait_for_selector(READY, timeout=WAIT_MS)
        first.click(".al-me summary")
        first.click("text=Sign out")
        first.wait_for_url("**/dash/sign-in*", timeout=WAIT_MS)
        second.wait_for_url("**/dash/sign-in*", timeout=WAIT_MS)


def test_a_download_has_what_the_verb_answers(visit: Visit, tmp_path: Path) -> None:
    with visit("/dash/log") as page:
        page.locator("#tools-entries summary").click()
        with page.expect_download() as started:
            page.locator("#tools-entries a", has_text="CSV").click()
        started.value.save_as(tmp_path / "entries.csv")

    assert len((tmp_path / "entries.csv").read_text().splitlines()) > 20
