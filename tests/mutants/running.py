"""Plants mutants in copies of the tree and runs their nearest tests there."""

from __future__ import annotations

import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from time import monotonic

from mutants.declared import DoesNotApply, Mutant
from support.vectors import DEFAULT_FOLDER

TESTS_TIMEOUT_S = 600
WHOLE_TIMEOUT_S = 3600
_LEFT_OUT = (".git", ".venv", ".hypothesis", ".*_cache", ".demo", "__pycache__", "build", "dist")
# Both engines run the same code above the records; a mutant of what is PostgreSQL's alone names its tests with -k.
_ON_SQLITE = ("-k", "not postgresql")
PASSED, FAILED = 0, 1
# Loading every installed plugin takes longer than many a test.
_PLUGINS = ("-p", "pytest_timeout", "-p", "xdist", "-p", "no:cacheprovider")


class Outcome(StrEnum):
    """What became of a mutant."""

    CAUGHT = "caught"
    CAUGHT_BY_WHOLE = "caught by the whole suite"
    SURVIVED = "SURVIVED"
    STALE = "STALE"
    BROKEN = "BROKEN"  # its nearest tests could not be run, so they say nothing


@dataclass(frozen=True)
class Result:
    """A mutant, its outcome, the first test that failed (or why there is none), and the seconds it took."""

    mutant: Mutant
    outcome: Outcome
    evidence: str
    took_s: float


def hunt(mutants: Iterable[Mutant], *, tree: Path, processes: int, whole: bool) -> Iterator[Result]:
    """Yield the result of each mutant as it comes; each of the `processes` works in a copy of `tree`.

    Args:
        mutants: what to plant.
        tree: the root of the project; it is copied and stays as it is.
        processes: how many mutants are tested at once.
        whole: whether a mutant that survives its nearest tests meets the whole suite.
    """
    with copies(tree, processes) as free, ThreadPoolExecutor(processes) as pool:
        running = [pool.submit(_judged, mutant, free, whole) for mutant in mutants]
        for done in as_completed(running):
            yield done.result()


def baseline(mutants: Iterable[Mutant], *, tree: Path, processes: int) -> list[str]:
    """Run the nearest tests of all mutants without any; returns those that fail, so that they catch nothing."""
    groups = _grouped([mutant.tests for mutant in mutants], processes)
    with copies(tree, processes) as free, ThreadPoolExecutor(processes) as pool:
        return [failing for group in pool.map(lambda tests: _failing(tests, free), groups) for failing in group]


def _grouped(wanted: Iterable[tuple[str, ...]], count: int) -> list[tuple[str, ...]]:
    """One group for each process, and one for each selection by -k, which would select among the others too."""
    selected = sorted({tests for tests in wanted if "-k" in tests})
    named = sorted({test for tests in wanted if "-k" not in tests for test in tests})
    return [*(tuple(named[start::count]) for start in range(min(count, len(named)))), *selected]


def _failing(tests: tuple[str, ...], free: queue.Queue[Path]) -> list[str]:
    with _one_of(free) as copy:
        done = run_tests(copy, tests, at_first_failure=False, timeout_s=WHOLE_TIMEOUT_S)
    failures = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return failures if failures or done.returncode == PASSED else [done.stdout.strip()[-400:]]


def _judged(mutant: Mutant, free: queue.Queue[Path], whole: bool) -> Result:
    began = monotonic()
    with _one_of(free) as copy:
        try:
            with _planted(mutant, copy):
                outcome, evidence = _judge(mutant, copy, whole)
        except DoesNotApply as error:
            outcome, evidence = Outcome.STALE, str(error)
    return Result(mutant, outcome, evidence, monotonic() - began)


def _judge(mutant: Mutant, copy: Path, whole: bool) -> tuple[Outcome, str]:
    done = run_tests(copy, mutant.tests)
    if done.returncode == FAILED:
        return Outcome.CAUGHT, first_failure(done.stdout)
    if done.returncode != PASSED:
        return Outcome.BROKEN, f"pytest exits {done.returncode}: {done.stdout.strip()[-400:]}"
    if whole and (done := _run_whole(copy)).returncode == FAILED:
        return Outcome.CAUGHT_BY_WHOLE, first_failure(done.stdout)
    return Outcome.SURVIVED, " ".join(mutant.tests)


def run_tests(
    copy: Path, tests: tuple[str, ...], *, at_first_failure: bool = True, timeout_s: float = TESTS_TIMEOUT_S
) -> subprocess.CompletedProcess[str]:
    engine = () if "-k" in tests else _ON_SQLITE
    return _pytest(copy, *(["-x"] if at_first_failure else []), *tests, *engine, timeout_s=timeout_s)


def _run_whole(copy: Path) -> subprocess.CompletedProcess[str]:
    return _pytest(copy, "-x", "-n", "2", "--dist", "worksteal", "tests", timeout_s=WHOLE_TIMEOUT_S)


def _pytest(copy: Path, *arguments: str, timeout_s: float) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pytest", "-q", *_PLUGINS, f"--basetemp={scratch}/t"]
        # Tests start other interpreters, which find the copy by the path, before the installed package.
        environment = {
            **os.environ,
            **{"PYTHONPATH": f"{copy}{os.pathsep}{copy / 'dashboards'}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            "ATTESTLAB_VECTORS": os.environ.get("ATTESTLAB_VECTORS") or str(DEFAULT_FOLDER),
            "HYPOTHESIS_STORAGE_DIRECTORY": f"{scratch}/h",
        }
        try:
            return subprocess.run(
                [*command, *arguments],
                cwd=copy,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            return subprocess.CompletedProcess(error.cmd, FAILED, f"FAILED nothing ended within {timeout_s:.0f} s")


def first_failure(report: str) -> str:
    """The first test that failed, in pytest's summary."""
    lines = [line for line in report.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return lines[0].partition(" ")[2].partition(" - ")[0] if lines else report.strip()[-200:]


@contextmanager
def _planted(mutant: Mutant, copy: Path) -> Iterator[None]:
    path = copy / mutant.file
    text, planted = path.read_text() if path.is_file() else "", mutant.planted_in(copy)
    try:
        write_source(path, planted)
        yield
    finally:
        if text:
            write_source(path, text)


def write_source(path: Path, text: str) -> None:
    """Write a module, and forget what was compiled of it: both may have the same size in the same second."""
    path.write_text(text)
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


@contextmanager
def copies(tree: Path, count: int) -> Iterator[queue.Queue[Path]]:
    """Copies of the tree, working changes included, each for one process at a time."""
    free: queue.Queue[Path] = queue.Queue()
    with tempfile.TemporaryDirectory(prefix="attestlab-mutants-") as folder:
        for number in range(count):
            copy = Path(folder) / str(number)
            shutil.copytree(tree, copy, ignore=shutil.ignore_patterns(*_LEFT_OUT), symlinks=True)
            free.put(copy)
        yield free


@contextmanager
def _one_of(free: queue.Queue[Path]) -> Iterator[Path]:
    copy = free.get()
    try:
        yield copy
    finally:
        free.put(copy)
