"""Targets of policies: the issuer or the verification profile that a policy, or a question to policies, names."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.issuers import store as issuer_store
from attestlab.policy import store
from attestlab.policy.language.document import Document, TargetType


def require_target(execute: Execute, target_type: TargetType, target_id: UUID | None, *, tenant_id: UUID) -> None:
    """Require that the tenant has the target; TENANT_DEFAULT has none.

    Raises:
        NotFound: the tenant has no such issuer or profile; another tenant's counts as unknown.
    """
    if target_id is None:
        return
    if target_type is TargetType.ISSUER:
        issuer_store.get(execute, target_id, tenant_id=tenant_id)
    if target_type is TargetType.VERIFICATION_PROFILE:
        store.get_profile(execute, target_id, tenant_id=tenant_id)


def require_targets(storage: Storage, named: Iterable[Document | UUID | None], *, tenant_id: UUID) -> None:
    """Require the targets of documents that are not saved; a saved policy's target was found when it was saved.

    Raises:
        NotFound: see `require_target`.
    """
    with storage.read() as connection:
        for each in named:
            if isinstance(each, Document):
                require_target(connection.execute, each.target_type, each.target_id, tenant_id=tenant_id)
