"""Other policy engines on the same rules and contexts; each must decide as we do, or its time is meaningless.

Each engine gets the rules once, in the form that suits it. cedarpy and regopy can report which rules match, so they
evaluate that in addition to the effect, as the replay does; the others evaluate only the effect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import casbin
import cedarpy
import celpy
import regopy
import rule_engine
import zen
from celpy.adapter import json_to_cel

from attestlab.policy.formats.cedar import to_cedar, to_cedar_context
from attestlab.policy.formats.rego import PACKAGE, to_rego
from attestlab.policy.language.ast import Policy
from attestlab.policy.language.attributes import PLATFORM

Context = dict[str, Any]
MAX_CONTEXTS = {"rule_engine": 300, "celpy": 100, "casbin": 500}  # contexts per round, for slow engines

_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}


@dataclass(frozen=True)
class Rival:
    """An engine with the rules loaded. `prepare` converts a context to its form and is not timed; `decide` is timed."""

    name: str
    prepare: Callable[[Context], Any]
    decide: Callable[[list[Any]], list[bool]]


def list_rivals(document: dict[str, Any], policy: Policy) -> Iterator[Rival]:
    """Yield all engines."""
    yield _cedarpy(policy)
    yield _regopy(policy)
    yield _zen(document)
    yield _casbin(document)
    yield _rule_engine(document)
    yield _celpy(document)


def _cedarpy(policy: Policy) -> Rival:
    """Parse policies and entities once; a batch contains both requests of every context."""
    policies = cedarpy.PolicySet.from_str(to_cedar(policy))
    entities = cedarpy.Entities.from_json_str("[]")

    def prepare(context: Context) -> Any:
        facts = to_cedar_context(context, PLATFORM)
        about = {"principal": 'U::"u"', "resource": 'R::"r"', "context": facts}
        return [{**about, "action": f'Action::"{action}"'} for action in ("decide", "match")]

    def decide(pairs: list[Any]) -> list[bool]:
        requests = [request for pair in pairs for request in pair]
        answers = cedarpy.is_authorized_batch(requests, policies, entities)
        return [bool(answer.allowed) for answer in answers[::2]]

    return Rival("cedarpy", prepare, decide)


def _regopy(policy: Policy) -> Rival:
    interpreter = regopy.Interpreter()
    interpreter.add_module("policy", to_rego(policy))

    def allowed(text: str) -> bool:
        interpreter.set_input_term(text)
        return bool(interpreter.query(f"data.{PACKAGE}").results[0].expressions[0]["allow"])

    return Rival("regopy", json.dumps, lambda texts: [allowed(text) for text in texts])


def _zen(document: dict[str, Any]) -> Rival:
    expression = zen.compile_expression(_nested_expression(document, " and "))
    return Rival("zen", _flatten, lambda contexts: [expression.evaluate(context) for context in contexts])


def _celpy(document: dict[str, Any]) -> Rival:
    """Rewrite `not in`, because CEL has only `in` and `!`."""
    environment = celpy.Environment()
    text = re.sub(r"(\w+) not in (\[[^]]*\])", r"!(\1 in \2)", _nested_expression(document, " && "))
    program = environment.program(environment.compile(text))

    def prepare(context: Context) -> Any:
        return {name: json_to_cel(value) for name, value in _flatten(context).items()}

    return Rival("celpy", prepare, lambda contexts: [bool(program.evaluate(context)) for context in contexts])


def _rule_engine(document: dict[str, Any]) -> Rival:
    rules = [(rule_engine.Rule(_condition(rule, " and ")), rule["effect"] == "ALLOW") for rule in document["rules"]]
    default = document["default_effect"] == "ALLOW"

    def allowed(context: Context) -> bool:
        return bool(next((allows for rule, allows in rules if rule.matches(context)), default))

    return Rival("rule_engine", _flatten, lambda contexts: [allowed(context) for context in contexts])


_CASBIN = """
[request_definition]
r = sub
[policy_definition]
p = sub_rule, eft
[policy_effect]
e = priority(p.eft) || deny
[matchers]
m = eval(p.sub_rule)
"""


class _Subject:
    """A context as an object, because Casbin reads attributes of objects."""

    def __init__(self, context: Context) -> None:
        self.__dict__.update(_flatten(context))


def _casbin(document: dict[str, Any]) -> Rival:
    enforcer = casbin.Enforcer(casbin.Enforcer.new_model(text=_CASBIN))
    for rule in document["rules"]:
        condition = re.sub(
            r"\b(?!in\b|not\b)[a-z_]+(?= (==|!=|<|>|in |not in ))", r"r.sub.\g<0>", _condition(rule, " && ")
        )
        condition = re.sub(r"\[([^]]*)\]", r"(\1)", condition)
        enforcer.add_policy(condition, "allow" if rule["effect"] == "ALLOW" else "deny")
    enforcer.add_policy("True", "allow" if document["default_effect"] == "ALLOW" else "deny")
    return Rival("casbin", _Subject, lambda subjects: [enforcer.enforce(subject) for subject in subjects])


def _nested_expression(document: dict[str, Any], joint: str) -> str:
    """Return one expression: each rule's condition selects its effect, or otherwise the next rule."""
    text = "true" if document["default_effect"] == "ALLOW" else "false"
    for rule in reversed(document["rules"]):
        effect = "true" if rule["effect"] == "ALLOW" else "false"
        text = f"(({_condition(rule, joint)}) ? {effect} : {text})"
    return text


def _condition(rule: dict[str, Any], joint: str) -> str:
    """Return a rule's condition in the syntax that these engines share."""
    return joint.join(map(_comparison, rule["when"]["all"]))


def _comparison(leaf: dict[str, Any]) -> str:
    name, value = leaf["attr"].replace(".", "_"), leaf["value"]
    if isinstance(value, list):
        return f"{name} {leaf['op'].replace('_', ' ')} [{', '.join(map(json.dumps, value))}]"
    return f"{name} {_SIGNS[leaf['op']]} {f'{value}.0' if isinstance(value, int) else json.dumps(value)}"


def _flatten(context: Context) -> Context:
    return {name.replace(".", "_"): value for name, value in context.items()}
