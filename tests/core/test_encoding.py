"""Encodings as text: each value has one encoding, and other forms are rejected with a remedy."""

from __future__ import annotations

import string
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from attestlab.client.arguments import read_time
from attestlab.core.encoding import (
    b64_decode,
    b64_encode,
    b64url_decode,
    b64url_encode,
    format_time,
    parse_sent_time,
    parse_time,
    parse_uuid,
)
from attestlab.core.errors import ValidationFailed
from attestlab.core.shapes import Moment
from support.refusals import require_fault


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"),
        ("2016-12-31t23:59:60.75z", "2017-01-01T00:00:00.750Z"),
        ("2017-01-01T05:29:60+05:30", "2017-01-01T00:00:00.000Z"),
        ("2016-12-31T15:59:60-08:00", "2017-01-01T00:00:00.000Z"),
    ],
)
def test_a_leap_second_is_the_next_second(text, moment):
    assert format_time(parse_time(text)) == moment
    assert TypeAdapter(Moment).validate_python(text) == read_time(text, name="at") == parse_time(text)


@pytest.mark.parametrize("text", ["2026-01-02T03:04:60Z", "2016-12-31T23:59:60+01:00"])
def test_another_second_60_is_refused_with_a_true_sentence(text):
    with pytest.raises(ValidationFailed, match="has a second 60, which only 23:59 in UTC may have"):
        parse_time(text)


@pytest.mark.parametrize("text", ["9999-12-31T23:59:60Z", "2016-12-31T23:59:61Z", "2016-12-31T23:60:60Z"])
def test_a_second_that_no_clock_has_is_refused(text):
    with pytest.raises(ValidationFailed, match="is not an RFC 3339 time"):
        parse_time(text)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-02 03:04:05Z",
        "2026-01-02 03:04:05z",
        "2026-01-02 03:04:05+00:00",
        "2026-01-02 03:04:05 +00:00",
        "2026-01-02T03:04:05 00:00",  # a plus sign in a query string
        "2026-01-01T22:04:05-05:00",
    ],
)
def test_a_request_may_write_a_time_with_a_space(text):
    assert format_time(TypeAdapter(Moment).validate_python(text)) == "2026-01-02T03:04:05.000Z"
    assert read_time(text, name="at") == parse_sent_time(text) == parse_time("2026-01-02T03:04:05Z")


@pytest.mark.parametrize("text", ["2026-01-02T03:04:0500:00", "2026-01-02  03:04:05Z", "2026-01-02 03:04:05", "x y"])
def test_another_form_stays_refused(text):
    with pytest.raises(ValidationFailed, match="is not an RFC 3339 time"):
        parse_sent_time(text)


@pytest.mark.parametrize("text", ["2026-01-02T24:00:00Z", "2026-01-02 24:00:00+00:00"])
def test_an_hour_24_is_refused_with_what_to_send(text):
    with pytest.raises(ValidationFailed, match=r"has an hour 24\. Send 00:00:00 of the next day"):
        parse_sent_time(text)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_base64url_round_trips_padded_or_not(raw):
    assert b64url_decode(b64url_encode(raw)) == raw
    assert b64url_decode(urlsafe_b64encode(raw).decode()) == raw


@settings(deadline=None)
@given(st.text(string.ascii_letters + string.digits + "-_+/= \n", max_size=12))
def test_every_value_has_one_base64url_encoding(text):
    try:
        raw = b64url_decode(text, field="/it")
    except ValidationFailed as refused:
        require_fault(refused, "/it", {"base64url"})
        return
    assert text in {b64url_encode(raw), urlsafe_b64encode(raw).decode()}


@pytest.mark.parametrize(
    "text",
    [
        "a", "aaaaa", "a=", "aa=", "aa===", "aaa==", "aaaa=", "aaaa==", "=", "==", "====", "aa==aa==", "a=aa", "=aaa",
        "+aaa", "/aaa", "aa aa", "aaaa\n", "\naaaa", " aaaa", "aaa\u00e4", "aaa\uff21", "aa%3D", "ab", "ab==", "aab",
        "aab=", "a.aa", "aa\x00", "aa\ud800",
    ],
)  # fmt: skip
def test_noncanonical_base64url_is_rejected(text):
    with pytest.raises(ValidationFailed) as refused:
        b64url_decode(text, field="/signature")
    assert [(fault.field, fault.code) for fault in refused.value.fields] == [("/signature", "base64url")]
    assert refused.value.message.isascii()


