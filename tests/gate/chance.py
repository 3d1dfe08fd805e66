"""Chance and defects: a failed test that passes alone is named FLAKY and counted; some failures are never chance."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gate.changes import ROOT, count_commits_since

MAX_FLAKY = 3
MAX_FAILED = 10
MAX_COMMITS_LISTED = 200
HANG_S = 120.0  # WAIT_TIMEOUT_S of tests/support/timeouts.py: what takes so long has waited in vain
LISTED = Path(__file__).parents[1] / "flaky.toml"
# Promises about crashes and records: the folder of their tests, and the checks that look at records from outside.
_NEVER_CHANCE = re.compile(r"\btests/faults/|check_lab|lab_checks\.py|fsck")
_CRASH = re.compile(r"^worker '\w+' crashed|node down", re.MULTILINE)
_HANG = re.compile(r"did not end within|Timeout \(?>?[\d.]+s\)?|TimeoutExpired")


@dataclass(frozen=True)
class Failure:
    """A test that failed: in which phase, after how many seconds, in which file, with which message and report."""

    test: str
    when: str
    took_s: float
    place: str
    message: str
    report: str

    @property
    def signature(self) -> str:
        """Type, place and text of the error, without digits: the same for each test that meets the same chance."""
        text = re.sub(r"0x[0-9a-f]+|\d+", "#", self.message.partition("\n")[0])[:200]
        return f"{_relative(self.place)}: {text}"


@dataclass(frozen=True)
class Listed:
    """A signature that is known: who mends it, what is known, and the commit at which it was seen."""

    signature: str
    owner: str
    known: str
    seen_at: str


@dataclass
class Verdict:
    """What the gate concludes: failures of chance by signature, and the reasons for which the run is red."""

    flaky: list[tuple[Failure, int]]
    red: list[str]

    @property
    def by_signature(self) -> Counter[str]:
        """How many tests met each chance."""
        return Counter(failure.signature for failure, _ in self.flaky)


def read_listed(file: Path = LISTED) -> list[Listed]:
    """Read `tests/flaky.toml`."""
    return [Listed(**entry) for entry in tomllib.loads(file.read_text()).get("flaky", [])]


def judge(
    failures: Iterable[Failure],
    *,
    touched: Collection[str],
    passes_alone: Callable[[Failure], int],
    listed: Iterable[Listed] = (),
    is_landing: bool = False,
    earlier: Sequence[tuple[Failure, int]] = (),
) -> Verdict:
    """Try what failed again, unless it is never chance.

    Args:
        failures: of a run; of several failures of a test, the first counts.
        touched: the test files that the landing touched.
        passes_alone: runs a test alone, at most twice; returns the number of the try that passed, or 0.
        listed: the chances that are known.
        is_landing: whether a chance that has been listed for too long refuses.
        earlier: what failed by chance before in the same command; all count together.
    """
    first = {failure.test: failure for failure in reversed(list(failures))}
    if len(first) > MAX_FAILED:
        return Verdict(
            [], [f"{len(first)} tests failed, over {MAX_FAILED}: that is no chance, so none was tried again."]
        )
    verdict = Verdict([], [])
    for failure in first.values():
        if reason := find_reason_against_chance(failure, touched):
            verdict.red.append(f"{failure.test}: {reason}")
        elif number := passes_alone(failure):
            verdict.flaky.append((failure, number))
        else:
            verdict.red.append(f"{failure.test}: failed again when it ran alone.")
    if (total := len(verdict.flaky) + len(earlier)) > MAX_FLAKY:
        verdict.red.append(f"{total} tests failed by chance; a run may have {MAX_FLAKY}.")
    if is_landing:
        verdict.red += find_overdue(verdict, listed)
    return verdict


def find_reason_against_chance(failure: Failure, touched: Collection[str]) -> str | None:
    """Return why a failure is never chance, or None where it may be."""
    if failure.when == "collect":
        return "it cannot be collected."
    if _CRASH.search(failure.message):
        return "its process crashed or was killed."
    if failure.took_s >= HANG_S or _HANG.search(failure.message):
        return f"it hung ({failure.took_s:.0f} s); a hang is never chance."
    if _NEVER_CHANCE.search(failure.test) or _NEVER_CHANCE.search(failure.report):
        return "a promise about crashes or records failed, which is never chance."
    if failure.test.partition("::")[0] in touched:
        return "this landing touches its file, so it must pass each time."
    return None


def find_overdue(verdict: Verdict, listed: Iterable[Listed]) -> list[str]:
    """Return the listed chances that failed again, although they were listed `MAX_COMMITS_LISTED` commits ago."""
    return [
        f"{known.signature}: listed in tests/flaky.toml for {age} commits (at most {MAX_COMMITS_LISTED}); mend it now."
        for known in listed
        if known.signature in verdict.by_signature and (age := count_commits_since(known.seen_at)) >= MAX_COMMITS_LISTED
    ]


def _relative(place: str) -> str:
    path = Path(place)
    return str(path.relative_to(ROOT)) if path.is_absolute() and path.is_relative_to(ROOT) else place
