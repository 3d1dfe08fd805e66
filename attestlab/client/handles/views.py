"""Saved views and annotations of the dashboards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, TypedDict, Unpack
from uuid import UUID

from attestlab.annotations.shapes import AnnotationOut
from attestlab.client import arguments
from attestlab.client.handles.base import Handle
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.views.shapes import ViewOut

VIEWS = "/v1/views"
ANNOTATIONS = "/v1/annotations"


ReportReader = UUID | str | Handle


class ViewChanges(TypedDict, total=False):
    """What a view may change; its page stays."""

    name: str
    query: str
    shared: bool


class ViewHandle(ViewOut, Handle):
    """The filters of a page of the dashboards by a name; `url` is below the address of the service."""

    shown_fields: ClassVar = ("name", "page", "query", "shared", "id")

    def update(self, **changes: Unpack[ViewChanges]) -> ViewHandle:
        """Change name, query or sharing; `lab.views.update` explains the arguments and errors.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> ann.views.save("Last month", "risk", "days=30").update(name="A month").name
        'A month'
        """
        return update_view(self._client, self.id, changes)

    def remove(self) -> None:
        """Delete the view, also from the menus of those with whom it is shared.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> ann.views.save("By mistake", "log").remove()
        """
        self._client.delete(f"{VIEWS}{path_of(self.id)}")

    def send_by_mail(
        self, *, hour: int, recipients: ReportReader | Iterable[ReportReader], weekday: int | None = None
    ) -> ViewHandle:
        """Send a report by mail every day or week; `lab.views.schedule` explains the arguments and errors.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> view = ann.views.save("Agents of the week", "agents")
        >>> view.send_by_mail(hour=7, weekday=4, recipients=[ann.me().id]).schedule.weekday
        4
        """
        return schedule_view(self._client, self.id, hour, recipients, weekday)

    def unschedule(self) -> None:
        """Send no more reports by mail.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> ann.views.save("Heads of the day", "log").send_by_mail(hour=7, recipients=ann.me().id).unschedule()
        """
        self._client.delete(f"{VIEWS}{path_of(self.id)}/schedule")


class AnnotationHandle(AnnotationOut, Handle):
    """What happened at a time, for all people of the tenant."""

    shown_fields: ClassVar = ("at", "until", "text", "created_by")

    def remove(self) -> None:
        """Remove the annotation from all charts.

        >>> lab.annotations.add("2026-10-03T09:00:00Z", "By mistake").remove()
        """
        self._client.delete(f"{ANNOTATIONS}{path_of(self.id)}")


def update_view(client: ServiceClient, view_id: UUID, changes: Mapping[str, object]) -> ViewHandle:
    """Change a view; what is None stays as it is.

    Raises:
        ValidationFailed: there is no such change.
    """
    given = {name: value for name, value in changes.items() if value is not None}
    if isinstance(given.get("query"), str):
        given["query"] = read_query(given["query"])
    return ViewHandle.parse(client, client.patch(f"{VIEWS}{path_of(view_id)}", given))


def schedule_view(
    client: ServiceClient,
    view_id: UUID,
    hour: int,
    recipients: ReportReader | Iterable[ReportReader],
    weekday: int | None,
) -> ViewHandle:
    """Set when the report of a view is sent, and to whom.

    Raises:
        ValidationFailed: an argument is not acceptable.
    """
    people = [recipients] if isinstance(recipients, str | bytes | Handle) else recipients
    named = list(people) if isinstance(people, Iterable) else [people]
    body: dict[str, object] = {
        "hour": hour,
        "recipients": [str(arguments.read_id(each, "a person")) for each in named],
        **({} if weekday is None else {"weekday": weekday}),
    }
    return ViewHandle.parse(client, client.put(f"{VIEWS}{path_of(view_id)}/schedule", body))


def read_query(query: object) -> str:
    """Read what stands after the `?` of an address; the `?` may be there.

    Raises:
        ValidationFailed: it is no text.
    """
    if query == "":
        return ""
    return arguments.read_text(query, name="query").removeprefix("?")
