"""Every pane of the policy simulator: its numbers are those of the facade's verbs, and every text is escaped."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from attestlab import AttestLabError, Lab
from attestlab.client.collections.policies import PolicyCollection
from attestlab_dashboards.formats import count
from attestlab_dashboards.pages import Facts, Pane
from attestlab_dashboards.policy.copying import copy_simulation
from attestlab_dashboards.policy.documents import describe_condition, list_rules, list_thresholds, parse
from attestlab_dashboards.policy.events import EVENTS
from attestlab_dashboards.policy.history import load_history
from attestlab_dashboards.policy.notation import MAX_ADDRESS_CHARS, NEW_POLICY
from attestlab_dashboards.policy.page import PAGE
from attestlab_dashboards.policy.panes.changes import export_changes, load_changes
from attestlab_dashboards.policy.panes.curve import copy_sweep
from attestlab_dashboards.policy.panes.decision import load_decision
from attestlab_dashboards.policy.panes.kpis import draw_self_check
from attestlab_dashboards.policy.panes.rules import MINUS
from attestlab_dashboards.policy.queries import load_replay, load_sweep, write_template
from attestlab_dashboards.policy.shared_loads import forget
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.safe import text
from support.policy_story import ACTIVE, DRAFT, PolicyStory, add_rule, list_issuers, make_context

FACTS = Facts("Ann", "ann@demo.example", "Demo", "", "demo", frozenset(), frozenset())
WRONG = DRAFT.replace('"trust_tier"', '"trust_teir"')
SHADOWED = add_rule(DRAFT, "late", 30, '{ attr = "trust_tier", op = "eq", value = "VERIFIED" }')
TWO = add_rule(DRAFT, "young", 5, '{ attr = "key.age_days", op = "lt", value = 30 }')
OPEN = DRAFT.replace('default_effect = "DENY"', 'default_effect = "ALLOW"')
HIT = r'<tr><th scope="row">(.*?)</th>.*?<span>([\d,]+)</span>.*?<span[^>]*>([\d,]+)</span></td></tr>'
STATES = {
    "as it opens": PolicyState(),
    "a draft": PolicyState(draft=DRAFT),
    "a draft with an error": PolicyState(draft=WRONG),
    "no TOML": PolicyState(draft="name = "),
    "two thresholds": PolicyState(draft=TWO, second="young|key.age_days|lt"),
    "an example": PolicyState(draft=DRAFT, example=1),
    "no such example": PolicyState(draft=DRAFT, example=500),
    "a rule": PolicyState(draft=TWO, rule="young"),
    "no such rule": PolicyState(draft=DRAFT, rule="unknown"),
    "newly denied ones": PolicyState(draft=DRAFT, changed="denied", changes_page=9),
    "saving": PolicyState(draft=DRAFT, dialog="save"),
    "a new policy": PolicyState(policy="new"),
    "an empty window": PolicyState(draft=DRAFT, since="2001-01-01", until="2001-01-02"),
    "thirty days": PolicyState(draft=DRAFT, window="30d", by=("status", "no_such_attribute")),
    "no segments": PolicyState(draft=DRAFT, by=()),
    "another action": PolicyState(category="BUNDLE_EXPORT"),
    "a comment that reverses text": PolicyState(draft=f"# \u202e\n{DRAFT}"),
    "values": PolicyState(draft=DRAFT, context=(("key.age_days", "many"), ("trust_tier", ""))),
}
EACH_STATE = pytest.mark.parametrize("state", STATES.values(), ids=STATES)


def draw(story: PolicyStory, state: PolicyState, *keys: str) -> str:
    """The markup of panes, of all by default."""
    panes = [pane for pane in PAGE.panes if not keys or pane.key in keys]
    drawn = [pane.draw(pane.load(story.ann, state), state) for pane in panes]
    readings = [text(pane.reading(pane.load(story.ann, state), state)) for pane in panes if callable(pane.reading)]
    return "".join(map(str, [*drawn, *readings, PAGE.chips(state, FACTS)]))


def words(markup: str) -> str:
    """What a person reads of markup."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", markup))).strip()


