"""Controls of compliance: each has a bound, a regulation selects them, and what cannot be asked is left out."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from attestlab.agents.compliance.rules import (
    SELECTED_CONTROLS,
    CheckStatus,
    ComplianceFacts,
    Control,
    Regulation,
    assess,
)

ROOT = Path(__file__).parents[2]
SECOND = timedelta(seconds=1)
SOUND = ComplianceFacts(
    audit_chain_is_whole=True,
    owner_is_active=True,
    has_expiry=True,
    key_age=timedelta(days=90) - SECOND,
    wildcards=0,
    delegation_depth=4,
    longest_session=timedelta(hours=24),
    open_cases=0,
    idle=timedelta(days=30),
    confirmed_share=0.5,
)
BROKEN = {
    Control.OWNER_ACTIVE: replace(SOUND, owner_is_active=False),
    Control.EXPIRY_SET: replace(SOUND, has_expiry=False),
    Control.KEY_AGE: replace(SOUND, key_age=timedelta(days=90)),
    Control.NO_WILDCARD: replace(SOUND, wildcards=1),
    Control.DELEGATION_DEPTH: replace(SOUND, delegation_depth=5),
    Control.SESSION_TTL: replace(SOUND, longest_session=timedelta(hours=24) + SECOND),
    Control.NO_OPEN_CASE: replace(SOUND, open_cases=1),
    Control.AUDIT_CHAIN: replace(SOUND, audit_chain_is_whole=False),
    Control.LAST_ACTIVITY: replace(SOUND, idle=timedelta(days=30) + SECOND),
    Control.WITNESS_SHARE: replace(SOUND, confirmed_share=0.49),
}
HIGH = {Control.OWNER_ACTIVE, Control.NO_OPEN_CASE, Control.AUDIT_CHAIN}


def test_facts_at_every_bound_pass_all_ten_controls() -> None:
    result = assess(SOUND)
    assert (result.status, result.score, result.left_out) == (CheckStatus.PASSED, 100, ())
    assert [finding.control for finding in result.findings] == list(Control)


def test_each_assessment_calls_itself_a_self_assessment() -> None:
    assert assess(SOUND).disclaimer.startswith("This is a self-assessment")


@pytest.mark.parametrize("control", list(Control))
def test_one_broken_fact_fails_one_control(control: Control) -> None:
    result = assess(BROKEN[control])
    assert [finding.control for finding in result.findings if not finding.passed] == [control]
    assert result.score == 90
    assert result.status is (CheckStatus.FAILED if control in HIGH else CheckStatus.WARNING)


@pytest.mark.parametrize("regulation", list(Regulation))
def test_regulation_selects_its_controls_only(regulation: Regulation) -> None:
    asked = {finding.control for finding in assess(SOUND, regulation).findings}
    assert asked == SELECTED_CONTROLS[regulation]


@pytest.mark.parametrize("regulation", list(Regulation))
def test_controls_without_facts_are_left_out_and_named(regulation: Regulation) -> None:
    result = assess(ComplianceFacts(audit_chain_is_whole=True), regulation)
    assert [finding.control for finding in result.findings] == [Control.AUDIT_CHAIN]
    assert set(result.left_out) == SELECTED_CONTROLS[regulation] - {Control.AUDIT_CHAIN}


@pytest.mark.parametrize("control", list(Control))
def test_table_of_the_docs_has_the_selected_controls(control: Control) -> None:
    page = (ROOT / "docs" / "agents.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith(f"| `{control}` |"))
    cells = [cell.strip() for cell in row.split("|")[3:-1]]
    asked = ["x" if control in SELECTED_CONTROLS[regulation] else "" for regulation in Regulation]
    assert cells == asked
