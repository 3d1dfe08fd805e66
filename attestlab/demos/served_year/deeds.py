"""A deed of the served demo's year: what one person or job did at a time, in a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from attestlab.core.db.transaction import Transaction


class Deed(NamedTuple):
    """What was done some days before today."""

    days_ago: float
    act: Callable[[Transaction], None]
