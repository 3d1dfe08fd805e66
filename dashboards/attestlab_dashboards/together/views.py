"""Saved views of a page: the list, the name of the view that is shown, and what its owner does with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, cast
from urllib.parse import parse_qsl, urlencode

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.handles.views import ViewHandle
from attestlab.core.errors import AttestLabError, AuthRequired, PermissionDenied
from attestlab.views.rules import MAX_NAME_LENGTH
from attestlab.views.shapes import PageName
from attestlab_dashboards import icons, widgets
from attestlab_dashboards.frame import describe_error
from attestlab_dashboards.pages import Action, AnyAction, AnyPage, AnyPane, Notice, Pane, read_field
from attestlab_dashboards.people import list_people, name_writer
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.state import PageState
from attestlab_dashboards.together.reports import (
    Addressee,
    draw_report,
    list_addressees,
    mail_view,
    names_others,
    unmail_view,
)

KEY: Final = "views"
SHOWN_VIEWS: Final = 8  # of a group, before "more"
_ON: Final = "on"  # what a browser sends of a checkbox that is set


@dataclass(frozen=True)
class SavedViews:
    """The views of a page that a person sees, by name, and who they are."""

    viewer_id: str
    views: Sequence[ViewHandle]
    people: Mapping[str, str]
    addressees: Sequence[Addressee]

    def is_own(self, view: ViewHandle) -> bool:
        """Whether the viewer saved it."""
        return str(view.owner_id) == self.viewer_id

    def find(self, state: PageState) -> ViewHandle | None:
        """Find the view that was opened, or else one whose filters are those of the state."""
        opened = next((view for view in self.views if str(view.id) == state.view), None)
        return opened or next((view for view in self.views if shows(view, state)), None)


def load_views(lab: Lab, page: str) -> SavedViews:
    """Load the views of a page; the tenant's people are read where a line or a report names one of them."""
    views = sorted(lab.views.list(page=cast("PageName", page)), key=lambda view: (view.name.casefold(), str(view.id)))
    me = lab.me()
    own = [view for view in views if view.owner_id == me.id]
    is_named = len(own) < len(views) or any(map(names_others, own))
    people = list_people(lab) if is_named else []
    return SavedViews(
        str(me.id),
        views,
        people={str(person.id): person.name for person in people},
        addressees=list_addressees(me, people) if own else (),
    )


def write_query(state: PageState) -> str:
    """Write the filters of a state as a view holds them: without the view itself."""
    return urlencode({name: text for name, text in state.to_query().items() if name != "view"})


def shows(view: ViewHandle, state: PageState) -> bool:
    """Whether a state has the filters of a view, however its address writes them."""
    saved, _ = type(state).from_query(dict(parse_qsl(view.query)))
    return write_query(saved) == write_query(state)


def draw_views(saved: SavedViews, state: PageState) -> Markup:
    """Draw the name of the view that is shown, and the menu of all."""
    shown = saved.find(state)
    own = [view for view in saved.views if saved.is_own(view)]
    others = [view for view in saved.views if not saved.is_own(view)]
    return html(
        '{name}<details class="al-views" id="views"><summary class="chip">{icon}Views</summary>'
        '<div class="al-views-menu">{changed}{own}{others}{save}</div></details>',
        name=NOTHING if shown is None else _draw_name(shown, state),
        icon=icons.draw("eye"),
        changed=NOTHING if shown is None or shows(shown, state) else _draw_changed(shown, saved),
        own=_draw_group("Yours", own, saved, shown),
        others=_draw_group("Shared with you", others, saved, shown),
        save=_draw_save(),
    )


