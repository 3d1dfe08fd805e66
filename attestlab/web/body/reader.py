"""Reads a request body: collects it within limits, parses it strictly and extracts its payload.

Bodies up to 1 MiB are collected and parsed. A larger body is accepted only by a route that takes a payload; it is
scanned and hashed in pieces in a thread, and the next piece is read only after the previous one is processed.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from attestlab.core.errors import PayloadTooLarge, UnsupportedMediaType, ValidationFailed
from attestlab.core.strict_json import parse_json, require_value_count
from attestlab.web.body.form import Form, FormScanner, find_boundary
from attestlab.web.body.payload_stream import (
    PAYLOAD_LIMIT_CHARS,
    REST_LIMIT_BYTES,
    LargeMember,
    Payload,
    PayloadScanner,
    decode_payload,
)
from attestlab.web.http1.request_body import RequestBody

# Runs a function in a thread, `await run_in_thread(function, *arguments)`; Any: a partial loses the function's type.
RunInThread = Callable[..., Awaitable[Any]]

JSON = "application/json"
NDJSON = "application/x-ndjson"
WEB_FORM = "application/x-www-form-urlencoded"
MAX_FORM_FIELDS = 50
MAX_FORM_ESCAPES = 16_384  # they take half a microsecond each; base64url has none
# Bodies up to this size are parsed on the loop: about 0.1 ms, and under 3 ms if each byte is a bracket or number.
INLINE_BYTES = 16 * 1024
_BATCH_BYTES = 256 * 1024
_SLICE_BYTES = 32 * 1024
_UTF8 = frozenset({"utf-8", "utf8"})


class ParsedBody(NamedTuple):
    """A parsed body and its payload."""

    text: bytes  # JSON, the payload's string empty
    document: object  # the same, parsed
    payload: Payload | None


def require_media_type(headers: Mapping[str, str], wanted: str, *, form: bool = False) -> None:
    """Reject a body that is not declared as the wanted type, uncompressed in UTF-8, or as a form with a file where
    one is taken.
    """
    declared = headers.get("content-type", "")
    is_form = form and find_boundary(declared) is not None
    if not is_form and declared != wanted and not _is_of_type(declared, wanted):
        raise UnsupportedMediaType.of_body(declared, f"{wanted} in UTF-8")
    if headers.get("content-encoding", "identity") != "identity":
        raise UnsupportedMediaType.of_body(f"{declared} ({headers['content-encoding']})", "it uncompressed")


def require_length(length: int, *, limit_bytes: int, member: LargeMember | None) -> None:
    """Reject a body by its declared length before it is read, if that length exceeds the limits."""
    if member is not None and length > PAYLOAD_LIMIT_CHARS + REST_LIMIT_BYTES:
        raise PayloadTooLarge(PAYLOAD_LIMIT_CHARS, member.noun)
    if member is None and length > limit_bytes:
        raise PayloadTooLarge(limit_bytes, "request_body")


async def read_body(
    body: RequestBody, *, limit_bytes: int, member: LargeMember | None, run_in_thread: RunInThread
) -> ParsedBody | None:
    """Read and parse a body; return None if it is empty.

    Raises:
        PayloadTooLarge: the payload, or everything else, exceeds its limit.
        ValidationFailed: it is not strict JSON, or its payload is not base64url.
    """
    if member is not None:
        limit_bytes = REST_LIMIT_BYTES
    collected = await _collect(body, limit_bytes)
    if len(collected) > limit_bytes:
        if member is not None:
            return await _scan(collected, body, member, run_in_thread)
        raise PayloadTooLarge(limit_bytes, "request_body")
    if not collected:
        return None
    if len(collected) > INLINE_BYTES:
        sent: ParsedBody = await run_in_thread(_parse_body, collected, member)
        return sent
    return _parse_body(collected, member)


async def read_form(
    body: RequestBody, boundary: bytes, *, json_part: str, member: LargeMember, run_in_thread: RunInThread
) -> ParsedBody:
    """Read a form of a JSON part and a file as the JSON body that it stands for, the file as its payload.

    Raises:
        PayloadTooLarge: the file or the JSON part exceeds its limit.
        ValidationFailed: it is no such form, the part is no strict JSON object, or it contradicts the file.
    """
    scanner = FormScanner(boundary, json_part)
    while batch := await _read_batch(body):
        if len(batch) <= INLINE_BYTES:
            scanner.feed(batch)
        else:
            await run_in_thread(_feed_slices, scanner, batch)
    form = scanner.finish()
    if len(form.text) <= INLINE_BYTES:
        return _join_form(form, member)
    joined: ParsedBody = await run_in_thread(_join_form, form, member)
    return joined


def _join_form(form: Form, member: LargeMember) -> ParsedBody:
    """Parse the JSON part and add what the file says, so that equal contents have one canonical form."""
    document = _parse_text(form.text)
    if not isinstance(document, dict):
        raise ValidationFailed.of("", "type", "The first part of the form must be a JSON object.")
    if member.name in document:
        raise ValidationFailed.of(member.field, "sent_twice", f"Send the file as a part, or as {member.name}.")
    if document.get("content_type", form.content_type) != form.content_type:
        message = f"The type of the file's part is {form.content_type}. Omit content_type, or send the same."
        raise ValidationFailed.of("/content_type", "contradicting", message)
    document |= {"content_type": form.content_type, member.name: ""}
    return ParsedBody(json.dumps(document).encode(), document, form.payload)


async def read_web_form(body: RequestBody, *, limit_bytes: int, run_in_thread: RunInThread) -> ParsedBody:
    """Read the form of a page as the JSON object of texts that it stands for.

    A long one is parsed in a thread.

    Raises:
        PayloadTooLarge: it exceeds the limit.
        ValidationFailed: it is not well-formed UTF-8, or has a field twice, or too many escapes.
    """
    collected = await _collect(body, limit_bytes)
    if len(collected) > limit_bytes:
        raise PayloadTooLarge(limit_bytes, "request_body")
    if len(collected) <= INLINE_BYTES:
        return _parse_web_form(collected)
    parsed: ParsedBody = await run_in_thread(_parse_web_form, collected)
    return parsed


def _parse_web_form(collected: bytes) -> ParsedBody:
    if (escapes := collected.count(b"%")) > MAX_FORM_ESCAPES:
        raise ValidationFailed(f"The form has {escapes:,} escapes; send at most {MAX_FORM_ESCAPES:,}.")
    try:
        pairs = parse_qsl(
            collected.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FORM_FIELDS
        )
    except ValueError:
        message = f"The form must be URL-encoded UTF-8 with at most {MAX_FORM_FIELDS} fields."
        raise ValidationFailed.of("", "malformed", message) from None
    if len(dict(pairs)) < len(pairs):
        raise ValidationFailed.of("", "duplicate", "The form has a field twice. Send each field once.")
    text = json.dumps(dict(pairs)).encode()
    return ParsedBody(text, _parse_text(text), None)


async def read_unparsed(body: RequestBody, *, limit_bytes: int) -> bytes:
    """Read a body without parsing it.

    Raises:
        PayloadTooLarge: it exceeds the limit.
    """
    collected = await _collect(body, limit_bytes)
    if len(collected) > limit_bytes:
        raise PayloadTooLarge(limit_bytes, "request_body")
    return collected


async def _collect(body: RequestBody, limit_bytes: int) -> bytes:
    """Collect the whole body, or the beginning of one that exceeds the limit."""
    first = await body.read_chunk()
    if body.is_finished:
        return first
    collected = bytearray(first)
    while len(collected) <= limit_bytes and (piece := await body.read_chunk()):
        collected += piece
    return bytes(collected)


def _is_of_type(declared: str, wanted: str) -> bool:
    media_type, *parameters = (part.strip().lower() for part in declared.split(";"))
    charsets = [
        value.strip('"') for name, _, value in (part.partition("=") for part in parameters) if name == "charset"
    ]
    is_json = wanted == JSON and media_type.endswith("+json")
    return (media_type == wanted or is_json) and _UTF8.issuperset(charsets)


def _parse_body(text: bytes, member: LargeMember | None) -> ParsedBody:
    document = _parse_text(text)
    payload = None
    if member is not None and isinstance(document, dict) and isinstance(spelt := document.get(member.name), str):
        text, payload = _extract_payload(text, spelt, member)
        document[member.name] = ""
    return ParsedBody(text, document, payload)


def _extract_payload(text: bytes, spelt: str, member: LargeMember) -> tuple[bytes, Payload | None]:
    """Remove the payload from the text. Only a scan can find the literal if it occurs twice or may contain escapes."""
    literal = f'"{spelt}"'.encode()
    if b"\\" not in text and text.count(literal) == 1:
        return text.replace(literal, b'""'), decode_payload(spelt, member)
    scanner = PayloadScanner(member)
    _feed_slices(scanner, text)
    return scanner.finish()


async def _scan(first: bytes, body: RequestBody, member: LargeMember, run_in_thread: RunInThread) -> ParsedBody:
    scanner = PayloadScanner(member)
    batch = first
    while batch:
        await run_in_thread(_feed_slices, scanner, batch)
        batch = await _read_batch(body)
    text, payload = scanner.finish()
    document = await run_in_thread(_parse_text, text)
    return ParsedBody(text, document, payload)


def _parse_text(text: bytes) -> object:
    require_value_count(text)
    return parse_json(text)


def _feed_slices(scanner: PayloadScanner | FormScanner, batch: bytes) -> None:
    """Scan in slices, so that the event loop can run in between."""
    for start in range(0, len(batch), _SLICE_BYTES):
        scanner.feed(batch[start : start + _SLICE_BYTES])


def is_large(sent: ParsedBody) -> bool:
    """Whether validating the body takes longer than the event loop may be blocked."""
    return len(sent.text) > INLINE_BYTES


async def _read_batch(body: RequestBody) -> bytes:
    pieces, size = [], 0
    while size < _BATCH_BYTES and (piece := await body.read_chunk()):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)
