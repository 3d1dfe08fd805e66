"""The payload scanner: scanning a text in pieces gives the same result as parsing it whole."""

import hashlib
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attestlab.core.encoding import b64url_decode, b64url_encode
from attestlab.core.errors import AttestLabError, PayloadTooLarge, Unavailable, ValidationFailed
from attestlab.core.strict_json import parse_json
from attestlab.web.body.payload_stream import CONTENT, Payload, PayloadDecoder, PayloadScanner, decode_payload
from support.processor_time import LINEAR_FACTOR, require_linear

MEMBER = "payload_b64url"
REFUSED = "refused"


def scanned(text: bytes, places: list[int]) -> Any:
    """Returns the parsed rest and the payload from the scanner, or that it rejected the text."""
    scanner = PayloadScanner()
    ends = sorted(place % (len(text) + 1) for place in places)
    try:
        for start, end in zip([0, *ends], [*ends, len(text)], strict=True):
            scanner.feed(text[start:end])
        rest, payload = scanner.finish()
        return parse_json(rest), payload
    except ValidationFailed:
        return REFUSED


def understood(text: bytes) -> Any:
    """Returns the same from the whole text."""
    try:
        document = parse_json(text)
        payload = None
        if isinstance(document, dict) and isinstance(spelt := document.get(MEMBER), str):
            raw = b64url_decode(spelt)
            payload = Payload(hashlib.sha256(raw).digest(), len(raw), len(spelt))
            document = {**document, MEMBER: ""}
        return document, payload
    except ValidationFailed:
        return REFUSED


def test_spooled_member_is_kept_as_a_file_of_its_own_name() -> None:
    raw = bytes(range(256)) * 1_000
    text = json.dumps({"payload_b64url": "QUJD", "content_b64url": b64url_encode(raw), "a": 1}).encode()
    scanner = PayloadScanner(CONTENT)
    for start in range(0, len(text), 1_000):
        scanner.feed(text[start : start + 1_000])

    rest, media = scanner.finish()

    assert parse_json(rest) == {"payload_b64url": "QUJD", "content_b64url": "", "a": 1}
    assert media is not None
    assert media.file is not None
    assert media.file.path.read_bytes() == raw
    assert (media.sha256, media.size) == (hashlib.sha256(raw).digest(), len(raw))


def test_error_in_a_spooled_member_names_it() -> None:
    with pytest.raises(ValidationFailed) as refused:
        decode_payload("a+b=", CONTENT)
    assert refused.value.fields[0].field == "/content_b64url"
    with pytest.raises(PayloadTooLarge, match="media"):
        PayloadScanner(CONTENT, payload_limit_chars=8).feed(b'{"content_b64url":"QUJDQUJDQUJD"}')


def test_missing_folder_for_temporary_files_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))

    with pytest.raises(Unavailable, match="temporary files"):
        decode_payload("QUJD", CONTENT)


def escaped(name: str, which: set[int]) -> str:
    return "".join(f"\\u{ord(c):04x}" if at in which else c for at, c in enumerate(name))


names = st.one_of(
    st.just(f'"{MEMBER}"'),
    st.sets(st.integers(0, len(MEMBER) - 1)).map(lambda which: f'"{escaped(MEMBER, which)}"'),
    st.text(max_size=6).map(json.dumps),
)
strings = st.one_of(
    st.binary(max_size=20).map(lambda raw: f'"{b64url_encode(raw)}"'),
    st.sampled_from(['"QUI="', '"QR"', '"Q"', '"a+b"', '"QUI=="', '""', f'"{MEMBER}"', '"\\""', '"\\\\"', '"}{]["']),
    st.text(max_size=8).map(json.dumps),
)
spaces = st.sampled_from(["", " ", "\n\t "])


def objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    member = st.tuples(spaces, names, spaces, values, spaces).map(lambda m: f"{m[0]}{m[1]}{m[2]}:{m[3]}{m[4]}")
    return st.lists(member, max_size=4).map(lambda members: "{" + ",".join(members) + "}")


