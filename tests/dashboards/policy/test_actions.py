"""Actions: a version is saved, and another person activates it on the replay whose numbers were shown."""

from __future__ import annotations

import re

import pytest

from attestlab import AttestLabError, Lab
from attestlab_dashboards.policy.page import PAGE
from attestlab_dashboards.policy.panes.activation import draw_activation, load_readiness
from attestlab_dashboards.policy.panes.dialog import draw_dialog, load_dialog
from attestlab_dashboards.policy.panes.draft import draw_editor
from attestlab_dashboards.policy.queries import load_replay
from attestlab_dashboards.policy.state import PolicyState
from support.policy_story import DRAFT, PASSWORD, PolicyStory, add_rule

NEVER = '{ all = [{ attr = "key.age_days", op = "gt", value = 9 }, { attr = "key.age_days", op = "lt", value = 5 }] }'
DEAD = add_rule(DRAFT, "never", 50, NEVER)


def fill_dialog(lab: Lab, state: PolicyState, action: str) -> dict[str, str]:
    """The fields of a dialog as a browser sends them when every box is checked."""
    opened = state.change(dialog=action)
    markup = str(draw_dialog(load_dialog(lab, opened), opened))
    names = re.findall(r'<input type="(checkbox|hidden|text)" name="(\w+)"(?: value="([^"]*)")?', markup)
    return {name: value or "on" for _, name, value in names}


def test_one_person_saves_and_another_activates(own_story: PolicyStory) -> None:
    ann, ben, policy = own_story
    saved = PAGE.actions["save"].run(ann, PolicyState(policy=str(policy.id), draft=DEAD), {})

    state = saved.state
    assert (state.draft, ann.policies.get(policy.id).version, ann.policies.get(policy.id).active_version) == ("", 2, 1)
    assert "You wrote this version" in str(draw_activation(load_readiness(ann, state), state))
    with pytest.raises(AttestLabError, match="may not activate it"):
        PAGE.actions["activate"].run(ann, state, fill_dialog(ann, state, "activate"))
    shown = load_readiness(ben, state).proof.replay.report
    assert shown is not None

    fields = fill_dialog(ben, state, "activate") | {"note": "agreed"}
    done = PAGE.actions["activate"].run(ben, state, fields)

    assert fields["digest"] == shown.report_digest
    assert "Version 2 decides" in done.text
    assert ann.policies.get(policy.id).active_version == 2
    assert "is active" in str(draw_activation(load_readiness(ben, done.state), done.state))


def test_the_dialog_repeats_the_numbers(own_story: PolicyStory) -> None:
    ann, _, policy = own_story
    state = PolicyState(draft=DRAFT, dialog="save")
    report = ann.policies.simulate({"toml": DRAFT}, replaces=policy)

    markup = str(draw_dialog(load_dialog(ann, state), state))

    assert f"newly denies <b>{report.newly_denied}</b> and newly allows <b>{report.newly_allowed}</b>" in markup
    assert 'aria-modal="true"' in markup


@pytest.mark.parametrize("missing", ["looked", "digest"])
def test_an_activation_needs_the_confirmation(own_story: PolicyStory, missing: str) -> None:
    state = PAGE.actions["save"].run(own_story.ann, PolicyState(policy=str(own_story.policy.id), draft=DRAFT), {}).state
    fields = fill_dialog(own_story.ben, state, "activate")
    del fields[missing]

    with pytest.raises(AttestLabError, match="Confirm"):
        PAGE.actions["activate"].run(own_story.ben, state, fields)


def test_dead_rules_must_be_acknowledged(own_story: PolicyStory) -> None:
    state = PAGE.actions["save"].run(own_story.ann, PolicyState(policy=str(own_story.policy.id), draft=DEAD), {}).state
    fields = fill_dialog(own_story.ben, state, "activate")
    assert fields.pop("dead") == "never"

    with pytest.raises(AttestLabError, match="never"):
        PAGE.actions["activate"].run(own_story.ben, state, fields)


def test_a_windowed_replay_does_not_allow_an_activation(own_story: PolicyStory) -> None:
    state = PAGE.actions["save"].run(own_story.ann, PolicyState(policy=str(own_story.policy.id), draft=DRAFT), {}).state
    narrow = state.change(until="2001-01-01")

    assert "disabled" in str(draw_activation(load_readiness(own_story.ben, narrow), narrow))
    assert "disabled" not in str(draw_activation(load_readiness(own_story.ben, state), state))


def test_a_new_policy_is_created_shadowed_and_archived(own_story: PolicyStory) -> None:
    ann = own_story.ann
    created = PAGE.actions["save"].run(ann, PolicyState(policy="new"), {}).state

    PAGE.actions["shadow"].run(ann, created, {})
    assert ann.policies.get(created.policy).status == "SHADOW"
    gone = PAGE.actions["archive"].run(ann, created, {})

    assert ann.policies.get(created.policy).status == "ARCHIVED"
    assert gone.state == PolicyState()


def test_a_person_without_the_scope_is_shown_that_they_cannot_save(own_story: PolicyStory) -> None:
    rita, state = own_story.ann.as_("rita@demo.example", password=PASSWORD), PolicyState(draft=DRAFT)

    assert "You may not change policies" in str(draw_activation(load_readiness(rita, state), state))
    assert "You may not change policies" in str(draw_editor(load_replay(rita, state), state))
    with pytest.raises(AttestLabError, match="policies:write"):
        PAGE.actions["save"].run(rita, state, {})
