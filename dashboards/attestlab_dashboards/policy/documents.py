"""Documents of policies as text: where an error is, which thresholds there are, and a difference in words."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

PolicyJson = Mapping[str, Any]  # a document that the service has accepted
_HEADER: Final = re.compile(r"\s*\[\[?\s*([A-Za-z_.]+)\s*\]?\]")
_AT_LINE: Final = re.compile(r"\(at line (\d+), column \d+\)")
_NEAREST: Final = re.compile(r"[Dd]id you mean `?([^?`]{1,200})`?\?")
_WRONG: Final = re.compile(r"'([^']{1,200})'")
_MAX_LISTED: Final = 6  # values of a list in words
WORDS: Final = {"eq": "=", "ne": "≠", "in": "in", "not_in": "not in", "lt": "<", "lte": "≤", "gt": ">", "gte": "≥"}
_ORDERED: Final = ("lt", "lte", "gt", "gte")
_SETTINGS: Final = ("name", "category", "target_type", "target_id", "mode", "default_effect")


class DraftProblem(NamedTuple):
    """An error in a draft: its line from 1, what is wrong there, the nearest name, or "", and the wrong one, or ""."""

    line: int
    message: str
    nearest: str
    wrong: str


class RuleThreshold(NamedTuple):
    """A number that a rule compares an attribute with."""

    rule: str
    attribute: str
    op: str
    value: float

    @property
    def key(self) -> str:
        """The threshold as the state of the page names it."""
        return f"{self.rule}|{self.attribute}|{self.op}"

    @property
    def name(self) -> tuple[str, str, str]:
        """The threshold as a sweep names it."""
        return self.rule, self.attribute, self.op


def parse(text: str) -> PolicyJson | None:
    """Parse a document; None if it is no TOML."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def locate(text: str, field: str, message: str) -> DraftProblem:
    """Find the line of an error, which the service names by a JSON pointer, or by a line if the text is no TOML."""
    nearest = _NEAREST.search(message)
    found = nearest[1].strip() if nearest else ""
    quoted = _WRONG.search(message)
    wrong = quoted[1] if quoted else field.rpartition("/")[2]  # the place of an unknown member is its name
    at = _AT_LINE.search(message)
    if field == "/toml" or at:
        return DraftProblem(int(at[1]) if at else max(1, text.rstrip().count("\n") + 1), message, found, wrong)
    return DraftProblem(_find_line(text, field.split("/")[1:]), message, found, wrong)


def correct(text: str, problem: DraftProblem) -> str | None:
    """Write the nearest name into the line of an error; None if what is wrong does not stand there."""
    lines = text.split("\n")
    if not problem.nearest or not problem.wrong or problem.wrong not in lines[problem.line - 1]:
        return None
    lines[problem.line - 1] = lines[problem.line - 1].replace(problem.wrong, problem.nearest, 1)
    return "\n".join(lines)


def _find_line(text: str, parts: list[str]) -> int:
    lines = text.split("\n")
    first, last = _find_block(lines, parts)
    for needle in _list_needles(parse(text), parts):
        for place in range(first, last):
            if needle.search(lines[place]):
                return place + 1
    return first + 1


def _find_block(lines: list[str], parts: list[str]) -> tuple[int, int]:
    """Return the lines of the table that an error is in, as a range: of a rule or a test, or of all that is first."""
    headers = [(place, header[1]) for place, line in enumerate(lines) if (header := _HEADER.match(line))]
    starts = [place for place, name in headers if parts and name == parts[0] and lines[place].lstrip().startswith("[[")]
    if len(parts) > 1 and parts[1].isdigit() and int(parts[1]) < len(starts):
        start = starts[int(parts[1])]
        ends = [place for place, name in headers if place > start and "." not in name]
        return start, min([*ends, len(lines)])
    return 0, len(lines)


def _list_needles(document: PolicyJson | None, parts: list[str]) -> Iterator[re.Pattern[str]]:
    """Yield what the line of an error contains, the best first: its value, else its key."""
    value: object = document
    for part in parts:
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            value = None
    keys = [part for part in parts if not part.isdigit()]
    if isinstance(value, str) and value:
        yield re.compile("[\"']" + re.escape(value) + "[\"']")
    if keys and isinstance(value, int | float):
        yield re.compile(rf"\b{re.escape(keys[-1])}\s*=\s*{re.escape(str(value).lower())}\b")
    if keys and keys[-1] != parts[0]:
        yield re.compile(rf"(\b|\"){re.escape(keys[-1])}(\b|\")\s*[=\]]")


def list_rules(document: PolicyJson | None) -> list[PolicyJson]:
    """List the rules of a document."""
    rules = (document or {}).get("rules", [])
    return [rule for rule in rules if isinstance(rule, Mapping)] if isinstance(rules, list) else []


def list_leaves(when: object) -> Iterator[PolicyJson]:
    """Yield the comparisons of a condition, from left to right."""
    if not isinstance(when, Mapping):
        return
    if "attr" in when:
        yield when
    for part in (*when.get("all", ()), *when.get("any", ()), when.get("not")):
        yield from list_leaves(part)


def list_attributes(*documents: PolicyJson | None) -> tuple[str, ...]:
    """List the attributes that documents test, each once, in the order of the rules."""
    rules = [rule for document in documents for rule in list_rules(document)]
    return tuple(dict.fromkeys(str(leaf["attr"]) for rule in rules for leaf in list_leaves(rule.get("when"))))


