"""Cells of CSV files that people open in a spreadsheet, which runs some texts as formulas (OWASP, CSV Injection)."""

from __future__ import annotations

from typing import Final

_FORMULA_STARTS: Final = tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")  # the last four are their full-width forms


def protect_cell(value: object) -> object:
    """Put an apostrophe before a text that a spreadsheet would run as a formula; return anything else as it is.

    >>> protect_cell("=1+1"), protect_cell("plain"), protect_cell(-1.5)
    ("'=1+1", 'plain', -1.5)
    """
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return f"'{value}"
    return value
