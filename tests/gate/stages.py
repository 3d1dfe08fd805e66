"""A stage is one run of pytest. The gate runs the stages of a command one after the other, until one is red."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from gate import chance, costs
from gate.chance import Failure, Verdict
from gate.changes import ROOT, Changes, find_changes
from gate.costs import FOLDER, Form, Measured
from gate.reporting import say, say_verdict, write_ledger
from gate.running import FAILED, NOTHING, PASSED, Ended, run_pytest
from gate.selecting import write_selection
from gate.tiers import Selection

BUILD = ROOT / "build"
CPU_S_PER_MINUTE = 120  # of two processors; a busy machine takes longer, and is judged by this
TRIES_ALONE = 2
SELECTING = ("-p", "gate.selecting")
MEASURING = ("-p", "gate.measuring", *SELECTING)
WITH_TWO_PROCESSES = ("-n", "2", "--dist", "worksteal")
ALONE = ("-p", "no:cacheprovider", "-p", "no:xdist")
NOTEBOOK = ("--nbval", "--nbval-current-env")
NO_NOTEBOOK = ("-p", "no:nbval")  # its import takes two seconds of processor time in each process


@dataclass(frozen=True)
class Stage:
    """The form of the tests, which of them, the files in which they are, and further arguments for pytest."""

    form: Form
    selection: Selection
    paths: Sequence[str] = ()
    arguments: Sequence[str] = ()

    @classmethod
    def of_tests(cls, form: Form, tests: set[str], arguments: Sequence[str] = ()) -> Stage:
        """Return the stage of exactly these tests; pytest collects their files alone."""
        files = sorted({path for test in tests if (ROOT / (path := file_of(test))).exists()})
        return cls(form, Selection(wanted=frozenset(tests), share=(0, 0)), files, arguments)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to run: no path means all of `tests`, which the selection narrows."""
        selects_none = not self.selection.wanted and self.selection.share == (0, 0)
        return not self.paths and (self.form == Form.NOTEBOOK or selects_none)

    @property
    def command(self) -> list[str]:
        """The arguments that decide how a test runs, in the stage and alone."""
        return [*(NOTEBOOK if self.form == Form.NOTEBOOK else NO_NOTEBOOK), *self.arguments]


class Gate:
    """Runs stages, and keeps what they took and showed.

    Args:
        options: further arguments for each pytest.
        is_landing: whether a chance that was listed for too long refuses (`.ci/run` alone).
    """

    def __init__(self, options: Sequence[str] = (), *, is_landing: bool = False) -> None:
        self.changes: Changes = find_changes()
        self.ended = NOTHING
        self.verdict = Verdict([], [])
        self.options = options
        self._is_landing = is_landing
        self._numbers = count()
        self._began = time.monotonic()

    def run(self, stage: Stage, plugins: Sequence[str] = MEASURING) -> tuple[Ended, Path]:
        """Run pytest; returns how it ended, and the folder with what was measured: costs and failures."""
        folder = BUILD / "gate" / f"{next(self._numbers)}-{stage.form}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if stage.is_empty:
            return NOTHING, folder
        environment = {FOLDER: str(folder), **write_selection(stage.selection, folder / "selection.json")}
        processes = () if stage.form == Form.NOTEBOOK else WITH_TWO_PROCESSES
        arguments = [*plugins, *processes, *stage.command, *self.options, *stage.paths]
        ended = run_pytest(arguments, environment)
        self.ended += ended
        return ended, folder

    def judge(self, stage: Stage) -> Measured | None:
        """Run a stage and judge what failed; returns what its tests cost, or None where the command is red."""
        ended, folder = self.run(stage)
        failures = _read_failures(folder)
        if ended.code not in (PASSED, FAILED) or (ended.code == FAILED and not failures):
            self.verdict.red.append(f"pytest ended with exit code {ended.code}.")
            return None
        found = chance.judge(
            failures,
            touched=self.changes.test_files,
            passes_alone=self._try_alone(stage),
            listed=chance.read_listed(),
            is_landing=self._is_landing,
            earlier=self.verdict.flaky,
        )
        self.verdict.flaky += found.flaky
        self.verdict.red += found.red
        return None if self.verdict.red else costs.read_measured(folder)

    def _try_alone(self, stage: Stage) -> Callable[[Failure], int]:
        """Return a function that runs a test in a fresh process and returns the number of the try that passed."""

        def passes_alone(failure: Failure) -> int:
            test = file_of(failure.test) if stage.form == Form.NOTEBOOK else failure.test
            for number in range(1, TRIES_ALONE + 1):
                say(f"Again, alone, {number} of {TRIES_ALONE}: {test}")
                ended = run_pytest([*ALONE, *stage.command, *self.options, test], {})
                self.ended += Ended(PASSED, ended.wall_s, ended.cpu_s)
                if ended.code == PASSED:
                    return number
            return 0

        return passes_alone

    def report(self, command: str, limit_min: float) -> None:
        """Say what a command took, beside its limit, and what its tests left behind."""
        minutes = self.ended.cpu_s / CPU_S_PER_MINUTE
        over = "" if minutes <= limit_min else ", OVER ITS LIMIT"
        say(
            f"make {command}: {time.monotonic() - self._began:.0f} s, {self.ended.cpu_s:.0f} s of processor time; "
            f"{minutes:.1f} of {limit_min:g} minutes on two quiet processors{over}."
        )
        for left in self.ended.left_behind:
            say(f"Left behind by a test, and killed: {left[:200]}")

    def finish(self, command: str, limit_min: float) -> int:
        """Say the verdict and write the ledger; returns the exit code."""
        self.report(command, limit_min)
        say_verdict(self.verdict)
        write_ledger(self.verdict, BUILD / "flaky.jsonl")
        return FAILED if self.verdict.red else PASSED


def file_of(test: str) -> str:
    """Return the file of a test.

    >>> file_of("tests/log/test_note.py::test_a[1]")
    'tests/log/test_note.py'
    """
    return test.partition("::")[0]


def _read_failures(folder: Path) -> list[Failure]:
    return [
        Failure(line["failed"], line["when"], line["took_s"], line["place"], line["message"], line["report"])
        for line in costs.read_lines(folder)
        if "failed" in line
    ]
