"""The tiles: people, keys and sessions, and what of it is unused; each leads to its rows."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab_dashboards import widgets
from attestlab_dashboards.access.register import AccessRegister, is_idle, load_register
from attestlab_dashboards.access.state import AccessState
from attestlab_dashboards.access.words import IDLE_DAYS
from attestlab_dashboards.formats import count, plural
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.widgets import Kpi, part_of


def draw_tiles(register: AccessRegister, state: AccessState) -> Markup:
    """Draw the tiles; a viewer who is neither owner nor admin gets those about people alone."""
    active = [person for person in register.people if person.status == "ACTIVE"]
    managers = sum(bool({"owner", "admin"} & set(person.roles)) for person in active)
    invited = sum(person.status == "INVITED" for person in register.people)
    idle = sum(is_idle(person.last_used_at, register.now) for person in active)
    tiles = [
        Kpi(
            label="People",
            value=count(len(active)),
            note=f"{count(invited)} invited",
            rows="people",
            ev="state",
            v="active",
        ),
        Kpi(
            label="Owners and admins",
            value=part_of(managers, len(active)),
            note="they may do everything",
            rows="people",
            ev="sort",
            v="role",
        ),
        Kpi(
            label="Unused accounts",
            value=part_of(idle, len(active)),
            note=f"for {IDLE_DAYS} days",
            rows="people",
            ev="" if state.use == "idle" else "use",  # a second press would drop the filter
            v="idle",
        ),
    ]
    if register.keys is not None and register.sessions is not None:
        tiles += _list_key_tiles(register)
    return widgets.kpi_strip(tiles)


def _list_key_tiles(register: AccessRegister) -> list[Kpi]:
    keys = register.keys or ()
    working = [key for key in keys if key.status == "ACTIVE"]
    never = sum(key.last_used_at is None for key in working)
    signed_in = plural(len(register.open_sessions), "person", "people")
    return [
        Kpi(
            label="API keys",
            value=count(len(working)),
            note=f"{count(len(keys) - len(working))} revoked or expired",
            rows="keys",
            ev="state",
            v="active",
        ),
        Kpi(
            label="Sessions",
            value=count(len(register.sessions or ())),
            note=f"of {signed_in}; {plural(never, 'key')} never used",
            rows="sessions",
        ),
    ]


PANE: Final = Pane(key="kpis", load=load_register, draw=draw_tiles, reads=())
