"""The figures of the page in one query: totals now and before, the steps of the window, facets, and open cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NamedTuple

from attestlab import Lab
from attestlab.client.analysis.row_iterator import Row
from attestlab.client.analysis.rows import Rows
from attestlab_dashboards.cells import read_text, read_whole
from attestlab_dashboards.risk.context import SharedLoad, load_context, load_period
from attestlab_dashboards.risk.density import CELLS, DensityCell, read_density
from attestlab_dashboards.risk.filters import IN_PERIOD, IN_RANGE, bind, condition_of, conditions_of, write_copy
from attestlab_dashboards.risk.state import PERIOD, RiskState
from attestlab_dashboards.risk.windows import Period, find_compared, to_us
from attestlab_dashboards.state import Picked

NAMED_SERIES: Final = 4  # the others are one series together
FACET_ROWS: Final = 8
KEEP_S: Final = 2.0  # as long as the panes of one update need to ask for it
READS: Final = (*PERIOD, "by", "compare")


class RiskTotals(NamedTuple):
    """Signals, those escalated, the entities that they are about, and the median of their scores (0 to 100)."""

    signals: int
    escalated: int
    entities: int
    median: float | None


_NOTHING: Final = RiskTotals(0, 0, 0, None)


class FacetRow(NamedTuple):
    """A value of a facet, and how many signals have it."""

    value: str
    signals: int


@dataclass(frozen=True)
class RiskOverview:
    """The figures of a period.

    `steps` are the totals of each step of the window, and `series` its signals by source or type, one number a step;
    the name of all others together is empty. `open_cases` has those open now, at the start, and at each step's end.
    `density` has every score of the window, also those that are not selected. `compared` has the same figures of the
    time that a person compares with.
    """

    period: Period
    threshold: float
    newest: datetime | None
    now: RiskTotals
    before: RiskTotals
    steps: Sequence[RiskTotals]
    series: Mapping[str, Sequence[int]]
    facets: Mapping[str, Sequence[FacetRow]]
    open_cases: tuple[int, int, Sequence[int]]
    density: Sequence[DensityCell]
    compared: RiskOverview | None = None

    @property
    def compared_steps(self) -> Sequence[RiskTotals]:
        """The totals of the compared time beside each step of the window; none where it has no such step."""
        other = self.compared
        if other is None:
            return []
        shift = to_us(self.period.start) - to_us(other.period.start)
        first = (to_us(self.period.window_start) - shift) // to_us(self.period.step) - other.period.steps[0]
        places = range(first, first + len(self.period.steps))
        return [other.steps[place] if 0 <= place < len(other.steps) else _NOTHING for place in places]


_END_OF_TIME: Final = 2**62  # in microseconds since 1970; what is open then is open now
_PARTS: Final = """unnest([if(is_now, 'now', if(is_before, 'before', NULL)), if(is_shown, 'step', NULL)]) AS part,
        unnest([NULL, step]) AS step"""
_OVERVIEW: Final = """
WITH base AS (
    SELECT epoch_us(occurred_at) AS us, source, signal_type, entity_type, score,
        case_id IS NOT NULL AS is_escalated, hash(entity_type, entity_id) AS entity
    FROM signals
    WHERE {range} AND {about}
), wanted AS MATERIALIZED (
    SELECT *, us // $step_us::BIGINT AS step, us >= $start_us::BIGINT AND us < $end_us::BIGINT AS is_now,
        us >= $before_us::BIGINT AND us < $start_us::BIGINT AS is_before,
        us >= $window_start_us::BIGINT AND us < $window_end_us::BIGINT AS is_shown, {score} AS score_ok
    FROM base
), cube AS MATERIALIZED (
    SELECT step, source, signal_type, entity_type, least(floor(score / 20), 4)::BIGINT AS band,
        is_now, is_before, is_shown, score_ok, count(*) AS signals, count(*) FILTER (is_escalated) AS escalated
    FROM wanted GROUP BY ALL
), chosen AS (SELECT * FROM wanted WHERE {source} AND {type} AND {kind} AND score_ok),
chosen_cube AS (SELECT * FROM cube WHERE {source} AND {type} AND {kind} AND score_ok),
entities AS (SELECT DISTINCT step, entity, is_now, is_before, is_shown FROM chosen),
totals AS (
    SELECT part, step, sum(signals)::BIGINT AS signals, sum(escalated)::BIGINT AS escalated
    FROM (SELECT {parts}, signals, escalated FROM chosen_cube) GROUP BY part, step
    UNION ALL BY NAME
    SELECT part, step, count(DISTINCT entity) AS entities
    FROM (SELECT {parts}, entity FROM entities) GROUP BY part, step
    UNION ALL BY NAME
    SELECT 'step' AS part, step, median(score) AS median FROM chosen WHERE is_shown GROUP BY step
    UNION ALL BY NAME
    SELECT if(is_now, 'now', 'before') AS part, median(score) AS median
    FROM chosen WHERE is_now OR is_before GROUP BY part
), ranked AS (
    SELECT {by} AS name, row_number() OVER (ORDER BY sum(signals) DESC, {by}) AS place
    FROM chosen_cube WHERE is_shown GROUP BY name
), facets AS (
    SELECT unnest(['source', 'type', 'facet_kind', 'score']) AS part,
        unnest([source, signal_type, entity_type, band::VARCHAR]) AS name,
        unnest([type_ok AND kind_ok AND score_ok, source_ok AND kind_ok AND score_ok,
            source_ok AND type_ok AND score_ok, source_ok AND type_ok AND kind_ok]) AS is_counted, signals
    FROM (SELECT *, {source} AS source_ok, {type} AS type_ok, {kind} AS kind_ok FROM cube WHERE is_now)
), moments AS (
    SELECT 'cases' AS part, start_us // $step_us::BIGINT AS step, start_us + $step_us::BIGINT AS us
    FROM (SELECT unnest(range($window_start_us::BIGINT, $window_end_us::BIGINT, $step_us::BIGINT)) AS start_us)
    UNION ALL VALUES ('cases_before', NULL, $start_us::BIGINT), ('cases_now', NULL, {end_of_time})
)
SELECT part, step, NULL AS name, any_value(signals) AS signals, any_value(escalated) AS escalated,
    any_value(entities) AS entities, any_value(median) AS median