def find(key: str) -> Pane[PolicyState, Any]:
    return next(pane for pane in PAGE.panes if pane.key == key)


@EACH_STATE
def test_every_pane_draws_every_state_and_escapes_every_text(story: PolicyStory, state: PolicyState) -> None:
    markup = draw(story, state)

    assert "<img" not in markup
    assert "<script" not in markup
    assert "Minting <b>" not in markup
    assert "\u202e" not in markup
    assert {name for name in re.findall(r'data-ev="([^"]*)"', markup) if name not in EVENTS} == set()
    assert set(re.findall(r'data-act="([^"]*)"', markup)) <= set(PAGE.actions)
    styles = re.findall(r'style="([^"]*)"', markup)
    assert [style for style in styles if not re.fullmatch(r"[a-z0-9:;.%-]*", style)] == []


def test_the_numbers_are_those_of_the_simulation(story: PolicyStory) -> None:
    report = story.ann.policies.simulate({"toml": DRAFT}, replaces=story.policy, by=["jurisdiction", "trust_tier"])
    assert report.newly_allowed > 0 < report.newly_denied
    state = PolicyState(draft=DRAFT, by=("jurisdiction", "trust_tier"))

    answer, tiles = words(draw(story, state, "answer")), words(draw(story, state, "kpis"))
    matrix = words(draw(story, state, "matrix"))

    changed = report.newly_allowed + report.newly_denied
    assert f"Draft 2 would have changed {changed} of {report.decided} mints" in answer
    assert f"{report.newly_allowed} denied mints would be allowed" in answer
    assert f"{report.newly_denied} allowed mints would be denied" in answer
    assert f"DENY to ALLOW {report.newly_allowed}" in tiles
    assert f"ALLOW to DENY {report.newly_denied}" in tiles
    assert f"self-check: 0 unexpected flips in {report.self_check.decisions}" in tiles
    for before, after in (("ALLOW", "ALLOW"), ("ALLOW", "DENY"), ("DENY", "ALLOW"), ("DENY", "DENY")):
        assert re.search(rf"\b{report.count_flips(before, after)} (same|newly)", matrix)


def test_segments_come_newly_allowed_first_with_their_counts(story: PolicyStory) -> None:
    state = PolicyState(draft=DRAFT, by=("jurisdiction", "trust_tier"))
    report = story.ann.policies.simulate({"toml": DRAFT}, replaces=story.policy, by=state.by)

    rows = re.findall(HIT, draw(story, state, "segments"))

    counted: dict[str, list[int]] = {}
    for each in report.flips:
        name = ", ".join(map(str, each.segments.values()))
        counted.setdefault(name, [0, 0])[each.to == "ALLOW"] += each.count
    assert {name: [int(closed), int(opened)] for name, closed, opened in rows} == counted
    assert [int(opened) for *_, opened in rows] == sorted((int(opened) for *_, opened in rows), reverse=True)


def test_issuers_are_counted_from_the_recorded_contexts(story: PolicyStory) -> None:
    state = PolicyState(draft=DRAFT)
    history = load_history(story.ann, state)
    assert history is not None
    report = story.ann.policies.simulate({"toml": DRAFT}, replaces=story.policy)
    hostile, _ = list_issuers(story.ann)
    after, before = (
        [story.ann.policies.decide({"toml": each}, make_context(place)).allowed for place in range(20)]
        for each in (DRAFT, ACTIVE)
    )
    opened = sum(now and not was for now, was in zip(after, before, strict=True))

    assert sum(each[2].opened for each in history.by_issuer) == report.newly_allowed
    assert report.unasked > 0
    assert [each[2].opened for each in history.by_issuer if each[0] == str(hostile.id)] == [opened]
    assert (history.total.opened, history.total.closed) == (report.newly_allowed, report.newly_denied)
    assert "Northfield University" in draw(story, state, "issuers")


