"""The queue of open cases, grouped by what links them; keys work through it, and each outcome can be undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.orgs.rules import Scope
from attestlab.risk.enforcement.shapes import CaseOut
from attestlab.risk.rules import Entity, EntityType
from attestlab_dashboards import icons
from attestlab_dashboards.formats import ago, count, plural
from attestlab_dashboards.issuer_names import load_issuer_names
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.people import read_people
from attestlab_dashboards.risk.forms import OUTCOMES
from attestlab_dashboards.risk.state import RiskState, read_entity_key, write_entity_key
from attestlab_dashboards.risk.words import KINDS, draw_entity, write_reason
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import SHORT_PAGE_ROWS, button, chip, empty, option_list

MAX_GROUPS: Final = 8
GROUP_ROWS: Final = 25  # of an open group, or of the cases one by one
_TITLES: Final[Mapping[str, str]] = {
    "device": "By device",
    "issuer": "By issuer",
    "ip": "By address",
    "case": "One by one",
}
_KEYS: Final = (
    ("j or ↓, k or ↑", "next and previous case"),
    ("Enter", "open the case's entity"),
    ("1, 2, 3", "fraud, false alarm, inconclusive; then a note, and Enter"),
    ("x", "select the case"),
    ("a", "assign to me"),
    ("u", "undo, for ten seconds"),
    ("?", "show or hide these keys"),
)


@dataclass(frozen=True)
class Section:
    """Cases under one heading; `key` is the entity that links all `count` of them, empty for cases one by one."""

    key: str
    count: int
    cases: Sequence[CaseOut]
    why: str = ""


@dataclass(frozen=True)
class Queue:
    """The sections of the queue, and who looks at it; `people` are the names of those to assign cases to, by id."""

    sections: Sequence[Section]
    is_cut: bool
    now: datetime
    me: str
    may_act: bool
    people: Mapping[str, str]
    names: Mapping[str, str] = field(default_factory=dict)


def load_queue(lab: Lab, state: RiskState) -> Queue:
    """Load the open cases in their groups; of an open group, and one by one, as many as a page has."""
    if state.queue == "case":
        sections, is_cut = _load_single(lab)
    elif state.group:
        sections, is_cut = _load_group(lab, state)
    else:
        sections, is_cut = _load_groups(lab, state)
    me = lab.me()
    ids = [case.entity_id for each in sections for case in each.cases if case.entity_type == EntityType.ISSUER]
    keys = [each.key for each in sections] if state.queue == "issuer" else []
    return Queue(
        sections=sections,
        is_cut=is_cut,
        now=lab.now(),
        me=str(me.id),
        may_act=Scope.RISK_WRITE.value in me.credential.scopes,
        people=read_people(lab),
        names=load_issuer_names(lab, [*ids, *keys]),
    )


def _load_single(lab: Lab) -> tuple[list[Section], bool]:
    cases = list(lab.cases.list(status="open", limit=GROUP_ROWS + 1))
    shown = cases[:GROUP_ROWS]
    return ([Section("", len(shown), shown)] if shown else []), len(cases) > GROUP_ROWS


def _load_group(lab: Lab, state: RiskState) -> tuple[list[Section], bool]:
    link = read_entity_key(state.group)
    found = lab.cases.list(status="open", linked_type=link.type.value, linked_id=link.id, limit=GROUP_ROWS + 1)
    shown = list(found)
    known = [each for each in lab.cases.groups(state.queue, limit=100) if each.key == link.id]
    number = known[0].count if known else len(shown)
    why = known[0].why if known else ""
    return ([Section(link.id, number, shown[:GROUP_ROWS], why)] if shown else []), len(shown) > GROUP_ROWS


def _load_groups(lab: Lab, state: RiskState) -> tuple[list[Section], bool]:
    groups = list(lab.cases.groups(state.queue, limit=MAX_GROUPS))
    shown: list[Section] = []
    seen: set[str] = set()
    for each in groups:
        if len(seen) == SHORT_PAGE_ROWS:
            return shown, True
        new = [case for case in each.sample if str(case.id) not in seen]  # a case has one row, in its largest group
        cases = new[: SHORT_PAGE_ROWS - len(seen)]
        seen |= {str(case.id) for case in cases}
        if cases:
            shown.append(Section(each.key, each.count, cases, each.why))
    return shown, len(groups) == MAX_GROUPS


def draw_queue(found: Queue, state: RiskState) -> Markup:
    """Draw the queue with the form that decides, and the keys."""
    tabs = join(chip(title, ev="queue", v=name, pressed=name == state.queue) for name, title in _TITLES.items())
    back = (
        chip(read_entity_key(state.group).id, ev="group", v="", pressed=True, removable=True)
        if state.group
        else NOTHING
    )
    if not found.sections:
        what = "No open case" if state.queue == "case" else f"No open case is linked to {_name_link(state.queue)}"
        body = empty(what, "A signal at the escalation threshold opens a case. One by one shows every open case.")
    else:
        body = join(_draw_section(section, found, state) for section in found.sections)
    return html(
        '<div class="rk-queue" data-queue data-me="{me}"><div class="chips">{tabs}{back}'
        '<button type="button" class="chip" data-queue-help aria-expanded="false">Keys <kbd>?</kbd></button></div>'
        '{help}{decide}<div class="rk-groups">{body}</div><p class="small muted">{rest}</p></div>',
        me=found.me,
        tabs=tabs,
        back=back,
        help=_draw_keys(),
        decide=_draw_decision(found) if found.may_act else _REFUSAL,
        body=body,
        rest="There are more than these; they move up as you decide." if found.is_cut else "",
    )


def read_queue(found: Queue, _state: RiskState) -> str:
    """Write the second line of the card."""
    return "" if found.sections else "Nothing waits for a decision here"


def tell_how(found: Queue, _state: RiskState) -> str:
    """Write what a person does with the card."""
    return "Choose a case or several, then an outcome; it can be undone for ten seconds" if found.sections else ""


_REFUSAL: Final = html(
    '<p class="small muted">To resolve or assign cases, you need the role analyst, admin or owner. An owner can grant '
    "it.</p>"
)


def _name_link(link: str) -> str:
    return {"device": "a device", "issuer": "an issuer", "ip": "an address"}[link]


def _draw_keys() -> Markup:
    rows = join(html("<dt><kbd>{key}</kbd></dt><dd>{words}</dd>", key=key, words=words) for key, words in _KEYS)
    return html('<dl class="rk-keys-help" data-queue-keys hidden>{rows}</dl>', rows=rows)


def _draw_decision(found: Queue) -> Markup:
    """Draw the form that decides the chosen cases; no outcome is chosen beforehand."""
    outcomes = join(
        html(
            '<button type="button" class="btn sm" data-outcome="{value}" aria-pressed="false">'
            "<kbd>{number}</kbd> {words}</button>",
            value=value,
            number=str(number),
            words=words,
        )
        for number, (value, words) in enumerate(OUTCOMES.items(), 1)
    )
    people = {found.me: "me", **{key: name for key, name in found.people.items() if key != found.me}}
    assign = html(
        '<select class="btn sm rk-select" data-queue-assign aria-label="Assign the chosen cases">{options}</select>',
        options=option_list([("", "Assign to ..."), *people.items(), ("no-one", "no one")]),
    )
    return html(
        '<form class="rk-decide" data-act="resolve_many" data-decide><input type="hidden" name="ids">'
        '<input type="hidden" name="by"><input type="hidden" name="key"><input type="hidden" name="outcome">'
        '<b data-queue-scope aria-live="polite">Choose a case</b>{outcomes}'
        '<input type="text" name="note" maxlength="1000" aria-label="Note" placeholder="Note">'
        "{assign}</form>",
        outcomes=outcomes,
        assign=assign,
    )


def _draw_section(section: Section, found: Queue, state: RiskState) -> Markup:
    rows = join(_draw_case(case, found) for case in section.cases)
    if not section.key:
        return html('<ul class="rk-rows" aria-label="Open cases">{rows}</ul>', rows=rows)
    label = found.names.get(section.key, section.key)
    more = section.count > len(section.cases) and not state.group
    return html(
        '<section class="rk-group"><header><h3 title="{key}">{icon}<span>{label}</span></h3>'
        '<span class="small muted" title="{why}">{number}</span>{show}{all}</header>'
        '<ul class="rk-rows" aria-label="Cases of {label}">{rows}</ul></section>',
        key=section.key,
        icon=icons.draw(KINDS[state.queue][2]),
        label=label,
        number=plural(section.count, "case"),
        show=button(f"Show all {count(section.count)}", ev="group", v=f"{state.queue}:{section.key}")
        if more
        else NOTHING,
        all=html(
            '<button type="button" class="btn sm" data-queue-all="{key}" data-by="{by}" data-count="{count}" '
            'data-key="all:{key}">Resolve all {count} of this {link}</button>',
            key=section.key,
            by=state.queue,
            count=count(section.count),
            link={"ip": "address"}.get(state.queue, state.queue),
        )
        if found.may_act and section.count > 1
        else NOTHING,
        why=section.why.replace(section.key, label),
        rows=rows,
    )


def _draw_case(case: CaseOut, found: Queue) -> Markup:
    entity = Entity(EntityType(case.entity_type), case.entity_id)
    age = ago(case.opened_at, found.now)
    assignee = "" if case.assignee_id is None else str(case.assignee_id)
    owner = "you" if assignee == found.me else found.people.get(assignee, "a colleague")
    return html(
        '<li data-row="{id}" data-entity="{entity}" data-key="case:{id}" tabindex="0" aria-label="{label}">{box}'
        '<b class="rk-case-score{high}">{score}</b><span class="rk-case-who">{drawn}<span class="small muted">{why}'
        '</span></span><span class="small muted rk-case-owner">{owner}</span>'
        '<time class="small muted" datetime="{at}">{age}</time>'
        '<button type="button" class="btn sm" data-ev="entity" data-v="{entity}" data-key="open:{id}">Open</button>'
        "</li>",
        id=str(case.id),
        entity=write_entity_key(entity),
        label=f"{entity.type.value} {entity.id}, highest score {case.max_score:.4g}, opened {age}",
        box=_draw_box(entity.id) if found.may_act else NOTHING,
        high=" high" if case.max_score >= 90 else "",
        score=f"{case.max_score:.3g}",
        drawn=draw_entity(entity, found.names),
        why=_describe(case),
        owner=owner if assignee else "",
        at=case.opened_at.isoformat(),
        age=age,
    )


def _describe(case: CaseOut) -> str:
    """Write why the case was opened, and its newest comment."""
    why = write_reason(case.why)
    return f"{why} “{case.comments[-1].text}”" if case.comments else why


def _draw_box(entity_id: str) -> Markup:
    return html('<input type="checkbox" data-pick aria-label="Select {id}">', id=entity_id)


def draw_next_button(found: Queue, _state: RiskState) -> Markup:
    """Draw the button that leads to the queue; nothing if no case waits, or for a person who may not decide."""
    if not found.sections or not found.may_act:
        return NOTHING
    return html(
        '<button type="button" class="btn sm primary" data-rows="queue" data-key="rows:next">Decide the next case'
        "</button>"
    )


def export_open_cases(lab: Lab, state: RiskState) -> Rows:
    """Return all open cases, as rows."""
    return lab.sql(copy_open_cases_sql(state))


def copy_open_cases_sql(_state: RiskState) -> str:
    """Return the query of all open cases, the highest score first; it does not group them."""
    return "SELECT * FROM cases WHERE status = 'open' ORDER BY max_score DESC, opened_at, id"


PANE: Final = Pane(
    key="queue",
    question="Cases to decide",
    reading=read_queue,
    how=tell_how,
    load=load_queue,
    draw=draw_queue,
    reads=("queue", "group"),
    copy_sql=copy_open_cases_sql,
    export=export_open_cases,
)
BUTTON: Final = Pane(
    key="primary", load=load_queue, draw=draw_next_button, reads=PANE.reads, is_optional=True, is_tool=True
)