FROM totals WHERE part IS NOT NULL GROUP BY part, step
UNION ALL BY NAME
    SELECT 'series' AS part, step, if(place <= {named}, name, '') AS name, sum(signals)::BIGINT AS signals
    FROM chosen_cube JOIN ranked ON ranked.name = chosen_cube.{by} WHERE is_shown GROUP BY ALL
UNION ALL BY NAME
    SELECT part, name, sum(signals)::BIGINT AS signals FROM facets WHERE is_counted GROUP BY part, name
    QUALIFY row_number() OVER (PARTITION BY part ORDER BY sum(signals) DESC, name) <= {rows}
UNION ALL BY NAME
    SELECT part, step, count(id) AS signals
    FROM moments LEFT JOIN (SELECT * FROM cases WHERE {case_kind} AND {case_about}) AS about_cases
        ON epoch_us(opened_at) < us AND (resolved_at IS NULL OR epoch_us(resolved_at) >= us)
    GROUP BY part, step
UNION ALL BY NAME SELECT 'cells' AS part, * FROM ({cells})
ORDER BY part, signals DESC, step, name
"""
"""Signals are read once, and counted once by all that a figure selects by. Medians are those of the signals: to group
them by score gains nothing where scores are round, and takes six times as long where each differs.
"""


def write_overview_sql(state: RiskState) -> str:
    """Return the query, with parameters."""
    conditions = {name: condition_of(state, name) for name in ("source", "type", "kind", "score", "about")}
    shown = "is_shown AND {source} AND {type} AND {kind}".format_map(conditions)
    return _OVERVIEW.format(
        **conditions,
        range=IN_RANGE,
        by="source" if state.by == "source" else "signal_type",
        case_kind=conditions["kind"],
        case_about="(entity_type = $about_kind AND entity_id = $about_id)" if state.about else "TRUE",
        parts=_PARTS,
        end_of_time=_END_OF_TIME,
        cells=CELLS.format(table="wanted", condition=shown),
        named=NAMED_SERIES,
        rows=FACET_ROWS,
    )


def copy_overview_sql(state: RiskState) -> str:
    """Return the query to copy."""
    return write_copy(write_overview_sql(state), state)


def load_overview(lab: Lab, state: RiskState) -> RiskOverview:
    """Load the figures, once for all panes of an update."""
    return _SHARED(lab, state.pick(*READS))


def forget_overview(lab: Lab) -> None:
    """Load it again for the next pane: the person of this lab wrote something."""
    _SHARED.forget(lab)


def _load(lab: Lab, picked: Picked) -> RiskOverview:
    state = RiskState(**dict(picked))
    period = load_period(lab, state)
    found = _load_figures(lab, state, period)
    if not state.compare:
        return found
    return replace(found, compared=_load_figures(lab, state, find_compared(period, state.compare)))


def _load_figures(lab: Lab, state: RiskState, period: Period) -> RiskOverview:
    context = load_context(lab)
    parts: dict[str, list[Row]] = defaultdict(list)
    for row in lab.sql(*bind(write_overview_sql(state), state, period)):
        parts[read_text(row, "part")].append(row)
    steps = {read_whole(row, "step"): _read_totals(row) for row in parts["step"]}
    cases = {read_whole(row, "step"): read_whole(row, "signals") for row in parts["cases"]}
    return RiskOverview(
        period=period,
        threshold=context.threshold,
        newest=context.newest,
        now=next(map(_read_totals, parts["now"]), _NOTHING),
        before=next(map(_read_totals, parts["before"]), _NOTHING),
        steps=[steps.get(step, _NOTHING) for step in period.steps],
        series=_read_series(parts["series"], period.steps),
        facets={name: _read_facet(parts[name]) for name in ("source", "type", "facet_kind", "score")},
        open_cases=(
            read_whole(parts["cases_now"][0], "signals"),
            read_whole(parts["cases_before"][0], "signals"),
            [cases.get(step, 0) for step in period.steps],
        ),
        density=read_density(parts["cells"][0]),
    )


def _read_totals(row: Row) -> RiskTotals:
    median = row["median"]
    signals, escalated, entities = (read_whole(row, name) for name in ("signals", "escalated", "entities"))
    return RiskTotals(signals, escalated, entities, median if isinstance(median, float) else None)


def _read_series(rows: Sequence[Row], steps: range) -> Mapping[str, Sequence[int]]:
    """Return the series by name, the largest first and all others together last."""
    found: dict[str, dict[int, int]] = defaultdict(dict)
    for row in rows:
        found[read_text(row, "name")][read_whole(row, "step")] = read_whole(row, "signals")
    names = sorted(found, key=lambda name: (not name, -sum(found[name].values()), name))
    return {name: [found[name].get(step, 0) for step in steps] for name in names}


def _read_facet(rows: Sequence[Row]) -> Sequence[FacetRow]:
    return [FacetRow(read_text(row, "name"), read_whole(row, "signals")) for row in rows]


_SHARED: Final = SharedLoad(_load, keep_s=KEEP_S)


def export_signals(lab: Lab, state: RiskState) -> Rows:
    """Return the signals of the period, as rows."""
    period = load_period(lab, state)
    sql = f"SELECT * FROM signals WHERE {IN_PERIOD} AND {conditions_of(state)} ORDER BY occurred_at DESC"
    return lab.sql(*bind(sql, state, period))
