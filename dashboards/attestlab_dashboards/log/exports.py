"""What the inspector's proofs download, as tables: the two heads' proof, the eight steps, the hashes of the path."""

from __future__ import annotations

from pydantic import BaseModel

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.core.errors import NotFound
from attestlab_dashboards.log.change import load_change
from attestlab_dashboards.log.evidence import load_evidence
from attestlab_dashboards.log.state import LogState


class StepRow(BaseModel):
    """One of the eight steps of a verification, with its result."""

    step: int
    name: str
    question: str
    state: str
    answer: str
    meaning: str


class PathRow(BaseModel):
    """A hash of an audit path, from leaf to root; it covers the entries `first` up to `end` (left out).

    `node` is the hash that was computed with it.
    """

    side: str
    first: int
    end: int
    hash: str
    node: str


class BlockRow(BaseModel):
    """A subtree of a consistency proof; it covers the entries `first` up to `end` (left out).

    `head` is `older` for those of which the older head's root is computed; the newer one's is computed of all.
    """

    head: str
    first: int
    end: int
    hash: str


def export_change(lab: Lab, state: LogState) -> Records[BlockRow]:
    """Export the hashes that prove that the newer tree begins with the older one.

    Raises:
        NotFound: there is no such proof.
    """
    change = load_change(lab, state)
    if not change.blocks:
        raise NotFound("proof that the log", f"of {change.newer.size} entries continues that of {change.older.size}")
    rows = (
        BlockRow(head="older" if each.is_old else "newer", first=each.first, end=each.end, hash=each.hash.hex())
        for each in change.blocks
    )
    return Records(rows, BlockRow)


def export_steps(lab: Lab, state: LogState) -> Records[StepRow]:
    """Export the steps of the searched attestation.

    Raises:
        NotFound: the search found no attestation whose bundle the person may read.
    """
    examination = load_evidence(lab, state).examination
    if examination is None:
        raise NotFound("bundle of", state.find or "the newest entry")
    rows = (
        StepRow(
            step=place,
            name=each.name,
            question=each.question,
            state=each.state,
            answer=each.answer,
            meaning=each.sentence,
        )
        for place, each in enumerate(examination.steps, 1)
    )
    return Records(rows, StepRow)


def export_path(lab: Lab, state: LogState) -> Records[PathRow]:
    """Export the audit path of the searched entry.

    Raises:
        NotFound: the search found no entry.
    """
    path = load_evidence(lab, state).path
    if path is None:
        raise NotFound("entry", state.find or "the newest one")
    rows = (
        PathRow(side=each.side, first=each.first, end=each.end, hash=each.hash.hex(), node=node.hex())
        for each, node in zip(path.siblings, path.nodes[1:], strict=True)
    )
    return Records(rows, PathRow)
