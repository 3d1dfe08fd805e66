"""The format of API keys, which can be verified without a query."""

from __future__ import annotations

import re
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attestlab.core.errors import AuthInvalid
from attestlab.orgs.rules import ALPHABET, Environment, api_key_environment, checksum, compose_api_key, key_prefix

random_parts = st.text(ALPHABET, min_size=26, max_size=26)
SECRET = compose_api_key("al", Environment.LIVE, "0123456789ABCDEFGHIJklmnop")


@given(random_parts, st.sampled_from(Environment))
def test_a_key_is_prefix_environment_and_32_base62_characters(random_part: str, environment: Environment) -> None:
    secret = compose_api_key("al", environment, random_part)

    assert re.fullmatch(rf"al_{environment}_[0-9A-Za-z]{{32}}", secret)
    assert api_key_environment(secret, prefix="al") is environment


@given(random_parts)
def test_the_last_six_characters_are_the_crc_32_of_the_26_before(random_part: str) -> None:
    value = 0
    for digit in checksum(random_part):
        value = value * 62 + ALPHABET.index(digit)

    assert value == zlib.crc32(random_part.encode())


def test_a_small_crc_is_padded_with_zeros() -> None:
    """Found by search: the CRC-32 of this one is below 62 to the power of four."""
    assert checksum("00000000000000000000000073")[:2] == "00"


@given(random_parts, st.integers(0, 31), st.sampled_from(ALPHABET))
def test_one_wrong_character_is_detected(random_part: str, place: int, wrong: str) -> None:
    secret = compose_api_key("al", Environment.LIVE, random_part)
    at = len("al_live_") + place
    mistyped = secret[:at] + wrong + secret[at + 1 :]

    if mistyped != secret:
        with pytest.raises(AuthInvalid):
            api_key_environment(mistyped, prefix="al")


@given(random_parts, st.integers(0, 30))
def test_two_swapped_characters_are_detected(random_part: str, place: int) -> None:
    secret = compose_api_key("al", Environment.LIVE, random_part)
    at = len("al_live_") + place
    swapped = secret[:at] + secret[at + 1] + secret[at] + secret[at + 2 :]

    if swapped != secret:
        with pytest.raises(AuthInvalid):
            api_key_environment(swapped, prefix="al")


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "al_live_",
        SECRET[:-1],
        SECRET + "0",
        SECRET + "\n",
        " " + SECRET,
        SECRET.replace("_live_", "_test_"),
        SECRET.replace("_live_", "_LIVE_"),
        SECRET.replace("al_", "ax_", 1),
        SECRET[3:],
        SECRET[:8] + "é" * 32,
        SECRET[:8] + "٣" * 32,
        "al_live_" + "\ud800" * 32,
        "x" * 100_000,
    ],
)
def test_a_malformed_key_is_rejected(sent: str) -> None:
    with pytest.raises(AuthInvalid):
        api_key_environment(sent, prefix="al")


def test_the_key_prefix_identifies_a_key_without_disclosing_it() -> None:
    shown = key_prefix(SECRET)

    assert shown == "al_live_012345"
    assert len(SECRET) - len(shown) == 26
