"""The result of a scan: factors that sum to the score, the verdict, and what was not seen.

The weights are judgements, not measurements: no labelled set of real forgeries stands behind them. They follow one
rule. A statement that a picture was generated reaches `likely` alone, since few people mark a real photograph so. A
broken signature reaches `suspect` alone. What editors, messengers and phones do every day reaches neither, even
together with one other such trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from attestlab.risk.rules import Factor

SCAN_VERSION = 2  # of the rules and weights; it changes whenever the same file may get another score
MAX_SCORE = 100
SUSPECT_SCORE = 40
LIKELY_SCORE = 75
HEURISTIC = (
    "A heuristic reading of marks that a file carries. It does not look at faces, voices or scenes, knows no trust "
    "list of signers, and sees nothing where marks were removed: `clean` means that no mark was found, not that the "
    "media is real."
)


class ScanVerdict(StrEnum):
    """The verdict of a scan: `suspect` from 40 points, `likely` from 75."""

    CLEAN = "clean"
    SUSPECT = "suspect"
    LIKELY = "likely"

    @classmethod
    def of(cls, score: float) -> ScanVerdict:
        if score >= LIKELY_SCORE:
            return cls.LIKELY
        return cls.SUSPECT if score >= SUSPECT_SCORE else cls.CLEAN


class Finding(NamedTuple):
    """Something that speaks against the media, worth `points` by itself and at most `weight`."""

    name: str
    value: float | str
    weight: int
    points: int
    explanation: str


@dataclass(frozen=True)
class MediaAssessment:
    """A score from 0 to 100 with its factors, which sum to it exactly.

    `details` has `scan_version`, `heuristic` (a sentence about what the score means), `media_type`, `observed`, and
    `not_examined` with the reasons. Both together are JSON of at most `risk.rules.MAX_DETAILS_BYTES`.
    """

    score: int
    verdict: ScanVerdict
    factors: tuple[Factor, ...]
    details: Mapping[str, object]


def assess(findings: Iterable[Finding], details: Mapping[str, object]) -> MediaAssessment:
    """Add findings up, strongest first; beyond 100 points a finding contributes what is left of them.

    Contributions are whole points, so that their sum is exact.
    """
    factors, score = [], 0
    for finding in sorted(findings, key=lambda finding: (-finding.points, finding.name)):
        contribution = min(finding.points, MAX_SCORE - score)
        score += contribution
        factors.append(Factor(finding.name, finding.value, finding.weight, contribution, finding.explanation))
    fixed = {"scan_version": SCAN_VERSION, "heuristic": HEURISTIC}
    return MediaAssessment(score, ScanVerdict.of(score), tuple(factors), {**fixed, **details})
