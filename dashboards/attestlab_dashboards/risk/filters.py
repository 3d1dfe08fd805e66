"""The page's filters as SQL. Values are parameters, so no text of a person is ever part of a query that runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final

import orjson

from attestlab.risk.rules import ENTITY_MEMBERS, Entity
from attestlab_dashboards.lake_query import PARAMETER, LakeQuery, write_literal
from attestlab_dashboards.risk.state import RiskState, read_entity_key
from attestlab_dashboards.risk.windows import Period, TimeWindow, find_period, to_us

_CONDITIONS: Final[Mapping[str, str]] = {
    "source": "source = $source",
    "type": "signal_type = $type",
    "kind": "entity_type = $kind",
    "score": "score BETWEEN $min_score AND $max_score",
}
IN_PERIOD: Final = "occurred_at >= $start::TIMESTAMPTZ AND occurred_at < $end::TIMESTAMPTZ"
IN_TIME_BEFORE: Final = "occurred_at >= $before::TIMESTAMPTZ AND occurred_at < $start::TIMESTAMPTZ"
IN_RANGE: Final = "occurred_at >= $first::TIMESTAMPTZ AND occurred_at < $last::TIMESTAMPTZ"


def condition_of(state: RiskState, name: str) -> str:
    """Return the condition of one filter: `source`, `type`, `kind`, `score` or `about`; TRUE if it is not set."""
    if name not in state.active_filters:
        return "TRUE"
    return _CONDITIONS[name] if name in _CONDITIONS else about_condition(state.about)


def conditions_of(state: RiskState, *, without: Iterable[str] = ()) -> str:
    """Return the conditions of all filters but those of time."""
    names = [name for name in (*_CONDITIONS, "about") if name in state.active_filters and name not in without]
    return " AND ".join(condition_of(state, name) for name in names) or "TRUE"


def about_condition(key: str) -> str:
    """Return the condition of the signals about an entity, or whose details name it, as in the entity graph."""
    kind = read_entity_key(key).type.value
    members = ", ".join(f"'{member}'" for member, named in ENTITY_MEMBERS.items() if named == kind)
    found = f"list_contains(json_extract_string(details, [{members}]), $about_id)"
    named = f"contains(details, $about_json) AND {found}"
    return f"((entity_type = $about_kind AND entity_id = $about_id) OR ({named}))"


def parameters_about(entity: Entity) -> dict[str, object]:
    """Return the parameters of `about_condition`; `about_json` is the id as it is written in details."""
    written = orjson.dumps(entity.id).decode()[1:-1]
    return {"about_kind": entity.type.value, "about_id": entity.id, "about_json": written}


def mentions(table: str) -> str:
    """Return SQL of what signals name: the columns `kind`, `name` and `signal`, each of a signal once."""
    kinds = ", ".join(f"'{kind}'" for kind in ENTITY_MEMBERS.values())
    members = ", ".join(f"'{member}'" for member in ENTITY_MEMBERS)
    return f"""SELECT DISTINCT * FROM (
        SELECT id AS signal, unnest(list_concat([entity_type], [{kinds}])) AS kind,
            unnest(list_concat([entity_id], json_extract_string(details, [{members}]))) AS name
        FROM {table}
    ) WHERE name IS NOT NULL"""


def bind(sql: str, state: RiskState, period: Period, **more: object) -> LakeQuery:
    """Return a query with the values of the parameters that it has."""
    values = {**_values_of(state), **_times_of(period), **more}
    return LakeQuery.bind(sql, values)


def write_copy(sql: str, state: RiskState, **more: object) -> str:
    """Return a query to copy: it runs as it stands, and finds the end of the window in the signals itself."""
    values = {name: write_literal(value) for name, value in {**_values_of(state), **more}.items()}
    values |= _derive_times(state)
    return PARAMETER.sub(lambda found: values[found[1]], sql)


def _values_of(state: RiskState) -> dict[str, object]:
    names = ("source", "type", "kind", "min_score", "max_score")
    values: dict[str, object] = {name: getattr(state, name) for name in names}
    if state.about:
        entity = read_entity_key(state.about)
        values |= parameters_about(entity)
    return values


def _times_of(period: Period) -> dict[str, object]:
    times = {name: getattr(period, name) for name in _TIMES}
    micros = {f"{name}_us": to_us(time) for name, time in times.items()}
    return {**{name: time.isoformat() for name, time in times.items()}, **micros, "step_us": to_us(period.step)}


def _derive_times(state: RiskState) -> dict[str, str]:
    """Return the times of the period as SQL that reads the newest signal."""
    step = to_us(state.shown_window.step)
    window_start, window_end, first, last = _derive_window(state.shown_window)
    start = f"{to_us(state.since)}" if state.since else first
    end = f"{to_us(state.until)}" if state.until else last
    before = f"({start} - ({end} - {start}))"
    micros = {"window_start": window_start, "window_end": window_end, "start": start, "end": end, "before": before}
    micros |= {"first": f"least({before}, {window_start})", "last": f"greatest({end}, {window_end})"}
    times = {name: f"make_timestamptz({value})" for name, value in micros.items()}
    return {**times, **{f"{name}_us": value for name, value in micros.items()}, "step_us": str(step)}


def _derive_window(window: TimeWindow) -> tuple[str, str, str, str]:
    """Return SQL of the beginning and end of what charts show, and of what is counted, in microseconds since 1970."""
    if window.days is not None:
        period = find_period(window, window.days.start, None, None)
        start, end, first, last = map(to_us, (period.window_start, period.window_end, period.start, period.end))
        return f"{start}", f"{end}", f"{first}", f"{last}"
    step, more = (to_us(timedelta(days=1)), 0) if window.is_past_day else (to_us(window.step), 1)
    end_sql = f"(SELECT (epoch_us(max(occurred_at)) // {step} + {more}) * {step} FROM signals)"
    start_sql = f"({end_sql} - {to_us(window.length)})"
    return start_sql, end_sql, start_sql, end_sql


_TIMES: Final = ("window_start", "window_end", "start", "end", "before", "first", "last")
