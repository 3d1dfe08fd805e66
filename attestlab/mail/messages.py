"""Internet messages in plain text (RFC 5322, 2047, 6532), written and verified as bytes; a file may be attached.

A library that parses a header while it writes it decodes encoded words in user input, so a tenant's name could
inject headers and a body. Therefore this module writes every byte itself: user text is either plain ASCII that no
reader decodes, or encoded as a whole. Before a message is sent it is parsed again: the names, number and values of
its headers, and its text, must be exactly ours.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from email import base64mime
from email.header import decode_header
from email.message import Message as EmailMessage
from email.parser import BytesParser
from email.policy import compat32
from email.utils import format_datetime
from typing import NamedTuple
from uuid import UUID

from attestlab.core.errors import ValidationFailed
from attestlab.core.joiners import drop_joiners
from attestlab.mail.rules import HtmlFile

MAX_PLAIN_CHARACTERS = 66  # with `Subject: ` before it, a line stays below the 78 of RFC 5322
MAX_WORD_BYTES = 39  # of text in an encoded word, which then has 64 characters; RFC 2047 allows 75
MAX_LINE_BYTES = 998  # of a line without its end (RFC 5322, 2.1.1); servers cut longer ones
ENCODED_WORD = "=?"
FOLD = "\r\n "
_PLAIN = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_PHRASE = re.compile(r"[\w!#$%&'*+/=?^`{|}~-]+(?: [\w!#$%&'*+/=?^`{|}~-]+)*", re.ASCII)  # RFC 5322: atoms
_SENDER = re.compile(r'(?:(?P<name>[^<>"]+?|"[^"\\]+")?\s*<(?P<in_brackets>[^<>]+)>|(?P<alone>[^<>]+))')
_ADDRESS = re.compile(r"[^\s<>()\[\]\\,;:\"@\x00-\x1f\x7f]+@(?:[^\s<>()\[\]\\,;:\"@]+|\[[0-9A-Za-z.:]+\])")
_HEADER_LINE = re.compile(r"(?:[A-Z][A-Za-z-]*:)? [^\x00-\x1f\x7f]+")
_INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control, format (with the bidi ones), surrogates, line breaks


class InvalidMessage(ValueError):
    """A message that must not be sent, because a recipient would read other headers or another text than ours."""


class Sender(NamedTuple):
    """The sender's display name, which may be empty, and address."""

    name: str
    address: str

    @classmethod
    def parse(cls, text: str) -> Sender:
        """Parse `name@host`, or `Name <name@host>`.

        Raises:
            ValidationFailed: `text` has another form.
        """
        try:
            return cls._parse(text)
        except InvalidMessage:
            message = "Invalid ATTESTLAB_MAIL_FROM. Set it to an address such as AttestLab <attestlab@example.org>."
            raise ValidationFailed.of("mail_from", "email", message) from None

    @classmethod
    def _parse(cls, text: str) -> Sender:
        require_visible(sender=text)
        match = _SENDER.fullmatch(text)
        address = "" if match is None else match["in_brackets"] or match["alone"]
        if match is None or not _ADDRESS.fullmatch(address) or ENCODED_WORD in text:
            raise InvalidMessage("the sender is not an address")
        return cls((match["name"] or "").strip('"').strip(), encode_domain(address))


class Header(NamedTuple):
    """A header field: its encoded value, and the value that a recipient reads."""

    name: str
    written: str
    read: str


@dataclass(frozen=True)
class Message:
    """The bytes of a message, and the addresses of its envelope (RFC 5321)."""

    mail_id: UUID
    sender: str
    recipient: str
    content: bytes = field(repr=False)

    @property
    def needs_smtputf8(self) -> bool:
        """Whether an address has a non-ASCII local part (RFC 6531)."""
        return not (self.sender + self.recipient).isascii()

    def in_seven_bits(self) -> Message:
        """Return the message with its text in base64, for a server without 8BITMIME (RFC 6152), if it has other bytes.

        The headers are ASCII already, except for an address that such a server does not take.
        """
        head, _, body = self.content.partition(b"\r\n\r\n")
        if self.content.isascii() or b"Content-Transfer-Encoding: 8bit" not in head:
            return self
        head = head.replace(b"Content-Transfer-Encoding: 8bit", b"Content-Transfer-Encoding: base64")
        encoded = base64mime.body_encode(body, eol="\r\n").encode()
        return replace(self, content=head + b"\r\n\r\n" + encoded)


