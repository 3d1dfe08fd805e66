"""What the panes of the policy simulator download: the parts of a report, as tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.handles.policies import SimulationHandle
from attestlab.core.errors import NotFound, ValidationFailed
from attestlab.simulation.shapes import SweptOut
from attestlab_dashboards.policy.history import load_history
from attestlab_dashboards.policy.queries import load_replay, load_sweep
from attestlab_dashboards.policy.state import PolicyState


def export_part(name: str) -> Callable[[Lab, PolicyState], Records[Any]]:
    """Return what exports a part of the simulation, such as `flips`."""

    def export(lab: Lab, state: PolicyState) -> Records[Any]:
        part: Records[Any] = getattr(_require_report(lab, state), name)
        return part

    return export


class IssuerFlips(BaseModel):
    """How many decisions about an issuer flip each way."""

    issuer_id: str
    issuer: str
    newly_allowed: int
    newly_denied: int


def export_issuers(lab: Lab, state: PolicyState) -> Records[IssuerFlips]:
    """Export the flips by issuer.

    Raises:
        NotFound: the flips cannot be counted by issuer.
    """
    _require_report(lab, state)
    history = load_history(lab, state)
    if history is None:
        raise NotFound("issuers", "of these decisions")
    rows = (
        IssuerFlips(issuer_id=issuer_id, issuer=name, newly_allowed=flips.opened, newly_denied=flips.closed)
        for issuer_id, name, flips in history.by_issuer
    )
    return Records(rows, IssuerFlips)


def export_sweep(lab: Lab, state: PolicyState) -> Records[SweptOut]:
    """Export the results for every value of the threshold.

    Raises:
        NotFound: the draft has no threshold.
    """
    return _export_sweep(lab, state, 1)


def export_map(lab: Lab, state: PolicyState) -> Records[SweptOut]:
    """Export the results for every pair of values of two thresholds.

    Raises:
        NotFound: the draft has fewer thresholds.
    """
    return _export_sweep(lab, state, 2)


def _export_sweep(lab: Lab, state: PolicyState, count: int) -> Records[SweptOut]:
    _require_report(lab, state)
    values = load_sweep(lab, state, count).values
    if values is None:
        raise NotFound("threshold" if count == 1 else "second threshold", "of the draft")
    return values


def _require_report(lab: Lab, state: PolicyState) -> SimulationHandle:
    if state.is_draft_lost:
        raise ValidationFailed("The draft is too long for a link, so it cannot be downloaded by one. Save it first.")
    replay = load_replay(lab, state)
    if replay.report is None:
        first = replay.problems[0]
        raise ValidationFailed(f"The draft has an error in line {first.line}: {first.message}")
    return replay.report
