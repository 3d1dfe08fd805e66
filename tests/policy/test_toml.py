"""TOML and JSON are equivalent: values outside JSON are rejected, values outside TOML are omitted."""

from __future__ import annotations

import cProfile
from typing import Any

import pytest

from attestlab.core.errors import ValidationFailed
from attestlab.policy.formats.toml import format_toml, parse_toml
from attestlab.policy.language.document import Document
from support.policies.documents import make_condition, make_document, make_rule

HEAD = """
name = "p"
category = "MINT"
target_type = "TENANT_DEFAULT"
default_effect = "DENY"
[[rules]]
id = "r"
effect = "DENY"
priority = 0
when = { attr = "trust_tier", op = "eq", value = "BASIC" }
"""


def faults_of(text: str) -> list[tuple[str, str]]:
    """Place and code of what is refused."""
    with pytest.raises(ValidationFailed) as refused:
        parse_toml(text)
    return [(fault.field, fault.code) for fault in refused.value.fields]


def with_test(context: str) -> str:
    """A policy with one test, whose context is this TOML."""
    return f'{HEAD}[[tests]]\nname = "t"\nallowed = true\ncontext = {context}\n'


def document_with_test(context: dict[str, Any]) -> Document:
    case = {"name": "t", "context": context, "allowed": True}
    return Document.read(
        make_document(make_rule("r", "DENY", make_condition("trust_tier", "eq", "BASIC")), tests=[case])
    )


def test_nul_is_rejected_anywhere() -> None:
    assert faults_of(HEAD.replace('"p"', '"p\\u0000"')) == [("/name", "nul")]
    assert faults_of(f'{HEAD}reason = "a\\u0000b"\n') == [("/rules/0/reason", "nul")]
    assert faults_of(with_test('{ note = ["x", "\\u0000"] }')) == [("/tests/0/context/note/1", "nul")]
    assert faults_of(with_test('{ key = { "a\\u0000" = 1 } }')) == [("/tests/0/context/key", "nul")]


def test_lone_surrogate_is_rejected() -> None:
    assert faults_of(with_test('{ note = "\ud800" }'))


@pytest.mark.parametrize("number", ["inf", "-inf", "nan"])
def test_non_finite_number_is_rejected_at_its_pointer(number: str) -> None:
    assert faults_of(with_test(f"{{ claims = {{ amount = {number} }} }}")) == [
        ("/tests/0/context/claims/amount", "number")
    ]


@pytest.mark.parametrize("value", ["2026-01-02", "07:32:00", "1979-05-27T07:32:00Z", "9" * 5_000, str(2**60)])
def test_time_and_oversized_number_are_rejected(value: str) -> None:
    assert faults_of(with_test(f"{{ note = {value} }}"))


def test_null_in_context_is_omitted_from_toml() -> None:
    """In a list too: a context's list is never the value of an attribute, with a null in it or without."""
    written = document_with_test({"jurisdiction": None, "key": {"age_days": None, "alg": "Ed25519"}, "note": [None, 1]})

    (case,) = parse_toml(format_toml(written)).tests or ()

    assert case.context == {"key": {"alg": "Ed25519"}, "note": [1]}


def test_toml_round_trips() -> None:
    written = document_with_test({"claims": {"amount": 1.5}, "key.age_days": 5, 'odd "key"': [True, {"a": []}]})

    assert parse_toml(format_toml(written)) == written


@pytest.mark.parametrize("part", ["a", '"a"', "'a'", '"\u2028"', '"."'])
def test_long_dotted_key_is_rejected_before_parsing(part: str) -> None:
    """tomllib took 9 s for 60 KB of one key; a key within an inline table behind a closing text is found too."""
    key = ".".join([part] * 20_000)

    assert faults_of(f"{key} = 1") == [("/toml", "key_too_long")]
    assert faults_of(f'x = {{ y = """\n\' """, {key} = 1, z = \' \' }}') == [("/toml", "key_too_long")]


def test_dots_in_texts_comments_and_numbers_are_not_keys() -> None:
    """Each of these lines has more dots than a key may have parts."""
    dots = "a.b." * 40
    reason = f'reason = "{dots}" # {dots}\n'
    numbers = f'{{ note = [{", ".join(["1.5"] * 40)}], other = """\n{dots}\\"""" }}'

    assert parse_toml(HEAD + reason + with_test(numbers).removeprefix(HEAD)).tests


def test_a_large_policy_is_written_as_toml_in_linear_time() -> None:
    """Counted, not timed: twice the leaves take about twice the steps of the interpreter."""
    small, large = (_steps_of_writing(leaves) for leaves in (200, 400))

    assert large < 2.5 * small


def _steps_of_writing(leaves: int) -> int:
    rules = [make_rule(f"r{number}", "DENY", make_condition("key.age_days", "eq", number)) for number in range(leaves)]
    written = Document.read(make_document(*rules))
    format_toml(written)  # what is loaded at first use is no part of it
    profile = cProfile.Profile()
    profile.runcall(format_toml, written)
    return sum(entry.callcount for entry in profile.getstats())
