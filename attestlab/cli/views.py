"""Commands for saved views of the dashboards and for annotations of their charts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, cast
from urllib.parse import urlsplit

import typer

from attestlab.cli.doors import ApiKey, Folder, LabDoor, Tenant, UrlOption
from attestlab.cli.numbers import whole_number
from attestlab.cli.output import UNUSABLE, DatabaseUrl, JsonOption, fail, print_items, print_values, report_errors

if TYPE_CHECKING:
    from attestlab.client.handles.views import AnnotationHandle, ViewHandle
    from attestlab.client.lab import Lab
    from attestlab.views.shapes import PageName

view_commands = typer.Typer(no_args_is_help=True, help="Saved views: the filters of a page by a name.")
annotation_commands = typer.Typer(no_args_is_help=True, help="Annotations: what happened at a time, in all charts.")
_VIEW_FIELDS = ("id", "name", "page", "shared", "url")
_ANNOTATION_FIELDS = ("id", "at", "until", "text")
DEFAULT_HOUR = 7
_PAGES = ("risk", "policy", "log", "issuers", "agents", "usage", "access")

OwnerAddress = Annotated[
    str | None, typer.Option("--email", envvar="ATTESTLAB_EMAIL", help="Address of the person whose views they are.")
]
OwnerPassword = Annotated[
    str | None,
    typer.Option(
        "--password", envvar="ATTESTLAB_PASSWORD", help="The person's password; the variable keeps it out of `ps`."
    ),
]
ListLimit = Annotated[
    int | None, typer.Option(parser=whole_number(1), metavar="COUNT", help="How many at most; default: all.")
]


def _complete_page(begun: str) -> list[str]:
    return [page for page in _PAGES if page.startswith(begun)]


PageOption = Annotated[
    str | None,
    typer.Option(metavar="PAGE", help=f"Only those of a page: {', '.join(_PAGES)}.", autocompletion=_complete_page),
]


@contextmanager
def _open_person(door: LabDoor, email: str | None, password: str | None) -> Iterator[Lab]:
    """Open the lab as a person, because views belong to people."""
    if not email or not password:
        fail(
            "A view belongs to a person. Give --email ADDRESS, and the password in ATTESTLAB_PASSWORD or --password.",
            UNUSABLE,
        )
    with door.open() as lab:
        yield lab.as_(email, password=password)


def _pick_view(view: ViewHandle) -> dict[str, object]:
    plain = view.to_dict()
    return {name: plain[name] for name in _VIEW_FIELDS}


def _pick_annotation(note: AnnotationHandle) -> dict[str, object]:
    plain = note.to_dict()
    return {name: plain[name] for name in _ANNOTATION_FIELDS}


@view_commands.command("list")
def view_list(
    page: PageOption = None,
    email: OwnerAddress = None,
    password: OwnerPassword = None,
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """List a person's views and those that others in the tenant share, newest first.

    Exit status: 0 listed, 2 refused.

    Example: attestlab views list --page risk --email sofia@registry.example --data lab
    """
    with report_errors(), _open_person(LabDoor(data, url, api_key, database_url, None), email, password) as lab:
        found = [*lab.views.list(page=cast("PageName | None", page))]
    print_items([view.to_dict() if as_json else _pick_view(view) for view in found], as_json)


@view_commands.command("save")
def view_save(
    name: Annotated[str, typer.Argument(help="What you call it, 1 to 100 characters.")],
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="Address of the page, such as /dash/risk?window=7d.")
    ],
    shared: Annotated[bool, typer.Option("--shared", help="For everyone in the tenant.")] = False,
    email: OwnerAddress = None,
    password: OwnerPassword = None,
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Save the filters of a page by a name, from the page's address.

    Exit status: 0 saved, 2 the name is taken or not acceptable, or refused.

    Example: attestlab views save "A week" "/dash/risk?window=7d" --email sofia@registry.example --data lab
    """
    with report_errors(), _open_person(LabDoor(data, url, api_key, database_url, None), email, password) as lab:
        page, query = _read_address(address)
        saved = lab.views.save(name, page, query, shared=shared)
    print_values(saved.to_dict() if as_json else _pick_view(saved), as_json)


def _read_address(address: str) -> tuple[str, str]:
    """Read the page and the query of an address of the dashboards, whole or from the page's name on."""
    parts = urlsplit(address)
    page = parts.path.rstrip("/").rpartition("/")[2]
    if page not in _PAGES:
        fail(f"{address[:100]!r} is no page of the dashboards. Name one of {', '.join(_PAGES)}.", UNUSABLE)
    return page, parts.query


