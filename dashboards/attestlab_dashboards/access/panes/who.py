"""The drawer of a person or key: their access, and all that they did and that was done to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.collections.api_keys import ApiKeyHandle
from attestlab.client.collections.people import PersonHandle
from attestlab.core.errors import PermissionDenied
from attestlab.orgs.rules import Scope
from attestlab_dashboards import icons, widgets
from attestlab_dashboards.access.panes.keys import write_creator
from attestlab_dashboards.access.panes.trail import draw_whole
from attestlab_dashboards.access.register import AccessRegister, load_register
from attestlab_dashboards.access.state import AccessState
from attestlab_dashboards.access.trail import (
    LINE_ROWS,
    DeedCount,
    DeedPage,
    compose_counts,
    draw_lines,
    load_page,
)
from attestlab_dashboards.access.words import draw_last_use, draw_roles, draw_scopes, draw_status
from attestlab_dashboards.deeds import describe_deed
from attestlab_dashboards.formats import plural, short_id, time_tag
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join

_SHOWN_COUNTS: Final = 12


class OpenHolder(NamedTuple):
    """A person or key with their trail; `trail` is None for a viewer who may not read it."""

    register: AccessRegister
    row: PersonHandle | ApiKeyHandle | None
    trail: DeedPage | None


def load_holder(lab: Lab, state: AccessState) -> OpenHolder | None:
    """Load the person or key of the drawer; None while the drawer is closed."""
    holder = state.holder
    if holder is None:
        return None
    register = load_register(lab, state)
    rows = register.people if holder.kind == "person" else register.keys or ()
    row = next((row for row in rows if str(row.id) == holder.id), None)
    return OpenHolder(register, row, _load_trail(lab, state))


def _load_trail(lab: Lab, state: AccessState) -> DeedPage | None:
    try:
        page = load_page(lab, state, page=state.acts_page, is_drawer=True)
        counts = compose_counts(state).read_rows(lab)
    except PermissionDenied:
        return None
    return page._replace(counts=tuple(DeedCount(**row) for row in counts))  # type: ignore[arg-type]  # the query's types


def draw_holder(opened: OpenHolder | None, state: AccessState) -> Markup:
    """Draw the drawer; nothing while it is closed."""
    if opened is None or state.holder is None:
        return NOTHING
    name = _write_name(opened, state)
    return html(
        '<aside class="al-drawer" role="dialog" aria-label="{name}" tabindex="-1"><div class="is-head"><h2>{name}</h2>'
        '<button type="button" class="btn sm" data-ev="close" data-v="" data-key="close-drawer" aria-label="Close" '
        "data-focus>{icon}</button></div>{facts}{trail}</aside>",
        name=name,
        icon=icons.draw("cross"),
        facts=_draw_facts(opened, state),
        trail=_draw_trail(opened, state),
    )


def _write_name(opened: OpenHolder, state: AccessState) -> str:
    known = opened.register.names.get(state.holder.id if state.holder else "")
    return known or ("A person who left" if state.holder and state.holder.kind == "person" else "An API key")


def _draw_facts(opened: OpenHolder, state: AccessState) -> Markup:
    match opened.row:
        case PersonHandle():
            facts = _list_person_facts(opened.row, opened.register)
        case ApiKeyHandle():
            facts = _list_key_facts(opened.row, opened.register)
        case _:
            facts = [("Id", short_id(state.holder.id if state.holder else ""))]
    drawn = join(html("<dt>{name}</dt><dd>{value}</dd>", name=name, value=value) for name, value in facts)
    return html('<dl class="is-facts">{facts}</dl>{button}', facts=drawn, button=_draw_buttons(opened.row))


def _list_person_facts(person: PersonHandle, register: AccessRegister) -> list[tuple[str, Markup]]:
    sessions = register.open_sessions.get(str(person.id), 0)
    return [
        ("State", draw_status(person.status)),
        ("Role", draw_roles(person.roles)),
        *([("E-mail", html("{email}", email=person.email))] if person.status != "REMOVED" else []),
        ("Last use", draw_last_use(person.last_used_at, register.now)),
        *(
            [("Sessions", html("{open}", open=plural(sessions, "open session")))]
            if register.sessions is not None
            else []
        ),
        ("Since", time_tag(person.joined_at or person.created_at, register.now)),
        ("Id", short_id(str(person.id))),
    ]


def _list_key_facts(key: ApiKeyHandle, register: AccessRegister) -> list[tuple[str, Markup]]:
    return [
        ("State", draw_status(key.status)),
        *([("Revoked", html("“{why}”", why=key.revocation_reason))] if key.revocation_reason else []),
        ("May do", draw_scopes(key.scopes)),
        ("Last use", draw_last_use(key.last_used_at, register.now)),
        ("Created by", html("{who}", who=write_creator(key, register))),
        ("Created", time_tag(key.created_at, register.now)),
        *([("Ends", time_tag(key.expires_at, register.now))] if key.expires_at else []),
        ("Begins with", html("<code>{prefix}</code>", prefix=key.prefix)),
        ("Id", short_id(str(key.id))),
    ]


def _draw_buttons(row: PersonHandle | ApiKeyHandle | None) -> Markup:
    """Draw what an owner or admin may do with a key; no one else sees keys."""
    if not isinstance(row, ApiKeyHandle) or row.status != "ACTIVE":
        return NOTHING
    return html(
        '<div class="chips">{revoke}{lose}</div>',
        revoke=widgets.button("Revoke", ev="ask", v=f"revoke:{row.id}"),
        lose=widgets.button("Report as lost", ev="ask", v=f"lose:{row.id}"),
    )


def _draw_trail(opened: OpenHolder, state: AccessState) -> Markup:
    if opened.trail is None:
        return html('<p class="sub">What they did needs the scope <code>audit:read</code>.</p>')
    page = opened.trail
    return html(
        '<h3>What {who} did</h3>{sums}<div class="chips">{whole}</div>{lines}{pager}',
        who="this key" if state.holder and state.holder.kind == "key" else "they",
        sums=_draw_counts(page, state),
        whole=draw_whole(state),
        lines=_draw_page(page, state),
        pager=widgets.pager(page.page, widgets.count_pages(page.all_lines, LINE_ROWS), ev="acts_page"),
    )


def _draw_counts(page: DeedPage, state: AccessState) -> Markup:
    """Draw how often what was done; a click lists it alone. The rarer deeds are folded."""
    chips = [_draw_count(each, is_chosen=each.action == state.deed) for each in page.counts]
    rarer = chips[_SHOWN_COUNTS:]
    return html(
        '<div class="chips ac-counts" role="group" aria-label="How often">{chips}</div>{rest}',
        chips=join(chips[:_SHOWN_COUNTS]),
        rest=_draw_rarer_counts(rarer, is_open=any(each.action == state.deed for each in page.counts[_SHOWN_COUNTS:])),
    )


def _draw_count(count: DeedCount, *, is_chosen: bool) -> Markup:
    words = html("{deed} <b>{lines}</b>", deed=describe_deed(count.action), lines=plural(count.lines, "time"))
    return widgets.chip(words, ev="deed", v=count.action, pressed=is_chosen, removable=is_chosen)


def _draw_rarer_counts(chips: Sequence[Markup], *, is_open: bool) -> Markup:
    if not chips:
        return NOTHING
    return html(
        '<details class="ac-rarer" id="rarer-deeds"{open}><summary>{words}</summary><div class="chips">{chips}</div>'
        "</details>",
        open=html(" open") if is_open else NOTHING,
        words=plural(len(chips), "rarer kind of deed", "rarer kinds of deeds"),
        chips=join(chips),
    )


def _draw_page(page: DeedPage, state: AccessState) -> Markup:
    if not page.lines:
        return widgets.empty("Nothing yet", "No line of the audit trail is by them, or about them.")
    return draw_lines(page, holder_id=state.holder.id if state.holder else "")


PANE: Final = Pane(
    key="who",
    load=load_holder,
    draw=draw_holder,
    reads=("who", "acts_page", "deed", "whole"),
    scope=Scope.USERS_READ.value,
)
