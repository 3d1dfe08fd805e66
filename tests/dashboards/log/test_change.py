"""Two heads compared: what a kept head proves about the log of now."""

from __future__ import annotations

from dataclasses import replace

from attestlab import Lab
from attestlab_dashboards.log.comparison import Change, ComparisonResult, load_change
from attestlab_dashboards.log.events import EVENTS
from attestlab_dashboards.log.heads import KeptHead
from attestlab_dashboards.log.panes.change import draw_change
from attestlab_dashboards.log.state import LogState
from support.log_inspector import mint


def keep(lab: Lab) -> LogState:
    """The state of a browser that keeps the head of now, by the value that the button sends."""
    change = load_change(lab, LogState())
    state = EVENTS["keep"](LogState(), f"{change.newer.size}.{change.newer.root}")
    assert state.kept == KeptHead(len(lab.log), lab.log.head().root_hash.removeprefix("sha256:"))
    return state


def drawn(change: Change, state: LogState) -> str:
    return str(draw_change(change, state))


def test_a_kept_head_shows_growth_and_then_none(own_lab: Lab) -> None:
    state = keep(own_lab)
    same = load_change(own_lab, state)
    mint(own_lab, 3)
    grown = load_change(own_lab, state)

    assert (same.outcome, same.growth, len(same.blocks)) == (ComparisonResult.SAME, 0, 1)
    assert (grown.outcome, grown.growth, grown.is_kept) == (ComparisonResult.GREW, 3, True)
    assert sum(not block.is_old for block in grown.blocks) > 0
    assert "no, it only grew" in drawn(grown, state)
    assert "no, it is the same" in drawn(same, state)


def test_the_blocks_are_the_hashes_of_the_proof(own_lab: Lab) -> None:
    state = keep(own_lab)
    mint(own_lab, 5)
    change = load_change(own_lab, state)
    assert state.kept is not None

    proof = own_lab.log.consistency(state.kept.size)

    assert {f"sha256:{block.hash.hex()}" for block in change.blocks} == set(proof.hashes)
    assert (change.older.root, change.newer.root) == (proof.from_root[7:], proof.to_root[7:])


def test_a_log_with_another_root_is_a_fork(own_lab: Lab) -> None:
    size = len(own_lab.log)
    state = LogState(kept=KeptHead(size - 2, "ab" * 32))
    change = load_change(own_lab, state)

    assert change.outcome is ComparisonResult.FORKED
    assert change.proven_root == own_lab.log.consistency(size - 2).from_root[7:]
    assert not change.is_sound
    assert "yes, it is another log" in drawn(change, state)
    assert "abababab…ababab" in drawn(change, state)


def test_a_fork_at_the_size_of_now_is_noticed_too(own_lab: Lab) -> None:
    change = load_change(own_lab, LogState(kept=KeptHead(len(own_lab.log), "ab" * 32)))

    assert change.outcome is ComparisonResult.FORKED


def test_a_log_with_fewer_entries_was_rolled_back(own_lab: Lab) -> None:
    state = LogState(kept=KeptHead(len(own_lab.log) + 1, "ab" * 32))
    change = load_change(own_lab, state)

    assert change.outcome is ComparisonResult.ROLLED_BACK
    assert "entries are missing" in drawn(change, state)


def test_without_a_kept_head_the_log_of_a_week_before_is_compared(own_lab: Lab) -> None:
    change = load_change(own_lab, LogState())

    assert not change.is_kept
    assert change.outcome in (ComparisonResult.GREW, ComparisonResult.SAME)
    assert change.older.size >= 1
    assert change.newer.size == len(own_lab.log)


def test_a_kept_head_of_the_empty_log_is_part_of_every_log(own_lab: Lab) -> None:
    change = load_change(own_lab, LogState(kept=KeptHead(0, "e3" * 32)))

    assert (change.outcome, change.growth) == (ComparisonResult.GREW, len(own_lab.log))


def test_the_witnesses_of_the_head_are_named_where_their_tile_leads(own_lab: Lab) -> None:
    change = load_change(own_lab, LogState())

    assert "Cosigned by north, south: " in drawn(replace(change, witnesses=("north", "south")), LogState())
    assert "No witness cosigned it." in drawn(replace(change, witnesses=()), LogState())
