"""`lab.views`, saved filters of the dashboards, and `lab.annotations`, what happened at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack
from uuid import UUID

from attestlab.annotations.shapes import AnnotationsQuery
from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.arguments import When
from attestlab.client.collections.base import Collection
from attestlab.client.collections.filters import AnnotationFilterArgs, ViewFilterArgs
from attestlab.client.handles.views import (
    ANNOTATIONS,
    VIEWS,
    AnnotationHandle,
    ReportReader,
    ViewChanges,
    ViewHandle,
    read_query,
    schedule_view,
    update_view,
)
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.core.errors import ValidationFailed
from attestlab.views.shapes import ViewsQuery


@name_in_examples("views")
class ViewCollection(Collection[ViewHandle]):
    """The saved views that a person sees, newest first: their own, and those that others in the tenant share.

    It needs a person who signed in (`lab.as_(email, password=...)`).
    """

    noun = "a view"
    path = VIEWS
    query = ViewsQuery

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, ViewHandle)

    def list(self, *, limit: int | None = None, **filters: Unpack[ViewFilterArgs]) -> Listing[ViewHandle]:
        """List the views that match all filters, newest first.

        Args:
            limit: how many at most; all by default.
            filters: `page` is a page of the dashboards, such as `risk`. None is no filter.

        Returns:
            The views, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value.
            PermissionDenied: no person signed in; when the views are read.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> saved = ann.views.save("Usage of this year", "usage", "days=365")
        >>> [view.name for view in ann.views.list(page="usage")]
        ['Usage of this year']
        """
        return self._list(limit, filters)

    def save(self, name: str, page: str, query: str = "", *, shared: bool = False) -> ViewHandle:
        """Save the filters of a page by a name.

        Args:
            name: what you call it, 1 to 100 characters in one line; each name once for a page.
            page: `risk`, `policy`, `log`, `issuers`, `agents`, `usage` or `access`.
            query: what stands after the `?` of the page's address, at most 4,096 characters.
            shared: whether everyone in the tenant has it in the menu.

        Returns:
            The view; `url` is its address, below that of the service.

        Raises:
            PermissionDenied: no person signed in.
            Conflict: you have a view of this page with the name, or 200 views.
            ValidationFailed: an argument is not acceptable; the message names the limit.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> ann.views.save("Logins of a month", "risk", "days=30&source=login", shared=True).url
        '/dash/risk?days=30&source=login'
        """
        body = {"name": name, "page": page, "query": read_query(query), "shared": shared}
        return self._parse(self._client.post(self.path, body))

    def update(self, view: UUID | str | ViewHandle, **changes: Unpack[ViewChanges]) -> ViewHandle:
        """Change the name, the query or the sharing of a view of yours.

        Args:
            view: the view or its id.
            changes: `name`, `query` and `shared`. What is left out, or None, stays as it is.

        Returns:
            The view as it is then.

        Raises:
            NotFound: you see no such view.
            PermissionDenied: another person saved it, or no person signed in.
            Conflict: you have another view of this page with the name.
            ValidationFailed: there is no such change, or it does not take this value.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> view = ann.views.save("Heads of the log", "log")
        >>> ann.views.update(view, shared=True).shared
        True
        """
        return update_view(self._client, arguments.read_id(view, self.noun), changes)

    def remove(self, view: UUID | str | ViewHandle) -> None:
        """Delete a view of yours, also from the menus of those with whom it is shared.

        Args:
            view: the view or its id.

        Raises:
            NotFound: you see no such view.
            PermissionDenied: another person saved it. Owners and admins delete what people share who have left.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> view = ann.views.save("Agents of a day", "agents")
        >>> ann.views.remove(view)
        >>> [*ann.views.list(page="agents")]
        []
        """
        self._client.delete(f"{self.path}{path_of(arguments.read_id(view, self.noun))}")

    def schedule(
        self,
        view: UUID | str | ViewHandle,
        *,
        hour: int,
        recipients: ReportReader | Iterable[ReportReader],
        weekday: int | None = None,
    ) -> ViewHandle:
        """Send a report of a view of yours by mail, every day or every week, instead of what was set before.

        Args:
            view: the view or its id.
            hour: the hour of the day in UTC, 0 to 23.
            recipients: one person or up to 20, members of the tenant who can sign in, as people or their ids.
            weekday: the day of the week, 0 (Monday) to 6; by default every day.

        Returns:
            The view; `schedule` has when the next report is due, and why the last one failed, if it did.

        Raises:
            NotFound: you see no such view, or the tenant has no such person.
            PermissionDenied: another person saved it, or no person signed in.
            ValidationFailed: a recipient was invited or removed, or another argument is not acceptable.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> view = ann.views.save("Risk of the week", "risk", "days=7")
        >>> ann.views.schedule(view, weekday=0, hour=8, recipients=ann.me().id).schedule.hour
        8
        """
        return schedule_view(self._client, arguments.read_id(view, self.noun), hour, recipients, weekday)

    def unschedule(self, view: UUID | str | ViewHandle) -> None:
        """Send no more reports of a view of yours by mail; a view without a schedule stays as it is.

        Args:
            view: the view or its id.

        Raises:
            NotFound: you see no such view.
            PermissionDenied: another person saved it, or no person signed in.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> view = ann.views.save("Policy of the day", "policy")
        >>> view = ann.views.schedule(view, hour=6, recipients=ann.me().id)
        >>> ann.views.unschedule(view)
        """
        self._client.delete(f"{self.path}{path_of(arguments.read_id(view, self.noun))}/schedule")

    def _find(self, which: object) -> ViewHandle:
        wanted = arguments.read_id(which, self.noun)
        found = next((each for each in self if each.id == wanted), None)
        if found is None:
            raise ValidationFailed(f"There is no view {wanted}. `lab.views` lists them.")
        return found


@name_in_examples("annotations")
class AnnotationCollection(Collection[AnnotationHandle]):
    """What happened at a time or in a period, newest first; all people of the tenant read it."""

    noun = "an annotation"
    path = ANNOTATIONS
    query = AnnotationsQuery

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, AnnotationHandle)

    def list(self, *, limit: int | None = None, **filters: Unpack[AnnotationFilterArgs]) -> Listing[AnnotationHandle]:
        """List the annotations that overlap a period, newest first.

        Args:
            limit: how many at most; all by default.
            filters: `since` is inclusive, `until` exclusive. None is no filter.

        Returns:
            The annotations, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value.

        >>> campaign = lab.annotations.add("2024-05-01", "Campaign of a partner", until="2024-05-08")
        >>> [each.text for each in lab.annotations.list(since="2024-05-03", until="2024-05-04")]
        ['Campaign of a partner']
        """
        return self._list(limit, filters)

    def add(self, at: When, text: str, *, until: When | None = None) -> AnnotationHandle:
        """Write what happened at a time, or from then until another time.

        Args:
            at: when it happened, or began: an aware datetime, a date (its beginning, UTC), or text.
            text: what colleagues should know, 1 to 200 characters in one line.
            until: when it ended; by default it was a moment.

        Returns:
            The annotation, with who wrote it.

        Raises:
            Conflict: the tenant has 5,000 annotations.
            ValidationFailed: an argument is not acceptable; the message names the limit.

        >>> lab.annotations.add("2024-03-02T09:30:00Z", "New login page").text
        'New login page'
        """
        moment, end = arguments.read_time(at, name="at"), arguments.read_time(until, name="until")
        body = {"at": moment, "text": text} | ({"until": end} if end else {})
        return self._parse(self._client.post(self.path, body))

    def remove(self, annotation: UUID | str | AnnotationHandle) -> None:
        """Remove an annotation from all charts; its author, owners and admins may.

        Args:
            annotation: the annotation or its id.

        Raises:
            NotFound: the tenant has no such annotation.
            PermissionDenied: another wrote it, and you are no owner or admin.

        >>> deploy = lab.annotations.add("2024-03-03", "Deployed by mistake")
        >>> lab.annotations.remove(deploy)
        >>> deploy.id in [each.id for each in lab.annotations]
        False
        """
        self._client.delete(f"{self.path}{path_of(arguments.read_id(annotation, self.noun))}")

    def _find(self, which: object) -> AnnotationHandle:
        wanted = arguments.read_id(which, self.noun)
        found = next((each for each in self if each.id == wanted), None)
        if found is None:
            raise ValidationFailed(f"There is no annotation {wanted}. `lab.annotations` lists them.")
        return found
