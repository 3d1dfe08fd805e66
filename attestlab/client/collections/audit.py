"""`lab.audit`: the tenant's audit trail, a hash chain."""

from __future__ import annotations

from typing import ClassVar, Unpack

from attestlab.audit.shapes import AuditEventOut, TrailQuery
from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.collections.base import DatasetCollection
from attestlab.client.collections.filters import AuditFilterArgs
from attestlab.client.handles.base import Handle
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import ServiceClient
from attestlab.core.errors import NotFound


class AuditEventHandle(AuditEventOut, Handle):
    """A line of the audit trail: who changed what, and the hash that chains it to the line before."""

    shown_fields: ClassVar = ("timestamp", "actor_type", "actor_id", "action", "resource_type", "outcome")


@name_in_examples("audit")
class AuditCollection(DatasetCollection[AuditEventHandle]):
    """The lines of the tenant's audit trail, newest first."""

    noun = "an audit line"
    path = "/v1/audit/events"
    query = TrailQuery
    dataset = "audit"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, AuditEventHandle)

    def list(self, *, limit: int | None = None, **filters: Unpack[AuditFilterArgs]) -> Listing[AuditEventHandle]:
        """List the audit lines that match all filters, newest first.

        Args:
            limit: how many at most; all by default.
            filters: such as `action="key.rotate"`, `since="2026-11-01"`; each matches exactly. None is no filter.

        Returns:
            The lines, each with the hash that chains it to the line before; they are read page by page when they are
            wanted.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value; the message names the limit.

        >>> [*lab.audit.list(action="no.such.action")]
        []
        """
        return self._list(limit, filters)

    def _find(self, which: object) -> AuditEventHandle:
        wanted = arguments.read_id(which, self.noun)
        found = next((each for each in self if each.id == wanted), None)
        if found is None:
            raise NotFound("audit line", wanted)
        return found
