"""Records the policy decisions and the usage of reads, which have no transaction of their own."""

from __future__ import annotations

from attestlab.attestations.evidence_queries import RecordEvidence
from attestlab.attestations.metering.write_behind import WriteBehind
from attestlab.attestations.policy_enforcement import PolicyDecisions
from attestlab.attestations.results import VerifiedRecord
from attestlab.attestations.service import Attestations
from attestlab.core.errors import PermissionDenied
from attestlab.web.executor import Executor


async def record_decisions(
    executor: Executor, attestations: Attestations, policy_decisions: PolicyDecisions, *, what: str
) -> PermissionDenied | None:
    """Record the policy decisions of a read in the next group commit; return the error of a denial, or None.

    `what` names the read in that error.
    """
    if not policy_decisions:
        return None
    return await executor.write(lambda tx: attestations.record_decisions(policy_decisions, what=what, tx=tx))


async def record_verification(
    executor: Executor, attestations: Attestations, verifications: WriteBehind, verified: VerifiedRecord[RecordEvidence]
) -> None:
    """Record the policy decisions of a metered verification, then its usage; an unknown record has neither."""
    if verified.policy_decisions:
        await _record_or_refund(executor, attestations, verified)
    if verified.evidence is not None:
        verifications.add(verified.metered_verification)


async def _record_or_refund(
    executor: Executor, attestations: Attestations, verified: VerifiedRecord[RecordEvidence]
) -> None:
    """Record the policy decisions; if that fails, refund the verification, because the client gets no verdict."""
    try:
        await record_decisions(executor, attestations, verified.policy_decisions, what="this verification")
    except BaseException:
        await executor.read(attestations.daily_meter.refund, verified.metered_verification)
        raise
