"""Browser windows of people who are signed in to the dashboards, watched for what no page may do.

Windows with the same options share a browser profile, so that they load the scripts of the pages once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, StorageState

from support.browser import open_profile
from support.dashboards.demo_server import OWNER, DemoServer

READY = "body[data-ready]:not([data-ready=''])"
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
HAND: dict[str, Any] = {"viewport": PHONE, "is_mobile": True, "has_touch": True}  # a phone, which asks for its width
MAIN = "#al-main"


class Windows:
    """Opens windows of the demo's people; the profiles end with it."""

    def __init__(self, browser: Browser, server: DemoServer) -> None:
        self.browser = browser
        self.server = server
        self.url = server.url
        self._signed_in: dict[str, StorageState] = {}
        self._profiles: dict[str, BrowserContext] = {}

    @contextmanager
    def visit(
        self,
        path: str,
        *,
        person: str = OWNER,
        fresh: bool = False,
        before: Callable[[Page], None] = lambda page: None,
        **options: Any,
    ) -> Iterator[Page]:
        """Open a page and wait until it is drawn; at the end it asked no other host, and did not complain.

        Args:
            path: the path and query of the page.
            person: the address of the person who is signed in.
            fresh: whether the window has a new profile.
            before: prepares the window before it opens the page.
            options: those of the profile, such as `viewport`.
        """
        with self._open_profile(person, fresh, {"viewport": DESK, **options}) as profile:
            page = profile.new_page()
            watched = PageWatch(page)
            before(page)
            page.goto(f"{self.url}{path}")
            page.wait_for_selector(READY)
            yield page
            page.close()
        assert watched.list_foreign_requests(self.url) == []
        assert watched.complaints == []

    @contextmanager
    def visit_unwatched(self, path: str) -> Iterator[Page]:
        """Open a page in a new profile that may complain: a process behind it will end."""
        with open_profile(self.browser, storage_state=self.sign_in(OWNER)) as profile:
            page = profile.new_page()
            page.goto(f"{self.url}{path}")
            page.wait_for_selector(READY)
            yield page

    @contextmanager
    def _open_profile(self, person: str, fresh: bool, options: dict[str, Any]) -> Iterator[BrowserContext]:
        if fresh:
            with open_profile(self.browser, storage_state=self.sign_in(person), **options) as profile:
                yield profile
            return
        key = json.dumps([person, options], sort_keys=True)
        if key not in self._profiles:
            self._profiles[key] = open_profile(self.browser, storage_state=self.sign_in(person), **options)
        yield self._profiles[key]

    def sign_in(self, person: str) -> StorageState:
        """Sign a person in, once; returns what their browser keeps."""
        if person not in self._signed_in:
            with open_profile(self.browser) as profile:
                page = profile.new_page()
                nowhere = f"{urlsplit(self.url).path}/dash/nowhere"  # no page is drawn for it
                page.goto(f"{self.url}/dash/sign-in?next={nowhere}")
                page.fill("input[name=email]", person)
                page.fill("input[name=password]", self.server.made["people_password"])
                page.click("button.primary")
                page.wait_for_url("**/dash/nowhere")
                self._signed_in[person] = profile.storage_state()
        return self._signed_in[person]

    def forget(self) -> None:
        """Forget who is signed in, because the process that knew the sessions has ended."""
        self.close()
        self._signed_in.clear()

    def close(self) -> None:
        """Close the shared profiles."""
        while self._profiles:
            self._profiles.popitem()[1].close()


class PageWatch:
    """Notes what a page asks for, and each error of its scripts."""

    def __init__(self, page: Page) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self._note(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self._note(str(error)))
        page.on("dialog", lambda dialog: (self._note(f"a dialog: {dialog.message}"), dialog.dismiss()))

    def list_foreign_requests(self, url: str) -> list[str]:
        """List the requests for anything but this server."""
        own = (f"{url}/", f"ws{url.removeprefix('http')}/", "blob:", "data:")
        return [address for address in self.requests if not address.startswith(own)]

    def _note(self, complaint: str) -> None:
        self.complaints.append(complaint)


def read_number(page: Page) -> int:
    """Read which state of the page is drawn, from 1."""
    return int(page.locator("body").get_attribute("data-ready") or 0)


def wait_for_redraw(page: Page, before: int) -> None:
    """Wait until a later state than number `before` is drawn."""
    page.wait_for_function("before => Number(document.body.dataset.ready || 0) > before", arg=before)


def list_failed_panes(page: Page) -> list[str]:
    """List the panes that show an error or a refusal instead of their content."""
    shown = page.locator(f"{MAIN} .state h3").all_inner_texts()
    return [text for text in shown if text.startswith(("This could not", "You may not"))]


def has_sideways_scrolling(page: Page) -> bool:
    """Whether the page is wider than its window."""
    return bool(page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))
