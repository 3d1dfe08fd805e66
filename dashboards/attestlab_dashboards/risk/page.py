"""The risk explorer: its panes, events and actions."""

from __future__ import annotations

from typing import Final

from attestlab_dashboards.pages import DashboardPage, Pane
from attestlab_dashboards.risk.actions import ACTIONS
from attestlab_dashboards.risk.answer import draw_answer
from attestlab_dashboards.risk.cases import draw_cases, read_cases
from attestlab_dashboards.risk.chips import draw_chips, draw_named_chips
from attestlab_dashboards.risk.drawer import draw_drawer
from attestlab_dashboards.risk.events import EVENTS
from attestlab_dashboards.risk.graph import draw_graph, read_graph
from attestlab_dashboards.risk.kpis import draw_kpis
from attestlab_dashboards.risk.queries import case_list, entities, graph, names, overview, timeline, what_if
from attestlab_dashboards.risk.queries.answer import copy_answer_sql, load_answer
from attestlab_dashboards.risk.queries.profile import load_profile
from attestlab_dashboards.risk.snippets import copy_graph_python, export_signals
from attestlab_dashboards.risk.state import PERIOD, RiskState
from attestlab_dashboards.risk.what import draw_what
from attestlab_dashboards.risk.what_if import draw_what_if, read_what_if
from attestlab_dashboards.risk.when import draw_when
from attestlab_dashboards.risk.who import draw_who, load_who, read_who

PAGE: Final = DashboardPage(
    path="risk",
    name="Risk",
    question="What is happening, and who is behind it?",
    state=RiskState,
    chips=draw_chips,
    events=EVENTS,
    actions=ACTIONS,
    panes=(
        Pane(
            key="answer",
            load=load_answer,
            draw=draw_answer,
            reads=PERIOD,
            copy_sql=copy_answer_sql,
        ),
        Pane(
            key="kpis",
            load=overview.load_overview,
            draw=draw_kpis,
            reads=overview.READS,
            copy_sql=overview.copy_overview_sql,
        ),
        Pane(
            key="chips",
            load=names.load_chip_names,
            draw=draw_named_chips,
            reads=("about",),
            is_optional=True,
        ),
        Pane(
            key="when",
            question="When",
            reading=lambda _data, state: f"Signals {state.shown_window.step_words} by {state.by}, up to the newest one",
            span=8,
            load=timeline.load_timeline,
            draw=draw_when,
            reads=overview.READS,
            copy_sql=overview.copy_overview_sql,
            export=export_signals,
        ),
        Pane(
            key="what",
            question="What",
            reading="Click a row to filter",
            span=4,
            load=overview.load_overview,
            draw=draw_what,
            reads=overview.READS,
            copy_sql=overview.copy_overview_sql,
            export=export_signals,
        ),
        Pane(
            key="who",
            question="Who",
            reading=read_who,
            load=load_who,
            draw=draw_who,
            reads=entities.READS,
            copy_sql=entities.copy_entities_sql,
            export=entities.export_entities,
        ),
        Pane(
            key="graph",
            question="Who is linked to whom",
            reading=read_graph,
            span=6,
            load=graph.load_graph,
            draw=draw_graph,
            reads=graph.READS,
            copy_python=copy_graph_python,
            export=graph.export_links,
        ),
        Pane(
            key="what_if",
            question="What if we changed the rule?",
            reading=read_what_if,
            span=6,
            load=what_if.load_what_if,
            draw=draw_what_if,
            reads=what_if.READS,
            copy_python=what_if.copy_what_if_python,
            is_long=True,
            expects=what_if.describe_work,
            export=what_if.export_curve,
        ),
        Pane(
            key="cases",
            question="Cases",
            reading=read_cases,
            load=case_list.load_cases,
            draw=draw_cases,
            reads=case_list.READS,
            copy_sql=case_list.copy_cases_sql,
            export=case_list.export_cases,
        ),
        Pane(key="drawer", load=load_profile, draw=draw_drawer, reads=("entity",)),
    ),
)
