"""What the page writes is what the verbs know afterwards, and the panes show it at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from attestlab import Lab
from attestlab.core.errors import Conflict, ValidationFailed
from attestlab_dashboards.risk.actions import ACTIONS
from attestlab_dashboards.risk.overview import load_overview
from attestlab_dashboards.risk.panes.drawer import draw_drawer
from attestlab_dashboards.risk.panes.who import load_entities
from attestlab_dashboards.risk.profile import load_profile
from attestlab_dashboards.risk.state import RiskState
from support.risk_story import HOSTILE_USER

VICTIM = {"kind": "user", "id": "victim-1"}
OPEN = RiskState(entity="user:victim-1")


def draw(lab: Lab) -> str:
    return str(draw_drawer(load_profile(lab, OPEN), OPEN))


def test_a_challenge_is_recorded_with_its_reason(own_lab: Lab) -> None:
    notice = ACTIONS["challenge"].run(own_lab, OPEN, {**VICTIM, "reason": "Failed from a new device", "score": "91"})

    (recorded,) = own_lab.challenges.list(subject_id="victim-1")
    assert (recorded.subject_type, recorded.reason, recorded.risk_score) == ("user", "Failed from a new device", 91)
    assert "victim-1" in notice.text
    shown = next(each for each in load_entities(own_lab, RiskState()).entities if each.entity.id == "victim-1")
    assert shown.state == "challenged"


@pytest.mark.parametrize("action", ["challenge", "list"])
@pytest.mark.parametrize("reason", ["", "too short", "         x          "])
def test_a_reason_has_ten_characters(story_lab: Lab, action: str, reason: str) -> None:
    with pytest.raises(ValidationFailed, match="at least 10"):
        ACTIONS[action].run(story_lab, OPEN, {**VICTIM, "reason": reason, "list": "deny", "days": "7"})


def test_an_entity_goes_on_a_list_and_off_it(own_lab: Lab) -> None:
    ACTIONS["list"].run(own_lab, OPEN, {**VICTIM, "reason": "Confirmed by the owner", "list": "deny", "days": ""})

    (entry,) = own_lab.lists.list(entity_id="victim-1")
    assert (entry.list, entry.expires_at) == ("deny", None)
    assert "on the deny list" in draw(own_lab)

    ACTIONS["unlist"].run(own_lab, OPEN, {"entry": str(entry.id)})
    assert list(own_lab.lists.list(entity_id="victim-1")) == []


def test_an_entry_ends_by_the_time_of_the_service(own_lab: Lab) -> None:
    ACTIONS["list"].run(own_lab, OPEN, {**VICTIM, "reason": "Confirmed by the owner", "list": "deny", "days": "7"})

    (entry,) = own_lab.lists.list(entity_id="victim-1")
    assert entry.expires_at is not None
    assert entry.expires_at.date() == own_lab.now().date() + timedelta(days=7)


@pytest.mark.parametrize("fields", [{"days": "8"}, {"list": "maybe"}, {"kind": "planet"}, {"id": ""}, {"id": "a\nb"}])
def test_a_form_that_no_browser_of_ours_sends_is_refused(story_lab: Lab, fields: dict[str, str]) -> None:
    given = {**VICTIM, "reason": "Confirmed by the owner", "list": "deny", "days": "7", **fields}

    with pytest.raises(ValidationFailed):
        ACTIONS["list"].run(story_lab, OPEN, given)


def test_a_case_is_resolved_and_the_figures_follow(own_lab: Lab) -> None:
    before = load_overview(own_lab, RiskState()).open_cases[0]
    (case,) = own_lab.cases.list(entity_id="victim-1")
    assert 'data-act="resolve"' in draw(own_lab)

    ACTIONS["resolve"].run(own_lab, OPEN, {"case": str(case.id), "outcome": "fraud", "note": "The owner said so."})

    assert (own_lab.cases[case.id].outcome, own_lab.cases[case.id].note) == ("fraud", "The owner said so.")
    assert load_overview(own_lab, RiskState()).open_cases[0] == before - 1
    assert 'data-act="resolve"' not in draw(own_lab)


def test_an_outcome_chosen_in_the_drawer_can_be_undone(own_lab: Lab) -> None:
    (case,) = own_lab.cases.list(entity_id="victim-1")
    notice = ACTIONS["resolve"].run(own_lab, OPEN, {"case": str(case.id), "outcome": "fraud"})

    assert f'data-act="reopen" data-ids="{case.id}" data-seconds="10"' in notice.text
    assert own_lab.cases[case.id].label_at is not None
    ACTIONS["reopen"].run(own_lab, OPEN, {"ids": str(case.id)})
    assert (own_lab.cases[case.id].status, own_lab.cases[case.id].outcome) == ("open", None)
    assert 'data-act="resolve"' in draw(own_lab)


@pytest.mark.parametrize("outcome", ["", "guilty"])
def test_a_case_is_not_resolved_without_an_outcome(own_lab: Lab, outcome: str) -> None:
    (case,) = own_lab.cases.list(entity_id="victim-1")

    with pytest.raises(ValidationFailed, match="Choose one first: fraud, false alarm or inconclusive"):
        ACTIONS["resolve"].run(own_lab, OPEN, {"case": str(case.id), "outcome": outcome})
    assert own_lab.cases[case.id].status == "open"


def test_the_form_of_a_case_chooses_no_outcome(own_lab: Lab) -> None:
    form = draw(own_lab).partition('data-act="resolve"')[2].partition("</form>")[0]

    assert '<select name="outcome" required><option value="" selected>Choose an outcome</option>' in form
    assert form.count(" selected") == 1


def test_a_case_is_resolved_once(own_lab: Lab) -> None:
    (case,) = own_lab.cases.list(entity_id="victim-2")
    case.resolve("legitimate")

    with pytest.raises(Conflict, match="resolved as legitimate"):
        ACTIONS["resolve"].run(own_lab, OPEN, {"case": str(case.id), "outcome": "fraud"})


def test_a_notice_escapes_the_name(own_lab: Lab) -> None:
    fields = {"kind": "user", "id": HOSTILE_USER, "reason": "Failed from a new device"}

    assert "<img" not in ACTIONS["challenge"].run(own_lab, OPEN, fields).text


def test_a_person_without_the_role_sees_no_form(own_lab: Lab) -> None:
    profile = load_profile(own_lab, OPEN)
    assert profile is not None
    assert profile.may_act

    shown = str(draw_drawer(replace(profile, may_act=False), OPEN))
    assert "<form" not in shown
    assert "analyst" in shown


def test_a_comment_is_written_and_shown_with_its_writer(own_lab: Lab) -> None:
    (case,) = own_lab.cases.list(entity_id="victim-1")
    assert 'data-act="comment"' in draw(own_lab)
    for number in range(5):
        ACTIONS["comment"].run(own_lab, OPEN, {"case": str(case.id), "text": f" Call {number} <b>failed</b> "})

    shown = draw(own_lab)
    assert [each.text for each in own_lab.cases[case.id].comments][-1] == "Call 4 <b>failed</b>"
    assert all(f"Call {number} &lt;b&gt;failed&lt;/b&gt;" in shown for number in range(5))
    assert shown.count("<b>A program</b>") == 5  # the lab acts as the service


def test_an_empty_comment_is_refused_in_words(own_lab: Lab) -> None:
    (case,) = own_lab.cases.list(entity_id="victim-1")
    with pytest.raises(ValidationFailed, match="The comment is empty"):
        ACTIONS["comment"].run(own_lab, OPEN, {"case": str(case.id), "text": " \n "})
    assert own_lab.cases[case.id].comment_count == 0
