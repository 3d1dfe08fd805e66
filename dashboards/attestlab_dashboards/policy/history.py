"""Flips by time and by issuer: the recorded contexts, counted by SQL, and decided again by two policies.

A simulation reports flips by attributes. When they happened, and which issuers they are about, is counted here: the
service counts equal contexts, and `lab.policies.replay` decides each of them once, in this process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from attestlab import Lab
from attestlab.core.errors import PermissionDenied, ValidationFailed
from attestlab.policy.sql.compiler import quote_identifier
from attestlab_dashboards.common_loads import share_load
from attestlab_dashboards.issuer_names import load_issuer_names
from attestlab_dashboards.policy.decided_contexts import find_decided
from attestlab_dashboards.policy.documents import PolicyJson, list_attributes
from attestlab_dashboards.policy.queries import (
    REPLAY_FIELDS,
    DraftReplay,
    PolicyText,
    Window,
    find_window,
    load_replay,
    load_text,
)
from attestlab_dashboards.policy.shared_loads import share
from attestlab_dashboards.policy.state import PolicyState

if TYPE_CHECKING:
    import pyarrow as pa
BUCKETS: Final = 24  # values of a sparkline
MAX_GROUPS: Final = 200_000  # of equal contexts; beyond it the page does without
_COLUMNS: Final = frozenset(  # of a decision; an attribute of such a name has the prefix "@"
    {"seq", "id", "tenant_id", "created_at", "action", "target_type", "target_id", "allowed", "matched_rules"}
    | {"policy_set_digest", "members", "input_sha256"}
)
_AT_MINT: Final = {  # what a mint that no policy decided tells of the issuer and key as they were then
    "jurisdiction": "snapshot_jurisdiction",
    "trust_tier": "snapshot_trust_tier::varchar",
    "status": "snapshot_status::varchar",
    "risk_rating": "snapshot_risk_rating::varchar",
    "key.status": "'active'",
    "key.age_days": (
        "case when key_created_at is not null then greatest(datesub('day', key_created_at, created_at), 0)::double end"
    ),
}


class Flips(NamedTuple):
    """How many decisions were replayed, and how many of them flip each way."""

    decisions: int
    opened: int
    closed: int


@dataclass(frozen=True)
class FlipHistory:
    """Flips by time, oldest first, and by issuer, those with the most newly allowed ones first."""

    by_time: tuple[Flips, ...]
    by_issuer: tuple[tuple[str, str, Flips], ...]  # with the issuer's id and name

    @property
    def total(self) -> Flips:
        """All flips."""
        return _add(self.by_time)


def load_history(lab: Lab, state: PolicyState) -> FlipHistory | None:
    """Load the flips by time and issuer; None without a valid text, a decision, or with too many kinds of contexts.

    It is None as well for a person who may not read attestations or issuers.
    """
    key = ("history", *(getattr(state, name) for name in REPLAY_FIELDS))
    return share(lab).get(key, lambda: _load_history(lab, state))


def _load_history(lab: Lab, state: PolicyState) -> FlipHistory | None:
    """Load them while the service replays the text: only what it says of an invalid text is waited for."""
    try:
        return _replay_groups(lab, load_text(lab, state), find_window(lab, state), state.run)
    except PermissionDenied:
        return None
    except ValidationFailed:
        if load_replay(lab, state).report is None:
            return None
        raise


def _replay_groups(lab: Lab, about: PolicyText, window: Window, run: int) -> FlipHistory | None:
    if about.document is None:
        return None
    paths = list_attributes(about.document, about.active)
    query, values = _compose_groups(about.document, paths, window)
    groups = read_table(lab, query, values, run)
    if not groups.num_rows or groups.num_rows > MAX_GROUPS:
        return None
    names = load_issuer_names(lab, list_issuers(groups))
    before, after = decide(lab, about, groups, paths, run)
    rows = zip(*(groups[name].to_pylist() for name in ("bucket", "issuer_id", "n")), before, after, strict=True)
    return _tally([*rows], names)


def list_issuers(rows: pa.Table) -> list[str]:
    """List the ids of the issuers that rows are about."""
    return [each for each in rows["issuer_id"].unique().to_pylist() if each is not None]


def read_table(lab: Lab, query: str, values: Mapping[str, object], run: int) -> pa.Table:
    """Read the rows of a query; people with equal rights share them, until one starts the replay again."""

    def read() -> pa.Table:
        return lab.sql(query, dict(values)).arrow()

    return read() if run else share_load((query, *sorted(values.items())), read)


def _compose_groups(document: PolicyJson, paths: tuple[str, ...], window: Window) -> tuple[str, dict[str, object]]:
    """Compose the query that counts the recorded decisions with equal values of attributes, by time and issuer.

    A mint that no policy decided is one of them, with the issuer and key as they were then, as in a simulation.
    """
    rows, values = compose_rows(document, paths, window)
    names = "".join(f", c{place}" for place in range(len(paths)))
    query = f"""
        with d as ({rows}), span as (select epoch(min(created_at)) as a, epoch(max(created_at)) as b from d)
        select least({BUCKETS - 1}, floor({BUCKETS} * (epoch(created_at) - a) / greatest(b - a, 1)))::int as bucket,
            issuer_id, allowed, count(*) as n{names}
        from d, span group by all order by all limit {MAX_GROUPS + 1}"""
    return query, values


def compose_rows(document: PolicyJson, paths: tuple[str, ...], window: Window) -> tuple[str, dict[str, object]]:
    """Compose the query of the recorded decisions that a text is replayed over, and its values.

    Columns: `id` of the decision, or of a mint that no policy decided; `created_at`, `issuer_id`, `allowed`, and the
    values of the paths as `c0`, `c1` and so on.
    """
    action, target_type = str(document.get("category")), str(document.get("target_type"))
    values: dict[str, object] = {"action": action}
    wheres = []
    for name, test, bound in (
        ("since", "created_at >= $since", window[0]),
        ("until", "created_at < $until", window[1]),
    ):
        if bound is not None:
            wheres.append(test)
            values[name] = bound
    if target_type != "TENANT_DEFAULT":
        values["target"] = str(document.get("target_id"))
    is_bound = "target" in values
    columns = "".join(f", {_name_column(path)} as c{place}" for place, path in enumerate(paths))
    decided = _select_rows(
        f"id, created_at, case when target_type = 'ISSUER' then target_id end as issuer_id, allowed{columns}",
        "decisions",
        ["action = $action", *wheres, *(["target_id = $target"] if is_bound else [])],
    )
    columns = "".join(f", {_AT_MINT.get(path, 'null')} as c{place}" for place, path in enumerate(paths))
    minted = _select_rows(
        f"id::varchar as id, created_at, issuer_id, true{columns}",
        "attestations",
        ["decision_id is null", *wheres, *(["issuer_id = $target"] if is_bound else [])],
    )
    return (f"{decided} union all {minted}" if action == "MINT" else decided), values


def _select_rows(columns: str, dataset: str, wheres: list[str]) -> str:
    return f"select {columns} from {dataset} where {' and '.join(wheres)}"


def _name_column(path: str) -> str:
    return quote_identifier(f"@{path}" if path in _COLUMNS else path)


def decide(
    lab: Lab, about: PolicyText, groups: pa.Table, paths: tuple[str, ...], run: int
) -> tuple[list[bool], list[bool]]:
    """Decide the contexts by the active version, or as recorded if there is none, and by the text."""
    import pyarrow as pa

    columns = {path: groups[f"c{place}"] for place, path in enumerate(paths)}
    contexts = pa.table(columns or {"@row": pa.array([0] * groups.num_rows)})
    decided = find_decided(lab, about, paths, run).decide(contexts)
    after = [each.by_text for each in decided]
    return groups["allowed"].to_pylist() if about.active is None else [each.by_active for each in decided], after


def _tally(rows: list[tuple[int, str | None, int, bool, bool]], names: dict[str, str]) -> FlipHistory:
    times = [Flips(0, 0, 0)] * BUCKETS
    issuers: dict[str, Flips] = {}
    for bucket, issuer_id, n, was, now in rows:
        flips = Flips(n, n * (now and not was), n * (was and not now))
        times[bucket] = _add((times[bucket], flips))
        if issuer_id is not None:
            issuers[issuer_id] = _add((issuers.get(issuer_id, Flips(0, 0, 0)), flips))
    hit = [(key, names.get(key, key), each) for key, each in issuers.items() if each.opened or each.closed]
    hit.sort(key=lambda each: (-each[2].opened, -each[2].closed, each[1]))
    return FlipHistory(tuple(times), tuple(hit))


def _add(parts: tuple[Flips, ...]) -> Flips:
    return Flips(*(sum(each) for each in zip(*parts, strict=True)))


class Summary(NamedTuple):
    """A replay, and when its flips happened."""

    replay: DraftReplay
    history: FlipHistory | None


def load_summary(lab: Lab, state: PolicyState) -> Summary:
    """Load the replay, and when its flips happened."""
    history = load_history(lab, state)  # first: while the service replays the text for another pane
    return Summary(load_replay(lab, state), history)
