"""Changes of an account's row, which begins with the first one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from attestlab.consumer.accounts import store
from attestlab.consumer.accounts.rules import PortfolioVisibility
from attestlab.consumer.accounts.tables import ConsumerAccountRecord
from attestlab.core.db.tables import replace_columns
from attestlab.core.db.transaction import Transaction
from attestlab.core.records import audited_write
from attestlab.core.records.actors import Actor
from attestlab.core.records.audited_write import AuditContext


def change_account(
    tx: Transaction, user_id: UUID, changes: Mapping[str, object], *, tenant_id: UUID, actor: Actor, at: datetime
) -> None:
    """Change columns of an account's row, or insert the row with them."""
    context = AuditContext(tenant_id, actor, "consumer_account.update", at)
    row = store.find_row(tx.exec, user_id)
    if row is not None:
        audited_write.change(tx, store.accounts, row, {**changes, "updated_at": at}, context)
        return
    defaults = ConsumerAccountRecord(
        user_id=user_id,
        tenant_id=tenant_id,
        username=None,
        bio="",
        portfolio_visibility=PortfolioVisibility.PUBLIC.value,
        created_at=at,
        updated_at=at,
    )
    audited_write.insert(tx, store.accounts, replace_columns(defaults, changes), context)
