"""Placeholders: what programs write where they have no value, such as `unknown`, or a device id of zeros.

A value that thousands share because their programs did not know it is no value: it identifies nothing.
"""

from __future__ import annotations

import re
from typing import Final

_BRACKETS: Final = "()<>[]{}'\" \t"
_WORDS: Final = frozenset(
    ("", "-", "?", "unknown", "null", "none", "nil", "undefined", "nan", "n/a", "not available", "not set")
) | {"object object"}  # what JavaScript makes of an object
_SEPARATORS: Final = str.maketrans("", "", "-:._ ")
_MIN_ZEROS, _MIN_ONES = 8, 12  # hex digits; shorter ones may be a number or a name
_REPEATED: Final = re.compile(rf"0{{{_MIN_ZEROS},}}|f{{{_MIN_ONES},}}")  # nil and max UUID (RFC 9562), MAC, IMEI, hash
_WITHHELD_MAC: Final = "020000000000"  # what Android answers to a program that may not read the address


def is_placeholder(text: str) -> bool:
    """Whether a text stands for a missing value.

    >>> [each for each in ("N/A", "(null)", "00:00:00:00:00:00", "00000000-0000-0000-0000-000000000000", "7") if
    ...  not is_placeholder(each)]
    ['7']
    """
    word = text.strip(_BRACKETS).lower()
    digits = word.removeprefix("sha256:").translate(_SEPARATORS)
    return word in _WORDS or digits == _WITHHELD_MAC or _REPEATED.fullmatch(digits) is not None
