"""Runs every detector over a world once, and keeps scores and truths in columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

import numpy as np
from numpy.typing import NDArray

from attestlab.demos.risk_world.records import INNOCENT_LOGINS, LOGIN_ATTACKS, Kind, LabelledLogin
from attestlab.risk.logins.detector import LoginDetector
from attestlab.risk.logins.places import Locator
from attestlab.risk.logins.state.documents import MemoryDocuments
from benchmarks.detection.hard_world.parameters import HardParameters
from benchmarks.detection.hard_world.records import HARD_ATTACKS, HARD_INNOCENTS, HardKind, HardLogin
from benchmarks.detection.hard_world.world import HardWorld
from benchmarks.detection.rivals import AddressFailures, Ladder, LikelihoodRatio, Rival

LoginKind = Kind | HardKind
KINDS: tuple[LoginKind, ...] = (*Kind, *HardKind)
ATTACKS: tuple[LoginKind, ...] = (*LOGIN_ATTACKS, *HARD_ATTACKS)
INNOCENTS: tuple[LoginKind, ...] = (*INNOCENT_LOGINS, *HARD_INNOCENTS)
OURS, BEFORE = "ours", "before"
RIVALS = ("ladder", "address_failures", "likelihood_ratio")
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Column:
    """The logins of some worlds: truth, group and time of each, and its score by each detector.

    A group is what a bootstrap draws: the campaign of an attack, the user of an innocent login.
    """

    kind: Integers
    group: Integers
    at_s: Floats
    scores: dict[str, Floats]
    cost_us: float

    @property
    def is_attack(self) -> Flags:
        """Which logins are an attacker's."""
        attacks = [kind.is_attack for kind in KINDS]
        return np.array(attacks)[self.kind]

    @property
    def detectors(self) -> tuple[str, ...]:
        """Ours, the one of `with_before` if there is one, and the rivals."""
        return tuple(name for name in (OURS, BEFORE, *RIVALS) if name in self.scores)

    def save_scores(self, path: Path) -> None:
        """Write our scores, for a later detector to be compared with."""
        np.save(path, self.scores[OURS])

    def with_before(self, path: Path) -> Column:
        """Return the column with the scores that an earlier detector saved, of the same worlds."""
        return replace(self, scores={**self.scores, BEFORE: np.load(path)})


def run_world(parameters: HardParameters) -> Column:
    """Score each login of a world in the order of time, by every detector."""
    world = HardWorld(parameters)
    return run_logins(world.logins(), world)


def run_logins(logins: Iterable[LabelledLogin | HardLogin], locator: Locator) -> Column:
    """Score each login in the order given, by every detector."""
    detector, documents = LoginDetector(locator), MemoryDocuments()
    rivals: tuple[Rival, ...] = (Ladder(), AddressFailures(), LikelihoodRatio(locator))
    scores: dict[str, list[float]] = {name: [] for name in (OURS, *RIVALS)}
    kinds, groups, times, spent = [], [], [], 0.0
    groups_by_name: dict[str, int] = {}
    for each in logins:
        began = process_time()
        scores[OURS].append(detector.assess(each.login, documents).score)
        spent += process_time() - began
        for name, rival in zip(RIVALS, rivals, strict=True):
            scores[name].append(rival.score(each.login))
        kinds.append(KINDS.index(each.kind))
        groups.append(groups_by_name.setdefault(each.campaign_id or each.login.subject_id, len(groups_by_name)))
        times.append(each.login.at_ms / 1000)
    columns = {name: np.array(values) for name, values in scores.items()}
    return Column(np.array(kinds), np.array(groups), np.array(times), columns, spent / max(1, len(kinds)) * 1e6)


def join_worlds(worlds: list[Column]) -> Column:
    """Put worlds under each other; their groups stay apart."""
    offsets = np.cumsum([0, *(int(world.group.max()) + 1 for world in worlds)])
    return Column(
        np.concatenate([world.kind for world in worlds]),
        np.concatenate([world.group + offset for world, offset in zip(worlds, offsets[:-1], strict=True)]),
        np.concatenate([world.at_s for world in worlds]),
        {name: np.concatenate([world.scores[name] for world in worlds]) for name in worlds[0].scores},
        float(np.mean([world.cost_us for world in worlds])),
    )