@settings(deadline=None)
@given(st.text(string.ascii_letters + string.digits + "+/= \n", max_size=12))
def test_every_value_has_one_base64_encoding(text):
    try:
        raw = b64_decode(text)
    except ValueError:
        return
    assert text == b64_encode(raw)


@pytest.mark.parametrize(
    "text", ["YQ", "YQ=", "YQ===", "YR==", "YWI", "YWJ=", "YWJj=", "YWJj====", "YW-_", " YWJj", "ä"]
)
def test_noncanonical_base64_is_rejected(text):
    with pytest.raises(ValueError, match="base64"):
        b64_decode(text)


@pytest.mark.parametrize("spelling", [str.lower, str.upper])
def test_a_uuid_is_read_in_either_case(spelling):
    text = "0193b5a0-7f3c-7abc-8def-0123456789ab"

    assert parse_uuid(spelling(text)) == UUID(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "0193b5a07f3c7abc8def0123456789ab", "{0193b5a0-7f3c-7abc-8def-0123456789ab}",
        "urn:uuid:0193b5a0-7f3c-7abc-8def-0123456789ab", "0193b5a0-7f3c-7abc-8def-0123456789ab\n",
        " 0193b5a0-7f3c-7abc-8def-0123456789ab", "0193b5a0-7f3c-7abc-8def-0123456789a",
        "0193b5a-07f3c-7abc-8def-0123456789ab",
        "0193b5a0-7f3c-7abc-8def-0123456789ag", "0193b5a0-7f3c-7abc-8def-0123456789a\uff11",
        "0193b5a0_7f3c_7abc_8def_0123456789ab", "+193b5a0-7f3c-7abc-8def-0123456789ab",
    ],
)  # fmt: skip
def test_other_forms_of_a_uuid_are_rejected(text):
    with pytest.raises(ValidationFailed) as refused:
        parse_uuid(text, field="id")
    assert [(fault.field, fault.code) for fault in refused.value.fields] == [("id", "uuid")]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"),
        ("2026-01-02t03:04:05.678z", "2026-01-02T03:04:05.678Z"),
        ("2026-01-02T03:04:05.67899999Z", "2026-01-02T03:04:05.678Z"),
        ("2026-01-02T03:04:05.6+05:30", "2026-01-01T21:34:05.600Z"),
        ("2026-12-31T23:59:59-23:59", "2027-01-01T23:58:59.000Z"),
        ("2024-02-29T00:00:00-00:00", "2024-02-29T00:00:00.000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
    ],
)
def test_time_is_parsed_to_utc_and_formatted_with_three_decimals(text, moment):
    read = parse_time(text)

    assert read.tzinfo is UTC
    assert format_time(read) == moment


@pytest.mark.parametrize(
    "text",
    [
        "", "2026-01-02", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z", "2026-01-02T03:04Z", "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05,5Z", "2026-01-02T24:00:00Z", "2026-01-02T03:60:05Z", "2026-01-02T03:04:60Z",
        "2026-13-02T03:04:05Z", "2026-02-30T03:04:05Z", "2025-02-29T03:04:05Z", "0000-01-02T03:04:05Z",
        "2026-01-02T03:04:05+24:00", "2026-01-02T03:04:05+05:60", "2026-01-02T03:04:05+0530", "2026-01-02T03:04:05+05",
        "2026-01-02T03:04:05+05:30:15",
        "20260102T030405Z", "2026-W01-1T03:04:05Z", "1767322445", "2026-01-02T03:04:05Z\n", "2026-01-02T03:04:05ZZ",
        "9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00", "2026-01-0\uff12T03:04:05Z",
    ],
)  # fmt: skip
def test_time_that_is_not_rfc_3339_is_rejected(text):
    with pytest.raises(ValidationFailed) as refused:
        parse_time(text, field="/expiry_at")
    assert [(fault.field, fault.code) for fault in refused.value.fields] == [("/expiry_at", "time")]


@settings(deadline=None)
@given(
    st.datetimes(datetime(1000, 1, 1), datetime(9000, 1, 1)),
    st.integers(-1439, 1439).map(lambda m: timedelta(minutes=m)),
)
def test_formatted_time_parses_to_the_same_millisecond(naive, offset):
    at = naive.replace(tzinfo=timezone(offset))

    assert parse_time(format_time(at)) == at.replace(microsecond=at.microsecond // 1000 * 1000)


def test_naive_time_is_not_formatted():
    with pytest.raises(ValueError, match="no UTC offset"):
        format_time(datetime(2026, 1, 2))
