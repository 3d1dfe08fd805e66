"""The table of API keys: what each may do, who created it, and when it was last used."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.collections.api_keys import ApiKeyHandle
from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.access.copying import write_filtered
from attestlab_dashboards.access.filters import draw_closed, draw_nothing_found
from attestlab_dashboards.access.register import AccessRegister, load_register
from attestlab_dashboards.access.state import AccessState
from attestlab_dashboards.access.words import draw_few_scopes, draw_last_use, draw_status
from attestlab_dashboards.formats import plural, time_tag
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import html
from attestlab_dashboards.widgets import TableColumn

_COLUMNS: Final = (
    TableColumn("Key", sort="name"),
    TableColumn("State", sort="status"),
    TableColumn("May do", phone=False, sort="scopes"),
    TableColumn("Created by", phone=False, is_for_desks=True),
    TableColumn("Created", "right", phone=False, sort="created"),
    TableColumn("Last use", "right", sort="last"),
)


def write_reading(register: AccessRegister, state: AccessState) -> str:
    """Write how many keys there are, and their order."""
    if register.keys is None:
        return ""
    column = next(each.title for each in _COLUMNS if each.sort == state.keys_sort.removeprefix("-"))
    return (
        f"{plural(len(register.find_keys(state)), 'key')}, by {column.lower()}; the last use is exact to five minutes"
    )


def draw_keys(register: AccessRegister, state: AccessState) -> Markup:
    """Draw a page of the table."""
    if register.keys is None:
        return draw_closed("API keys")
    if not register.keys:
        call = html('Create one with <code>lab.api_keys.create("Nightly mints", scopes=["attestations:mint"])</code>.')
        return widgets.empty("No API key yet", call)
    found = register.find_keys(state)
    if not found:
        return draw_nothing_found("key", state)
    return widgets.paged_table(
        _COLUMNS,
        found,
        lambda key: _draw_row(key, register),
        page=state.keys_page,
        page_ev="keys_page",
        caption="API keys",
        key_of=lambda key: f"key:{key.id}",
        row_ev="who",
        sorted_by=state.keys_sort,
        sort_ev="keys_sort",
    )


def _draw_row(key: ApiKeyHandle, register: AccessRegister) -> list[Markup]:
    return [
        html('<b>{name}</b><span class="sub" data-code>{prefix}…</span>', name=key.name, prefix=key.prefix),
        draw_status(key.status),
        draw_few_scopes(key.scopes),
        html("{who}", who=write_creator(key, register)),
        time_tag(key.created_at, register.now),
        draw_last_use(key.last_used_at, register.now),
    ]


def write_creator(key: ApiKeyHandle, register: AccessRegister) -> str:
    """Write who created a key."""
    if key.created_by is None:
        return "the command line"
    return register.names.get(str(key.created_by), "a person who left")


def export_keys(lab: Lab, state: AccessState) -> Records[ApiKeyHandle]:
    """Return all chosen keys, in the order of the table."""
    return Records(load_register(lab, state).find_keys(state), ApiKeyHandle)


def write_keys_python(state: AccessState) -> str:
    """Write Python that lists them."""
    return write_filtered("lab.api_keys.list()", "keys", state)


PANE: Final = Pane(
    key="keys",
    question="API keys",
    reading=write_reading,
    load=load_register,
    draw=draw_keys,
    reads=(),
    scope=Scope.USERS_READ.value,
    copy_python=write_keys_python,
    export=export_keys,
)
