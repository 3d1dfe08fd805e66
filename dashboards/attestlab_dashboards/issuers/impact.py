"""What a change would concern, counted before a person is asked for its reason."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from attestlab import Lab
from attestlab.client.handles.issuers import IssuerHandle, IssuerRequestHandle
from attestlab.core.encoding import format_time
from attestlab.core.errors import NotFound
from attestlab_dashboards.issuers.panes.loss import KeyLoss, load_loss
from attestlab_dashboards.issuers.state import KEY_ASKS, REQUEST_ASKS, RESEND, IssuerState, KeyName
from attestlab_dashboards.issuers.viewer import Viewer, read_viewer_with_names
from attestlab_dashboards.lake_query import LakeQuery

LOOKED_DAYS: Final = 7
_AROUND: Final = """SELECT
  (SELECT coalesce(sum(count), 0)::BIGINT FROM verifications
   WHERE issuer_id = $issuer_id AND verified_at >= CAST($since AS TIMESTAMPTZ)) AS verifications,
  (SELECT count(*) FROM policies WHERE status = 'ACTIVE'
   AND (target_id = $issuer_id OR contains(document::VARCHAR, $issuer_id))) AS policies"""


class ChangeImpact(NamedTuple):
    """What a change of `issuer`, of its key `kid` or by `request` concerns.

    `valid` counts the attestations that are VALID now, of the key alone if there is one; `verifications` those of the
    last seven days; `policies` the active ones that name the issuer. Of another tenant's issuer only the request
    knows, so `issuer`, `verifications` and `policies` are None. Without `since` the time of a loss is not given.
    """

    now: datetime
    viewer: Viewer
    issuer: IssuerHandle | None
    kid: str
    request: IssuerRequestHandle | None
    attestations: int
    valid: int
    active_keys: int
    verifications: int | None
    policies: int | None
    loss: KeyLoss | None
    since: datetime | None


def load_impact(lab: Lab, state: IssuerState) -> ChangeImpact | None:
    """Count the impact of the change that the dialog asks about; None while there is no such dialog.

    Raises:
        NotFound: there is no such issuer, key or request.
    """
    if not state.about or state.ask == RESEND:
        return None
    request = _find_request(lab, state.about) if state.ask in REQUEST_ASKS else None
    issuer_id, kid = _name_subject(state, request)
    try:
        issuer = lab.issuers[issuer_id]
    except NotFound:
        if request is None:
            raise
        return _read_foreign_impact(lab, request)
    return _count_impact(lab, state, issuer, kid, request)


def _count_impact(
    lab: Lab, state: IssuerState, issuer: IssuerHandle, kid: str, request: IssuerRequestHandle | None
) -> ChangeImpact:
    now = lab.now()
    radius = lab.issuers.blast_radius(issuer, kid or None)
    since = format_time(now - timedelta(days=LOOKED_DAYS))
    (around,) = LakeQuery.bind(_AROUND, {"issuer_id": str(issuer.id), "since": since}).read_rows(lab)
    return ChangeImpact(
        now,
        read_viewer_with_names(lab),
        issuer,
        kid,
        request,
        radius.attestations,
        radius.valid,
        sum(key.status == "active" for key in issuer.keys),
        int(str(around["verifications"])),
        int(str(around["policies"])),
        _load_loss(lab, state, now) if state.ask == "lose" else None,
        state.since,
    )


def _load_loss(lab: Lab, state: IssuerState, now: datetime) -> KeyLoss | None:
    """Count the loss of the dialog's key; if its time is not given, all that is in the log was logged before it."""
    return load_loss(lab, state.replace(key=state.about, since=state.since or now + timedelta(days=1)))


def _read_foreign_impact(lab: Lab, request: IssuerRequestHandle) -> ChangeImpact:
    """Return what the request itself counted: a reviewer of the platform decides about issuers of other tenants."""
    counted = request.impact
    counts = (counted.attestations, counted.valid, counted.active_keys)
    return ChangeImpact(lab.now(), read_viewer_with_names(lab), None, "", request, *counts, None, None, None, None)


def _name_subject(state: IssuerState, request: IssuerRequestHandle | None) -> tuple[str, str]:
    if request is not None:
        return str(request.target_issuer_id), ""
    return KeyName.parse(state.about) if state.ask in KEY_ASKS else (state.about, "")


def _find_request(lab: Lab, request_id: str) -> IssuerRequestHandle:
    found = next((request for request in lab.issuers.requests() if str(request.id) == request_id), None)
    if found is None:
        raise NotFound("request", request_id)
    return found
