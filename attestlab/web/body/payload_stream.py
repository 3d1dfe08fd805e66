"""A file inside JSON: extracts a huge member, such as `payload_b64url`, from the body while it arrives.

The file of a payload is never stored (CONTRACT section 5), only its SHA-256 and sizes; media to scan is written to an
unnamed temporary file. So a body of 52 million characters needs a few hundred kilobytes of memory. `PayloadScanner`
follows the text just far enough to know where that member's string begins and ends, hashes the decoded string, and
keeps the rest with an empty string in its place.
It removes only the inside of one string literal, and only base64url, escaped or not, so the rest is well-formed
exactly if the whole body is.
"""

from __future__ import annotations

import binascii
import hashlib
import json
import re
from typing import Final, NamedTuple

from attestlab.core.encoding import b64url_decode
from attestlab.core.errors import PayloadTooLarge, ValidationFailed
from attestlab.web.body.spool import Spool

PAYLOAD_LIMIT_CHARS: Final = 52_428_800
REST_LIMIT_BYTES: Final = 1024 * 1024
MAX_MARKS: Final = 100_000  # quotes, brackets, colons, commas; they take a tenth of a second

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")
_NOT_STRUCTURE = re.compile(rb'[^"{}\[\]:,]*')
# The inside of a string literal up to its closing quote, or up to an escape cut off after its backslash.
_INSIDE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_MAX_ESCAPE_BYTES = 6  # \uXXXX
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'


def _nested_pattern(levels: int) -> bytes:
    """Build a pattern for text whose arrays and objects nest at most `levels` deep."""
    parts = [rb'[^"{}\[\]]++', _STRING]
    if levels:
        inner = _nested_pattern(levels - 1)
        parts += [rb"\{" + inner + rb"\}", rb"\[" + inner + rb"\]"]
    return b"(?:" + b"|".join(parts) + b")*+"


_BELOW_MEMBERS = re.compile(_nested_pattern(4), re.DOTALL)  # text in which no payload can begin


class LargeMember(NamedTuple):
    """A member of a body that may be huge; `noun` is its name in errors.

    With `is_spooled`, the decoded file is kept in an unnamed temporary file.
    """

    name: str
    noun: str
    is_spooled: bool = False

    @property
    def field(self) -> str:
        """The member as a JSON pointer."""
        return f"/{self.name}"


PAYLOAD = LargeMember("payload_b64url", "payload")
CONTENT = LargeMember("content_b64url", "media", is_spooled=True)


class Payload(NamedTuple):
    """The digest and sizes of a file that was sent, and the file itself if it was spooled."""

    sha256: bytes  # of the file's bytes
    size: int  # of the file, in bytes
    chars: int  # of its base64url, padding included
    file: Spool | None = None


class PayloadDecoder:
    """Decodes base64url in pieces, as strictly as `core.encoding.b64url_decode`, and hashes the result."""

    def __init__(self, member: LargeMember = PAYLOAD, *, limit_chars: int = PAYLOAD_LIMIT_CHARS) -> None:
        self._member = member
        self._limit = limit_chars
        self._file = Spool() if member.is_spooled else None
        self._hash = hashlib.sha256()
        self._size = 0
        self._chars = 0
        self._pending = b""  # the last group, because only the end may be short or padded

    def feed(self, chars: bytes) -> None:
        """Decode the next characters.

        Raises:
            PayloadTooLarge: the total exceeds the limit.
            ValidationFailed: a character is not base64url.
        """
        self._chars += len(chars)
        if self._chars > self._limit:
            raise PayloadTooLarge(self._limit, self._member.noun)
        text = self._pending + chars
        whole = max(0, len(text) - 4) // 4 * 4
        self._pending = text[whole:]
        groups = text[:whole]
        if strangers := groups.translate(None, _ALPHABET):
            stranger = ascii(chr(strangers[0]))
            message = f"{stranger} is not base64url. Use only A-Z a-z 0-9 - _."
            raise ValidationFailed.of(self._member.field, "base64url", message)
        self._hash_bytes(binascii.a2b_base64(groups.translate(_TO_STANDARD)))

    def finish(self) -> Payload:
        """Return the digest and sizes of the decoded payload.

        Raises:
            ValidationFailed: the end has a wrong length, padding or trailing bits.
        """
        self._hash_bytes(b64url_decode(self._pending.decode("latin-1"), field=self._member.field))
        self._pending = b""
        return Payload(self._hash.digest(), self._size, self._chars, self._file)

    def _hash_bytes(self, raw: bytes) -> None:
        self._hash.update(raw)
        if self._file is not None:
            self._file.write(raw)
        self._size += len(raw)


def decode_payload(text: str, member: LargeMember = PAYLOAD) -> Payload:
    """Decode and hash a payload that is available as one string."""
    digest = PayloadDecoder(member)
    digest.feed(text.encode("utf-8"))
    return digest.finish()


