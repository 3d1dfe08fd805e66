"""Policy documents are validated completely, and every error has its pointer and a correction."""

from __future__ import annotations

import cProfile
import tomllib
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from attestlab.core.errors import MAX_REPORTED_ERRORS, FieldError, ValidationFailed
from attestlab.core.suggestions import MAX_SUGGESTIONS
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.language.ast import Effect
from attestlab.policy.language.attributes import PLATFORM, Attribute, AttributeType
from attestlab.policy.language.context import ContextNormalizer
from attestlab.policy.language.document import MAX_RULES, Document
from attestlab.policy.language.document_bounds import MAX_JSON_DEPTH
from support.policies.documents import REGISTRY, bind_document, make_condition, make_document, make_rule

PLAIN = make_condition("trust_tier", "eq", "BASIC")


def faults_of(raw: object) -> dict[str, str]:
    """Place to message of what is refused."""
    with pytest.raises(ValidationFailed) as refused:
        bind_document(raw)  # type: ignore[arg-type]  # anything may be sent
    return {fault.field: fault.message for fault in refused.value.fields}


def test_unknown_attribute_is_rejected_with_nearest_name() -> None:
    faults = faults_of(
        make_document(make_rule("r", "DENY", {"all": [PLAIN, make_condition("trust_teir", "eq", "BASIC")]}))
    )

    assert list(faults) == ["/rules/0/when/all/1/attr"]
    assert "did you mean trust_tier?" in faults["/rules/0/when/all/1/attr"]


@pytest.mark.parametrize(
    ("condition", "place", "expected"),
    [
        (make_condition("trust_tier", "lt", "BASIC"), "/op", "use eq, exists, in, ne, not_in"),
        (make_condition("is_resident", "in", [True]), "/op", "use eq, exists, ne"),
        (make_condition("trust_tier", "eq", "BASICK"), "/value", "did you mean BASIC?"),
        (make_condition("key.age_days", "gt", -1), "/value", "-1 is outside the domain (at least 0)."),
        (make_condition("claims.count", "gt", 6), "/value", "6 is outside the domain (-5 to 5)."),
        (make_condition("note", "in", [str(n) for n in range(1_001)]), "/value", "A list has at most 1,000 values."),
        (make_condition("trust_tier", "eqq", "BASIC"), "/op", "did you mean eq?"),
        ({"attr": "trust_tier", "op": "eq", "valeu": "BASIC"}, "/valeu", "Unknown member. Did you mean `value`?"),
        ({"nott": PLAIN}, "/nott", "Unknown member. Did you mean `not`?"),
        (make_condition("key.age_days", "gt", True), "/value", "expected a number, not a boolean"),
        (make_condition("key.age_days", "gt", "90"), "/value", "expected a number, not a text"),
        (make_condition("claims.count", "eq", 1.5), "/value", "expected a whole number"),
        (make_condition("note", "eq", "a\x00b"), "/value", "no NUL"),
        (make_condition("trust_tier", "eq", ["BASIC"]), "/value", "one value, not a list"),
        (make_condition("trust_tier", "in", "BASIC"), "/value", "takes a list"),
        (make_condition("trust_tier", "in", ["BASIC", "x"]), "/value/1", "not a value"),
        (make_condition("trust_tier", "exists", "yes"), "/value", "exists takes true or false"),
        (make_condition("trust_tier", "like", "B%"), "/op", "Input should be 'eq'"),
        (make_condition("trust_tier", "eq", None), "/value", "A value is a text, a number"),
        ({"all": PLAIN}, "/all", "This is not a list"),
        ([PLAIN], "", "Invalid condition"),
        ({**PLAIN, "all": [PLAIN]}, "", "Invalid condition"),
        ({}, "", "Invalid condition"),
        ({"attr": "trust_tier", "op": "eq"}, "", "Invalid condition"),
    ],
)
def test_invalid_comparison_is_rejected_at_its_pointer(condition: dict[str, Any], place: str, expected: str) -> None:
    faults = faults_of(make_document(make_rule("r", "DENY", {"not": condition})))

    assert expected in faults[f"/rules/0/when/not{place}"]


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (make_document(), "/rules"),
        (make_document(make_rule("r", "DENY", {"all": []})), "/rules/0/when/all"),
        (make_document(make_rule("r", "DENY", {"any": [PLAIN, {"any": []}]})), "/rules/0/when/any/1/any"),
        (make_document(make_rule("r", "DENY", make_condition("trust_tier", "in", []))), "/rules/0/when/value"),
        (make_document(make_rule("r", "DENY", PLAIN), tests=[]), "/tests"),
    ],
)
def test_empty_list_is_rejected(raw: dict[str, Any], place: str) -> None:
    """`all` of nothing would be true and `any` of nothing false; neither is ever meant."""
    assert list(faults_of(raw)) == [place]


