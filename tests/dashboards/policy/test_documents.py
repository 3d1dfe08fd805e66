"""Documents as text: the line of each error, differences in words, thresholds."""

from __future__ import annotations

import pytest

from attestlab import AttestLabError
from attestlab_dashboards.policy.documents import (
    correct,
    describe_changes,
    describe_condition,
    disable_rule,
    list_attributes,
    list_thresholds,
    parse,
)
from attestlab_dashboards.policy.queries import read_problems
from support.policy_story import ACTIVE, DRAFT, PolicyStory

# A mistake, the line that has it, and the name that is nearest.
MISTAKES = [
    ('attr = "trust_tier"', 'attr = "trust_teir"', "trust_tier"),
    ('op = "gt"', 'op = "gtt"', "gt"),
    ('value = "VERIFIED"', 'value = "VERIFED"', "VERIFIED"),
    ("priority = 20", 'priority = "x"', ""),
    ('id = "trusted"', 'id = "old-key"', ""),
    ('default_effect = "DENY"', "default_effect = DENY", ""),
    ("priority = 10", "prority = 10", "priority"),
    ("value = 200", 'value = "200"', ""),
    ('category = "MINT"', 'category = "MINTS"', "MINT"),
]


@pytest.mark.parametrize(("right", "wrong", "nearest"), MISTAKES, ids=[each[1] for each in MISTAKES])
def test_an_error_is_found_at_its_line(story: PolicyStory, right: str, wrong: str, nearest: str) -> None:
    text = ACTIVE.replace(right, wrong)
    with pytest.raises(AttestLabError) as caught:
        story.ann.policies.analyze({"toml": text})

    problems = read_problems(text, caught.value)  # type: ignore[arg-type]  # any other error fails below

    line = next(
        number
        for number, line in enumerate(text.split("\n"), 1)
        if wrong in line and (wrong != 'id = "old-key"' or number > 10)
    )
    found = [each for each in problems if each.line == line]
    assert found, problems
    assert nearest in {each.nearest for each in found}


def test_the_nearest_name_corrects_the_line(story: PolicyStory) -> None:
    text = ACTIVE.replace('"trust_tier"', '"trust_teir"')
    with pytest.raises(AttestLabError) as caught:
        story.ann.policies.analyze({"toml": text})
    (problem,) = read_problems(text, caught.value)  # type: ignore[arg-type]  # as above

    assert correct(text, problem) == ACTIVE


def test_a_difference_is_described_in_words() -> None:
    before, after = (
        parse(ACTIVE),
        parse(DRAFT.replace('effect = "ALLOW"', 'effect = "DENY"').replace('"DENY"\n\n', '"ALLOW"\n\n', 1)),
    )
    assert before is not None
    assert after is not None

    assert describe_changes(before, after) == [
        "default_effect is ALLOW, was DENY.",
        "Rule old-key: now if key.age_days > 300; was if key.age_days > 200.",
        "Rule trusted: effect is DENY, was ALLOW.",
        "Rule trusted: now if trust_tier = VERIFIED or jurisdiction in CH; "
        "was if trust_tier = VERIFIED or jurisdiction in CH, DE.",
    ]
    assert describe_changes(before, before) == []


def test_a_stored_document_differs_in_nothing_from_its_text(story: PolicyStory) -> None:
    written = parse(story.policy.toml())
    assert written is not None

    assert describe_changes(story.policy.document, written) == []
    assert describe_changes(parse(ACTIVE) or {}, story.policy.document) == []


def test_added_and_removed_rules_are_named() -> None:
    document = parse(ACTIVE) or {}
    without = {**document, "rules": document["rules"][:1]}

    assert describe_changes(document, without) == [
        "Rule trusted is removed: ALLOW if trust_tier = VERIFIED or jurisdiction in CH, DE, priority 20."
    ]
    assert describe_changes(without, document)[0].startswith("Rule trusted is added: ALLOW if")


def test_conditions_keep_their_nesting() -> None:
    a, b = ({"attr": name, "op": "exists", "value": name == "a"} for name in "ab")

    assert describe_condition({"all": [{"any": [a, b]}, {"not": {"all": [a, b]}}]}) == (
        "(a exists or b is missing) and not (a exists and b is missing)"
    )


def test_thresholds_are_those_that_a_sweep_takes(story: PolicyStory) -> None:
    (threshold,) = list_thresholds(parse(ACTIVE))

    assert (threshold.key, threshold.value) == ("old-key|key.age_days|gt", 200)
    assert story.ann.policies.sweep({"toml": ACTIVE}, threshold[:3], replaces=story.policy).sweep
    assert list_thresholds(parse(disable_rule(ACTIVE, "old-key") or "")) == ()
    assert list_attributes(parse(ACTIVE)) == ("key.age_days", "trust_tier", "jurisdiction")


@pytest.mark.parametrize("stored", [False, True])
def test_a_rule_is_disabled_in_the_text(story: PolicyStory, stored: bool) -> None:
    text = disable_rule(story.policy.toml() if stored else ACTIVE, "trusted")
    assert text is not None

    rules = {each["id"]: each.get("enabled", True) for each in (parse(text) or {})["rules"]}
    assert rules == {"old-key": True, "trusted": False}
    assert disable_rule(ACTIVE, "no such rule") is None
