"""What stands for a missing value, and what looks like it and is one."""

from __future__ import annotations

import pytest

from attestlab.core.countries import ALPHA_2, parse_location
from attestlab.core.placeholders import is_placeholder


@pytest.mark.parametrize(
    "text",
    [
        *("unknown", "UNKNOWN", " Null ", "(null)", "<none>", "nil", "undefined", "NaN", "n/a", "N/A", "-", "?", ""),
        "[object Object]",
        "00:00:00:00:00:00",
        "02:00:00:00:00:00",
        "FF-FF-FF-FF-FF-FF",
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "000000000000000",  # an IMEI
        "0" * 64,
        "sha256:" + "0" * 64,
    ],
)
def test_a_placeholder_is_no_value(text: str) -> None:
    assert is_placeholder(text)


@pytest.mark.parametrize(
    "text", ["0", "7", "0000001", "000000000000001", "nullable", "Nona", "None of us", "00:00:00:00:00:01", "effect"]
)
def test_a_value_that_looks_like_one_stays(text: str) -> None:
    assert not is_placeholder(text)


def test_a_country_has_one_spelling() -> None:
    assert {parse_location(code.lower()) for code in ALPHA_2} == ALPHA_2
    assert [parse_location(code) for code in ("xk", "uk", "EL", " ch ")] == ["XK", "GB", "GR", "CH"]


@pytest.mark.parametrize("text", ["QQ", "CHE", "C", "\uff23\uff28", "c h", "ß"])
def test_what_is_no_code_is_refused_with_its_value(text: str) -> None:
    with pytest.raises(ValueError, match=f"{text!r} is no ISO 3166-1 code"):
        parse_location(text)
