"""The IPTC vocabulary of digital source types (cv.iptc.org/newscodes/digitalsourcetype), as far as it names synthesis.

C2PA actions and XMP use the same terms. Camera, scan, screen and human-edit terms say nothing against a picture.
"""

from __future__ import annotations

from enum import Enum


class Synthesis(Enum):
    """How much of a picture its source type says was synthesised."""

    WHOLE = "whole"
    PART = "part"


_SYNTHETIC = {
    "trainedAlgorithmicMedia": Synthesis.WHOLE,
    "algorithmicMedia": Synthesis.PART,  # computed, but by no model that was trained on pictures
    "compositeSynthetic": Synthesis.PART,
    "compositeWithTrainedAlgorithmicMedia": Synthesis.PART,
    "virtualRecording": Synthesis.PART,
}
MAX_TERM_CHARACTERS = 64


def parse_term(value: str) -> str:
    """Return the term of a source type, which is the last part of its address."""
    return value.strip().rstrip("/").rpartition("/")[2][:MAX_TERM_CHARACTERS]


def classify_term(term: str) -> Synthesis | None:
    """Return how much a term says was synthesised; None for terms that say no such thing, and for unknown ones."""
    return _SYNTHETIC.get(term)
