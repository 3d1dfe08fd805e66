"""The issuer of the open drawer: its keys, what depends on it, and its open requests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from attestlab import Lab
from attestlab.client.handles.issuers import BlastRadiusHandle, IssuerHandle, IssuerRequestHandle
from attestlab.core.errors import PermissionDenied
from attestlab_dashboards.issuers.queries.instant import read_now
from attestlab_dashboards.issuers.queries.requests import OPEN
from attestlab_dashboards.issuers.queries.viewer import Viewer, read_viewer_with_names
from attestlab_dashboards.issuers.state import IssuerState


class IssuerSubject(NamedTuple):
    """An issuer with all that its drawer shows; `signed` counts the attestations of each kid."""

    now: datetime
    viewer: Viewer
    issuer: IssuerHandle
    radius: BlastRadiusHandle
    signed: Mapping[str, int]
    requests: tuple[IssuerRequestHandle, ...]
    age_limit: int


def load_subject(lab: Lab, state: IssuerState) -> IssuerSubject | None:
    """Load the issuer of the drawer; None while it is closed.

    Raises:
        NotFound: the tenant has no such issuer.
    """
    if not state.issuer:
        return None
    issuer = lab.issuers[state.issuer]
    query = "SELECT kid, count(*) AS attestations FROM attestations WHERE issuer_id = $issuer_id GROUP BY ALL"
    rows = lab.sql(query, {"issuer_id": state.issuer})
    return IssuerSubject(
        read_now(lab),
        read_viewer_with_names(lab),
        issuer,
        issuer.blast_radius(),
        {str(row["kid"]): int(str(row["attestations"])) for row in rows},
        _read_open_requests(lab, issuer),
        state.age_limit,
    )


def _read_open_requests(lab: Lab, issuer: IssuerHandle) -> tuple[IssuerRequestHandle, ...]:
    try:
        return tuple(request for request in lab.issuers.requests(issuer) if request.status in OPEN)
    except PermissionDenied:
        return ()