def draw_unread_views(error: AttestLabError) -> Markup:
    """Draw a menu that says why it has no views, and reads them again; none for a person who may not read them."""
    if isinstance(error, PermissionDenied | AuthRequired):
        return NOTHING
    return html(
        '<details class="al-views" id="views"><summary class="chip">{icon}Views</summary><div class="al-views-menu">'
        '<p class="bad">The saved views could not be read, so none can be opened or saved now.</p><p>{why}</p>{retry}'
        "</div></details>",
        icon=icons.draw("eye"),
        why=describe_error(error),
        retry=widgets.button("Retry", ev="retry", v=KEY, primary=True),
    )


def _draw_name(view: ViewHandle, state: PageState) -> Markup:
    note = NOTHING if shows(view, state) else html(' <small class="pill calm">changed</small>')
    return html(
        '<span class="al-view-name"><b class="al-line">{name}</b>{note}</span>',
        name=view.name,
        note=note,
    )


def _draw_changed(view: ViewHandle, saved: SavedViews) -> Markup:
    """Offer what can be done about filters that differ from those of the opened view."""
    keep = html(
        '<form data-act="keep_view">{view}<button class="btn sm primary" data-key="keep-view">Update the view'
        "</button></form>",
        view=_draw_id(view),
    )
    return html(
        '<div class="al-views-changed"><span>The filters differ from <b>{name}</b>.</span>{back}{keep}</div>',
        name=view.name,
        back=html('<a href="{url}" data-address>Show it again</a>', url=_compose_address(view)),
        keep=keep if saved.is_own(view) else NOTHING,
    )


def _draw_group(title: str, views: Sequence[ViewHandle], saved: SavedViews, shown: ViewHandle | None) -> Markup:
    if not views:
        return NOTHING
    lines = [_draw_line(view, saved, is_shown=view is shown) for view in views]
    more = html(
        '<li><details id="views-more-{group}"><summary>{count} more</summary><ul>{lines}</ul></details></li>',
        group=title[:1].lower(),
        count=len(lines) - SHOWN_VIEWS,
        lines=join(lines[SHOWN_VIEWS:]),
    )
    return html(
        "<h3>{title}</h3><ul>{lines}{more}</ul>",
        title=title,
        lines=join(lines[:SHOWN_VIEWS]),
        more=more if len(lines) > SHOWN_VIEWS else NOTHING,
    )


def _draw_line(view: ViewHandle, saved: SavedViews, *, is_shown: bool) -> Markup:
    is_own = saved.is_own(view)
    note = "for the tenant" if is_own else f"by {name_writer(str(view.owner_id), saved.people, [saved.viewer_id])}"
    return html(
        '<li><a href="{url}" data-address data-key="view:{id}"{current}>{name}</a>{note}{edit}</li>',
        url=_compose_address(view),
        id=str(view.id),
        current=html(' aria-current="true"') if is_shown else NOTHING,
        name=view.name,
        note=html("<small>{note}</small>", note=note) if view.shared or not is_own else NOTHING,
        edit=_draw_edit(view, saved.addressees) if is_own else NOTHING,
    )


def _draw_edit(view: ViewHandle, addressees: Sequence[Addressee]) -> Markup:
    """Draw what the owner of a view does with it, folded."""
    return html(
        '<details id="view-{id}"><summary aria-label="Edit {name}">Edit</summary>{parts}</details>',
        id=str(view.id),
        name=view.name,
        parts=join([_draw_change(view), draw_report(view, addressees), _draw_removal(view)]),
    )


def _draw_change(view: ViewHandle) -> Markup:
    return html(
        '<form data-act="change_view">{view}{fields}<button class="btn sm" data-key="change:{id}">Save the changes'
        "</button></form>",
        view=_draw_id(view),
        fields=_draw_fields(view.name, is_shared=view.shared),
        id=str(view.id),
    )


def _draw_removal(view: ViewHandle) -> Markup:
    effect = "It leaves the menus of all in the tenant." if view.shared else "It leaves your menu."
    return html(
        '<details id="view-gone-{id}"><summary>Delete</summary><form data-act="remove_view">{view}'
        '<p>{effect} The page and its data stay.</p><button class="btn sm is-danger" data-key="remove:{id}">'
        "Delete the view</button></form></details>",
        id=str(view.id),
        view=_draw_id(view),
        effect=effect,
    )


