"""Rendering of delegations, verdicts and proofs as wire models; this module makes no decisions."""

from __future__ import annotations

from collections.abc import Sequence

from attestlab.agents.delegation.biscuits import BiscuitExport
from attestlab.agents.delegation.bundle import FORMAT
from attestlab.agents.delegation.hops import ALGORITHM
from attestlab.agents.delegation.results import ChainProof, DelegationDetails, ProvenKey, RevokedDelegations
from attestlab.agents.delegation.shapes import (
    BiscuitOut,
    ChainVerdictOut,
    DelegationInclusionOut,
    DelegationOut,
    DelegationProofKeyOut,
    DelegationProofOut,
    DelegationRevokeOut,
    DelegationTreeHeadOut,
    RevocationOut,
    RevocationsOut,
)
from attestlab.agents.delegation.tables import DelegationRecord
from attestlab.agents.delegation.verification import ChainReport
from attestlab.agents.effective_scopes import parse_stored
from attestlab.agents.rendering import render_agent
from attestlab.core.crypto import signing
from attestlab.core.encoding import b64_encode
from attestlab.core.row_rendering import RowRenderer
from attestlab.log.entries import sha256_name

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
        keys=[_render_key(key) for key in proof.keys],
        signed_tree_head=DelegationTreeHeadOut(checkpoint=proof.head.note),
    )


def _render_key(key: ProvenKey) -> DelegationProofKeyOut:
    public = signing.load_public(ALGORITHM, key.row.spki)
    hashes = [sha256_name(each) for each in key.proof.hashes]
    return DelegationProofKeyOut(
        kid=key.row.kid,
        agent_id=key.row.agent_id,
        jwk=signing.jwk(ALGORITHM, public, key.row.kid),
        log_entry=b64_encode(key.entry),
        inclusion_proof=DelegationInclusionOut(log_index=key.proof.index, tree_size=key.proof.tree_size, hashes=hashes),
    )
