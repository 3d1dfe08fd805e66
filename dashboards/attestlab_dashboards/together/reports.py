"""The report of a saved view by mail: when it is sent, to whom, and why the last one failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.collections.people import PersonHandle
from attestlab.client.handles.views import ViewHandle
from attestlab.client.lab import MeHandle
from attestlab.core.counting import plural
from attestlab.core.errors import ValidationFailed
from attestlab.views.schedules.rules import MAX_RECIPIENTS, WEEKDAYS, describe_times
from attestlab_dashboards.formats import utc
from attestlab_dashboards.pages import Notice, read_field
from attestlab_dashboards.people import list_people
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.state import PageState

MAX_ADDRESSES_LENGTH: Final = MAX_RECIPIENTS * 256
DEFAULT_HOUR: Final = 7


class Addressee(NamedTuple):
    """A person who may get reports."""

    id: UUID
    address: str


def list_addressees(me: MeHandle, people: Iterable[PersonHandle]) -> Sequence[Addressee]:
    """List who may get a report: the viewer, and those of the people who are active."""
    viewer = Addressee(UUID(str(me.id)), me.email or "")
    active = [Addressee(person.id, person.email) for person in people if person.status == "ACTIVE"]
    return [viewer, *(each for each in active if each.id != viewer.id)]


def names_others(view: ViewHandle) -> bool:
    """Whether the report of a view goes to others than its owner."""
    return view.schedule is not None and {*view.schedule.recipients} != {view.owner_id}


def draw_report(view: ViewHandle, addressees: Sequence[Addressee]) -> Markup:
    """Draw when the report of a view is sent, folded, with the form that changes it."""
    schedule = view.schedule
    return html(
        '<details id="view-mail-{id}"><summary>{words}</summary>{fault}{form}{end}</details>',
        id=str(view.id),
        words="Send by mail" if schedule is None else f"Sent {describe_times(schedule.weekday, schedule.hour)}",
        fault=_draw_outcome(view),
        form=_draw_form(view, addressees),
        end=NOTHING if schedule is None else _draw_end(view),
    )


def _draw_outcome(view: ViewHandle) -> Markup:
    schedule = view.schedule
    if schedule is None:
        return NOTHING
    if schedule.last_error:
        return html('<p class="bad">The last report failed: {error}</p>', error=schedule.last_error)
    if schedule.last_sent_at is None:
        return html("<p>No report was sent yet.</p>")
    return html("<p>The last report was sent {at}.</p>", at=utc(schedule.last_sent_at))


def _draw_form(view: ViewHandle, addressees: Sequence[Addressee]) -> Markup:
    schedule = view.schedule
    chosen = schedule.recipients if schedule is not None else [each.id for each in addressees[:1]]
    weekday, hour = (schedule.weekday, schedule.hour) if schedule is not None else (0, DEFAULT_HOUR)
    days = [("", "Every day"), *((str(place), f"Every {name}") for place, name in enumerate(WEEKDAYS))]
    return html(
        '<form data-act="mail_view"><input type="hidden" name="view" value="{id}">'
        '<label class="field">When<select name="weekday">{days}</select></label>'
        '<label class="field">Hour (UTC)<select name="hour">{hours}</select></label>'
        '<label class="field">To, addresses of people of the tenant<textarea name="recipients" rows="2" required '
        'maxlength="{most}">{addresses}</textarea></label>'
        '<button class="btn sm" data-key="mail:{id}">{deed}</button></form>',
        id=str(view.id),
        days=_draw_options(days, "" if weekday is None else str(weekday)),
        hours=_draw_options([(str(each), f"{each:02}:00") for each in range(24)], str(hour)),
        most=MAX_ADDRESSES_LENGTH,
        addresses=", ".join(each.address for each in addressees if each.id in chosen),
        deed="Send the report" if schedule is None else "Save the report",
    )


def _draw_options(options: Sequence[tuple[str, str]], chosen: str) -> Markup:
    return join(
        html(
            '<option value="{value}"{on}>{words}</option>',
            value=value,
            on=html(" selected") if value == chosen else NOTHING,
            words=words,
        )
        for value, words in options
    )


def _draw_end(view: ViewHandle) -> Markup:
    return html(
        '<form data-act="unmail_view"><input type="hidden" name="view" value="{id}">'
        '<button class="btn sm" data-key="unmail:{id}">Send no more</button></form>',
        id=str(view.id),
    )


def mail_view(lab: Lab, _state: PageState, fields: Mapping[str, str]) -> Notice:
    """Send the report of a view by mail, every day or every week."""
    people = _find_recipients(list_addressees(lab.me(), list_people(lab)), read_field(fields, "recipients"))
    weekday = int(fields["weekday"]) if fields.get("weekday") else None
    hour = int(read_field(fields, "hour"))
    view = lab.views.schedule(read_field(fields, "view"), weekday=weekday, hour=hour, recipients=people)
    return Notice(
        html(
            "<b>{name} is sent {times}</b> to {people}.",
            name=view.name,
            times=describe_times(weekday, hour),
            people=plural(len(people), "person", "people"),
        )
    )


def _find_recipients(addressees: Sequence[Addressee], text: str) -> list[UUID]:
    """Find the people of addresses with commas, semicolons, blanks or lines between them.

    Raises:
        ValidationFailed: an address is of no active person whom the viewer sees.
    """
    ids = {each.address.lower(): each.id for each in addressees}
    named = text.replace(",", " ").replace(";", " ").lower().split()
    unknown = [address for address in named if address not in ids]
    if unknown:
        message = f"No active person of the tenant has the address {unknown[0]}. Correct it, or leave it out."
        raise ValidationFailed.of("/recipients", "unknown", message)
    return [ids[address] for address in dict.fromkeys(named)]


def unmail_view(lab: Lab, _state: PageState, fields: Mapping[str, str]) -> Notice:
    """Send no more reports of a view."""
    lab.views.unschedule(read_field(fields, "view"))
    return Notice(html("<b>No more reports are sent.</b> The view stays."))