def list_thresholds(document: PolicyJson | None) -> tuple[RuleThreshold, ...]:
    """List the thresholds that a sweep can vary: those of enabled rules in which attribute and `op` occur once."""
    found = [
        RuleThreshold(str(rule["id"]), str(leaf["attr"]), str(leaf["op"]), float(leaf["value"]))
        for rule in list_rules(document)
        if rule.get("enabled", True) and rule.get("mode") != "MONITOR"
        for leaf in list_leaves(rule.get("when"))
        if leaf["op"] in _ORDERED and isinstance(leaf["value"], int | float)
    ]
    keys = [each.key for each in found]
    return tuple(each for each in found if keys.count(each.key) == 1)


def describe_condition(when: object, outer: str = "") -> str:
    """Describe a condition in words.

    >>> describe_condition({"not": {"attr": "key.age_days", "op": "lt", "value": 7.0}})
    'not (key.age_days < 7)'
    """
    if not isinstance(when, Mapping):
        return "?"
    if "attr" in when:
        return describe_leaf(when)
    if "not" in when:
        return f"not ({describe_condition(when['not'])})"
    word = "all" if "all" in when else "any"
    joined = {"all": " and ", "any": " or "}[word].join(describe_condition(each, word) for each in when.get(word, ()))
    return f"({joined})" if outer and outer != word else joined


def describe_leaf(leaf: PolicyJson) -> str:
    """Describe a comparison in words."""
    attribute, op, value = leaf.get("attr"), str(leaf.get("op")), leaf.get("value")
    if op == "exists":
        return f"{attribute} exists" if value else f"{attribute} is missing"
    return f"{attribute} {WORDS.get(op, op)} {describe_value(value)}"


def describe_value(value: object) -> str:
    """Describe a value: a number without a trailing zero, a list by its first values.

    >>> describe_value(7.0), describe_value(["CH", "DE"]), describe_value(None)
    ('7', 'CH, DE', 'missing')
    """
    if value is None:
        return "missing"
    if isinstance(value, list | tuple):
        more = f" and {len(value) - _MAX_LISTED} more" if len(value) > _MAX_LISTED else ""
        return ", ".join(map(describe_value, value[:_MAX_LISTED])) + more
    if isinstance(value, bool):
        return "true" if value else "false"
    return describe_number(value) if isinstance(value, int | float) else str(value)


def describe_witness(witness: Mapping[str, object]) -> str:
    """Describe a context in words."""
    return ", ".join(f"{name} {describe_value(value)}" for name, value in witness.items()) or "the empty context"


def describe_number(value: float) -> str:
    """Describe a number without a trailing zero.

    >>> describe_number(7.0), describe_number(0.25)
    ('7', '0.25')
    """
    return f"{value:,.0f}" if value == int(value) else f"{value:.6g}"


def write_value(value: object) -> str:
    """Write a value as a form takes it.

    >>> write_value(True), write_value(7.0), write_value("CH")
    ('true', '7', 'CH')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.15g}" if isinstance(value, int | float) else str(value)


def describe_changes(before: PolicyJson, after: PolicyJson) -> list[str]:
    """Describe in sentences what a document changes of another one; none if they mean the same."""
    settings = [
        f"{name} is {describe_value(after.get(name))}, was {describe_value(before.get(name))}."
        for name in _SETTINGS
        if _setting(before, name) != _setting(after, name)
    ]
    old, new = ({str(rule.get("id")): rule for rule in list_rules(each)} for each in (before, after))
    removed = [f"Rule {name} is removed: {describe_rule(old[name])}." for name in old if name not in new]
    added = [f"Rule {name} is added: {describe_rule(new[name])}." for name in new if name not in old]
    changed = [sentence for name in new if name in old for sentence in _describe_rule_change(old[name], new[name])]
    tests = ["The tests differ."] if (before.get("tests") or None) != (after.get("tests") or None) else []
    return [*settings, *added, *removed, *changed, *tests]


def describe_rule(rule: PolicyJson) -> str:
    """Describe a rule in words."""
    watch = ", watched only" if rule.get("mode") == "MONITOR" else ""
    return f"{rule.get('effect')} if {describe_condition(rule.get('when'))}, priority {rule.get('priority')}{watch}"


def _describe_rule_change(old: PolicyJson, new: PolicyJson) -> Iterator[str]:
    name = new.get("id")
    for key, default in (("effect", ""), ("priority", ""), ("mode", "ENFORCE"), ("enabled", True)):
        was, now = old.get(key, default), new.get(key, default)
        if was != now:
            yield f"Rule {name}: {key} is {describe_value(now)}, was {describe_value(was)}."
    if _plain(old.get("when")) != _plain(new.get("when")):
        now, was = describe_condition(new.get("when")), describe_condition(old.get("when"))
        yield f"Rule {name}: now if {now}; was if {was}."
    if old.get("reason", "") != new.get("reason", ""):
        yield f"Rule {name}: another reason."


def _setting(document: PolicyJson, name: str) -> object:
    return document.get(name, "ENFORCE" if name == "mode" else None)


def _plain(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str).replace(".0,", ",").replace(".0}", "}")


def disable_rule(text: str, rule_id: str) -> str | None:
    """Write `enabled = false` into a rule of a document; None if the text has no such table."""
    lines = text.split("\n")
    ids = [str(rule.get("id")) for rule in list_rules(parse(text))]
    if rule_id not in ids:
        return None
    first, last = _find_block(lines, ["rules", str(ids.index(rule_id))])
    places = [place for place in range(first, last) if re.match(r"\s*enabled\s*=", lines[place])]
    if not lines[first].lstrip().startswith("[[rules]]"):
        return None
    if places:
        lines[places[0]] = "enabled = false"
    else:
        lines.insert(first + 1, "enabled = false")
    return "\n".join(lines)
