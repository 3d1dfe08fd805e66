"""What the panes of the policy simulator download: parts of a report, which a link must be able to carry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.handles.policies import SimulationHandle
from attestlab.core.errors import ValidationFailed
from attestlab_dashboards.policy.documents import DraftProblem
from attestlab_dashboards.policy.queries import load_replay
from attestlab_dashboards.policy.state import PolicyState


def export_part(name: str) -> Callable[[Lab, PolicyState], Records[Any]]:
    """Return what exports a part of the simulation, such as `flips`."""

    def export(lab: Lab, state: PolicyState) -> Records[Any]:
        part: Records[Any] = getattr(require_report(lab, state), name)
        return part

    return export


def require_report(lab: Lab, state: PolicyState) -> SimulationHandle:
    """Return the report of the replay.

    Raises:
        ValidationFailed: the text has an error, or no link can carry it.
    """
    require_link(state)
    replay = load_replay(lab, state)
    if replay.report is None:
        raise refuse(replay.problems)
    return replay.report


def require_link(state: PolicyState) -> None:
    """Refuse a draft that was too long for its link.

    Raises:
        ValidationFailed: it was.
    """
    if state.is_draft_lost:
        raise ValidationFailed("The draft is too long for a link, so it cannot be downloaded by one. Save it first.")


def refuse(problems: Sequence[DraftProblem]) -> ValidationFailed:
    """Make the error that names the first problem of a draft."""
    return ValidationFailed(f"The draft has an error in line {problems[0].line}: {problems[0].message}")