def arrays(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(values, max_size=4).map(lambda items: "[" + ", ".join(items) + "]")


values = st.recursive(
    st.one_of(strings, st.sampled_from(["1", "-2.5e3", "true", "null"])), lambda v: objects(v) | arrays(v), max_leaves=8
)
texts = st.one_of(objects(values), values)
places = st.lists(st.integers(0, 10_000), max_size=8)


@given(texts, places)
@example('{"payload\\u005fb64url":"QUI","payload_b64url":"QUJD"}', [])
@example('{"payload_b64url":"QUI","payload\\u005Fb64url":"QUJD"}', [])
@example('{"payload_b64url":1,"payload_b64url":"QUI"}', [])
@example('["payload_b64url","QUI"]', [])
@example('{"a":{"payload_b64url":"QUI"}}', [])
@example('{"a":"payload_b64url","b":"QUI"}', [])
@example('{"payload_b64url" "QUI"}', [])
@example('{"payload_b64url"::"QUI"}', [])
@example('{"payload_b64url":"QUI"}}', [])
@example('{}{"payload_b64url":"QUI"}', [])
@example('{"x\\"payload_b64url":"QUI"}', [])
@example('{"payload_b64url":{},"b":"QUI"}', [])
@example('{"payload_b64url\\', [])
def test_any_split_of_a_text_gives_the_same_result_as_the_whole(text: str, places: list[int]) -> None:
    """Except for escapes inside a payload, which only a parser of the whole text could accept."""
    raw = text.encode("utf-8", "surrogatepass")

    expected = understood(raw)
    if expected != REFUSED and expected[1] is not None and scanned(raw, []) == REFUSED:
        assert "\\" in text
    else:
        assert scanned(raw, []) == expected
    assert scanned(raw, places) == scanned(raw, [])


@given(texts, st.data())
def test_damaged_text_is_rejected_exactly_if_the_whole_is(text: str, data: st.DataObject) -> None:
    raw = bytearray(text.encode("utf-8", "surrogatepass"))
    at = data.draw(st.integers(0, max(0, len(raw) - 1)))
    raw[at : at + data.draw(st.integers(0, 2))] = data.draw(
        st.sampled_from([b"", b'"', b"\\", b"{", b"]", b",", b":", b"\xff"])
    )

    expected = understood(bytes(raw))
    found = scanned(bytes(raw), [at])

    assert found == expected or (found == REFUSED and b"\\" in raw)


@given(st.text(st.sampled_from("ABQRVZaghz019-_=+/ \né"), max_size=30), places)
def test_base64url_in_pieces_is_validated_as_strictly_as_whole(text: str, places: list[int]) -> None:
    raw = text.encode()
    ends = sorted(place % (len(raw) + 1) for place in places)
    digest = PayloadDecoder()
    try:
        for start, end in zip([0, *ends], [*ends, len(raw)], strict=True):
            digest.feed(raw[start:end])
        found: Any = digest.finish()
    except ValidationFailed:
        found = REFUSED

    try:
        decoded = b64url_decode(text)
        assert found == Payload(hashlib.sha256(decoded).digest(), len(decoded), len(text))
    except ValidationFailed:
        assert found == REFUSED


@given(st.binary(max_size=200), st.booleans())
def test_a_payload_is_identified_by_its_bytes(raw: bytes, padded: bool) -> None:
    spelt = b64url_encode(raw)
    spelt += "=" * (-len(spelt) % 4) if padded else ""

    assert decode_payload(spelt) == Payload(hashlib.sha256(raw).digest(), len(raw), len(spelt))


def fault_of(text: bytes, **limits: int) -> AttestLabError:
    with pytest.raises(AttestLabError) as caught:
        PayloadScanner(**limits).feed(text)
    return caught.value


def test_one_character_too_many_is_too_large_as_a_payload() -> None:
    PayloadScanner(payload_limit_chars=8).feed(b'{"payload_b64url":"QUJDQUJD"')

    fault = fault_of(b'{"payload_b64url":"QUJDQUJDQ', payload_limit_chars=8)

    assert isinstance(fault, PayloadTooLarge)
    assert fault.details == {"limit_bytes": 8, "scope": "payload"}


def test_the_rest_has_its_own_limit() -> None:
    PayloadScanner(rest_limit_bytes=40).feed(b'{"payload_b64url":"' + b"QUJD" * 100 + b'","a":"bcd"}')

    fault = fault_of(b'{"payload_b64url":"' + b"QUJD" * 100 + b'","a":"bcdefghijklmn"}', rest_limit_bytes=40)

    assert isinstance(fault, PayloadTooLarge)
    assert fault.details == {"limit_bytes": 40, "scope": "request_body"}


def test_a_second_payload_is_rejected_before_it_is_read() -> None:
    fault = fault_of(b'{"payload_b64url":"QUI","payload_b64url":"')

    assert isinstance(fault, ValidationFailed)
    assert fault.fields[0].code == "duplicate_member"


@pytest.mark.parametrize("places", [[], list(range(0, 6000, 7)), list(range(6000))])
def test_escapes_in_a_payload_are_decoded(places: list[int]) -> None:
    """Python's JSON writer can escape =, and any other character can be escaped too."""
    raw = bytes(range(256)) * 2
    spelt = b64url_encode(raw) + "=" * (-len(raw) % 3)
    escaped_all = "".join(f"\\u{ord(c):04x}" if n % 3 else c for n, c in enumerate(spelt))
    text = f'{{"a":"\\\\\\"","payload_b64url":"{escaped_all}","b":1}}'.encode()

    document, payload = scanned(text, places)

    assert document == {"a": '\\"', "payload_b64url": "", "b": 1}
    assert payload == Payload(hashlib.sha256(raw).digest(), len(raw), len(spelt))


@pytest.mark.parametrize("inside", ["\\u0041", "A\\u0041", "\\\\", '\\"'])
@pytest.mark.parametrize("member", [MEMBER, "other"])
def test_twice_as_many_escapes_take_about_twice_as_long(member: str, inside: str) -> None:
    """When each escape copied the rest of the text, four times as many took sixteen times as long."""

    def scan_escapes(size: int) -> Callable[[], object]:
        text = f'{{"{member}":"{inside * (size // len(inside) // 4 * 4)}"}}'.encode()

        def scan() -> None:
            with suppress(ValidationFailed):
                PayloadScanner(rest_limit_bytes=2 * size).feed(text)

        return scan

    require_linear(scan_escapes, 125_000)


@pytest.mark.parametrize(
    "rest", ['{"a":[1,{"b":[2]},"\\""]},' * 20_000, "{}," * 150_000, '{"a":"b","c":[]},' * 30_000, "[[1]]," * 40_000]
)
def test_many_small_members_are_scanned_quickly(rest: str) -> None:
    """In linear time: of any size, the pieces are as long, and each member is read once."""

    def scan_members(size: int) -> Callable[[], object]:
        text = f'{{"a":[{rest[:size]}0],"payload_b64url":"QUJD","b":1}}'.encode()
        places = list(range(0, len(text), 7_000))
        document, payload = scanned(text, places)
        assert (document["b"], document["payload_b64url"], payload.size) == (1, "", 3)
        return lambda: scanned(text, places)

    assert len(rest) % LINEAR_FACTOR == 0, "the smaller text has whole members"
    require_linear(scan_members, len(rest) // LINEAR_FACTOR, rounds=3)


def test_too_many_members_besides_the_payload_are_rejected() -> None:
    """Handling each member costs the server a hundred times what sending it costs the client."""
    fault = fault_of(("{" + '"a":1,' * 40_000).encode())

    assert isinstance(fault, ValidationFailed)
    assert fault.fields[0].code == "too_fine"
