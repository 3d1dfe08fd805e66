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

render_delegation = RowRenderer(
    DelegationOut,
    DelegationDetails,
    parts={"row": DelegationRecord},
    delegation_id="id",
    child=lambda found: render_agent(found.child),
    scopes=lambda found: sorted(parse_stored(found.row.scopes).allows),
    denied_scopes=lambda found: sorted(parse_stored(found.row.scopes).denies),
    chain=lambda found: list(found.chain),
)
render_revoked = RowRenderer(
    DelegationRevokeOut, RevokedDelegations, delegation=lambda revoked: render_delegation(revoked.delegation)
)
render_biscuit = RowRenderer(BiscuitOut, BiscuitExport)
render_verdict = RowRenderer(
    ChainVerdictOut,
    ChainReport,
    effective_scopes=lambda report: sorted(report.scopes.allows),
    denied_scopes=lambda report: sorted(report.scopes.denies),
)
render_proof = RowRenderer(
    DelegationProofOut,
    ChainProof,
    format=lambda _: FORMAT,
    chain=lambda proof: list(proof.chain),
    keys=lambda proof: list(map(render_key_proof, proof.keys)),
    signed_tree_head=lambda proof: ProofTreeHeadOut(checkpoint=proof.head.note),
)
_render_revoked = RowRenderer(RevocationOut, DelegationRecord, log_index="revoked_index")


def render_revocations(rows: Sequence[DelegationRecord], *, limit: int) -> RevocationsOut:
    """Render a part of the list of revocations; `rows` may have one more than `limit`, which shows that more follow."""
    shown = rows[:limit]
    last = shown[-1].revoked_index if len(rows) > limit else None
    return RevocationsOut(items=[_render_revoked(row) for row in shown], next_after=last)
