"""Sends each case in growing sizes, then several times concurrently, and reports broken rules."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.stall import rules
from benchmarks.stall.server_under_attack import Outcome, ServerUnderAttack
from benchmarks.stall.shapes import Case
from benchmarks.stall.targets import Target, list_targets
from benchmarks.stall.world import AttackedInstallation

SIZES = (16_000, 32_000, 480_000, 960_000)
QUICK_SIZES = (16_000, 960_000)
HALF_OF = {32_000: 16_000, 960_000: 480_000}
AT_ONCE = 8
MAX_WALL_S = 10.0  # a case that takes this long is not made larger
MAX_WALL_AT_ONCE_S = 2.0  # of one request; longer ones queue for child processes


class Attack:
    """One run over every route."""

    def __init__(
        self, world: AttackedInstallation, server: ServerUnderAttack, *, only: str, quick: bool, verbose: bool
    ) -> None:
        self._world, self._server = world, server
        self._only, self._verbose = only, verbose
        self._sizes = QUICK_SIZES if quick else SIZES

    def run(self) -> int:
        """Attack every route, print each defect, and return their number."""
        return sum(self._attack(target) for target in list_targets(self._world))

    def _attack(self, target: Target) -> int:
        cases = [case for case in target.cases if self._only in f"{target.name} {case.name}"]
        return sum(self._report(target, case) for case in cases)

    def _report(self, target: Target, case: Case) -> int:
        outcomes: list[Outcome] = []
        defects = list(dict.fromkeys(self._find_defects(target, case, outcomes)))
        for defect in defects:
            print(f"DEFECT  {target.name}  {case.name}  {outcomes[-1].status}  {defect}", flush=True)
        if self._verbose:
            print(f"{'bad' if defects else 'ok'}  {target.name}  {case.name}  {outcomes[-1]}", flush=True)
        return len(defects)

    def _find_defects(self, target: Target, case: Case, outcomes: list[Outcome]) -> Iterator[str]:
        by_size: dict[int, Outcome] = {}
        for size in self._sizes if target.has_body else self._sizes[:1]:
            body = case.make(size)
            outcome = by_size[size] = self._server.send(target, body)
            outcomes.append(outcome)
            yield from self._judge(target, body, outcome)
            half = HALF_OF.get(size)
            if half in by_size:
                yield from rules.find_superlinear_growth(
                    self._server, target, case, (half, size), (by_size[half], outcome)
                )
            if outcome.status == 401 or outcome.wall_s > MAX_WALL_S:
                return
        yield from self._judge_concurrent(target, body, outcome)

    def _judge(self, target: Target, body: bytes, outcome: Outcome) -> Iterator[str]:
        yield from rules.find_stall(self._server, target, body, outcome)
        yield from rules.find_oversized_response(target, outcome)
        yield from rules.find_server_error(outcome)

    def _judge_concurrent(self, target: Target, body: bytes, alone: Outcome) -> Iterator[str]:
        """Send several requests concurrently if together they could cause a stall."""
        if AT_ONCE * alone.own_cpu_s < rules.MAX_STALL_MS / 1000 or alone.wall_s > MAX_WALL_AT_ONCE_S:
            return
        many = self._server.send(target, body, at_once=AT_ONCE)
        yield from rules.find_stall(self._server, target, body, many, at_once=AT_ONCE)
