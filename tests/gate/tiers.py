"""Which tests a command runs, by their cost: `make quick`, `make test`, and the shards that share what is dear."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from math import ceil
from pathlib import Path
from typing import TypeVar

from gate.costs import LISTED_FROM_S, Costs, Form

CHEAP_BELOW_S = 0.2
MATRIX_CASES = 5  # a function with this many cases of `LISTED_FROM_S` and more keeps three in `make test`
SHARD_S = 480.0  # processor seconds of a shard's own tests; what is left of its limit is for folders that changed
MAX_UNIT_S = 60.0
Key = TypeVar("Key")
REPRESENTATIVES = Path(__file__).parents[1] / "representatives.toml"


@dataclass(frozen=True)
class Selection:
    """Tests to run: those wanted, and of those that are neither wanted nor unwanted, a share `(number, of)`."""

    wanted: frozenset[str] = frozenset()
    unwanted: frozenset[str] = frozenset()
    share: tuple[int, int] = (0, 1)


@dataclass(frozen=True)
class Unit:
    """Tests of one form and file, which share fixtures and stay together."""

    form: Form
    file: str
    tests: tuple[str, ...]
    seconds: float


@dataclass
class Shard:
    """The tests of a shard, by form."""

    seconds: float = 0.0
    tests: dict[Form, set[str]] = field(default_factory=lambda: {form: set() for form in Form})

    def add(self, unit: Unit) -> None:
        """Add the tests of a unit."""
        self.tests[unit.form].update(unit.tests)
        self.seconds += unit.seconds


def read_representatives(file: Path = REPRESENTATIVES) -> list[str]:
    """Return the dear tests, and the notebook, that `make test` runs for their kinds."""
    return [entry["test"] for entry in tomllib.loads(file.read_text())["representative"]]


def select_quick(costs: Costs) -> Selection:
    """Return the tests of `make quick`: all that are not listed."""
    return Selection(unwanted=frozenset(costs[Form.BOUNDED]))


def select_cheap(costs: Costs, representatives: Collection[str]) -> Selection:
    """Return the tests of `make test`: all but the dear ones."""
    return Selection(unwanted=frozenset(find_dear(costs[Form.BOUNDED], representatives)))


def find_dear(bounded: Mapping[str, float], representatives: Collection[str]) -> set[str]:
    """Return the tests that only shards run: dear by themselves, or the further cases of a dear matrix."""
    dear = {test for test, seconds in bounded.items() if seconds >= CHEAP_BELOW_S}
    matrices: dict[str, list[str]] = defaultdict(list)
    for test in sorted(test for test in bounded.keys() - dear if bounded[test] >= LISTED_FROM_S):
        matrices[test.partition("[")[0]].append(test)
    for cases in matrices.values():
        if len(cases) >= MATRIX_CASES:
            dear |= set(cases) - {cases[0], cases[len(cases) // 2], cases[-1]}
    return dear - set(representatives)


def cut_into_shards(costs: Costs, representatives: Collection[str]) -> list[Shard]:
    """Cut dear tests, full forms and notebooks into as few shards of `SHARD_S` as they need, equal in cost."""
    dear = find_dear(costs[Form.BOUNDED], representatives)
    units = [
        *group_into_units(Form.BOUNDED, {test: costs[Form.BOUNDED][test] for test in dear}),
        *group_into_units(Form.FULL, costs[Form.FULL]),
        *group_into_units(Form.NOTEBOOK, costs[Form.NOTEBOOK]),
    ]
    shards = [Shard() for _ in range(max(1, ceil(sum(unit.seconds for unit in units) / SHARD_S)))]
    for unit in sorted(units, key=lambda unit: (-unit.seconds, unit.tests)):
        min(shards, key=lambda shard: shard.seconds).add(unit)
    return shards


def group_into_units(form: Form, tests: Mapping[str, float]) -> Iterable[Unit]:
    """Yield the tests of each file together, in parts where a file would fill too much of a shard."""
    files: dict[str, list[str]] = defaultdict(list)
    for test in sorted(tests):
        files[test.partition("::")[0]].append(test)
    return chain.from_iterable(_split(form, file, found, tests) for file, found in sorted(files.items()))


def _split(form: Form, file: str, found: list[str], tests: Mapping[str, float]) -> Iterable[Unit]:
    part: list[str] = []
    seconds = 0.0
    for test in found:
        if part and seconds + tests[test] > MAX_UNIT_S:
            yield Unit(form, file, tuple(part), seconds)
            part, seconds = [], 0.0
        part.append(test)
        seconds += tests[test]
    yield Unit(form, file, tuple(part), seconds)


def take_within(tests: Mapping[Key, float], budget_s: float) -> tuple[set[Key], set[Key]]:
    """Return as many tests as the budget pays for, the cheapest first, and those that it does not pay for."""
    taken: set[Key] = set()
    for test, seconds in sorted(tests.items(), key=lambda each: (each[1], str(each[0]))):
        budget_s -= max(seconds, LISTED_FROM_S / 2)
        if budget_s < 0:
            break
        taken.add(test)
    return taken, tests.keys() - taken
