"""The risk explorer: its panes, events and actions."""

from __future__ import annotations

from typing import Final

from attestlab_dashboards.pages import DashboardPage, Pane
from attestlab_dashboards.risk.actions import ACTIONS
from attestlab_dashboards.risk.events import EVENTS
from attestlab_dashboards.risk.overview import READS, copy_overview_sql, export_signals, load_overview
from attestlab_dashboards.risk.panes import answer, cases, chips, drawer, graph, kpis, what, what_if, when, who
from attestlab_dashboards.risk.profile import load_profile
from attestlab_dashboards.risk.state import PERIOD, RiskState

PAGE: Final = DashboardPage(
    path="risk",
    name="Risk",
    question="What is happening, and who is behind it?",
    state=RiskState,
    chips=chips.draw_chips,
    events=EVENTS,
    actions=ACTIONS,
    panes=(
        Pane(
            key="answer",
            load=answer.load_answer,
            draw=answer.draw_answer,
            reads=PERIOD,
            copy_sql=answer.copy_answer_sql,
        ),
        Pane(
            key="kpis",
            load=load_overview,
            draw=kpis.draw_kpis,
            reads=READS,
            copy_sql=copy_overview_sql,
        ),
        Pane(
            key="chips",
            load=chips.load_chip_names,
            draw=chips.draw_named_chips,
            reads=("about",),
            is_optional=True,
        ),
        Pane(
            key="when",
            question="When",
            reading=lambda _data, state: f"Signals {state.shown_window.step_words} by {state.by}, up to the newest one",
            span=8,
            load=when.load_timeline,
            draw=when.draw_when,
            reads=READS,
            copy_sql=copy_overview_sql,
            export=export_signals,
        ),
        Pane(
            key="what",
            question="What",
            reading="Click a row to filter",
            span=4,
            load=load_overview,
            draw=what.draw_what,
            reads=READS,
            copy_sql=copy_overview_sql,
            export=export_signals,
        ),
        Pane(
            key="who",
            question="Who",
            reading=who.read_who,
            load=who.load_who,
            draw=who.draw_who,
            reads=who.READS,
            copy_sql=who.copy_entities_sql,
            export=who.export_entities,
        ),
        Pane(
            key="graph",
            question="Who is linked to whom",
            reading=graph.read_graph,
            span=6,
            load=graph.load_graph,
            draw=graph.draw_graph,
            reads=graph.READS,
            copy_python=graph.copy_graph_python,
            export=graph.export_links,
        ),
        Pane(
            key="what_if",
            question="What if we changed the rule?",
            reading=what_if.read_what_if,
            span=6,
            load=what_if.load_what_if,
            draw=what_if.draw_what_if,
            reads=what_if.READS,
            copy_python=what_if.copy_what_if_python,
            is_long=True,
            expects=what_if.describe_work,
            export=what_if.export_curve,
        ),
        Pane(
            key="cases",
            question="Cases",
            reading=cases.read_cases,
            load=cases.load_cases,
            draw=cases.draw_cases,
            reads=cases.READS,
            copy_sql=cases.copy_cases_sql,
            export=cases.export_cases,
        ),
        Pane(key="drawer", load=load_profile, draw=drawer.draw_drawer, reads=("entity",)),
    ),
)
