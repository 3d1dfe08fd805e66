"""Some 500 naughty strings in every text that reaches a mail break no mail and add no header to one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import parseaddr
from typing import Final, NamedTuple
from uuid import UUID

import pytest

from attestlab.consumer.accounts import messages as account_mails
from attestlab.core.errors import ValidationFailed
from attestlab.delivery import service as deliveries
from attestlab.installation import Installation
from attestlab.mail import store
from attestlab.mail.messages import Message, Sender, compose, encode_domain
from attestlab.mail.rules import MailText
from attestlab.mail.service import LeasedMail
from attestlab.orgs import invitations, role_rules, rules
from attestlab.orgs.rules import Plan
from attestlab.webhooks import messages as webhook_mails
from support.attestations import make_mint_body, mint
from support.in_process_server import make_client, serve_in_thread
from support.issuers import register_issuer
from support.mail_delivery import carrying, until
from support.mail_server import Accepted, MailServer, serve_mail
from support.naughty_strings import NAUGHTY
from support.orgs import TenantClients

STEP = 16  # the bounded form leaves out the strings between
AT = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
MAIL_ID = UUID("01890000-0000-7000-8000-000000000000")
HEADERS = ["From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version", "Content-Type"]
HEADERS += ["Content-Transfer-Encoding"]
COMMANDS: Final = re.compile(rb"(?:EHLO|MAIL|RCPT|DATA|QUIT)\b[^\r\n]*\r\n", re.IGNORECASE)
URL = "https://lab.example/a"
MAILS: dict[str, Callable[[str], MailText]] = {
    "delivery": lambda text: deliveries.notification_mail(URL, URL, issuer_name=text),
    "delivery to an unknown address": lambda text: deliveries.invitation_mail(
        URL, URL, issuer_name=text, recipient="ada@people.example"
    ),
    "invitation": lambda text: invitations.invitation_mail(URL, "token", team_name=text, until=AT),
    "invitation of a known address": lambda text: invitations.shadowed_mail(team_name=text),
    "failing endpoint": lambda text: webhook_mails.failing_mail(
        name=text, url=URL, failing_since=AT, last_error="status 500"
    ),
    "disabled endpoint": lambda text: webhook_mails.disabled_mail(name=text, url=URL, last_error="status 500"),
    "test delivery": lambda text: webhook_mails.confirmation_mail(
        name=text, url=URL, event_type="attestation.created", status_code=200
    ),
}
ADDRESSES = ("{}@people.example", "ada@{}", "{}", "ada@people.example{}", "ada+{}@people.example")
LONG_URL = f"https://lab.example/{'a' * 2028}"


class ReadMail(NamedTuple):
    """A mail as Python's mail parser reads it."""

    recipient: str
    subject: str
    text: str


def accepted_names() -> list[str]:
    """The naughty strings that a name may be, and names with joiners, as they are stored."""
    names = []
    for text in [*NAUGHTY, "👨\u200d👩\u200d👧 School", "x" * rules.MAX_NAME_LENGTH, "𠜎" * rules.MAX_NAME_LENGTH]:
        try:
            names.append(rules.validate_display_name("name", text))
        except ValidationFailed:
            continue
    return names


def normalize(text: str) -> str | None:
    """The address as the service stores it; None if it is refused."""
    try:
        return role_rules.normalize_address(text)
    except ValidationFailed:
        return None


def write(mail: MailText, *, recipient: str = "ada@people.example") -> Message:
    sender = Sender("AttestLab", "lab@lab.example")
    return compose(mail_id=MAIL_ID, sender=sender, recipient=recipient, subject=mail.subject, text=mail.text, at=AT)


def read(content: bytes) -> ReadMail:
    """Parse a mail with Python's mail parser; its headers are exactly ours, and no line is too long for SMTP."""
    mail = message_from_bytes(content, policy=policy.default)
    assert isinstance(mail, EmailMessage)
    assert list(mail.keys()) == HEADERS
    assert mail.defects == []
    assert max(map(len, content.split(b"\r\n"))) <= 998
    assert not re.search(rb"\r(?!\n)|(?<!\r)\n", content)
    return ReadMail(parseaddr(mail["To"])[1], str(mail["Subject"]), mail.get_content().replace("\r\n", "\n"))


