"""A file next to JSON: `multipart/form-data` (RFC 7578) of two parts, a JSON object and then a file, while it arrives.

The file is hashed piece by piece and never in memory as a whole. The reader is strict where RFC 2046 is generous: no
preamble, no epilogue, no padding behind a boundary, exactly these two parts in this order. Well-kept libraries for
forms read the whole body first (Tornado) or are written for frameworks of their own, and would leave these checks to
us as well.
"""

from __future__ import annotations

import hashlib
import re
from email.message import Message
from email.parser import BytesHeaderParser
from enum import Enum, auto
from typing import Final, NamedTuple, Never

from attestlab.core.errors import PayloadTooLarge, ValidationFailed
from attestlab.web.body.payload_stream import PAYLOAD, REST_LIMIT_BYTES, Payload

FORM: Final = "multipart/form-data"
FILE_LIMIT_BYTES: Final = 39_321_600  # three quarters of the characters of base64url
FILE_PART: Final = "file"
_HEADERS_LIMIT_BYTES = 8 * 1024
_END_OF_HEADERS = b"\r\n\r\n"
_BOUNDARY = re.compile(r"[A-Za-z0-9'()+_,./:=?-][A-Za-z0-9'()+_,./:=? -]{0,69}(?<! )")  # RFC 2046 section 5.1.1
_PLAIN_ENCODINGS = ("7bit", "8bit", "binary")
_DEFAULT_TYPE = "application/octet-stream"


class Form(NamedTuple):
    """What a form contained: the text of its JSON part, and the facts of its file."""

    text: bytes
    content_type: str  # of the file
    payload: Payload


class _State(Enum):
    BOUNDARY = auto()  # the boundary that begins the body
    HEADERS = auto()
    CONTENT = auto()
    AFTER_BOUNDARY = auto()  # either a line break, and another part, or two hyphens
    END = auto()


def find_boundary(declared: str) -> bytes | None:
    """Return the boundary that a Content-Type header of a form declares; None for another media type.

    Raises:
        ValidationFailed: the form declares no valid boundary.
    """
    header = Message()
    header["Content-Type"] = declared
    if header.get_content_type() != FORM:
        return None
    boundary = header.get_param("boundary")
    if not isinstance(boundary, str) or not _BOUNDARY.fullmatch(boundary):
        message = "multipart/form-data must declare a boundary of 1-70 characters (RFC 2046)."
        raise ValidationFailed.of("/Content-Type", "boundary", message)
    return boundary.encode()


class FormScanner:
    """Splits a form, fed in pieces, into the JSON of its part `json_part` and the file of its part `file`."""

    def __init__(self, boundary: bytes, json_part: str) -> None:
        self._start = b"--" + boundary + b"\r\n"
        self._delimiter = b"\r\n--" + boundary
        self._expected = [json_part, FILE_PART]
        self._buffer = bytearray()
        self._state = _State.BOUNDARY
        self._part = ""  # the one that is read
        self._text = bytearray()
        self._content_type = _DEFAULT_TYPE
        self._hash = hashlib.sha256()
        self._size = 0

    def feed(self, piece: bytes) -> None:
        """Read the next bytes of the form, cut anywhere.

        Raises:
            PayloadTooLarge: the file or the JSON exceeds its limit.
            ValidationFailed: it is no such form.
        """
        self._buffer += piece
        while self._advance():
            pass

    def finish(self) -> Form:
        """Return the content of the form.

        Raises:
            ValidationFailed: the form ends too early.
        """
        if self._state is not _State.END or self._expected:
            missing = " and ".join(self._expected) or "its closing boundary"
            _reject(f"it ends before {missing}")
        chars = (self._size + 2) // 3 * 4
        return Form(bytes(self._text), self._content_type, Payload(self._hash.digest(), self._size, chars))

    def _advance(self) -> bool:
        """Read as much as the buffer has of the present state; return whether the next state may have more."""
        match self._state:
            case _State.BOUNDARY:
                return self._read_start()
            case _State.HEADERS:
                return self._read_headers()
            case _State.CONTENT:
                return self._read_content()
            case _State.AFTER_BOUNDARY:
                return self._read_after_boundary()
            case _State.END:
                if bytes(self._buffer) not in (b"", b"\r", b"\r\n"):
                    _reject("bytes follow its closing boundary")
                return False

    def _read_start(self) -> bool:
        if not self._start.startswith(bytes(self._buffer[: len(self._start)])):
            _reject("it must begin with its boundary")
        return self._take(len(self._start), _State.HEADERS)

    def _read_headers(self) -> bool:
        end = self._buffer.find(_END_OF_HEADERS, 0, _HEADERS_LIMIT_BYTES)
        if end < 0:
            if len(self._buffer) >= _HEADERS_LIMIT_BYTES:
                _reject(f"the headers of a part exceed {_HEADERS_LIMIT_BYTES:,} bytes")
            return False
        self._begin_part(BytesHeaderParser().parsebytes(bytes(self._buffer[: end + 2])))
        return self._take(end + len(_END_OF_HEADERS), _State.CONTENT)

    def _begin_part(self, headers: Message) -> None:
        name = headers.get_param("name", header="content-disposition")
        if headers.get_content_disposition() != "form-data" or not isinstance(name, str):
            _reject("a part has no Content-Disposition: form-data with a name")
        if not self._expected or name != self._expected[0]:
            expected = self._expected[0] if self._expected else "no further"
            _reject(f"a part is named {name[:64]!r}; expected is {expected}")
        if str(headers.get("content-transfer-encoding", "binary")).lower() not in _PLAIN_ENCODINGS:
            _reject("a part has a Content-Transfer-Encoding; send it as it is")
        self._part = self._expected.pop(0)
        if self._part == FILE_PART and "content-type" in headers:
            self._content_type = headers.get_content_type()

    def _read_content(self) -> bool:
        end = self._buffer.find(self._delimiter)
        whole = end if end >= 0 else max(0, len(self._buffer) - len(self._delimiter) + 1)
        self._keep(bytes(self._buffer[:whole]))
        if end < 0:
            del self._buffer[:whole]
            return False
        return self._take(end + len(self._delimiter), _State.AFTER_BOUNDARY)

    def _keep(self, content: bytes) -> None:
        if self._part == FILE_PART:
            self._size += len(content)
            if self._size > FILE_LIMIT_BYTES:
                raise PayloadTooLarge(FILE_LIMIT_BYTES, PAYLOAD.noun)
            self._hash.update(content)
            return
        self._text += content
        if len(self._text) > REST_LIMIT_BYTES:
            raise PayloadTooLarge(REST_LIMIT_BYTES, "request_body")

    def _read_after_boundary(self) -> bool:
        mark = bytes(self._buffer[:2])
        if len(mark) == 2 and mark not in (b"\r\n", b"--"):
            _reject("a boundary is followed by neither a line break nor two hyphens")
        return self._take(2, _State.END if mark == b"--" else _State.HEADERS)

    def _take(self, count: int, state: _State) -> bool:
        """Pass over bytes and enter the next state, once the buffer has them all."""
        if len(self._buffer) < count:
            return False
        del self._buffer[:count]
        self._state = state
        return True


def _reject(reason: str) -> Never:
    raise ValidationFailed.of("", "malformed", f"The body is no form of a JSON part and a file: {reason}.")
