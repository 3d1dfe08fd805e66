"""`lab.sessions`: where people are signed in, and how a session is ended."""

from __future__ import annotations

from typing import ClassVar, Unpack
from uuid import UUID

from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.collections.base import Collection
from attestlab.client.collections.filters import SessionFilterArgs
from attestlab.client.handles.base import Handle
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.core.errors import NotFound
from attestlab.identity.shapes import SessionOut, SessionsQuery


class SessionHandle(SessionOut, Handle):
    """A session of a person: from their login until a logout, or 30 days after its last refresh."""

    shown_fields: ClassVar = ("user_id", "created_at", "last_used_at", "current", "id")


SessionLike = UUID | str | SessionHandle


@name_in_examples("sessions")
class SessionCollection(Collection[SessionHandle]):
    """The open sessions of the signed-in person, newest first; an owner or admin lists those of others, too."""

    noun = "a session"
    path = "/v1/auth/sessions"
    query = SessionsQuery

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, SessionHandle)

    def list(self, *, limit: int | None = None, **filters: Unpack[SessionFilterArgs]) -> Listing[SessionHandle]:
        """List the open sessions of the caller, of another person, or of everyone, newest first.

        Args:
            limit: how many at most; all by default.
            filters: `user_id` is the UUID of a person, and `everyone=True` lists those of all people.

        Returns:
            The sessions, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: there is no such filter, it does not take this value, or both are given.
            PermissionDenied: they are not the caller's own, and the caller is neither owner nor admin.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> [session.current for session in ann.sessions.list(limit=1)]
        [True]
        """
        return self._list(limit, filters)

    def end(self, session: SessionLike) -> None:
        """End a session: its tokens are invalid from the next request on; one that has ended stays so.

        Args:
            session: the session, or its id; one's own or, for an owner or admin, another person's.

        Raises:
            NotFound: the tenant has no such session.
            PermissionDenied: the caller may not end the sessions of this person.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> elsewhere = lab.as_("ann@demo.example", password="only for the demo")
        >>> ann.sessions.end(elsewhere.me().credential.id)
        """
        self._client.delete(f"{self.path}{path_of(arguments.read_id(session, self.noun))}")

    def _find(self, which: object) -> SessionHandle:
        wanted = arguments.read_id(which, self.noun)
        found = next((each for each in self if each.id == wanted), None)
        if found is None:
            raise NotFound("session", wanted)
        return found