def test_rules_show_hits_decisions_and_proofs(story: PolicyStory) -> None:
    state = PolicyState(draft=SHADOWED)
    report = story.ann.policies.simulate({"toml": SHADOWED}, replaces=story.policy)
    (finding,) = story.ann.policies.analyze({"toml": SHADOWED}).findings
    assert (finding.kind, finding.by) == ("shadowed", ["trusted"])

    rows = re.findall(r'<tr data-row="(.*?)">(.*?)</tr>', draw(story, state, "rules"), re.DOTALL)

    shown = {key: words(row) for key, row in rows}
    for each in report.rules:
        change = each.would_allow - each.would_deny
        numbers = [str(each.priority), count(each.hits), count(each.decisive)]
        numbers.append(f"{change:+,}".replace("-", MINUS) if change else "0")
        assert f" {' '.join(numbers)} " in shown[each.rule]
    assert "shadowed by trusted" in shown["late"]
    assert "live" in shown["old-key"]
    by_default = sum(each.count for each in report.groups if each.rule is None)
    assert f"DENY {by_default}" in shown["default"]


def test_the_curve_has_every_value_of_the_sweep(story: PolicyStory) -> None:
    state = PolicyState(draft=DRAFT)
    sweep = story.ann.policies.sweep({"toml": DRAFT}, ("old-key", "key.age_days"), replaces=story.policy).sweep
    assert sweep is not None

    tips = [unescape(tip) for tip in re.findall(r'data-tip="([^"]*)"', draw(story, state, "curve"))]

    assert len(tips) == len(sweep)
    for row, tip in zip(sorted(sweep, key=lambda each: each.values), tips, strict=True):
        assert f": {count(row.denied)} denied" in tip
        assert f"{count(row.opened)} newly allowed, {count(row.closed)} newly denied" in tip
    assert "active: 200" in draw(story, state, "curve")


def test_the_map_has_a_cell_for_each_pair(story: PolicyStory) -> None:
    state = PolicyState(draft=TWO)
    named = [("old-key", "key.age_days", "gt"), ("young", "key.age_days", "lt")]
    sweep = story.ann.policies.sweep({"toml": TWO}, *named, points=400, replaces=story.policy).sweep

    assert draw(story, state, "map").count("data-tip=") == len(sweep or ())
    assert draw(story, state, "map").count("po-current") == 1
    assert "only one threshold" in draw(story, PolicyState(draft=DRAFT), "map")


def test_one_decision_is_decided_and_nothing_is_recorded(story: PolicyStory) -> None:
    before = len(story.ann.decisions)
    context = {"jurisdiction": "DE", "trust_tier": "BASIC", "key.age_days": "250"}
    state = PolicyState(draft=DRAFT, context=tuple(sorted(context.items())))
    decided = story.ann.policies.decide({"toml": DRAFT}, {**context, "key.age_days": 250})

    shown = words(draw(story, state, "decision"))

    assert decided.decision == "DENY"
    assert "DENY by the default . Version 1 says DENY : the same." in shown
    assert "key.age_days > 300 is 250" in shown
    assert "Smallest change that would allow it: trust_tier from BASIC to VERIFIED" in shown
    tried = EVENTS["try"](state, "trust_tier=VERIFIED")
    assert "ALLOW by trusted . Version 1 says DENY : a flip." in words(draw(story, tried, "decision"))
    assert "Missing: key.age_days" in words(draw(story, EVENTS["at:key.age_days"](tried, ""), "decision"))
    assert len(story.ann.decisions) == before


def test_a_recorded_decision_is_loaded_into_the_form(story: PolicyStory) -> None:
    decision = story.ann.decisions[3]
    state = EVENTS["load"](PolicyState(draft=DRAFT), decision.decision_id)
    recorded = story.ann.policies.explain(decision.decision_id)

    markup = draw(story, state, "decision")

    assert f'value="{recorded.context["key.age_days"]}"' in markup or "key.age_days" not in recorded.context
    assert f'<option value="{recorded.context["trust_tier"]}" selected>' in markup