def compose(
    *,
    mail_id: UUID,
    sender: Sender,
    recipient: str,
    subject: str,
    text: str,
    at: datetime,
    attachment: HtmlFile | None = None,
) -> Message:
    """Write a message and verify its bytes; its Message-ID is derived from `mail_id` and identifies a second copy.

    Raises:
        InvalidMessage: a recipient would not read exactly this subject, this text and our headers.
    """
    lines = re.split(r"\r\n|\r|\n", text)
    require_visible(recipient=recipient, subject=subject, text="".join(lines))
    to = encode_domain(recipient)
    if ENCODED_WORD in to:
        raise InvalidMessage("the recipient has the form of an encoded word, which cannot be encoded in an address")
    body = _write_text(lines) if attachment is None else _write_parts(mail_id, lines, attachment)
    headers = [
        Header("From", *_format_mailbox(sender)),
        Header("To", to, to),
        Header("Subject", _encode_if_needed(subject), subject),
        *_plain_headers(("Date", format_datetime(at)), ("Message-ID", f"<{mail_id}@{_domain(sender.address)}>")),
        *_plain_headers(("Auto-Submitted", "auto-generated")),  # RFC 3834: no holiday notice answers it
        *_plain_headers(("MIME-Version", "1.0"), *body.headers),
    ]
    content = f"{_write_head(headers)}\r\n{body.content}".encode()
    verify_rendering(content, headers, "\r\n".join(lines), attachment)
    return Message(mail_id, sender.address, to, content)


def encode_domain(address: str) -> str:
    """Encode the domain of an address in A-labels (RFC 5890) if its local part is ASCII.

    Every mail server accepts such an address; other non-ASCII addresses need SMTPUTF8 whatever their domain is.

    >>> encode_domain("ada@bücher.example"), encode_domain("ädä@bücher.example")
    ('ada@xn--bcher-kva.example', 'ädä@bücher.example')
    """
    local, _, domain = address.rpartition("@")
    if domain.isascii() or not local.isascii():
        return address
    import idna  # its tables are large, and few addresses need them

    try:
        return f"{local}@{idna.encode(domain, uts46=True).decode()}"
    except idna.IDNAError:
        raise InvalidMessage("the domain of an address has no A-label form (RFC 5891)") from None


def require_visible(**texts: str) -> None:
    """Reject control and format characters, which can make a text display as another; joiners within words stay.

    Raises:
        InvalidMessage: a text contains such a character.
    """
    for name, text in texts.items():
        if any(unicodedata.category(character) in _INVISIBLE for character in drop_joiners(text)):
            raise InvalidMessage(f"the {name} has a control or format character")


def verify_rendering(content: bytes, headers: Sequence[Header], text: str, attachment: HtmlFile | None = None) -> None:
    """Parse the bytes as a recipient does, and reject any difference from `headers`, `text` and `attachment`.

    Raises:
        InvalidMessage: a name, the number or a value of the headers differs, or the text or the file does.
    """
    head = content.partition(b"\r\n\r\n")[0]
    if not all(_HEADER_LINE.fullmatch(line) for line in head.decode().split("\r\n")):
        raise InvalidMessage("a header has a line that is not ours")
    parsed = BytesParser(policy=compat32).parsebytes(content)
    parsed_headers = [(name, _decode_value(value)) for name, value in parsed.raw_items()]
    if parsed.defects or [name for name, _ in parsed_headers] != [header.name for header in headers]:
        raise InvalidMessage("the headers are not exactly ours")
    for header, (name, value) in zip(headers, parsed_headers, strict=True):
        if value != header.read:
            raise InvalidMessage(f"the header {name} reads as another value")
    if _read_parts(parsed) != _expected_parts(text, attachment) or re.search(rb"\r(?!\n)|(?<!\r)\n", content):
        raise InvalidMessage("the text reads as another")


def _choose_encoding(lines: Sequence[str]) -> str:
    """Choose the Content-Transfer-Encoding (RFC 2045): as it is, unless a line is too long for SMTP."""
    if max(len(line.encode()) for line in lines) > MAX_LINE_BYTES:
        return "base64"
    return "7bit" if all(line.isascii() for line in lines) else "8bit"


