"""Rule sets as policies: an escalation is a denial, so a rule set decides, compiles and explains like a policy.

A signal is escalated if a rule matches, and passes if none does. Rules are DENY rules in the order of the list, on the
default ALLOW: a missing attribute never makes a signal pass.

Rules compare attributes of a signal, and counts of the signals of its entity in windows. A window looks back only: it
holds the entity's signals that occurred after `t - seconds`, up to the signal itself. Signals of one moment follow each
other in the order in which they were recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from attestlab.core.errors import ValidationFailed
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.evaluation.policy_set import PolicySetMember
from attestlab.policy.language.ast import Comparison, ConditionTree, Effect, Mode, Policy, Rule, iterate_comparisons
from attestlab.policy.language.attributes import Attribute, AttributeType, Op, Registry
from attestlab.policy.language.document import Category, Document, TargetType
from attestlab.risk.rules import MAX_SCORE, EntityType


class LookBack(NamedTuple):
    """A window before each signal: the suffix of its attributes, and its length."""

    name: str
    seconds: int


LOOK_BACKS = (LookBack("5m", 300), LookBack("1h", 3_600), LookBack("24h", 86_400), LookBack("7d", 604_800))
MAX_LOOK_BACK_S = LOOK_BACKS[-1].seconds
SCORE, SOURCE = "signal.score", "signal.source"
SIGNAL_TYPE, ENTITY_TYPE = "signal.signal_type", "signal.entity_type"
SINCE_PREVIOUS = "entity.seconds_since_previous"
COUNT, MAXIMUM, SOURCES = "entity.signals_", "entity.max_score_", "entity.sources_"

REGISTRY = Registry(
    [
        Attribute(SCORE, AttributeType.NUMBER, least=0, most=MAX_SCORE, unit="points"),
        Attribute(SOURCE, AttributeType.TEXT),
        Attribute(SIGNAL_TYPE, AttributeType.TEXT),
        Attribute(ENTITY_TYPE, AttributeType.ENUM, tuple(EntityType)),
        Attribute(SINCE_PREVIOUS, AttributeType.NUMBER, least=0, unit="seconds"),
        *(Attribute(COUNT + each.name, AttributeType.INTEGER, least=0) for each in LOOK_BACKS),
        *(
            Attribute(MAXIMUM + each.name, AttributeType.NUMBER, least=0, most=MAX_SCORE, unit="points")
            for each in LOOK_BACKS
        ),
        *(Attribute(SOURCES + each.name, AttributeType.INTEGER, least=0) for each in LOOK_BACKS),
    ]
)
"""What a rule may compare. Only `entity.seconds_since_previous` can be missing: the entity had no signal in 7 days."""


def list_look_backs(paths: Collection[str]) -> list[LookBack]:
    """Return the windows that attributes need, the shortest first."""
    return [each for each in LOOK_BACKS if any(prefix + each.name in paths for prefix in (COUNT, MAXIMUM, SOURCES))]


MAX_RISK_RULES = 50
MAX_LEAVES = 500  # comparisons of all rules together
CANDIDATE, LIVE, TRUTH = "candidate", "live", "truth"
LIVE_RULE = "escalation_threshold"
IS_FRAUD = Attribute("label.fraud", AttributeType.BOOLEAN)
"""The label of a signal; no rule may use it."""


def read_candidate(rules: Sequence[Mapping[str, object]]) -> PolicySetMember:
    """Read rules `{id, when, reason?, enabled?}`.

    Raises:
        ValidationFailed: there are too many rules or comparisons, or they are invalid; each error has its JSON Pointer.
    """
    if not 0 < len(rules) <= MAX_RISK_RULES:
        raise ValidationFailed.of("/rules", "count", f"Send 1 to {MAX_RISK_RULES} rules; these are {len(rules):,}.")
    numbered = [{**rule, "effect": Effect.DENY, "priority": place} for place, rule in enumerate(rules)]
    content = {"name": CANDIDATE, "category": Category.VERIFY, "target_type": TargetType.TENANT_DEFAULT}
    try:
        document = Document.read({**content, "default_effect": Effect.ALLOW, "rules": numbered})
        policy = bind(document, REGISTRY)
    except ValidationFailed as error:
        raise ValidationFailed(error.message.replace("The policy is", "The rules are"), error.fields) from None
    _require_few_leaves(policy.rules)
    return PolicySetMember(CANDIDATE, document.digest, policy)


def live_rules(threshold: float) -> PolicySetMember:
    """Return the rule that escalates signals today: a score of at least the tenant's threshold."""
    return _single_rule(LIVE, LIVE_RULE, Comparison(REGISTRY[SCORE], Op.GTE, threshold))


def true_labels() -> PolicySetMember:
    """Return the rule that escalates exactly the fraud; compared with it, a flip is a mistake."""
    return _single_rule(TRUTH, IS_FRAUD.path, Comparison(IS_FRAUD, Op.EQ, True))


def _require_few_leaves(rules: Sequence[Rule]) -> None:
    count = sum(1 for rule in rules for _ in iterate_comparisons(rule.when))
    if count > MAX_LEAVES:
        message = f"The rules have {count:,} comparisons, and at most {MAX_LEAVES} are replayed. Send fewer rules."
        raise ValidationFailed.of("/rules", "comparisons", message)


def _single_rule(name: str, rule_id: str, when: ConditionTree) -> PolicySetMember:
    rule = Rule(rule_id, Effect.DENY, 0, Mode.ENFORCE, f"Rule {rule_id} matched.", when)
    return PolicySetMember(name, name, Policy(name, Effect.ALLOW, Mode.ENFORCE, (rule,)))