@pytest.mark.parametrize(
    ("raw", "place", "meant"),
    [
        (
            {**make_document(make_rule("r", "DENY", PLAIN)), "defualt_effect": "DENY"},
            "/defualt_effect",
            "default_effect",
        ),
        (make_document(make_rule("r", "DENY", PLAIN, efect="DENY")), "/rules/0/efect", "effect"),
        (make_document(make_rule("r", "DENI", PLAIN)), "/rules/0/effect", "DENY"),
        (make_document(make_rule("r", "DENY", PLAIN), category="VERIFI"), "/category", "VERIFY"),
        (make_document(make_rule("r", "DENY", PLAIN), status="DRAF"), "/status", "DRAFT"),
        (
            make_document(
                make_rule("r", "DENY", PLAIN), tests=[{"name": "n", "contxt": {}, "context": {}, "allowed": True}]
            ),
            "/tests/0/contxt",
            "context",
        ),
    ],
)
def test_misspelt_member_or_word_is_rejected_with_nearest(raw: dict[str, Any], place: str, meant: str) -> None:
    assert f"did you mean {meant}?" in faults_of(raw)[place].replace("`", "").replace("Did", "did")


def test_out_of_domain_message_has_existing_bounds_only() -> None:
    messages = {}
    for name, bounds in {"most": {"most": 10}, "both": {"least": 0.5, "most": 1e6}}.items():
        fault = Attribute("x", AttributeType.NUMBER, **bounds).parse(1_000_000.5)
        messages[name] = getattr(fault, "message", "")

    assert messages["most"] == "1000000.5 is outside the domain (at most 10)."
    assert messages["both"] == "1000000.5 is outside the domain (0.5 to 1000000)."
    inexact = Attribute("x", AttributeType.INTEGER, least=0).parse(2**60)
    assert "beyond 2^53 - 1" in getattr(inexact, "message", "")


def test_all_errors_are_reported_at_once() -> None:
    faults = faults_of(
        make_document(
            make_rule("a", "DENY", make_condition("x", "eq", 1)),
            make_rule("b", "DENY", make_condition("trust_tier", "gt", 1)),
        )
    )

    assert list(faults) == ["/rules/0/when/attr", "/rules/1/when/op"]


def test_disabled_rule_is_validated() -> None:
    assert faults_of(make_document(make_rule("r", "DENY", make_condition("x", "eq", 1), enabled=False)))


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (make_document(make_rule("r", "DENY", PLAIN), make_rule("r", "ALLOW", PLAIN)), "/rules/1/id"),
        (make_document(make_rule("r", "DENY", PLAIN), surprise=1), "/surprise"),
        (make_document(make_rule("r", "DENY", PLAIN, priority=True)), "/rules/0/priority"),
        (make_document(make_rule("r", "DENY", PLAIN, priority="1")), "/rules/0/priority"),
        (make_document(make_rule("r", "PERMIT", PLAIN)), "/rules/0/effect"),
        (make_document(make_rule("a b", "DENY", PLAIN)), "/rules/0/id"),
        (make_document(make_rule("r", "DENY", PLAIN), target_type="ISSUER"), ""),
        (make_document(make_rule("r", "DENY", PLAIN), target_id="0193b5a0-7f3c-7abc-8def-0123456789ab"), ""),
        ([], ""),
        (None, ""),
    ],
)
def test_malformed_policy_is_rejected(raw: object, place: str) -> None:
    assert list(faults_of(raw)) == [place]


