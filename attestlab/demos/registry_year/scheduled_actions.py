"""An action of the demo's year: what one person or job did at one time, in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from attestlab.core.db.transaction import Transaction


def look_at_nothing() -> None:
    """Read nothing."""


class ScheduledAction(NamedTuple):
    """What was done some days before today; `look` reads the records before the transaction of `act` begins."""

    days_ago: float
    act: Callable[[Transaction], None]
    look: Callable[[], None] = look_at_nothing