class _Body(NamedTuple):
    """What follows the headers of every message: those of its content, and the content."""

    headers: tuple[tuple[str, str], ...]
    content: str


class _Part(NamedTuple):
    """What a recipient reads of a part: its type, its name as a file, and its content."""

    media_type: str
    file_name: str | None
    content: bytes


def _write_text(lines: Sequence[str], encoding: str | None = None) -> _Body:
    encoding = encoding or _choose_encoding(lines)
    headers = (("Content-Type", 'text/plain; charset="utf-8"'), ("Content-Transfer-Encoding", encoding))
    return _Body(headers, _encode_body("\r\n".join(lines), encoding))


def _write_parts(mail_id: UUID, lines: Sequence[str], file: HtmlFile) -> _Body:
    """Write the text and the file as parts (RFC 2046), in ASCII; no line of either begins with the boundary."""
    boundary = f"=_{mail_id.hex}"  # base64 has no underscore, and the text is base64 unless it is plain ASCII
    is_plain = _choose_encoding(lines) == "7bit" and not any(boundary in line for line in lines)
    text = _write_text(lines, "7bit" if is_plain else "base64")
    html = _Body(
        (
            ("Content-Type", 'text/html; charset="utf-8"'),
            ("Content-Transfer-Encoding", "base64"),
            ("Content-Disposition", f'attachment; filename="{file.name}"'),
        ),
        base64mime.body_encode(file.content, eol="\r\n"),
    )
    parts = "".join(
        f"--{boundary}\r\n{_write_head(_plain_headers(*part.headers))}\r\n{part.content}\r\n" for part in (text, html)
    )
    return _Body((("Content-Type", f'multipart/mixed; boundary="{boundary}"'),), f"{parts}--{boundary}--\r\n")


def _expected_parts(text: str, attachment: HtmlFile | None) -> list[_Part]:
    parts = [_Part("text/plain", None, text.encode())]
    return parts if attachment is None else [*parts, _Part("text/html", attachment.name, attachment.content)]


def _read_parts(parsed: EmailMessage) -> list[_Part]:
    """Read the parts that are no container, as a mail program does."""
    return [
        _Part(part.get_content_type(), part.get_filename(), bytes(part.get_payload(decode=True) or b""))
        for part in parsed.walk()
        if not part.is_multipart()
    ]


def _write_head(headers: Sequence[Header]) -> str:
    return "".join(f"{header.name}: {header.written}\r\n" for header in headers)


def _encode_body(body: str, encoding: str) -> str:
    return base64mime.body_encode(body.encode(), eol="\r\n") if encoding == "base64" else body


def _plain_headers(*fields: tuple[str, str]) -> list[Header]:
    return [Header(name, value, value) for name, value in fields]


def _domain(address: str) -> str:
    return address.rpartition("@")[2]


def _format_mailbox(sender: Sender) -> tuple[str, str]:
    """Return the From header as written and as read."""
    address = f"<{sender.address}>"
    if not sender.name:
        return sender.address, sender.address
    read = f"{sender.name} {address}"
    if _PHRASE.fullmatch(sender.name) and _is_plain(sender.name):
        return read, read
    return f"{_encode_words(sender.name)}{FOLD}{address}", read


def _encode_if_needed(text: str) -> str:
    return text if _is_plain(text) else _encode_words(text)


def _is_plain(text: str) -> bool:
    """Whether every reader displays this ASCII text unchanged, on one line."""
    return len(text) <= MAX_PLAIN_CHARACTERS and ENCODED_WORD not in text and bool(_PLAIN.fullmatch(text))


def _encode_words(text: str) -> str:
    """Encode a text in encoded words (RFC 2047), none of which splits a character."""
    words, word = [], b""
    for character in map(str.encode, text):
        if len(word + character) > MAX_WORD_BYTES:
            words.append(word)
            word = b""
        word += character
    return FOLD.join(base64mime.header_encode(word, "utf-8") for word in [*words, word])


def _decode_value(value: str) -> str:
    """Decode a header's value: remove folds and decode encoded words."""
    unfolded = value.replace("\r\n", "").encode("utf-8", "surrogateescape").decode("utf-8")
    parts = decode_header(unfolded)
    return "".join(part if isinstance(part, str) else part.decode(charset or "ascii") for part, charset in parts)