@pytest.mark.parametrize(
    "raw",
    [
        make_document(*[make_rule(f"r{n}", "DENY", PLAIN) for n in range(MAX_RULES + 1)]),
        make_document(make_rule("r", "DENY", {"all": [PLAIN] * 201})),
        make_document(make_rule("r", "DENY", make_condition("note", "in", [str(n) for n in range(1_001)]))),
        make_document(
            make_rule("r", "DENY", PLAIN), tests=[{"name": "n", "context": {"x": list(range(60_000))}, "allowed": True}]
        ),
        make_document(make_rule("r", "DENY", make_condition("note", "eq", "x" * 1_025))),
    ],
    ids=["rules", "parts", "values", "nodes", "text"],
)
def test_oversized_document_is_rejected(raw: dict[str, Any]) -> None:
    """Nothing that is sent makes anybody work without bound."""
    assert faults_of(raw)


def test_deeply_nested_document_is_rejected_without_recursion() -> None:
    when: dict[str, Any] = PLAIN
    for _ in range(100_000):
        when = {"not": when}

    assert f"{MAX_JSON_DEPTH} levels" in faults_of(make_document(make_rule("r", "DENY", when)))[""]


def test_deepest_accepted_document_is_evaluated() -> None:
    when: dict[str, Any] = PLAIN
    for _ in range(MAX_JSON_DEPTH - 6):
        when = {"not": when}

    assert bind_document(make_document(make_rule("r", "DENY", when))).rules


def test_digest_depends_on_meaning_only() -> None:
    """Not of the order of members, of defaults that are written out, or of what the service adds."""
    short = make_document(make_rule("r", "DENY", PLAIN))
    long = make_document(
        make_rule("r", "DENY", PLAIN, enabled=True, mode="ENFORCE", reason=""), mode="ENFORCE", version=3
    )
    long = {**dict(reversed(long.items())), "status": "ACTIVE"}

    assert Document.read(short).digest == Document.read(long).digest
    assert Document.read(short).digest != Document.read({**short, "default_effect": "ALLOW"}).digest


def test_digest_is_sha256_of_canonical_json() -> None:
    """Anybody recomputes it, here with another library than ours."""
    import hashlib

    import rfc8785

    read = Document.read(make_document(make_rule("r", "DENY", PLAIN)))

    assert read.digest == hashlib.sha256(rfc8785.dumps(read.content())).hexdigest()


def test_document_round_trips() -> None:
    read = Document.read(
        make_document(make_rule("r", "DENY", {"not": {"any": [PLAIN, make_condition("claims.amount", "gt", 1.5)]}}))
    )

    assert Document.read(read.content()) == read


