"""Simulations over recorded decisions, on either database: windows, targets, tenants, history, cancellation."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import update

from attestlab.core.clock import FixedClock
from attestlab.core.errors import Cancelled, Conflict, NotFound, Unavailable, ValidationFailed
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Plan
from attestlab.policy import store
from attestlab.policy.active_policies import PolicyQuery
from attestlab.policy.language.document import Category, Document, TargetType
from attestlab.simulation.simulation import Simulation
from attestlab.simulation.store import reports
from support.policies.documents import make_condition, make_document, make_rule
from support.timeouts import WAIT_TIMEOUT_S

pytestmark = pytest.mark.one_world

BASIC = make_condition("trust_tier", "eq", "BASIC")
NOT_BASIC = make_document(make_rule("no", "DENY", BASIC, reason="Basic issuers may not."), default_effect="ALLOW")
MINT = PolicyQuery(Category.MINT, TargetType.TENANT_DEFAULT)

OUR_OWN_NAMES = [
    "count", "from", "to", "number", "policy_before", "rule_before", "policy_after", "rule_after", "n", "p",
    "r", "a", "b", "x_0", "v", "k", "i", "rows", "code", "policy", "rule", "effect", "priority", "place",
    "allowed", "why", "matched_rules", "name", "others", "own", "seq", "id", "action", "created_at",
    "decision_id", "attestation_id", "context", "contexts", "labels", "members", "h", "hits", "log_index",
    "issuer_id",
]  # fmt: skip


class Story:
    """A tenant whose policies decide, and which are switched on by what was simulated."""

    def __init__(self, lab: Installation, caller: Caller, clock: FixedClock) -> None:
        self.lab, self.caller, self.clock = lab, caller, clock

    def decide(self, question: PolicyQuery = MINT, **context: Any) -> str:
        self.clock.advance(timedelta(minutes=1))
        kept = self.lab.policy_decisions.evaluate_and_record(question, context, caller=self.caller)
        return str(kept.row.id)

    def made(self, raw: dict[str, Any]) -> UUID:
        found: UUID = self.lab.policies.create(Document.read(raw), caller=self.caller).id
        return found

    def activated(self, raw: dict[str, Any] | UUID) -> UUID:
        policy_id = raw if isinstance(raw, UUID) else self.made(raw)
        with self.of(policy_id) as simulation:
            digest = simulation.report().digest
        self.switch_on(policy_id, digest)
        return policy_id

    def switch_on(self, policy_id: UUID, digest: str | None) -> None:
        examined = self.lab.policies.examine(policy_id, caller=self.caller)
        self.lab.policies.activate(policy_id, examined, simulation_digest=digest, caller=self.caller)

    def of(self, policy: dict[str, Any] | UUID, **more: Any) -> Simulation:
        draft = policy if isinstance(policy, UUID) else Document.read(policy)
        return self.lab.simulations.of(draft, caller=self.caller, **more)


@pytest.fixture
def story(lab: Installation, caller: Caller, clock: FixedClock) -> Story:
    return Story(lab, caller, clock)


def transitions(simulation: Simulation) -> list[tuple[str, str, int]]:
    with simulation:
        return [(row["from"], row["to"], row["count"]) for row in simulation.compare().transitions.rows()]


def test_added_draft_only_denies_and_replacement_may_allow(story: Story) -> None:
    policy = story.activated(NOT_BASIC)
    for tier in ("BASIC", "VERIFIED", "BASIC", None):
        story.decide(trust_tier=tier)
    story.lab.lake.export()
    story.decide(trust_tier="ENTERPRISE")
    other = make_document(
        make_rule("no", "DENY", make_condition("trust_tier", "eq", "VERIFIED")), default_effect="ALLOW"
    )
    story.lab.policies.update(policy, Document.read(other), caller=story.caller)

    assert transitions(story.of(other)) == [("ALLOW", "ALLOW", 2), ("ALLOW", "DENY", 1), ("DENY", "DENY", 2)]
    replaced = [("ALLOW", "ALLOW", 2), ("ALLOW", "DENY", 1), ("DENY", "ALLOW", 2)]
    assert transitions(story.of(policy)) == replaced
    assert transitions(story.of(other, replaces=policy)) == replaced


def test_self_check_reproduces_every_decision(story: Story) -> None:
    """Across versions, several policies, one in shadow, one that monitors, and none at all."""
    story.decide(trust_tier="BASIC")
    first = story.activated(NOT_BASIC)
    story.decide(trust_tier="BASIC", status="ACTIVE")
    story.activated({**NOT_BASIC, "name": "watched", "mode": "MONITOR"})
    both = make_document(
        make_rule("no", "DENY", make_condition("status", "eq", "ACTIVE")), make_rule("yes", "ALLOW", BASIC, 1)
    )
    story.activated(both)
    shadow = story.made(make_document(make_rule("s", "DENY", BASIC)))
    story.lab.policies.shadow(shadow, caller=story.caller)
    for context in ({"trust_tier": "BASIC", "status": "ACTIVE"}, {}, {"trust_tier": "VERIFIED"}):
        story.decide(**context)
    story.lab.lake.export()
    story.lab.policies.archive(first, caller=story.caller)
    story.decide(trust_tier="BASIC")

    with story.of(NOT_BASIC) as simulation:
        checked = simulation.self_check()

    assert (checked.decisions, checked.unexpected_flips, checked.retyped, checked.examples) == (6, 0, 0, ())


@pytest.mark.tampered
@pytest.mark.parametrize("column", ["allowed", "matched_rules", "members", "policy_set_digest"])
def test_self_check_detects_tampered_decision(story: Story, column: str) -> None:
    """So what a simulation says of a doctored past is not believed; nor is anything switched on by it."""
    policy = story.activated(NOT_BASIC)
    decided = [story.decide(trust_tier=tier) for tier in ("BASIC", "VERIFIED", "BASIC")]
    other = {
        "allowed": True,
        "matched_rules": "[]",
        "members": f'[["{policy}", 7, false]]',
        "policy_set_digest": "0" * 64,
    }
    with story.lab.storage.write() as tx:
        changed = update(store.decisions).where(store.decisions.c.id == decided[2])
        tx.exec(changed.values({column: other[column]}))
    draft = story.made(
        make_document(make_rule("r", "DENY", make_condition("status", "exists", True)), default_effect="ALLOW")
    )

    with story.of(draft) as simulation:
        checked = simulation.self_check()
        report = simulation.report()

    assert (checked.decisions, checked.unexpected_flips, checked.examples) == (3, 1, (decided[2],))
    with pytest.raises(Conflict) as refused:
        story.switch_on(draft, report.digest)
    assert refused.value.details == {"reason": "self_check_failed", "unexpected_flips": 1}


def test_retyped_attribute_is_counted_separately(story: Story) -> None:
    """A version that only asks whether there is a value stays readable, and means less of what was recorded."""
    story.lab.policy_attributes.replace([{"path": "size", "type": "number"}], caller=story.caller)
    issuer = story.lab.issuers.create({"name": "R", "domain": "r.example"}, caller=story.caller).issuer.id
    about = {"target_type": "ISSUER", "target_id": str(issuer)}
    question = PolicyQuery(Category.MINT, TargetType.ISSUER, issuer)
    raw = make_document(
        make_rule("sized", "DENY", make_condition("size", "exists", True)), default_effect="ALLOW", **about
    )
    story.activated(raw)
    story.decide(question, size=3)
    story.decide(question)
    story.lab.lake.export()
    story.lab.policy_attributes.replace([{"path": "size", "type": "text"}], caller=story.caller)
    story.decide(question, size="large")

    with story.of(raw) as simulation:
        checked = simulation.self_check()

    assert (checked.decisions, checked.unexpected_flips, checked.retyped) == (3, 0, 1)


@pytest.mark.both_engines
def test_window_is_half_open(story: Story) -> None:
    before = story.clock.now()
    for _ in range(3):
        story.decide(trust_tier="BASIC")
    story.lab.lake.export()
    minute = timedelta(minutes=1)

    def seen(**window: Any) -> int:
        with story.of(NOT_BASIC, **window) as simulation:
            return simulation.load()

    assert [seen(start=before + n * minute) for n in (1, 2, 3, 4)] == [3, 2, 1, 0]
    assert [seen(end=before + n * minute) for n in (1, 2, 3, 4)] == [0, 1, 2, 3]
    assert seen(start=before + 2 * minute, end=before + 3 * minute) == 1
    with pytest.raises(ValidationFailed):
        story.of(NOT_BASIC, start=before, end=before)


def test_default_draft_is_simulated_for_each_target(story: Story) -> None:
    """What the issuer's own policy denies already, the draft does not close; an issuer's draft has its decisions."""
    issuers = [
        story.lab.issuers.create({"name": f"R{n}", "domain": f"r{n}.example"}, caller=story.caller).issuer.id
        for n in range(2)
    ]
    about = {"target_type": "ISSUER", "target_id": str(issuers[0])}
    own = make_document(
        make_rule("own", "DENY", make_condition("status", "eq", "ACTIVE")), default_effect="ALLOW", **about
    )
    story.activated(own)
    questions = [MINT, *(PolicyQuery(Category.MINT, TargetType.ISSUER, issuer) for issuer in issuers)]
    for question in (*questions, PolicyQuery(Category.VERIFY, TargetType.TENANT_DEFAULT)):
        story.decide(question, trust_tier="BASIC", status="ACTIVE")

    with story.of(NOT_BASIC, by=["target_id"]) as simulation:
        compared = simulation.compare()
        flips = {(row["from"], row["to"], row["target_id"], row["count"]) for row in compared.flips.rows()}
        kept = [(row["from"], row["to"], row["count"]) for row in compared.transitions.rows()]
        groups = {tuple(row["matched_rules"]) for row in simulation.decide().rows()}

    assert flips == {("ALLOW", "DENY", None, 1), ("ALLOW", "DENY", str(issuers[1]), 1)}
    assert kept == [("ALLOW", "DENY", 2), ("DENY", "DENY", 1)]
    assert groups == {("no",), ("no", "own")}
    assert transitions(story.of({**own, "default_effect": "DENY"})) == [("DENY", "DENY", 1)]


@pytest.mark.both_engines
def test_tenant_simulates_own_decisions_only(story: Story) -> None:
    made = story.lab.orgs.create_tenant("Other", plan=Plan.ENTERPRISE)
    other = Story(story.lab, story.lab.orgs.service_caller(made.tenant_id), story.clock)
    policy = story.made(NOT_BASIC)
    story.decide(trust_tier="BASIC")
    with story.of(policy) as simulation:
        report = simulation.report()

    assert transitions(other.of(NOT_BASIC)) == []
    with pytest.raises(NotFound):
        other.of(policy)
    with pytest.raises(NotFound):
        other.of(NOT_BASIC, replaces=policy)
    with pytest.raises(NotFound):
        story.lab.simulations.get(report.digest, caller=other.caller)
    assert story.lab.simulations.get(report.digest, caller=story.caller).content == report.content


def test_example_names_the_flipping_decision(story: Story) -> None:
    story.decide(trust_tier="VERIFIED")
    decided = story.decide(trust_tier="BASIC", status="ACTIVE")

    with story.of(NOT_BASIC) as simulation:
        (example,) = simulation.compare().examples.rows()
        change = simulation.counterfactual(decided)

    assert (example["decision_id"], example["rule_after"], example["context"]) == (
        decided,
        "no",
        {"trust_tier": "BASIC"},
    )
    assert change.changes is not None
    assert [each.path for each in change.changes] == ["trust_tier"]


def test_attributes_may_have_names_of_internal_columns(story: Story) -> None:
    """Rules ask for all of these attributes and sweep them at once; three of them cause flips."""
    made = story.lab.orgs.create_tenant("Other", plan=Plan.ENTERPRISE)
    story = Story(story.lab, story.lab.orgs.service_caller(made.tenant_id), story.clock)
    own = [{"path": name, "type": "number"} for name in OUR_OWN_NAMES]
    story.lab.policy_attributes.replace(own, caller=story.caller)
    values = dict.fromkeys(OUR_OWN_NAMES, 1)
    decided = story.decide(**values)
    every = make_rule("r", "DENY", {"all": [make_condition(name, "gt", 0) for name in OUR_OWN_NAMES]})

    with story.of(make_document(every, default_effect="ALLOW"), by=OUR_OWN_NAMES[:3]) as simulation:
        (example,) = simulation.compare().examples.rows()
        flips = [simulation.compare(OUR_OWN_NAMES[n : n + 3]).flips.rows() for n in range(0, len(OUR_OWN_NAMES), 3)]
        segments = simulation.report().content["flips"][0]["segments"]
        swept = {name: [row["allowed"] for row in simulation.sweep("r", name).rows()] for name in ("x_0", "rows", "v")}
        effects = (simulation.marginal().rows()[0]["would_allow"], simulation.coverage().rows()[0]["decisive"])

    assert (example["decision_id"], example["context"]) == (decided, values)
    assert [list(row.values()) for (row,) in flips[:-1]] == [["ALLOW", "DENY", 1, 1, 1, 1]] * (len(flips) - 1)
    assert segments == dict.fromkeys(OUR_OWN_NAMES[:3], 1)
    assert all(flips == [0, 1] for flips in swept.values())
    assert effects == (1, 1)


def test_contexts_file_has_no_recorded_decisions(story: Story, tmp_path: Path) -> None:
    story.decide(trust_tier="BASIC")
    story.lab.lake(story.caller).decisions.to_parquet(tmp_path / "past.parquet")

    with story.of(NOT_BASIC, contexts=tmp_path / "past.parquet") as simulation:
        assert [row["count"] for row in simulation.compare().transitions.rows()] == [1]
        for asked in (simulation.self_check, simulation.report):
            with pytest.raises(ValidationFailed):
                asked()


def test_contexts_must_be_parquet_file_or_pattern(story: Story, tmp_path: Path) -> None:
    """A folder is refused: its files are chosen by a pattern."""
    story.decide(trust_tier="BASIC")
    (tmp_path / "below").mkdir()
    story.lab.lake(story.caller).decisions.to_parquet(tmp_path / "below" / "past.parquet")
    (tmp_path / "text.parquet").write_text("no Parquet at all")

    for path in ("", tmp_path, tmp_path / "below", tmp_path / "none.parquet", tmp_path / "text.parquet"):
        with pytest.raises(ValidationFailed, match="a Parquet file"):
            story.of(NOT_BASIC, contexts=path)
    with story.of(NOT_BASIC, contexts=tmp_path / "below" / "*.parquet") as simulation:
        assert simulation.load() == 1


@pytest.mark.parametrize("bound", ["start", "end"])
def test_naive_timestamp_is_rejected(story: Story, bound: str) -> None:
    window = {bound: story.clock.now().replace(tzinfo=None)}
    with pytest.raises(ValidationFailed, match="time zone"):
        story.of(NOT_BASIC, **window)


@pytest.mark.own_world
def test_cancel_is_permanent_and_writes_nothing(story: Story) -> None:
    """A query that would run for minutes ends at once, in the thread that waits for it; no report is kept."""
    story.decide(trust_tier="BASIC")
    with story.of(NOT_BASIC) as simulation:
        simulation.load()
        outcome: list[BaseException] = []

        def wait() -> None:
            try:
                simulation.session.run(
                    "SELECT count(*) FROM range(100000000) a, range(1000000) b WHERE a.range % 7 = 3"
                )
            except BaseException as error:
                outcome.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        while simulation.session.is_idle:
            time.sleep(0.001)
        simulation.cancel()
        thread.join(WAIT_TIMEOUT_S)

        assert [type(each) for each in outcome] == [Cancelled]
        with pytest.raises(Cancelled):
            simulation.report()
    with story.lab.storage.read() as connection:
        assert connection.execute(reports.select()).all() == []


def test_simulation_times_out(story: Story) -> None:
    story.decide(trust_tier="BASIC")
    with (
        story.of(NOT_BASIC) as simulation,
        pytest.raises(Unavailable, match="narrow"),
        simulation.session.deadline(0.05, "It took too long; narrow it."),
    ):
        simulation.session.run("SELECT count(*) FROM range(100000000) a, range(1000000) b WHERE a.range % 7 = 3")


def test_progress_goes_from_zero_to_one(story: Story) -> None:
    story.decide(trust_tier="BASIC")
    with story.of(NOT_BASIC) as simulation:
        assert simulation.progress == 0
        simulation.report()
        assert simulation.progress == 1
