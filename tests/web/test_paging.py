"""Paging: lists are newest first, one page at a time."""

from uuid import uuid4

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attestlab.core.encoding import b64url_decode, b64url_encode
from attestlab.core.errors import ValidationFailed
from attestlab.web.paging import PageQuery, decode_id, decode_number, decode_position, encode_cursor, split_page
from attestlab.web.validation import validate_query


@pytest.mark.parametrize("limit", [1, 3, 5, 9, 10, 100])
def test_following_the_cursors_lists_every_row_once(client: httpx.Client, limit: int) -> None:
    seen: list[str] = []
    query: dict[str, str | int] = {"limit": limit}
    while True:
        page = client.get("/v1/notes", params=query).json()
        assert 0 < len(page["items"]) <= limit
        seen += page["items"]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]

    assert seen == [f"note {n}" for n in range(10, 0, -1)]


def test_a_list_accepts_an_offset(client: httpx.Client) -> None:
    assert client.get("/v1/notes?offset=8").json() == {"items": ["note 2", "note 1"], "next_cursor": None}


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=101",
        "limit=-1",
        "limit=",
        "offset=-1",
        "offset=3000000000",
        "limit=1_0",
        "limit=+5",
        "limit=05",
        "limit=%205",
        "limit=5.0",
        "limit=%D9%A5",
    ],
)
def test_numbers_beyond_their_bounds_are_400(client: httpx.Client, query: str) -> None:
    response = client.get(f"/v1/notes?{query}")

    assert (response.status_code, response.json()["details"]["fields"][0]["field"]) == (400, "/" + query.split("=")[0])


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "ü", "a" * 500])
def test_what_is_not_a_cursor_is_400(client: httpx.Client, cursor: str) -> None:
    response = client.get("/v1/notes", params={"cursor": cursor})

    assert (response.status_code, response.json()["details"]["fields"][0]["field"]) == (400, "/cursor")


def test_a_nul_character_is_rejected() -> None:
    """PostgreSQL cannot compare with NUL and would fail with its own error."""
    with pytest.raises(ValidationFailed, match="NUL"):
        validate_query(PageQuery, "cursor=%00")


@given(st.lists(st.integers(-(2**53), 2**53) | st.text(max_size=10), min_size=1, max_size=3))
def test_a_cursor_round_trips_its_position(position: list[str | int]) -> None:
    assert decode_position("notes", encode_cursor("notes", position)) == position


def test_a_cursor_is_valid_for_its_own_list_only() -> None:
    with pytest.raises(ValidationFailed):
        decode_position("issuers", encode_cursor("notes", [5]))


@given(st.integers(0, 200), st.integers(1, 255))
def test_an_altered_cursor_is_rejected(at: int, bits: int) -> None:
    raw = bytearray(b64url_decode(encode_cursor("notes", ["2026-11-21T12:00:00.000Z", 5])))
    raw[at % len(raw)] ^= bits

    with pytest.raises(ValidationFailed):
        decode_position("notes", b64url_encode(bytes(raw)))


def test_the_last_page_has_no_cursor_even_when_it_is_full() -> None:
    rows = [3, 2, 1]

    assert split_page(rows, limit=3, kind="n", position=lambda r: [r]) == ([3, 2, 1], None)
    shown, cursor = split_page(rows, limit=2, kind="n", position=lambda r: [r])
    assert (list(shown), decode_position("n", cursor or "")) == ([3, 2], [2])


def test_a_cursor_takes_precedence_over_an_offset(client: httpx.Client) -> None:
    cursor = client.get("/v1/notes?limit=3").json()["next_cursor"]

    page = client.get("/v1/notes", params={"limit": 2, "cursor": cursor, "offset": 4}).json()

    assert page["items"] == ["note 7", "note 6"]


@pytest.mark.parametrize("position", [["abc"], [2**63], [-1], [True], ["5"], [5, 5]])
def test_a_forged_number_in_a_cursor_is_rejected(position: list[str | int]) -> None:
    """The checksum in a cursor is not secret."""
    with pytest.raises(ValidationFailed):
        decode_number("notes", encode_cursor("notes", position))


@pytest.mark.parametrize("position", [["abc"], [7], [True], [str(uuid4()), 5]])
def test_a_forged_id_in_a_cursor_is_rejected(position: list[str | int]) -> None:
    with pytest.raises(ValidationFailed):
        decode_id("notes", encode_cursor("notes", position))
