"""What the page copies and exports besides the queries of its panes."""

from __future__ import annotations

from datetime import UTC, datetime

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab_dashboards.lake_query import write_python
from attestlab_dashboards.risk.queries.answer import copy_answer_sql
from attestlab_dashboards.risk.queries.context import load_period
from attestlab_dashboards.risk.queries.filters import IN_PERIOD, bind, conditions_of
from attestlab_dashboards.risk.state import RiskState, read_entity_key


def copy_graph_python(state: RiskState) -> str:
    """Return Python that reads the graph of the chosen entity, or of the one that the most escalations name."""
    if state.graph or state.about:
        entity = read_entity_key(state.graph or state.about)
        return f"lab.signals.graph({entity.type.value!r}, {entity.id!r}, depth={state.depth})"
    query = write_python(copy_answer_sql(state))
    return (
        f"suspects = {query}\n"
        'first = suspects.dropna(subset="name").nlargest(1, "signals").iloc[0]\n'
        f'lab.signals.graph(first["kind"], first["name"], depth={state.depth})'
    )


def export_signals(lab: Lab, state: RiskState) -> Rows:
    """Return the signals of the period, as rows."""
    period = load_period(lab, state, datetime.now(UTC))
    sql = f"SELECT * FROM signals WHERE {IN_PERIOD} AND {conditions_of(state)} ORDER BY occurred_at DESC"
    return lab.sql(*bind(sql, state, period))