def test_examples_open_a_drawer_with_the_recorded_explanation(story: PolicyStory) -> None:
    state = PolicyState(draft=DRAFT)
    report = story.ann.policies.simulate({"toml": DRAFT}, replaces=story.policy, by=state.by)

    assert draw(story, state, "examples").count("<tr data-row=") == len(report.examples)
    assert draw(story, state, "example").count("al-drawer") == 0
    drawer = draw(story, PolicyState(draft=DRAFT, example=1), "example")
    assert str(report.examples[0].decision_id) in drawer
    assert 'role="dialog"' in drawer


def test_an_error_is_marked_at_its_line_with_a_correction(story: PolicyStory) -> None:
    markup = draw(story, PolicyState(draft=WRONG), "draft", "answer")
    line = next(number for number, each in enumerate(WRONG.split("\n"), 1) if "trust_teir" in each)

    lines = re.findall(r"<div( class=\"wrong\")?>([^<]*)</div>", markup)
    assert [number for number, (wrong, _) in enumerate(lines, 1) if wrong] == [line]
    assert [unescape(text) for _, text in lines] == WRONG.split("\n")
    assert f"Line {line}:" in words(markup)
    assert "Nearest: trust_tier" in words(markup)
    fixed = next(unescape(v) for v in re.findall(r'data-ev="draft" data-v="([^"]*)"', markup) if v)
    assert fixed == DRAFT


def test_the_editor_keeps_the_text_as_it_is(story: PolicyStory) -> None:
    draft = f"\n\n# </textarea><script>alert(3)</script>\n{DRAFT}"
    (shown,) = re.findall(
        r"<textarea[^>]*>\n(.*?)</textarea>", draw(story, PolicyState(draft=draft), "draft"), re.DOTALL
    )

    assert unescape(shown) == draft


def test_a_file_of_the_server_is_not_a_policy(story: PolicyStory) -> None:
    markup = draw(story, PolicyState(draft="/etc/passwd"), "answer", "draft")

    assert "Nothing was replayed" in markup
    assert "root:" not in markup


def test_a_long_draft_says_where_it_is_kept(story: PolicyStory) -> None:
    state = PolicyState(draft=DRAFT + "# " + "x" * MAX_ADDRESS_CHARS)

    assert "this window keeps it" in draw(story, state, "kpis")
    lost = PolicyState.from_query(state.to_query())[0]
    assert "this is the stored version" in draw(story, lost, "kpis")


@pytest.mark.parametrize("key", ["matrix", "sankey", "segments", "rules", "examples", "curve"])
def test_an_export_has_the_rows_of_the_report(story: PolicyStory, key: str) -> None:
    export = find(key).export
    assert export is not None
    report = story.ann.policies.simulate({"toml": DRAFT}, replaces=story.policy, by=PolicyState().by)
    sweep = story.ann.policies.sweep({"toml": DRAFT}, ("old-key", "key.age_days"), replaces=story.policy).sweep
    parts = {"matrix": "transitions", "sankey": "why", "segments": "flips", "rules": "rules", "examples": "examples"}
    expected = sweep if key == "curve" else getattr(report, parts[key])

    assert expected is not None
    assert export(story.ann, PolicyState(draft=DRAFT)).arrow().equals(expected.arrow())


def test_the_export_of_two_thresholds_has_a_row_for_each_pair(story: PolicyStory) -> None:
    export = find("map").export
    assert export is not None
    frame = export(story.ann, PolicyState(draft=TWO)).df()

    assert len(frame) == frame["value"].nunique() * frame["second_value"].nunique() > 1


