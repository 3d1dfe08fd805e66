"""Rendering of trust scores and their history as wire models; this module makes no decisions."""

from __future__ import annotations

from attestlab.agents.trust.rules import ComponentScore, Penalty, TrustScore
from attestlab.agents.trust.shapes import TrustChangeOut, TrustComponentOut, TrustOut, TrustPenaltyOut
from attestlab.agents.trust.tables import TrustChangeRecord
from attestlab.core.row_rendering import RowRenderer

_DECIMALS = 6

render_change = RowRenderer(TrustChangeOut, TrustChangeRecord)
_render_component = RowRenderer(
    TrustComponentOut,
    ComponentScore,
    value=lambda each: None if each.value is None else round(each.value, _DECIMALS),
    contribution=lambda each: round(each.contribution, _DECIMALS),
)
_render_penalty = RowRenderer(
    TrustPenaltyOut,
    Penalty,
    points=lambda each: round(each.points, _DECIMALS),
    age_days=lambda each: round(each.age_days, _DECIMALS),
)
render_trust = RowRenderer(
    TrustOut,
    TrustScore,
    components=lambda trust: [_render_component(each) for each in trust.components],
    penalties=lambda trust: [_render_penalty(each) for each in trust.penalties],
)