def _draw_save() -> Markup:
    return html(
        '<form data-act="save_view"><h3>Save what is shown</h3>{fields}'
        '<button class="btn sm primary" data-key="save-view">Save this view</button></form>',
        fields=_draw_fields("", is_shared=False),
    )


def _draw_fields(name: str, *, is_shared: bool) -> Markup:
    return html(
        '<label class="field">Name<input name="name" type="text" required maxlength="{most}" value="{name}" '
        'autocomplete="off"></label><label class="al-check"><input type="checkbox" name="shared"{on}> '
        "For everyone in the tenant</label>",
        most=MAX_NAME_LENGTH,
        name=name,
        on=html(" checked") if is_shared else NOTHING,
    )


def _draw_id(view: ViewHandle) -> Markup:
    return html('<input type="hidden" name="view" value="{id}">', id=str(view.id))


def _compose_address(view: ViewHandle) -> str:
    """Compose the address of a view, relative to a page; it names the view, so that its changes are seen."""
    return f"{view.page}?{urlencode([*parse_qsl(view.query), ('view', str(view.id))])}"


def save_view(lab: Lab, state: PageState, fields: Mapping[str, str], *, page: str) -> Notice:
    """Save the filters of a page by a name."""
    name, is_shared = read_field(fields, "name"), fields.get("shared") == _ON
    view = lab.views.save(name, page, write_query(state), shared=is_shared)
    who = "Everyone in the tenant finds it" if is_shared else "You find it"
    return Notice(
        html("<b>{name} is saved.</b> {who} under Views.", name=view.name, who=who), state.replace(view=str(view.id))
    )


def change_view(lab: Lab, _state: PageState, fields: Mapping[str, str]) -> Notice:
    """Rename a view, and share it or keep it for its owner."""
    name, is_shared = read_field(fields, "name"), fields.get("shared") == _ON
    view = lab.views.update(read_field(fields, "view"), name=name, shared=is_shared)
    who = "everyone in the tenant has it" if view.shared else "you alone have it"
    return Notice(html("<b>{name} is changed</b>; {who}.", name=view.name, who=who))


def keep_view(lab: Lab, state: PageState, fields: Mapping[str, str]) -> Notice:
    """Replace the filters of a view by those that are shown."""
    view = lab.views.update(read_field(fields, "view"), query=write_query(state))
    return Notice(html("<b>{name} has these filters now.</b>", name=view.name), state.replace(view=str(view.id)))


def remove_view(lab: Lab, state: PageState, fields: Mapping[str, str]) -> Notice:
    """Delete a view; the page keeps its filters."""
    lab.views.remove(read_field(fields, "view"))
    return Notice(html("<b>The view is deleted.</b>"), state.replace(view=""))


def make_views_pane(page: AnyPage) -> AnyPane:
    """Make the pane of a page's views; for a person who may not read views it stays empty."""
    return Pane(
        key=KEY, load=_make_load(page.path), draw=draw_views, reads=(), is_optional=True, draw_unread=draw_unread_views
    )


def _make_load(page: str) -> Callable[[Lab, PageState], SavedViews]:
    return lambda lab, _state: load_views(lab, page)


def list_view_actions(page: AnyPage) -> Mapping[str, AnyAction]:
    """List what the menu of a page's views does, by the names of its forms."""
    return {
        "save_view": Action(scope="", run=partial(save_view, page=page.path)),
        "change_view": Action(scope="", run=change_view),
        "keep_view": Action(scope="", run=keep_view),
        "remove_view": Action(scope="", run=remove_view),
        "mail_view": Action(scope="", run=mail_view),
        "unmail_view": Action(scope="", run=unmail_view),
    }
