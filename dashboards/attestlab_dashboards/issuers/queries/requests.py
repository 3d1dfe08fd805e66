"""Requests to change the standing of issuers: those that are open, and what an issuer's name is."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.handles.issuers import IssuerRequestHandle
from attestlab.core.errors import PermissionDenied
from attestlab_dashboards.issuers.queries.instant import read_now
from attestlab_dashboards.issuers.queries.viewer import Viewer, read_viewer_with_names
from attestlab_dashboards.issuers.state import IssuerState

OPEN: Final = ("APPROVED", "PENDING")  # approved ones first: they wait for one click
NAMES_SQL: Final = "SELECT id, name FROM issuers WHERE list_contains($ids, id)"


class OpenRequests(NamedTuple):
    """The open requests with the names of their issuers; `are_visible` is false for a person who may not see them."""

    now: datetime
    viewer: Viewer
    requests: tuple[IssuerRequestHandle, ...]
    names: dict[str, str]
    are_visible: bool = True


def load_open_requests(lab: Lab, _state: IssuerState) -> OpenRequests:
    """Load the requests that wait for an approval or for their execution."""
    viewer, now = read_viewer_with_names(lab), read_now(lab)
    try:
        found = [request for status in OPEN for request in lab.issuers.requests(status=status)]
    except PermissionDenied:
        return OpenRequests(now, viewer, (), {}, are_visible=False)
    return OpenRequests(now, viewer, tuple(found), read_names(lab, {str(each.target_issuer_id) for each in found}))


def export_open_requests(lab: Lab, _state: IssuerState) -> Records[IssuerRequestHandle]:
    """Export the requests that are open.

    Raises:
        PermissionDenied: the person may not see them.
    """
    return Records((request for status in OPEN for request in lab.issuers.requests(status=status)), IssuerRequestHandle)


def write_requests_python(_state: IssuerState) -> str:
    """Write the calls of the facade that list them; without any, `IssuerRequest` has the columns."""
    return (
        f"requests = [each for status in {OPEN!r} for each in lab.issuers.requests(status=status)]\n"
        "[(each.type, each.target_issuer_id, each.status, each.reason) for each in requests]"
    )


def read_all_requests(lab: Lab) -> dict[str, IssuerRequestHandle]:
    """Return all requests by id; none for a person who may not see them."""
    try:
        return {str(request.id): request for request in lab.issuers.requests()}
    except PermissionDenied:
        return {}


def read_names(lab: Lab, ids: set[str]) -> dict[str, str]:
    """Return the names of the tenant's issuers by id; a platform reviewer's requests may be of other tenants."""
    if not ids:
        return {}
    return {str(row["id"]): str(row["name"]) for row in lab.sql(NAMES_SQL, {"ids": sorted(ids)})}
