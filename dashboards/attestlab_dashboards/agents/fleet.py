"""The SQL that the page's queries begin with: each agent as it stands, its tree, key and sessions, and the choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attestlab_dashboards.agents.state import AgentsState
from attestlab_dashboards.lake_query import LakeQuery

OLD_KEY_DAYS: Final = 90
EXPIRING_DAYS: Final = 7
IDLE_DAYS: Final = 30
_FLEET: Final = f"""WITH RECURSIVE standing AS (
  SELECT id, display_name AS name, agent_type AS kind, parent_agent_id AS parent, delegation_depth AS depth,
    owner_user_id AS owner, owner_left_at IS NOT NULL AS has_left, scopes, delegated_scopes, delegated_until,
    expires_at, created_at, key_id,
    CASE WHEN expires_at <= now() THEN 'revoked' ELSE status::VARCHAR END AS status FROM agents),
rooted AS (
  SELECT id, id AS root FROM standing WHERE parent IS NULL
  UNION ALL SELECT s.id, r.root FROM standing s JOIN rooted r ON s.parent = r.id),
held AS (
  SELECT kid, min(logged_at) AS key_since FROM log_entries WHERE type = 'agent.key' AND status = 'active' GROUP BY ALL),
worked AS (
  SELECT agent_id, max(created_at) AS last,
    count(*) FILTER (ended_at IS NULL AND expires_at > now()) AS open FROM agent_sessions GROUP BY ALL),
fleet AS (
  SELECT s.*, r.root, h.key_since, coalesce(w.open, 0) AS open, w.last,
    s.owner IS NULL OR s.has_left AS ownerless,
    len(list_filter(s.scopes, lambda scope: NOT starts_with(scope, '!') AND ends_with(scope, ':*'))) > 0 AS wildcard,
    s.expires_at IS NULL AS no_expiry,
    h.key_since <= now() - INTERVAL {OLD_KEY_DAYS} DAY AS old_key,
    coalesce(w.last, s.created_at) <= now() - INTERVAL {IDLE_DAYS} DAY AS idle,
    coalesce(s.expires_at <= now() + INTERVAL {EXPIRING_DAYS} DAY, false) AS expiring
  FROM standing s LEFT JOIN rooted r ON r.id = s.id LEFT JOIN held h ON h.kid = s.key_id
    LEFT JOIN worked w ON w.agent_id = s.id),
chosen AS (SELECT * FROM fleet WHERE {{chosen}})
"""
_FILTERS: Final[Mapping[str, str]] = {
    "status": "status = $status",
    "kind": "kind = $kind",
    "tree": "root = $tree",
}


def compose(state: AgentsState, select: str, **values: object) -> LakeQuery:
    """Compose a query over `fleet` and `chosen`."""
    conditions = [_FILTERS[name] for name in state.active_filters if name in _FILTERS]
    if state.finding:
        conditions.append(f"status <> 'revoked' AND {state.finding}")
    text = _FLEET.replace("{chosen}", " AND ".join(conditions) or "true") + select
    known = {name: getattr(state, name) for name in _FILTERS}
    return LakeQuery.bind(text, {**known, **values})
