"""What the chosen agents did, and what people did with them: the lines of the audit trail, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.agents.fleet import compose
from attestlab_dashboards.agents.state import FILTERS, AgentsState
from attestlab_dashboards.agents.words import plural
from attestlab_dashboards.deeds import describe_deed, name_service
from attestlab_dashboards.formats import time_tag
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.people import read_people
from attestlab_dashboards.ranges import draw_days, find_bounds
from attestlab_dashboards.safe import html, join

ACT_ROWS: Final = 8
_ALL: Final = """SELECT a.seq, a."timestamp" AS at, c.id AS agent_id, c.name, a.actor_type, a.actor_id, a.action,
  a.outcome FROM audit a JOIN chosen c
  ON (a.actor_type = 'AGENT' AND a.actor_id = c.id::VARCHAR)
  OR (a.actor_type <> 'AGENT' AND a.resource_type = 'agent' AND a.resource_id = c.id::VARCHAR)
WHERE a.action <> 'run.count'  -- it repeats the recorded step
  AND a."timestamp" >= $since::TIMESTAMPTZ AND a."timestamp" < $until::TIMESTAMPTZ"""
_PAGE: Final = f"""SELECT *, count(*) OVER () AS acts, row_number() OVER (ORDER BY seq DESC) AS place FROM ({_ALL})
QUALIFY (place - 1) // {ACT_ROWS} = least($page, (acts - 1) // {ACT_ROWS}) ORDER BY place"""
_WORDS: Final = {
    "agent.sign": "signed a statement",
    "run.start": "started a run",
    "run_step.record": "recorded a step",
    "run.complete": "ended a run",
    "agent.register": "registered it",
    "agent.update": "changed it",
    "agent.suspend": "suspended it",
    "agent.resume": "resumed it",
    "agent.revoke": "revoked it",
    "agent.kill": "killed it",
    "agent.expire": "recorded that it expired",
    "agent.rotate_key": "rotated its key",
    "agent.delegate": "gave it a place in a tree",
    "agent_session.refresh": "went on with a session",
}


class ActLine(NamedTuple):
    """A line of the trail: an act of the agent, or of someone else with it."""

    seq: int
    at: datetime
    agent_id: str
    name: str
    actor_type: str
    actor_id: str
    action: str
    outcome: str


class ActPage(NamedTuple):
    """A page of the lines, how many there are, and the names of people."""

    now: datetime
    names: Mapping[str, str]
    lines: tuple[ActLine, ...]
    acts: int
    page: int


def load_acts(lab: Lab, state: AgentsState) -> ActPage:
    """Load a page of the lines."""
    rows = compose(state, _PAGE, page=state.acts_page - 1, **find_bounds(state.range)).read_rows(lab)
    acts, place = (int(str(rows[0][name])) for name in ("acts", "place")) if rows else (0, 1)
    lines = tuple(ActLine(**{name: row[name] for name in ActLine._fields}) for row in rows)  # type: ignore[arg-type]  # the query's types
    return ActPage(lab.now(), read_people(lab), lines, acts, (place - 1) // ACT_ROWS + 1)


def compose_acts(state: AgentsState) -> LakeQuery:
    """Compose the query of all lines."""
    return compose(state, f"{_ALL} ORDER BY seq DESC", **find_bounds(state.range))


def export_acts(lab: Lab, state: AgentsState) -> Rows:
    """Return all lines."""
    return compose_acts(state).read(lab)


def write_acts_sql(state: AgentsState) -> str:
    """Write the query of all lines."""
    return compose_acts(state).to_sql()


def write_reading(page: ActPage, _state: AgentsState) -> str:
    """Write what the lines are."""
    return f"{plural(page.acts, 'line')} of the audit trail: what agents did, and what others did with them"


def draw_acts(page: ActPage, state: AgentsState) -> Markup:
    """Draw a page of the lines."""
    days = html('<div class="chips">{days}</div>', days=draw_days("range", state.range, page.now.date()))
    if not page.lines:
        why = "No line of the audit trail is by these agents, or about them, at this time."
        return join([days, widgets.empty("Nothing was done", why)])
    items = join(_draw_line(line, page) for line in page.lines)
    pages = -(-page.acts // ACT_ROWS)
    return html(
        '{days}<ul class="ag-acts">{items}</ul>{pager}',
        days=days,
        items=items,
        pager=widgets.pager(page.page, pages, ev="acts_page"),
    )


def _draw_line(line: ActLine, page: ActPage) -> Markup:
    words = _WORDS.get(line.action) or describe_deed(line.action)
    about = html(
        '<button type="button" class="ag-name" data-ev="agent" data-v="{id}" data-key="act:{seq}">{name}</button>',
        id=line.agent_id,
        seq=line.seq,
        name=line.name,
    )
    did = (
        html("{about} <span>{words}</span>", about=about, words=words)
        if line.actor_type == "AGENT"
        else html("{about} <span>{who} {words}</span>", about=about, who=_name_actor(line, page), words=words)
    )
    return html("<li>{at}<span>{did}</span></li>", at=time_tag(line.at, page.now), did=did)


def _name_actor(line: ActLine, page: ActPage) -> str:
    if line.actor_type != "USER":
        return "A key of the tenant" if line.actor_type == "API_KEY" else name_service(line.actor_id)
    return page.names.get(line.actor_id, f"Person …{line.actor_id[-6:]}")


PANE: Final = Pane(
    key="acts",
    question="What they did",
    span=5,
    reading=write_reading,
    load=load_acts,
    draw=draw_acts,
    reads=(*FILTERS, "range", "acts_page"),
    scope=Scope.AUDIT_READ.value,
    copy_sql=write_acts_sql,
    export=export_acts,
    is_common=True,
)
