"""A witness judges consistency proofs as the vectors of transparency-dev/merkle do."""

from __future__ import annotations

from pathlib import Path

import pytest

from attestlab.core.errors import AttestLabError
from attestlab.log.note.note import TreeHead, sign_checkpoint
from attestlab.log.witnessing.submission_policy import Submission
from support import vectors
from support.witnesses import NOON_S, ORIGIN, make_log_signer, open_witness

CASES = vectors.merkle("consistency")


@pytest.mark.parametrize("name", CASES)
def test_consistency_matches_published_vectors(name: str, tmp_path: Path) -> None:
    """
    98 good and bad proofs (transparency-dev/merkle): cosigned if and only if the proof holds.
    """
    case = CASES[name]
    heads = [TreeHead(ORIGIN, case[f"size{n}"], case[f"root{n}"]) for n in (1, 2)]
    is_good = not case["wantErr"] and all(len(head.root) == 32 for head in heads)
    with open_witness(tmp_path / "w1") as witness:
        try:
            if heads[0].size:
                witness.add_checkpoint(_handed_over(0, (), heads[0]))
            line = witness.add_checkpoint(_handed_over(heads[0].size, tuple(case["proof"]), heads[1]))
        except AttestLabError:
            line = ""
    assert bool(line) == is_good


def _handed_over(old: int, proof: tuple[bytes, ...], head: TreeHead) -> bytes:
    return Submission(old, proof, sign_checkpoint(make_log_signer(), head, at_s=NOON_S)).text.encode()
