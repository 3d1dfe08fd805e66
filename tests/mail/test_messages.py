"""Messages: a name that a tenant chose injects nothing into an e-mail, and is read as typed."""

from __future__ import annotations

import re
import unicodedata
from base64 import b64decode
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.message import EmailMessage
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.core.errors import ValidationFailed
from attestlab.mail.messages import Header, InvalidMessage, Message, Sender, compose, verify_rendering
from attestlab.orgs import rules
from support.property_tests import examples
from support.refusals import require_fault

MAIL_ID = UUID("01890000-0000-7000-8000-000000000000")
LAB = Sender("AttestLab", "lab@lab.example")
AT = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
TAKE_OVER = "=?utf-8?q?Reset=0D=0AReply-To:_e=40x.org=0D=0A=0D=0A=3Ca_href=3Dx=3E?="
NAMES = [b"From", b"To", b"Subject", b"Date", b"Message-ID", b"Auto-Submitted", b"MIME-Version", b"Content-Type"]
NAMES += [b"Content-Transfer-Encoding"]
PIECES = [
    TAKE_OVER,
    "=?utf-8?b?4oCuZXZpbA==?=",  # a right-to-left override
    "=?utf-8?q?=E2=80=AE?=",
    "=?iso-8859-1?q?=0AX:_1?=",
    "=?utf-7?q?+AA0-?=",
    "=?unknown?b?%%%?=",
    "=?",
    "?=",
    "=0D=0A",
    '"',
    "<e@x.org>",
    ",",
    ";",
    ":",
    " ",
    "  ",
    "\\",
    "(",
    "Ümläut",
    "株式会社",
    "👩",
    "Subject: x",
    ".",
]
hostile = st.lists(st.sampled_from(PIECES) | st.text(max_size=12), min_size=1, max_size=12).map("".join)


def composed(name: str, *, sender: Sender = LAB) -> Message:
    return compose(
        mail_id=MAIL_ID,
        sender=sender,
        recipient="ada@people.example",
        subject=f"Invitation to {name}",
        text=f"You are invited to {name}.\n",
        at=AT,
    )


def as_read(message: Message) -> EmailMessage:
    """Returns the header as the standard library reads it."""
    read = message_from_bytes(message.content, policy=policy.default)
    assert isinstance(read, EmailMessage)
    return read


def from_header(message: Message) -> str:
    """Returns the header as the standard library's older parser decodes it."""
    read = message_from_bytes(message.content)["From"].replace("\r\n", "")
    return str(make_header(decode_header(read)))


def require_exactly_ours(message: Message, *, subject: str, text: str) -> None:
    """Checks the raw bytes, without a mail parser."""
    head, separator, body = message.content.partition(b"\r\n\r\n")
    assert separator
    assert re.findall(rb"(?m)^([A-Za-z-]+):", head) == NAMES
    assert all(re.fullmatch(rb"(?:[A-Za-z-]+:)? [ -~]+", line) for line in head.split(b"\r\n"))
    assert max(map(len, head.split(b"\r\n"))) <= 78
    assert not re.search(rb"\r(?!\n)|(?<!\r)\n", message.content)
    assert body.decode() == text.replace("\n", "\r\n")
    assert unencoded(written(head, b"Subject")) == subject


def written(head: bytes, name: bytes) -> bytes:
    """Returns the bytes of a header after its name, including folds."""
    (found,) = re.findall(rb"(?m)^" + name + rb": ([^\r\n]*(?:\r\n [^\r\n]*)*)", head)
    return bytes(found)


def unencoded(written: bytes) -> str:
    """Decodes a header's text: only encoded words, or plain text without any."""
    if b"=?" not in written:
        return written.decode()
    words = written.split(b"\r\n ")
    assert all(re.fullmatch(rb"=\?utf-8\?b\?[A-Za-z0-9+/]+=*\?=", word) for word in words)
    assert all(len(word) <= 75 for word in words)
    return "".join(b64decode(word[10:-2]).decode() for word in words)


def is_invisible(character: str) -> bool:
    """Whether a character is not printable; a space of any width is no such character."""
    return not character.isprintable() and unicodedata.category(character) != "Zs"


def accepted_name(typed: str) -> str | None:
    """The name without white space around it; None if it is refused."""
    try:
        name: str | None = rules.validate_display_name("name", typed)
    except ValidationFailed as refused:
        require_fault(refused, "/name", {"one_line"})
        name = None
    trimmed = typed.strip()
    is_line = 0 < len(trimmed) <= rules.MAX_NAME_LENGTH and not any(map(is_invisible, trimmed))
    assert name == (trimmed if is_line else None)
    return name


@pytest.mark.more_in_soak
@given(hostile)
@settings(max_examples=examples(150, many=2000), deadline=None)
def test_an_accepted_name_is_read_as_typed_and_injects_nothing(typed: str) -> None:
    name = accepted_name(typed)
    if name is None:
        return
    message = composed(name)
    read = as_read(message)

    assert [header.encode() for header in read] == NAMES
    assert str(read["Subject"]) == f"Invitation to {name}"
    assert read.get_content().splitlines() == [f"You are invited to {name}."]
    require_exactly_ours(message, subject=f"Invitation to {name}", text=f"You are invited to {name}.\n")


