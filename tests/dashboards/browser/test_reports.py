"""A report by mail, from its schedule to the recipients, and what is attached to it in a browser without scripts."""

from __future__ import annotations

import email
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.message import Message
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import Browser, Page

from attestlab.core.clock import FixedClock
from attestlab.identity.sessions import caller_of
from attestlab.identity.store import find_person_by_address
from attestlab.installation import Installation
from attestlab.settings import Settings
from attestlab.views.schedules.shapes import ScheduleIn
from attestlab.views.shapes import ViewIn
from support.browser import needs_chromium, open_profile
from support.dashboards.demo_server import ADMIN, MEMBER, OWNER, DemoServer, serve_demo
from support.dashboards.windows import DESK, HAND, Windows, has_sideways_scrolling
from support.in_process_server import wait_until
from support.mail_server import MailServer, serve_mail

pytestmark = needs_chromium
PAGES = ("risk", "access")
RECIPIENTS = (OWNER, ADMIN, MEMBER)


@dataclass(frozen=True)
class Delivery:
    """The mails by page and recipient, and the demo that sent them."""

    mails: dict[tuple[str, str], Message]
    demo: DemoServer


def schedule_reports(data: Path) -> None:
    """Schedule a report of each page the day before yesterday, so that the server finds them due."""
    clock = FixedClock(datetime.now(UTC) - timedelta(days=2))
    with closing(Installation.open(Settings(data=data, database_url=None), clock=clock)) as lab:
        with lab.storage.read() as connection:
            found = [find_person_by_address(connection, address) for address in RECIPIENTS]
        people = [person for person in found if person is not None]
        owner = caller_of(people[0], UUID(int=1))
        body = ScheduleIn(hour=8, recipients=[person.id for person in people])
        for page in PAGES:
            view = lab.views.save(ViewIn(name=f"Day of {page}", page=page, query=""), caller=owner)
            lab.views.schedules.set(view.id, body, caller=owner)


def read_mails(server: MailServer) -> dict[tuple[str, str], Message]:
    """Read the mails by the page that their subject names and their recipient."""
    parsed = [email.message_from_bytes(each.content) for each in server.accepted]
    return {(str(each["Subject"]).partition(",")[0].removeprefix("Day of "), str(each["To"])): each for each in parsed}


@pytest.fixture(scope="module")
def delivery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Delivery]:
    with pytest.MonkeyPatch.context() as patch, serve_mail() as mail_server:
        patch.setenv("ATTESTLAB_SMTP_URL", mail_server.url)
        with serve_demo(tmp_path_factory.mktemp("reports"), prepare=schedule_reports) as demo:
            wait_until(lambda: len(mail_server.accepted), len(PAGES) * len(RECIPIENTS))
            yield Delivery(read_mails(mail_server), demo)


def read_part(mail: Message, number: int) -> bytes:
    """Read the text, which is part 0, or the file, part 1."""
    part: Any = list(mail.walk())[1 + number]
    return bytes(part.get_payload(decode=True))


def open_file(browser: Browser, mail: Message, folder: Path, **options: Any) -> Page:
    """Open what is attached to a mail, without scripts; nothing is asked of any host."""
    path = folder / "report.html"
    path.write_bytes(read_part(mail, 1))
    page = open_profile(browser, java_script_enabled=False, **options).new_page()
    page.on("request", lambda request: pytest.fail(request.url) if request.url.startswith("http") else None)
    page.goto(path.as_uri())
    return page


def test_each_recipient_gets_the_numbers_of_the_page(delivery: Delivery, browser: Browser, tmp_path: Path) -> None:
    windows = Windows(browser, delivery.demo)
    with windows.visit("/dash/risk") as live:
        shown = live.locator(".kpi .v").all_inner_texts()
    windows.close()
    for to in RECIPIENTS:
        mail = delivery.mails["risk", to]
        page = open_file(browser, mail, tmp_path, viewport=DESK)
        figures = page.locator(".kpi .v").all_inner_texts()
        assert figures == shown
        text = read_part(mail, 0).decode()
        assert all(f": {value.split()[0]}" in text for value in figures)
        assert f"{delivery.demo.url}/dash/risk" in text
        assert "every day at 08:00 UTC" in text
        page.context.close()


def test_a_report_shows_what_each_recipient_may_read(delivery: Delivery, browser: Browser, tmp_path: Path) -> None:
    """A member may not read the people of the tenant, of which owners and admins read the same words."""
    words = {}
    for to in RECIPIENTS:
        page = open_file(browser, delivery.mails["access", to], tmp_path, viewport=DESK)
        words[to] = page.locator("main").inner_text()
        page.context.close()
    assert words[OWNER] == words[ADMIN]
    assert OWNER in words[OWNER]
    assert " you" not in words[OWNER].replace("\n", " ")
    assert "You may not see this" in words[MEMBER]
    assert OWNER not in words[MEMBER]


@pytest.mark.parametrize(("scheme", "colour"), [("light", "rgb(247, 248, 250)"), ("dark", "rgb(15, 20, 27)")])
def test_the_file_fits_a_phone_and_follows_the_system(
    delivery: Delivery, browser: Browser, tmp_path: Path, scheme: str, colour: str
) -> None:
    page = open_file(browser, delivery.mails["risk", OWNER], tmp_path, **HAND, color_scheme=scheme)
    assert page.locator(".kpi").count() == 5
    assert page.locator("script").count() == 0
    assert page.locator("body").evaluate("each => getComputedStyle(each).backgroundColor") == colour
    assert not has_sideways_scrolling(page)
    page.context.close()