def unstuff(accepted: Accepted) -> bytes:
    """Take away the dots that a client doubles at the start of a line (RFC 5321, 4.5.2)."""
    return re.sub(rb"(?m)^\.", b"", accepted.content)


@pytest.mark.parametrize("kind", MAILS)
def test_a_naughty_name_is_read_as_it_is(is_long: bool, kind: str) -> None:
    names = accepted_names()
    assert len(names) > 400
    for name in names[:: 1 if is_long else STEP]:
        mail = MAILS[kind](name)

        assert read(write(mail).content) == ("ada@people.example", mail.subject, mail.text)


@pytest.mark.parametrize("name", ["👨\u200d👩\u200d👧 School", "జ్ఞా\u200cగ్"])
def test_a_name_with_joiners_can_be_mailed(name: str) -> None:
    mail = MAILS["delivery"](name)

    assert read(write(mail).content).subject == f"{name} has issued an attestation to you"


def test_the_subject_says_what_the_mail_is_about_however_long_the_name_is() -> None:
    for write_mail in MAILS.values():
        short, long = write_mail("x").subject, write_mail("x" * rules.MAX_NAME_LENGTH).subject

        assert len(long) < 200
        assert [part for part in short.split() if part != "x"] == [part for part in long.split() if "x…" not in part]


@pytest.mark.parametrize("ending", ["", "ü"])
def test_a_line_that_is_too_long_for_smtp_is_encoded(ending: str) -> None:
    mail = webhook_mails.disabled_mail(name=f"hook{ending}", url=LONG_URL, last_error="status 500")

    assert read(write(mail).content).text == mail.text


def test_a_naughty_address_is_refused_or_is_the_only_recipient(is_long: bool) -> None:
    mail = account_mails.known_address_mail(URL)
    texts = NAUGHTY[:: 1 if is_long else 4]
    typed = [form.format(text) for text in texts for form in ADDRESSES]
    addresses = [address for text in typed if (address := normalize(text)) is not None]
    for address in addresses:
        message = write(mail, recipient=address)

        assert message.recipient == encode_domain(address)
        assert read(message.content).recipient == encode_domain(address)
    assert len(addresses) > 20


def test_mails_with_naughty_names_pass_a_mail_server(lab: Installation, is_long: bool) -> None:
    """Tenants, issuers and the people whom they invite have these names; the mail server reads what was meant."""
    with serve_in_thread(lab) as url:
        for number, name in enumerate(accepted_names()[:: 1 if is_long else STEP]):
            tenant = lab.orgs.create_tenant(name, plan=Plan.ENTERPRISE)
            with make_client(url, key=tenant.api_key) as client:
                body = make_mint_body(register_issuer(client, name=name), recipient_email=f"ada{number}@people.example")
                assert mint(client, body).status_code == 201
            with TenantClients(lab, url, tenant).owner() as owner:
                person = {"email": f"emmy{number}@people.example", "role": "member", "name": name}
                assert owner.post("/v1/users", json=person).status_code == 201
    expected = sorted(read_waiting(lab))

    with serve_mail() as server:
        asyncio.run(deliver_all(lab, server, len(expected)))

    assert sorted(read(unstuff(mail)) for mail in server.accepted) == expected
    assert [line for line in server.commands if not COMMANDS.fullmatch(line)] == []
    assert sum(line.startswith(b"MAIL") for line in server.commands) == len(expected)


def read_waiting(lab: Installation) -> list[ReadMail]:
    """The mails that wait, as the service means them."""
    with lab.storage.write() as tx:
        rows = store.list_waiting(tx)
    texts = [
        lab.mails.text_of(LeasedMail(row.id, row.recipient, row.subject, row.created_at, row.sealed)) for row in rows
    ]
    return [ReadMail(row.recipient, row.subject, text) for row, text in zip(rows, texts, strict=True)]


async def deliver_all(lab: Installation, server: MailServer, count: int) -> None:
    async with carrying(lab, server):
        await until(lambda: len(server.accepted) == count)
