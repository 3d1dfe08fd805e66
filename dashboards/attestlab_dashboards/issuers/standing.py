"""The SQL that the page's queries begin with: how each issuer stands now, stood at its mints, and which are chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attestlab.issuers.rules import RiskRating, TrustTier
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.lake_query import LakeQuery

RECENT_DAYS: Final = 30  # of mints
_TIERS: Final = str([tier.value for tier in TrustTier])  # a list in SQL too
_RISKS: Final = str([rating.value for rating in RiskRating])
TIER_STEP: Final = f"list_position({_TIERS}, trust_tier) - list_position({_TIERS}, tier_then)"
RISK_STEP: Final = f"list_position({_RISKS}, risk_rating) - list_position({_RISKS}, risk_then)"
TIER_RANK: Final = f"list_position({_TIERS}, trust_tier)"
RISK_RANK: Final = f"list_position({_RISKS}, risk_rating)"
# How each issuer stood at its mints: one row for each standing that it minted with.
_STOOD: Final = f"""stood AS (
  SELECT issuer_id, snapshot_status::VARCHAR AS status_then, snapshot_trust_tier::VARCHAR AS tier_then,
    snapshot_risk_rating::VARCHAR AS risk_then, count(*) AS attestations, min(log_index) AS first_index,
    count(*) FILTER (created_at >= now() - INTERVAL {RECENT_DAYS} DAY) AS mints, max(created_at) AS last_mint
  FROM attestations GROUP BY ALL)"""
# The keys of all issuers, from the log: it has every change of a key.
KEYS: Final = """keys AS (
  SELECT issuer_id, kid, any_value(alg) AS alg, arg_max(status, log_index) AS status,
    min(logged_at) FILTER (status = 'active') AS began, min(logged_at) FILTER (status = 'rotated') AS rotated,
    min(logged_at) FILTER (status IN ('revoked', 'compromised')) AS withdrawn,
    max(CAST(entry->>'$.compromised_at' AS TIMESTAMPTZ)) AS lost
  FROM log_entries WHERE type = 'key.status' GROUP BY ALL)"""
_STANDING: Final = f"""now_standing AS (
  SELECT id, name, domain, status::VARCHAR AS status, trust_tier::VARCHAR AS trust_tier,
    risk_rating::VARCHAR AS risk_rating, jurisdiction FROM issuers),
compared AS (
  SELECT *, {TIER_STEP} AS tier_step, {RISK_STEP} AS risk_step FROM stood JOIN now_standing ON id = issuer_id),
minted AS (
  SELECT issuer_id, sum(attestations)::BIGINT AS attestations, sum(mints)::BIGINT AS mints,
    max(last_mint) AS last_mint, arg_min(tier_then, first_index) AS tier_then,
    arg_min(risk_then, first_index) AS risk_then,
    coalesce(sum(attestations) FILTER (risk_step > 0 OR tier_step < 0
      OR (status_then = 'ACTIVE' AND status <> 'ACTIVE')), 0)::BIGINT AS worse
  FROM compared GROUP BY ALL),
held AS (
  SELECT issuer_id, count(*) FILTER (status = 'active') AS keys, min(began) FILTER (status = 'active') AS oldest,
    count(*) FILTER (status = 'active' AND began <= now() - INTERVAL ($age_limit) DAY) AS old_keys
  FROM keys GROUP BY ALL),
standing AS (
  SELECT s.*, coalesce(attestations, 0) AS attestations, coalesce(mints, 0) AS mints, last_mint, tier_then, risk_then,
    coalesce(worse, 0) AS worse, coalesce(keys, 0) AS keys, coalesce(old_keys, 0) AS old_keys, oldest,
    coalesce({TIER_STEP}, 0) AS tier_step, coalesce({RISK_STEP}, 0) AS risk_step
  FROM now_standing s LEFT JOIN minted ON minted.issuer_id = s.id LEFT JOIN held ON held.issuer_id = s.id)"""
_FILTERS: Final[Mapping[str, str]] = {
    "status": "status = $status",
    "tier": "trust_tier = $tier",
    "risk": "risk_rating = $risk",
    "jurisdiction": "jurisdiction = $jurisdiction",
    "changed": "(tier_step <> 0 OR risk_step <> 0)",
}


def compose(state: IssuerState, select: str, **more: str | int) -> LakeQuery:
    """Compose a query: its `select` reads `chosen`, the issuers that the filters of the state leave.

    It may also read `compared` (issuers by how they stood at mints), `keys`, and the data sets.
    """
    chosen = " AND ".join(_FILTERS[name] for name in state.active_filters) or "true"
    sql = f"WITH {_STOOD},\n{KEYS},\n{_STANDING},\nchosen AS (SELECT * FROM standing WHERE {chosen})\n{select}"
    values: dict[str, str | int] = {
        "age_limit": state.age_limit,
        **{name: getattr(state, name) for name in state.active_filters if name != "changed"},
        **more,
    }
    return LakeQuery.bind(sql, values)