def test_the_export_by_issuer_has_the_flips_of_the_report(story: PolicyStory) -> None:
    export = find("issuers").export
    assert export is not None
    report = story.ann.policies.simulate({"toml": DRAFT}, replaces=story.policy)
    frame = export(story.ann, PolicyState(draft=DRAFT)).df()

    assert frame["newly_allowed"].sum() == report.newly_allowed
    assert frame["newly_denied"].sum() == report.newly_denied
    assert set(frame["issuer"]) <= {each.name for each in story.ann.issuers.list()}


def test_copied_python_finds_the_issuers_that_the_pane_shows(story: PolicyStory) -> None:
    state = PolicyState(draft=DRAFT)
    copy, export = find("issuers").copy_python, find("issuers").export
    assert copy is not None
    assert export is not None
    *lines, last = copy(state).splitlines()
    names: dict[str, Any] = {"lab": story.ann}
    exec("\n".join([*lines, f"found = {last}"]), names)
    found = names["found"]
    shown = export(story.ann, state).df()

    for _, row in shown.iterrows():
        own = found[found["target_id"] == row["issuer_id"]]
        assert set(own["issuer"]) == {row["issuer"]}
        assert own.loc[own["to"] == "ALLOW", "count"].sum() == row["newly_allowed"]
        assert own.loc[own["to"] == "DENY", "count"].sum() == row["newly_denied"]


def test_the_rules_of_the_text_are_exported_in_words(story: PolicyStory) -> None:
    export = find("draft").export
    assert export is not None
    rules = {str(rule["id"]): rule for rule in list_rules(parse(DRAFT))}
    frame = export(story.ann, PolicyState(draft=DRAFT)).df().set_index("rule")

    assert list(frame.index) == list(rules)
    for name, rule in rules.items():
        assert frame.loc[name, "effect"] == rule["effect"]
        assert frame.loc[name, "priority"] == rule["priority"]
        assert frame.loc[name, "condition"] == describe_condition(rule["when"])


def test_the_decision_is_exported_comparison_by_comparison(story: PolicyStory) -> None:
    export = find("decision").export
    assert export is not None
    state = PolicyState(draft=DRAFT, context=(("key.age_days", "400"),))
    frame = export(story.ann, state).df()
    decided = load_decision(story.ann, state).draft
    assert decided is not None

    assert set(frame["rule"]) == {each.id for each in decided.rules}
    assert set(frame.loc[frame["decides"], "rule"]) == ({decided.matched_rule} if decided.matched_rule else set())
    aged = frame[frame["comparison"].str.startswith("key.age_days")]
    assert set(aged["value"]) == {"400"}
    assert set(frame["truth"]) <= {"true", "false", "unknown"}


def test_what_an_activation_requires_is_exported(story: PolicyStory) -> None:
    export = find("activation").export
    assert export is not None
    frame = export(story.ann, PolicyState(draft=DRAFT)).df().set_index("condition")

    assert frame.loc["Self-check", "holds"]
    assert not frame.loc["A stored version", "holds"]


@pytest.mark.parametrize("key", [pane.key for pane in PAGE.panes if pane.export])
def test_an_export_refuses_a_draft_that_it_cannot_replay(story: PolicyStory, key: str) -> None:
    export = find(key).export
    assert export is not None
    lost = PolicyState.from_query(PolicyState(draft="x" * 3_000).to_query())[0]
    with pytest.raises(AttestLabError, match="too long"):
        export(story.ann, lost)
    with pytest.raises(AttestLabError, match="line"):
        export(story.ann, PolicyState(draft=WRONG))


COPIED = {
    "stored": PolicyState(),
    "draft": PolicyState(draft=DRAFT),
    "window": PolicyState(draft=DRAFT, window="30d", until="2026-11-02"),
    "yesterday": PolicyState(draft=DRAFT, window="yesterday"),
    "version": PolicyState(version=1),
    "new": PolicyState(policy=NEW_POLICY, category="VERIFY"),
}