@view_commands.command("delete")
def view_delete(
    view: Annotated[str, typer.Argument(metavar="ID", help="Id of the view, which `attestlab views list` prints.")],
    email: OwnerAddress = None,
    password: OwnerPassword = None,
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a view of a person, also from the menus of those with whom it is shared.

    Exit status: 0 deleted, 2 there is no such view, or another person saved it.

    Example: attestlab views delete 01997f3a-... --email sofia@registry.example --data lab
    """
    with report_errors(), _open_person(LabDoor(data, url, api_key, database_url, None), email, password) as lab:
        lab.views.remove(view)
    print_values({"id": view, "deleted": True}, as_json)


@view_commands.command("schedule")
def view_schedule(
    view: Annotated[str, typer.Argument(metavar="ID", help="Id of the view, which `attestlab views list` prints.")],
    every: Annotated[
        str, typer.Option(metavar="PERIOD", help="day, week (on Mondays), or a day of the week such as friday.")
    ],
    to: Annotated[
        list[str] | None,
        typer.Option(metavar="PERSON", help="Address or id of a member; may be repeated; default: yourself."),
    ] = None,
    hour: Annotated[
        int, typer.Option("--at", parser=whole_number(0, 23), metavar="HOUR", help="Hour of the day, UTC.")
    ] = DEFAULT_HOUR,
    email: OwnerAddress = None,
    password: OwnerPassword = None,
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Send a report of a view by mail every day or week, instead of what was set before.

    Exit status: 0 it is set, 2 there is no such view, person or period, or refused.

    Example: attestlab views schedule 01997f3a-... --every week --to sofia@registry.example --data lab
    """
    weekday = _read_weekday(every)
    with report_errors(), _open_person(LabDoor(data, url, api_key, database_url, None), email, password) as lab:
        readers = [_find_reader(lab, person) for person in to or [str(lab.me().id)]]
        found = lab.views.schedule(view, weekday=weekday, hour=hour, recipients=readers)
    print_values(found.to_dict() if as_json else _pick_schedule(found), as_json)


def _read_weekday(every: str) -> int | None:
    """Read how often a report is sent: None is every day."""
    from attestlab.views.schedules.rules import WEEKDAYS  # its rules load what other commands do without

    days = {"day": None, "week": 0, **{name.lower(): place for place, name in enumerate(WEEKDAYS)}}
    if every.lower() not in days:
        fail(f"{every[:40]!r} is no period. Give one of {', '.join(days)}.", UNUSABLE)
    return days[every.lower()]


def _find_reader(lab: Lab, person: str) -> str:
    """Find the id of a person by their address; one's own needs no scope."""
    if "@" not in person:
        return person
    me = lab.me()
    is_own = person.strip().lower() == (me.email or "").lower()
    return str(me.id if is_own else lab.people[person].id)


def _pick_schedule(view: ViewHandle) -> dict[str, object]:
    from attestlab.views.schedules.rules import describe_times

    schedule = view.schedule
    assert schedule is not None  # it was just set
    return {
        "id": str(view.id),
        "name": view.name,
        "sent": describe_times(schedule.weekday, schedule.hour),
        "recipients": len(schedule.recipients),
        "next": None if schedule.next_at is None else schedule.next_at.isoformat(),
    }


@view_commands.command("unschedule")
def view_unschedule(
    view: Annotated[str, typer.Argument(metavar="ID", help="Id of the view, which `attestlab views list` prints.")],
    email: OwnerAddress = None,
    password: OwnerPassword = None,
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Send no more reports of a view; the view stays.

    Exit status: 0 none is sent any more, 2 there is no such view, or another person saved it.

    Example: attestlab views unschedule 01997f3a-... --email sofia@registry.example --data lab
    """
    with report_errors(), _open_person(LabDoor(data, url, api_key, database_url, None), email, password) as lab:
        lab.views.unschedule(view)
    print_values({"id": view, "scheduled": False}, as_json)


def annotate(
    at: Annotated[str, typer.Argument(metavar="TIME", help="When it happened or began: a day, or a time (RFC 3339).")],
    text: Annotated[str, typer.Argument(help="What colleagues should know, one line, 1 to 200 characters.")],
    until: Annotated[str | None, typer.Option(metavar="TIME", help="When it ended; default: it was a moment.")] = None,
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    tenant: Tenant = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Write what happened at a time; all charts of time in the dashboards show it.

    Exit status: 0 written, 2 a time or the text is not acceptable, or refused.

    Example: attestlab annotate 2026-10-05 "Campaign of a partner" --until 2026-10-12 --data lab
    """
    with report_errors(), LabDoor(data, url, api_key, database_url, tenant).open() as lab:
        note = lab.annotations.add(at, text, until=until)
    print_values(note.to_dict() if as_json else _pick_annotation(note), as_json)


@annotation_commands.command("list")
def annotation_list(
    since: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Only what overlaps it or later.")] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Only what began before.")] = None,
    limit: ListLimit = None,
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    tenant: Tenant = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """List what happened in a period, newest first.

    Exit status: 0 listed, 2 a time is not acceptable, or refused.

    Example: attestlab annotations list --from 2026-10-01 --to 2026-11-01 --data lab
    """
    with report_errors(), LabDoor(data, url, api_key, database_url, tenant).open() as lab:
        found = [*lab.annotations.list(limit=limit, since=since, until=until)]
    print_items([note.to_dict() if as_json else _pick_annotation(note) for note in found], as_json)


@annotation_commands.command("remove")
def annotation_remove(
    annotation: Annotated[
        str, typer.Argument(metavar="ID", help="Id of the annotation, which `attestlab annotations list` prints.")
    ],
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    tenant: Tenant = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Remove an annotation from all charts.

    Exit status: 0 removed, 2 there is no such annotation, or another wrote it.

    Example: attestlab annotations remove 01997f3a-... --data lab
    """
    with report_errors(), LabDoor(data, url, api_key, database_url, tenant).open() as lab:
        lab.annotations.remove(annotation)
    print_values({"id": annotation, "removed": True}, as_json)
