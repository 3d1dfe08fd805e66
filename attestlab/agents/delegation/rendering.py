"""Rendering of delegations, verdicts and proofs as wire models; this module makes no decisions."""

from __future__ import annotations

from collections.abc import Sequence

from attestlab.agents.delegation.biscuits import BiscuitExport
from attestlab.agents.delegation.bundle import FORMAT
from attestlab.agents.delegation.results import ChainProof, DelegationDetails, RevokedDelegations
from attestlab.agents.delegation.shapes import (
    BiscuitOut,
    ChainVerdictOut,
    DelegationOut,
    DelegationProofOut,
    DelegationRevokeOut,
    RevocationOut,
    RevocationsOut,
)
from attestlab.agents.delegation.tables import DelegationRecord
from attestlab.agents.delegation.verification import ChainReport
from attestlab.agents.effective_scopes import parse_stored
from attestlab.agents.proof_rendering import render_key_proof
from attestlab.agents.proof_shapes import ProofTreeHeadOut
from attestlab.agents.rendering import render_agent
from attestlab.core.row_rendering import RowRenderer

_render_row = RowRenderer(
    DelegationOut,
    DelegationRecord,
    computed=["child", "status", "chain"],
    delegation_id="id",
    scopes=lambda row: sorted(parse_stored(row.scopes).allows),
    denied_scopes=lambda row: sorted(parse_stored(row.scopes).denies),
)
_render_revocation = RowRenderer(DelegationRevokeOut, RevokedDelegations, computed=["delegation"])
render_biscuit = RowRenderer(BiscuitOut, BiscuitExport)
_render_verdict = RowRenderer(
    ChainVerdictOut,
    ChainReport,
    effective_scopes=lambda report: sorted(report.scopes.allows),
    denied_scopes=lambda report: sorted(report.scopes.denies),
)
_render_revoked = RowRenderer(RevocationOut, DelegationRecord, log_index="revoked_index")


def render_delegation(found: DelegationDetails) -> DelegationOut:
    """Render a delegation with its child and its chain."""
    return _render_row(found.row, child=render_agent(found.child), status=found.status, chain=list(found.chain))


def render_revoked(revoked: RevokedDelegations) -> DelegationRevokeOut:
    """Render what a revocation ended."""
    return _render_revocation(revoked, delegation=render_delegation(revoked.delegation))


def render_verdict(report: ChainReport) -> ChainVerdictOut:
    """Render the verdict about a chain."""
    return _render_verdict(report)


def render_revocations(rows: Sequence[DelegationRecord], *, limit: int) -> RevocationsOut:
    """Render a part of the list of revocations; `rows` may have one more than `limit`, which shows that more follow."""
    shown = rows[:limit]
    last = shown[-1].revoked_index if len(rows) > limit else None
    return RevocationsOut(items=[_render_revoked(row) for row in shown], next_after=last)


def render_proof(proof: ChainProof) -> DelegationProofOut:
    """Render what a stranger needs to verify a chain."""
    return DelegationProofOut(
        format=FORMAT,
        chain=list(proof.chain),
        keys=[render_key_proof(key) for key in proof.keys],
        signed_tree_head=ProofTreeHeadOut(checkpoint=proof.head.note),
    )
