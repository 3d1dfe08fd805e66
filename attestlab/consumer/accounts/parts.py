"""What other capabilities keep about an account: exported with it, and erased when it is deleted.

They stand above this one, so the composition root registers them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Literal, Protocol

from attestlab.consumer.accounts.store import Account
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction


class AccountPart(Protocol):
    """What one capability keeps about accounts."""

    @property
    def name(self) -> str:
        """Its name in an export, such as `inbox`."""
        ...

    def export(self, execute: Execute, account: Account) -> object:
        """Return all that it keeps about an account, as values that JSON can hold."""
        ...

    def erase(self, tx: Transaction, account: Account, at: datetime) -> None:
        """Erase what it keeps about an account that is deleted, in the transaction that deletes it."""
        ...


CountName = Literal["unread", "protections"]
CountOf = Callable[[Execute, Account], int]
"""Returns a number that `GET /v1/consumer/me` shows of an account."""