@pytest.mark.more_in_soak
@given(st.text(max_size=40) | hostile)
@settings(max_examples=examples(100, many=1500), deadline=None)
def test_any_text_is_rejected_or_read_as_typed(typed: str) -> None:
    """Also text that no rule for names has validated."""
    try:
        message = composed(typed)
    except InvalidMessage:
        assert any(not character.isprintable() for character in typed)
        return
    require_exactly_ours(message, subject=f"Invitation to {typed}", text=f"You are invited to {typed}.\n")


@pytest.mark.more_in_soak
@given(hostile)
@settings(max_examples=examples(50, many=2000), deadline=None)
def test_any_name_of_the_sender_is_read_as_typed(typed: str) -> None:
    name = accepted_name(typed)
    if name is None:
        return
    message = composed("N", sender=Sender(name, "lab@lab.example"))
    found = re.fullmatch(rb"(.+?)(?:\r\n)? <(.+)>", written(message.content, b"From"), re.S)
    assert found is not None
    display_name, address = found.groups()

    assert (unencoded(display_name), address) == (name, b"lab@lab.example")
    assert from_header(message) == f"{name} <lab@lab.example>"


@pytest.mark.parametrize("name", [TAKE_OVER, f"A {TAKE_OVER} B", "=?utf-8?b?4oCuZXZpbA==?=", "=?utf-8?q?=?=" * 15])
def test_an_encoded_word_is_shown_and_not_decoded(name: str) -> None:
    read = as_read(composed(name))

    assert read["Subject"] == f"Invitation to {name}"
    assert read["Reply-To"] is None
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in str(read)


def test_a_short_name_in_ascii_stays_readable_in_the_bytes() -> None:
    assert b"\r\nSubject: Invitation to Northfield University\r\n" in composed("Northfield University").content


@pytest.mark.parametrize(
    "recipient", ["=?utf-8?q?=0D=0ABcc:_e=40x.org?=@people.example", "ada\r\nBcc: e@x.org", "ada\u202e@people.example"]
)
def test_an_ambiguous_recipient_is_rejected(recipient: str) -> None:
    with pytest.raises(InvalidMessage):
        compose(mail_id=MAIL_ID, sender=Sender("", "a@b.example"), recipient=recipient, subject="s", text="t", at=AT)


@pytest.mark.parametrize(
    "content",
    [
        b"From: a\r\nSubject: s\r\nReply-To: e\r\n\r\nt",
        b"From: a\r\n\r\nSubject: s\r\n\r\nt",
        b"Subject: s\r\nFrom: a\r\n\r\nt",
        b"From: a\r\nSubject: other\r\n\r\nt",
        b"From: a\r\nSubject: =?utf-8?q?other?=\r\n\r\nt",
        b"From: a\r\nSubject: s\r\n\r\nother",
        b"From: a\r\nSubject: s\r\n\r\nt\n",
        b"From: a\nBcc: e\r\nSubject: s\r\n\r\nt",
        b"From: a\r\nSubject: s\r\n\tx\r\n\r\nt",
        b"From: a\r\nSubject s\r\n\r\nt",
    ],
)
def test_bytes_that_differ_from_our_headers_are_rejected(content: bytes) -> None:
    headers = [Header("From", "a", "a"), Header("Subject", "s", "s")]
    verify_rendering(b"From: a\r\nSubject: s\r\n\r\nt", headers, "t")

    with pytest.raises(InvalidMessage):
        verify_rendering(content, headers, "t")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("lab@lab.example", Sender("", "lab@lab.example")),
        ("AttestLab <attestlab@localhost>", Sender("AttestLab", "attestlab@localhost")),
        ('"Lab, Inc." <lab@lab.example>', Sender("Lab, Inc.", "lab@lab.example")),
        ("Prüfstelle <lab@bücher.example>", Sender("Prüfstelle", "lab@xn--bcher-kva.example")),
    ],
)
def test_a_sender_is_an_address_with_or_without_a_name(text: str, wanted: Sender) -> None:
    assert Sender.parse(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "lab",
        "lab@",
        "a@b.example, c@d.example",
        "Lab <lab@lab.example",
        "Lab <lab@lab.example>\r\nBcc: e@x.org",
        f"{TAKE_OVER} <lab@lab.example>",
        "\N{RIGHT-TO-LEFT OVERRIDE}Lab <lab@lab.example>",
        "Lab <lab@lab..example\N{FULL BLOCK}>",
    ],
)
def test_an_invalid_sender_is_rejected_at_startup(text: str) -> None:
    with pytest.raises(ValidationFailed, match="ATTESTLAB_MAIL_FROM"):
        Sender.parse(text)
