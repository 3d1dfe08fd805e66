"""Annotations of a period, which the charts of time mark, and the dialog in which a person writes one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.annotations.rules import MAX_TEXT_LENGTH
from attestlab.client.handles.views import AnnotationHandle
from attestlab.core.errors import ValidationFailed
from attestlab.orgs.rules import Role, Scope
from attestlab_dashboards.formats import day
from attestlab_dashboards.pages import Action, AnyAction, Facts, Notice, read_field
from attestlab_dashboards.parameters import read_time
from attestlab_dashboards.people import name_writer, read_people
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.state import PageState

MAX_SHOWN: Final = 200  # of a period, the newest
_MANAGERS: Final = frozenset({Role.OWNER.value, Role.ADMIN.value})


def may_read_annotations(facts: Facts) -> bool:
    """Whether a person reads the tenant's annotations."""
    return Scope.RISK_READ.value in facts.scopes


def draw_annotations(lab: Lab, facts: Facts, span: str) -> Markup:
    """Draw the annotations that overlap a span `from/to`, for the charts to take, and what writes a new one."""
    since, _, until = span.partition("/")
    found = list(lab.annotations.list(limit=MAX_SHOWN, since=_read(since), until=_read(until)))
    people, own = (read_people(lab), str(lab.me().id)) if found else ({}, "")
    is_manager = bool(facts.roles & _MANAGERS)
    lines = (
        _draw_line(note, name_writer(note.created_by, people, [own]), may_remove=is_manager or note.created_by == own)
        for note in sorted(found, key=lambda note: note.at)
    )
    may_write = Scope.RISK_WRITE.value in facts.scopes
    return html(
        "<ul hidden>{lines}</ul>{writing}", lines=join(lines), writing=_draw_writing() if may_write else NOTHING
    )


def _read(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ValidationFailed(f"{text[:40]!r} is no time. Send the two ends of the charts.") from error


def _draw_line(note: AnnotationHandle, writer: str, *, may_remove: bool) -> Markup:
    when = _write_when(note)
    return html(
        '<li data-note="{id}" data-from="{at}" data-to="{until}" data-words="{when}: {text}">'
        '<span class="small muted">{when}</span><b>{text}</b><span class="small muted">{writer}</span>{removal}</li>',
        id=str(note.id),
        at=note.at.isoformat(),
        until=note.until.isoformat() if note.until else "",
        when=when,
        text=note.text,
        writer=writer,
        removal=_draw_removal(note) if may_remove else NOTHING,
    )


def _write_when(note: AnnotationHandle) -> str:
    """Write when it was, in UTC.

    The year stands in it, because a chart may show any.
    """
    at = note.at.astimezone(UTC)
    began = f"{day(at)}, {at:%H:%M}"
    if note.until is None:
        return began
    until = note.until.astimezone(UTC)
    return f"{began} to {day(until)}, {until:%H:%M}"


def _draw_removal(note: AnnotationHandle) -> Markup:
    return html(
        '<details><summary aria-label="Remove {text}">Remove</summary><form data-act="remove_annotation">'
        '<input type="hidden" name="annotation" value="{id}"><button class="btn sm is-danger">Remove it from all charts'
        "</button></form></details>",
        text=note.text,
        id=str(note.id),
    )


def _draw_writing() -> Markup:
    """Draw the button of each chart, and the dialog that it opens."""
    return html(
        '<button type="button" class="btn sm" data-annotate hidden>Annotate</button>'
        '<dialog class="al-note" aria-label="Annotate"><form data-act="annotate"><h2>What happened?</h2>'
        '<label class="field">Text, one line<input name="text" type="text" required maxlength="{most}" '
        'autocomplete="off"></label>'
        '<label class="field">When it happened, or began (UTC)<input name="at" type="datetime-local" required></label>'
        '<label class="field">When it ended (UTC), if it took time<input name="until" type="datetime-local"></label>'
        '<p class="small muted">Everyone in the tenant who may read risks sees it on all charts.</p>'
        '<div class="is-foot"><button type="button" class="btn" data-close>Cancel</button>'
        '<button class="btn primary">Annotate</button></div></form></dialog>',
        most=MAX_TEXT_LENGTH,
    )


def annotate(lab: Lab, _state: PageState, fields: Mapping[str, str]) -> Notice:
    """Write what happened at a time, or from then until another time."""
    text, until = read_field(fields, "text"), fields.get("until", "")
    end = _read_moment(until, "end") if until else None
    note = lab.annotations.add(_read_moment(read_field(fields, "at"), "beginning"), text, until=end)
    return Notice(
        html("<b>{text}</b> stands in all charts of time, at {when}.", text=note.text, when=_write_when(note))
    )


def _read_moment(text: str, what: str) -> datetime:
    try:
        return read_time(text)
    except (ValueError, OverflowError) as error:
        raise ValidationFailed(f"The {what}, {text[:40]!r}, is no time. Choose a day and a time.") from error


def remove_annotation(lab: Lab, _state: PageState, fields: Mapping[str, str]) -> Notice:
    """Remove an annotation from all charts."""
    lab.annotations.remove(read_field(fields, "annotation"))
    return Notice(html("<b>The annotation is removed</b> from all charts."))


ACTIONS: Final[Mapping[str, AnyAction]] = {
    "annotate": Action(scope=Scope.RISK_WRITE.value, run=annotate),
    "remove_annotation": Action(scope=Scope.RISK_WRITE.value, run=remove_annotation),
}
