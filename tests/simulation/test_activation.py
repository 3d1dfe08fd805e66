"""An activation requires a current report on exactly this version, on either database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.errors import Conflict
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Plan
from attestlab.policy.active_policies import PolicyQuery
from attestlab.policy.language.document import Category, Document, TargetType
from support.policies.documents import make_condition, make_document, make_rule

pytestmark = pytest.mark.one_world

BASIC = make_condition("trust_tier", "eq", "BASIC")
DRAFT = make_document(make_rule("no", "DENY", BASIC), default_effect="ALLOW")
OTHER = make_document(make_rule("other", "DENY", make_condition("status", "exists", True)), default_effect="ALLOW")


def made(lab: Installation, caller: Caller, raw: dict[str, Any] = DRAFT) -> UUID:
    found: UUID = lab.policies.create(Document.read(raw), caller=caller).id
    return found


def simulated(lab: Installation, caller: Caller, policy: UUID | Document, **more: Any) -> str:
    with lab.simulations.of(policy, caller=caller, **more) as simulation:
        digest: str = simulation.report().digest
    return digest


def activate(lab: Installation, caller: Caller, policy_id: UUID, digest: str | None) -> None:
    examined = lab.policies.examine(policy_id, caller=caller)
    lab.policies.activate(policy_id, examined, simulation_digest=digest, caller=caller)


def reason(lab: Installation, caller: Caller, policy_id: UUID, digest: str | None) -> object:
    with pytest.raises(Conflict) as refused:
        activate(lab, caller, policy_id, digest)
    return refused.value.details["reason"]


@pytest.mark.both_engines
def test_first_policy_with_empty_history_is_activated(lab: Installation, caller: Caller) -> None:
    policy = made(lab, caller)
    digest = simulated(lab, caller, policy)
    assert lab.simulations.get(digest, caller=caller).content["decided"] == 0

    activate(lab, caller, policy, digest)

    assert lab.policies.get(policy, caller=caller)[0].active_version == 1


def test_simulation_of_unsaved_document_is_valid_after_saving(lab: Installation, caller: Caller) -> None:
    policy = made(lab, caller)
    digest = simulated(lab, caller, Document.read(OTHER), replaces=policy)
    assert reason(lab, caller, policy, digest) == "simulation_stale"
    lab.policies.update(policy, Document.read(OTHER), caller=caller)

    activate(lab, caller, policy, digest)

    assert lab.policies.get(policy, caller=caller)[0].active_version == 2


def test_report_about_another_policy_is_rejected(lab: Installation, caller: Caller) -> None:
    """Unknown, another policy's of the same text, no policy's, another tenant's."""
    policy, twin = made(lab, caller), made(lab, caller)
    other = lab.orgs.service_caller(lab.orgs.create_tenant("Other", plan=Plan.ENTERPRISE).tenant_id)
    theirs = simulated(lab, other, made(lab, other))

    reports = [None, "0" * 64, simulated(lab, caller, twin), simulated(lab, caller, Document.read(DRAFT)), theirs]

    assert {reason(lab, caller, policy, digest) for digest in reports} == {"simulation_missing"}


def _another_version(lab: Installation, caller: Caller, policy: UUID) -> None:
    lab.policies.update(policy, Document.read(OTHER), caller=caller)


def _another_policy_in_force(lab: Installation, caller: Caller, policy: UUID) -> None:
    joined = made(lab, caller, OTHER)
    activate(lab, caller, joined, simulated(lab, caller, joined))


def _another_attribute(lab: Installation, caller: Caller, policy: UUID) -> None:
    lab.policy_attributes.replace([{"path": "channel", "type": "text"}], caller=caller)


@pytest.mark.parametrize("change", [_another_version, _another_policy_in_force, _another_attribute])
@pytest.mark.both_engines
def test_report_is_stale_after_its_baseline_changed(
    lab: Installation, caller: Caller, change: Callable[[Installation, Caller, UUID], None]
) -> None:
    policy = made(lab, caller)
    digest = simulated(lab, caller, policy)
    change(lab, caller, policy)

    assert reason(lab, caller, policy, digest) == "simulation_stale"


def test_policies_of_another_action_keep_report_current(lab: Installation, caller: Caller) -> None:
    policy = made(lab, caller)
    digest = simulated(lab, caller, policy)
    verify = made(lab, caller, {**OTHER, "category": "VERIFY"})
    activate(lab, caller, verify, simulated(lab, caller, verify))
    watched = made(lab, caller, OTHER)
    lab.policies.shadow(watched, caller=caller)

    activate(lab, caller, policy, digest)


def test_report_expires_after_a_day(lab: Installation, caller: Caller, clock: FixedClock) -> None:
    policy, late = made(lab, caller), made(lab, caller, {**DRAFT, "category": "VERIFY"})
    digest, old = simulated(lab, caller, policy), simulated(lab, caller, late)

    clock.advance(timedelta(hours=24))
    activate(lab, caller, policy, digest)
    clock.advance(timedelta(milliseconds=1))

    assert reason(lab, caller, late, old) == "simulation_stale"


def test_set_after_is_the_deciding_set_after_activation(lab: Installation, caller: Caller) -> None:
    """Whether it joins or takes a place, and wherever it stands among others: the digest is foretold."""
    question = PolicyQuery(Category.MINT, TargetType.TENANT_DEFAULT)
    first, second = made(lab, caller), made(lab, caller, OTHER)
    for policy in (second, first, second):
        if policy == second:
            lab.policies.update(second, Document.read({**OTHER, "name": "again"}), caller=caller)
        digest = simulated(lab, caller, policy)
        foretold = lab.simulations.get(digest, caller=caller).content
        before = lab.policy_decisions.evaluate_context(question, {}, caller=caller).active.policies.digest
        activate(lab, caller, policy, digest)
        after = lab.policy_decisions.evaluate_context(question, {}, caller=caller).active.policies.digest
        assert (foretold["set_before"], foretold["set_after"]) == (before, after)


def test_report_over_a_part_of_the_history_is_rejected(lab: Installation, caller: Caller, clock: FixedClock) -> None:
    """A report over all decisions is accepted; one that leaves a decision out, before or after its window, is not."""
    question = PolicyQuery(Category.MINT, TargetType.TENANT_DEFAULT)
    lab.policy_decisions.evaluate_and_record(question, {}, caller=caller)
    policy, start = made(lab, caller), clock.now()
    clock.advance(timedelta(hours=1))
    lab.policy_decisions.evaluate_and_record(question, {}, caller=caller)
    late = clock.now()

    whole = simulated(lab, caller, policy, start=start, end=late + timedelta(hours=1))
    parts = [simulated(lab, caller, policy, start=late), simulated(lab, caller, policy, end=late)]

    assert {reason(lab, caller, policy, digest) for digest in parts} == {"simulation_windowed"}
    activate(lab, caller, policy, whole)