def test_toml_and_json_are_equivalent() -> None:
    text = """
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
    assert Document.read(tomllib.loads(text)) == Document.read(make_document(make_rule("r", "DENY", PLAIN)))


def test_enum_constants_are_case_folded() -> None:
    policy = bind_document(
        make_document(make_rule("r", "DENY", make_condition("trust_tier", "in", ["basic", "BASIC"])))
    )

    assert policy.rules[0].when.value == ("BASIC",)  # type: ignore[union-attr]  # a leaf


def test_rules_are_in_decision_order() -> None:
    """A lower number first, DENY before ALLOW, then the id; those that are not enabled are not there."""
    policy = bind_document(
        make_document(
            make_rule("late", "DENY", PLAIN, 9),
            make_rule("z", "ALLOW", PLAIN, 1),
            make_rule("b", "DENY", PLAIN, 1),
            make_rule("a", "ALLOW", PLAIN, 1),
            make_rule("off", "DENY", PLAIN, 0, enabled=False),
        )
    )
    assert [each.id for each in policy.rules] == ["b", "a", "z", "late"]
    assert policy.default is Effect.DENY


@pytest.mark.parametrize(
    "more",
    [
        {"path": "Key"},
        {"path": "a..b"},
        {"path": 'x"; DROP'},
        {"path": "a.b.c.d.e"},
        {"type": AttributeType.ENUM},
        {"values": ("a",)},
        {"type": AttributeType.ENUM, "values": ("a", "A")},
        {"least": 3},
        {"type": AttributeType.NUMBER, "least": 3, "most": 2},
        {"type": AttributeType.INTEGER, "least": 0.5},
        {"type": AttributeType.NUMBER, "most": float("nan")},
    ],
)
def test_invalid_attribute_is_rejected(more: dict[str, Any]) -> None:
    with pytest.raises(ValidationFailed):
        Attribute(**{"path": "x", "type": AttributeType.TEXT, **more})


@pytest.mark.parametrize("path", ["status", "key", "note.length"])
def test_conflicting_own_attribute_is_rejected(path: str) -> None:
    """One path twice, a value that holds another value: dotted and nested would no longer be the same."""
    with pytest.raises(ValidationFailed):
        REGISTRY.with_own([Attribute(path, AttributeType.TEXT)])


def test_number_of_suggestions_for_misspelt_values_is_limited() -> None:
    """4,000 wrong countries in 22 KB took 17 s, for each was compared with every country."""
    countries = [f"{number:03x}" for number in range(4_000)]
    rules = [
        make_rule(f"r{n}", "DENY", make_condition("jurisdiction", "in", countries[n : n + 1_000]))
        for n in range(0, 4_000, 1_000)
    ]
    written = Document.read(make_document(*rules))

    faults, calls = refused_with(lambda: bind(written, PLATFORM))

    assert len(faults) == MAX_REPORTED_ERRORS
    assert sum(" is not a value; " in fault.message for fault in faults) <= MAX_SUGGESTIONS
    assert calls < 60 * len(countries)


def test_error_message_counts_unreported_errors() -> None:
    rules = [make_rule(f"r{number}", "DENY", make_condition("x", "eq", 1)) for number in range(100)]

    with pytest.raises(ValidationFailed, match=r"\(and 99 more\)"):
        bind(Document.read(make_document(*rules)), PLATFORM)


def test_number_of_suggestions_for_misspelt_words_is_limited() -> None:
    when = {"any": [make_condition("trust_tierr", "eqq", "BASIC")] * 20}
    raw = make_document(*(make_rule(f"r{number}", "DENNY", when) for number in range(200)))

    faults, _ = refused_with(lambda: Document.read(raw))

    assert len(faults) == MAX_REPORTED_ERRORS
    assert sum("did you mean" in fault.message for fault in faults) <= MAX_SUGGESTIONS


def test_misspelt_values_of_large_enum_are_fast() -> None:
    """Each of 100 attributes knows 1,000 values of 40 letters; one evaluation took 0.7 s."""
    values = tuple(f"{number:05}" * 8 for number in range(1_000))
    registry = PLATFORM.with_own(Attribute(f"own.a{n}", AttributeType.ENUM, values) for n in range(100))
    normalise, profile = ContextNormalizer(registry), cProfile.Profile()

    found = profile.runcall(normalise, {f"own.a{n}": f"{n:04}x" * 8 for n in range(100)})

    assert len(found.diagnostics) == 20
    assert sum("; " in each.message for each in found.diagnostics) <= MAX_SUGGESTIONS
    assert sum(entry.callcount for entry in profile.getstats()) < 250_000


def refused_with(read: Callable[[], object]) -> tuple[Sequence[FieldError], int]:
    """The faults, and how many calls of functions it took to find them."""
    profile = cProfile.Profile()
    with pytest.raises(ValidationFailed) as refused:
        profile.runcall(read)
    return refused.value.fields, sum(entry.callcount for entry in profile.getstats())