@pytest.mark.parametrize("key", [pane.key for pane in PAGE.panes if pane.copy_python])
@pytest.mark.parametrize("state", COPIED.values(), ids=COPIED)
def test_what_is_copied_runs_as_it_stands(story: PolicyStory, key: str, state: PolicyState) -> None:
    copy = find(key).copy_python
    assert copy is not None

    exec(compile(copy(state), "<copied>", "exec"), {"lab": story.ann})  # our own text, as a person would paste it


@pytest.mark.parametrize(
    "state",
    [
        *COPIED.values(),
        PolicyState(version=1, draft=DRAFT),
        PolicyState(category="MINT", draft=TWO, sweep=list_thresholds(parse(TWO))[1].key),
        PolicyState(version=1, sweep=list_thresholds(parse(ACTIVE))[-1].key),
    ],
)
def test_what_is_copied_asks_what_the_page_shows(story: PolicyStory, state: PolicyState) -> None:
    shown = load_replay(story.ann, state).report
    simulated: dict[str, Any] = {"lab": story.ann}
    exec(compile(copy_simulation(state), "<copied>", "exec"), simulated)
    curve = load_sweep(story.ann, state, 1)
    swept: dict[str, Any] = {"lab": story.ann}
    exec(compile(copy_sweep(state), "<copied>", "exec"), swept)

    assert shown is not None
    report = simulated["report"]
    assert report.window == shown.window
    assert report.flips.arrow().equals(shown.flips.arrow())
    assert report.transitions.arrow().equals(shown.transitions.arrow())
    assert curve.values is not None
    assert swept["report"].sweep.arrow().equals(curve.values.arrow())


def test_copied_python_names_a_chosen_policy_and_its_window(story: PolicyStory) -> None:
    state = PolicyState(draft=DRAFT, policy=str(story.policy.id), window="30d", until="2026-12-01")
    shown = load_replay(story.ann, state).report
    copied: dict[str, Any] = {"lab": story.ann}
    exec(compile(copy_simulation(state), "<copied>", "exec"), copied)

    assert shown is not None
    assert shown.window.from_ is not None
    assert copied["report"].window == shown.window
    assert (copied["report"].newly_allowed, copied["report"].newly_denied) == (shown.newly_allowed, shown.newly_denied)


def test_copied_python_begins_with_a_draft_where_no_policy_is_active(story: PolicyStory) -> None:
    written = story.ann.policies.create({"toml": write_template("BUNDLE_EXPORT")})
    state = PolicyState(category="BUNDLE_EXPORT")
    forget(story.ann)
    try:
        shown = load_replay(story.ann, state).report
        copied: dict[str, Any] = {"lab": story.ann}
        exec(compile(copy_simulation(state), "<copied>", "exec"), copied)
    finally:
        written.archive()
        forget(story.ann)

    assert shown is not None
    assert copied["report"].policy.id == shown.policy.id == written.id


