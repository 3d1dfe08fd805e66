"""Numbers on the command line: an error names the value, the limits and an example."""

from __future__ import annotations

import math
from collections.abc import Callable

import typer

MAX_WAIT_S = 86_400


def whole_number(least: int, most: int | None = None) -> Callable[[object], int]:
    """Return the parser of whole numbers within limits."""

    def parse(value: object) -> int:
        try:
            number = int(str(value))
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            raise _refuse(value, "whole number", least, most)
        return number

    return parse


def seconds(least: float, most: float | None = None) -> Callable[[object], float]:
    """Return the parser of durations within limits; `nan` and `inf`, which Python reads as numbers, are none."""

    def parse(value: object) -> float:
        try:
            number = float(str(value))
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or number < least or (most is not None and number > most):
            raise _refuse(value, "number of seconds", least, most)
        return number

    return parse


def _refuse(value: object, kind: str, least: float, most: float | None) -> typer.BadParameter:
    limits = f"from {least:g}" if most is None else f"from {least:g} to {most:g}"
    return typer.BadParameter(f"{str(value)[:40]!r} is no {kind} {limits}.")