class PayloadScanner:
    """Splits a JSON text, fed in pieces, into its payload and the rest."""

    def __init__(
        self,
        member: LargeMember = PAYLOAD,
        *,
        payload_limit_chars: int = PAYLOAD_LIMIT_CHARS,
        rest_limit_bytes: int = REST_LIMIT_BYTES,
    ) -> None:
        self._member = member
        self._max_name_bytes = 6 * len(member.name)  # every character as \uXXXX
        self._payload_limit = payload_limit_chars
        self._rest_limit = rest_limit_bytes
        self._rest = bytearray()
        self._payload: Payload | None = None
        self._digest: PayloadDecoder | None = None  # set while inside the payload's string
        self._cut_escape = b""  # the part of an escape that has arrived so far
        self._in_string = False
        self._escaped = False
        self._depth = 0
        self._string_at = 0  # start, in the rest, of the last string at depth 1
        self._key = b""  # its literal, once it has ended
        self._after_colon = False
        self._marks = 0  # number of marks handled one by one

    def feed(self, piece: bytes) -> None:
        """Scan the next bytes of the text, cut anywhere.

        Raises:
            PayloadTooLarge: the payload or the rest exceeds its limit.
            ValidationFailed: the payload is not base64url, or there are two.
        """
        at = 0
        while at < len(piece):
            if self._digest is not None:
                at = self._scan_payload(piece, at, self._digest)
            elif self._in_string:
                at = self._scan_string(piece, at)
            else:
                at = self._scan_to_mark(piece, at)

    def finish(self) -> tuple[bytes, Payload | None]:
        """Return the rest, and the payload if there was one."""
        return bytes(self._rest), self._payload

    def _scan_payload(self, piece: bytes, at: int, digest: PayloadDecoder) -> int:
        text = self._cut_escape + piece[at:]
        end = _match_end(_INSIDE, text, 0)
        is_closed = text[end : end + 1] == b'"'
        whole = end if is_closed else _end_before_cut_escape(text, end)
        digest.feed(_unescape(text[:whole], self._member))
        if not is_closed:
            self._cut_escape = text[whole:]
            return len(piece)
        self._payload, self._digest = digest.finish(), None
        self._append(b'"')
        return at + end + 1 - len(self._cut_escape)

    def _scan_string(self, piece: bytes, at: int) -> int:
        if self._escaped:
            self._escaped = False
            self._append(piece[at : at + 1])
            return at + 1
        end = _match_end(_INSIDE, piece, at)
        self._append(piece[at : end + 1])
        if end < len(piece):
            self._escaped = piece[end] == ord("\\")
            self._in_string = self._escaped
            if not self._in_string and self._depth == 1:
                self._key = bytes(self._rest[self._string_at : self._string_at + self._max_name_bytes + 2])
        return end + 1

    def _scan_to_mark(self, piece: bytes, at: int) -> int:
        end = _match_end(_BELOW_MEMBERS if self._depth > 1 else _NOT_STRUCTURE, piece, at)
        self._append(piece[at : end + 1])
        if end < len(piece):
            self._handle_mark(piece[end : end + 1])
        return end + 1

    def _handle_mark(self, mark: bytes) -> None:
        self._marks += 1
        if self._marks > MAX_MARKS:
            raise ValidationFailed.of(
                "", "too_fine", "The body has too many members besides its payload. Send fewer, or nest them less."
            )
        if mark == b'"':
            self._open_string()
        elif mark in b"{[":
            self._depth += 1
            self._after_colon = False
        elif mark in b"}]":
            self._depth -= 1
        elif self._depth == 1:
            self._after_colon = mark == b":"

    def _open_string(self) -> None:
        if self._depth == 1 and self._after_colon and _is_literal_of(self._key, self._member.name):
            if self._payload is not None:
                name = self._member.name
                raise ValidationFailed.of(self._member.field, "duplicate_member", f"Duplicate object member {name}.")
            self._digest = PayloadDecoder(self._member, limit_chars=self._payload_limit)
        else:
            self._in_string = True
            self._string_at = len(self._rest) - 1
        self._after_colon = False

    def _append(self, text: bytes) -> None:
        self._rest += text
        if len(self._rest) > self._rest_limit:
            raise PayloadTooLarge(self._rest_limit, "request_body")


def _unescape(inside: bytes, member: LargeMember) -> bytes:
    """Decode the inside of a string literal; JSON allows any character to be written as \\uXXXX."""
    if b"\\" not in inside:
        return inside
    try:
        return str(json.loads(f'"{inside.decode("latin-1")}"', strict=False)).encode("utf-8", "surrogatepass")
    except ValueError:
        message = "The body is not JSON: an escape is malformed."
        raise ValidationFailed.of(member.field, "malformed", message) from None


def _end_before_cut_escape(text: bytes, end: int) -> int:
    """Return the start of the last escape in `text` if it may be cut off, otherwise `end`.

    A backslash that is itself escaped may be mistaken for the start of an escape. base64url contains no backslash, so
    such a text is rejected either way.
    """
    slash = text.rfind(b"\\", max(0, end - _MAX_ESCAPE_BYTES + 1), end)
    is_cut = slash >= 0 and text[slash + 1 : slash + 2] == b"u"
    return slash if is_cut else end


def _match_end(pattern: re.Pattern[bytes], piece: bytes, at: int) -> int:
    match = pattern.match(piece, at)
    return at if match is None else match.end()


def _is_literal_of(literal: bytes, name: str) -> bool:
    """Whether a string literal, including its quotes, is a member's name, with or without escapes."""
    if b"\\" not in literal:
        return literal == b'"%b"' % name.encode()
    try:
        return bool(json.loads(literal) == name)
    except ValueError:
        return False
