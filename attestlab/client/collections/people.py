"""`lab.people`: the members of the tenant, by whose names a notebook or a page says who did something."""

from __future__ import annotations

from typing import ClassVar

from attestlab.client.collections.base import Collection
from attestlab.client.handles.base import Handle
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import ServiceClient
from attestlab.core.encoding import quote
from attestlab.core.errors import NotFound
from attestlab.orgs.shapes import UserOut


class PersonHandle(UserOut, Handle):
    """A member of the tenant; of a removed one only the id remains."""

    shown_fields: ClassVar = ("name", "email", "roles", "status", "id")


@name_in_examples("people")
class PeopleCollection(Collection[PersonHandle]):
    """The tenant's members, newest first; `lab.people["ann@demo.example"]` finds one by e-mail address or id.

    It needs the scope `users:read`.
    """

    noun = "a person"
    path = "/v1/users"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, PersonHandle)

    def names(self) -> dict[str, str]:
        """Return the names of all members by their id as text, as `actor_id` and the like have it.

        Removed members have none, so they are left out.

        >>> {"Ann Keller", "Ben Okafor", "Rita Sousa"} <= set(lab.people.names().values())
        True
        """
        return {str(person.id): person.name for person in self if person.status != "REMOVED"}

    def _find(self, which: object) -> PersonHandle:
        if not isinstance(which, str) or "@" not in which:
            return super()._find(which)
        address = which.strip().lower()
        found = next((person for person in self if person.email.lower() == address), None)
        if found is None:
            raise NotFound("person", quote(which))
        return found