def test_another_window_replays_the_text_and_asks_nothing_else_again(
    story: PolicyStory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for kind, verbs in ((PolicyCollection, ("list", "get", "attributes", "analyze", "simulate")), (Lab, ("me",))):
        for verb in verbs:
            monkeypatch.setattr(kind, verb, note_calls(getattr(kind, verb), asked))
    forget(story.ann)

    for day in range(1, 7):
        begun = len(asked)
        draw(story, PolicyState(draft=DRAFT, since=f"2026-10-0{day}"))

    assert {"list", "get", "attributes", "analyze"} <= set(asked[:begun])
    assert set(asked[begun:]) == {"simulate", "me"}


def note_calls(verb: Any, asked: list[str]) -> Any:
    def call(*arguments: Any, **options: Any) -> Any:
        asked.append(verb.__name__)
        return verb(*arguments, **options)

    return call


def test_a_rule_says_what_it_alone_denies_and_for_whom(story: PolicyStory) -> None:
    state = PolicyState(draft=TWO, rule="young", by=("trust_tier",))
    alone = story.ann.policies.isolate({"toml": TWO}, "young", replaces=story.policy, by="trust_tier").alone
    assert alone is not None
    drawn = words(draw(story, state, "rule"))

    assert alone.would_allow > 0
    assert f"It alone denies {count(alone.would_allow)} mint" in drawn
    assert f"It matches {count(alone.hits)} mint" in drawn
    top = alone.targets[0]
    (name,) = (
        str(row["name"])
        for row in story.ann.sql("select id, name from issuers")
        if row["id"] == str(top.segments["target_id"])
    )
    assert f"{name} {count(top.hits)} {count(top.decisive)} {count(top.would_allow + top.would_deny)}" in drawn
    assert draw(story, PolicyState(draft=TWO), "rule") == draw(story, PolicyState(draft=DRAFT, rule="young"), "rule")


def test_a_click_on_a_rule_opens_it_and_other_segments_keep_it_open() -> None:
    opened = EVENTS["rule"](PolicyState(draft=TWO), "young")

    assert opened.rule == "young"
    assert EVENTS["segment"](opened, "trust_tier").rule == "young"
    assert EVENTS["close"](opened, "").rule == ""
    assert EVENTS["rule"](PolicyState(), "a|b").rule == ""


def test_a_self_check_over_nothing_is_grey(story: PolicyStory) -> None:
    check = story.ann.policies.simulate({"toml": DRAFT}, replaces=story.policy, until="2001-01-01")
    drawn = str(draw_self_check(check))

    assert 'class="pill calm"' in drawn
    assert "no recorded decision to check" in drawn


def test_all_changed_decisions_are_listed_in_pages_and_downloaded(story: PolicyStory) -> None:
    report = story.ann.policies.simulate({"toml": OPEN}, replaces=story.policy)
    rows = list(export_changes(story.ann, PolicyState(draft=OPEN)))
    denied = list(export_changes(story.ann, PolicyState(draft=OPEN, changed="denied")))

    assert len(rows) == report.newly_allowed + report.newly_denied > 10
    assert len(denied) == report.newly_denied
    assert all((each.before, each.after) == ("ALLOW", "DENY") for each in denied)
    pages = [draw(story, PolicyState(draft=OPEN, changes_page=page), "changes") for page in (1, 2)]
    assert [rows[place].id in pages[place // 10] for place in (0, 9, 10)] == [True] * 3


def test_changed_decisions_are_listed_and_downloaded_by_issuer(story: PolicyStory) -> None:
    every = PolicyState(draft=OPEN, changed="allowed")
    data = load_changes(story.ann, every)
    counted = data.count_by_issuer("allowed")
    issuer_id, name, number = counted[-1]
    chosen = every.change(changed_for=issuer_id)

    assert sum(each[2] for each in counted) == len(data.select("allowed"))
    assert 0 < number < len(data.select("allowed"))
    drawn = draw(story, chosen, "changes")
    assert f'<option value="{issuer_id}" selected>{name} ({number})' in unescape(drawn)
    assert f"Newly allowed {number}<" in drawn
    rows = list(export_changes(story.ann, chosen))
    assert ([each.issuer for each in rows], {each.after for each in rows}) == ([name] * number, {"ALLOW"})
    assert "another issuer (0)" in draw(
        story, every.change(changed_for="0193b5a0-7f3c-7abc-8def-0123456789ab"), "changes"
    )


def test_an_activation_shows_what_changes_before_it_asks(own_story: PolicyStory) -> None:
    saved = own_story.ann.policies.update(own_story.policy, {"toml": OPEN})
    state = PolicyState(policy=str(saved.id), dialog="activate")
    drawn = draw(own_story, state, "dialog")

    assert drawn.index('data-ev="changed"') < drawn.index('name="looked"')
    assert "changes_page" in drawn
    assert "policy/export?" in drawn[: drawn.index('name="looked"')]
    assert "pane=changes&amp;format=csv" in drawn
    assert EVENTS["changes_page"](state, "2").dialog == EVENTS["changed"](state, "denied").dialog == "activate"
