"""Runs every detector over worlds, and joins the results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from attestlab.demos.risk_world.records import INNOCENT_LOGINS, LOGIN_ATTACKS, Kind, LabelledLogin
from attestlab.risk.judgement.scored_logins import OURS, JudgedLogin, ScoredLogins, score_logins
from attestlab.risk.logins.places import Locator
from benchmarks.detection.hard_world.parameters import HardParameters
from benchmarks.detection.hard_world.records import HARD_ATTACKS, HARD_INNOCENTS, HardKind, HardLogin
from benchmarks.detection.hard_world.world import HardWorld

LoginKind = Kind | HardKind
KINDS: tuple[LoginKind, ...] = (*Kind, *HardKind)
ATTACKS: tuple[LoginKind, ...] = (*LOGIN_ATTACKS, *HARD_ATTACKS)
INNOCENTS: tuple[LoginKind, ...] = (*INNOCENT_LOGINS, *HARD_INNOCENTS)
BEFORE = "before"


def run_world(parameters: HardParameters) -> ScoredLogins:
    """Score each login of a world in the order of time, by every detector."""
    world = HardWorld(parameters)
    return run_logins(world.logins(), world)


def run_logins(logins: Iterable[LabelledLogin | HardLogin], locator: Locator) -> ScoredLogins:
    """Score each login in the order given, by every detector."""
    judged = (
        JudgedLogin(each.login, each.kind, each.kind.is_attack, each.campaign_id or each.login.subject_id)
        for each in logins
    )
    return score_logins(judged, locator, KINDS)


def save_scores(logins: ScoredLogins, path: Path) -> None:
    """Write our scores, for a later detector to be compared with."""
    np.save(path, logins.scores[OURS])


def add_before(logins: ScoredLogins, path: Path) -> ScoredLogins:
    """Return the logins with the scores that an earlier detector saved, of the same worlds."""
    return logins.with_scores(BEFORE, np.load(path))


def join_worlds(worlds: list[ScoredLogins]) -> ScoredLogins:
    """Put worlds under each other; their groups stay apart."""
    offsets = np.cumsum([0, *(int(world.group.max()) + 1 for world in worlds)])
    return ScoredLogins(
        worlds[0].kinds,
        np.concatenate([world.kind for world in worlds]),
        np.concatenate([world.is_attack for world in worlds]),
        np.concatenate([world.group + offset for world, offset in zip(worlds, offsets[:-1], strict=True)]),
        np.concatenate([world.at_s for world in worlds]),
        {name: np.concatenate([world.scores[name] for world in worlds]) for name in worlds[0].scores},
        float(np.mean([world.cost_us for world in worlds])),
    )
