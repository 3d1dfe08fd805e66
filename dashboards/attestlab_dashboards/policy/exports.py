"""What the panes of the policy simulator download: the parts of a report, as tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.handles.policies import SimulationHandle
from attestlab.core.errors import NotFound, ValidationFailed
from attestlab_dashboards.policy.queries import load_replay, load_sweep
from attestlab_dashboards.policy.state import PolicyState


def export_part(name: str) -> Callable[[Lab, PolicyState], Records[Any]]:
    """Return what exports a part of the simulation, such as `flips`."""

    def export(lab: Lab, state: PolicyState) -> Records[Any]:
        part: Records[Any] = getattr(_require_report(lab, state), name)
        return part

    return export


def export_sweep(lab: Lab, state: PolicyState) -> Records[Any]:
    """Export the results for every value of the threshold.

    Raises:
        NotFound: the draft has no threshold.
    """
    _require_report(lab, state)
    report = load_sweep(lab, state, 1).report
    if report is None or report.sweep is None:
        raise NotFound("threshold", "of the draft")
    return report.sweep


def _require_report(lab: Lab, state: PolicyState) -> SimulationHandle:
    if state.is_draft_lost:
        raise ValidationFailed("The draft is too long for a link, so it cannot be downloaded by one. Save it first.")
    replay = load_replay(lab, state)
    if replay.report is None:
        first = replay.problems[0]
        raise ValidationFailed(f"The draft has an error in line {first.line}: {first.message}")
    return replay.report
