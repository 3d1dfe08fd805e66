"""Targets of policies: the issuer or the verification profile that a policy, or a question to policies, names."""

from __future__ import annotations

from uuid import UUID

from attestlab.core.db.tables import Execute
from attestlab.issuers import store as issuer_store
from attestlab.policy import store
from attestlab.policy.language.document import TargetType


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
