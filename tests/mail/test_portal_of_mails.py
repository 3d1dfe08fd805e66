"""Links in mails begin with the address of the server that delivers them, not of the one that queued them."""

from __future__ import annotations

import re

import pytest

from attestlab.installation import Installation
from attestlab.settings import Settings
from support.consumers import ADA
from support.in_process_server import serve_in_thread
from support.mailed_links import MailedLinks, read_mails

PORTAL = "https://portal.example/attest"
PAGES = ("/verify-email?", "/reset-password?", "/signup?", "/invitations/accept?", "/a/", "/inbox/")


@pytest.mark.both_engines
def test_every_mail_of_a_process_without_an_address_has_that_of_its_server(lab: Installation) -> None:
    assert lab.settings.portal_url is None
    with serve_in_thread(lab) as url:
        MailedLinks(lab, url)

    links = [link for text in read_mails(lab, portal_url=PORTAL) for link in re.findall(r"https?://[^\s;]+", text)]

    missing = [page for page in PAGES if not any(link.startswith(f"{PORTAL}{page}") for link in links)]
    assert (missing, [link for link in links if not link.startswith(PORTAL)]) == ([], [])


def test_a_mail_has_the_address_that_a_setting_names(lab: Installation) -> None:
    named = lab.settings.model_copy(update={"portal_url": f"{PORTAL}/"})
    settled = Installation.open(Settings(**named.model_dump()))
    link = settled.consumers.signups.invite(ADA).link
    settled.close()

    (text,) = read_mails(lab, ADA, portal_url="https://other.example")

    assert link.startswith(f"{PORTAL}/signup?token=")
    assert link in text
