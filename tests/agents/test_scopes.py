"""Scopes of agents: their form, that a deny always wins, and that nothing derived from a set allows more than it."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.agents.scopes import MAX_SCOPES, ScopeSet, find_widening, parse_required_scope, parse_scopes
from attestlab.core.errors import ValidationFailed
from support.property_tests import examples

BROKEN = [
    "",
    " ",
    "docs",
    "docs:",
    ":read",
    ":",
    "!",
    "!docs",
    "!:read",
    "!!docs:read",
    "docs:read!",
    "docs:!read",
    "*",
    "*:*",
    "!*:*",
    "*:read",
    "docs:**",
    "docs:re*",
    "docs:*read",
    "do*:read",
    "Docs:read",
    "docs:Read",
    "docs:read ",
    " docs:read",
    "docs: read",
    "docs :read",
    "! docs:read",
    "docs:read\n",
    "docs:read\x00",
    "docs:read:all",
    "docs::read",
    "docs/read",
    "docs:read,mail:send",
    "docs:read mail:send",
    ".docs:read",
    "-docs:read",
    "_docs:read",
    "docs:.read",
    "döcs:read",
    "docs:re\u0430d",  # a Cyrillic a
    "d" * 65 + ":read",
    "docs:" + "r" * 65,
    "docs\uff1aread",
    '"docs:read"',
]
RESOURCES, ACTIONS = ("docs", "mail"), ("read", "send", "delete")
SCOPES = [f"{resource}:{action}" for resource, action in product(RESOURCES, (*ACTIONS, "*"))]
single_requests = [f"{resource}:{action}" for resource, action in product(RESOURCES, (*ACTIONS, "other"))]
scope_sets = st.builds(ScopeSet, st.frozensets(st.sampled_from(SCOPES)), st.frozensets(st.sampled_from(SCOPES)))


def permits_by_definition(held: ScopeSet, request: str) -> bool:
    matching = {request, f"{request.split(':')[0]}:*"}
    return bool(matching & held.allows) and not matching & held.denies


@pytest.mark.parametrize("broken", BROKEN, ids=ascii)
def test_a_broken_scope_is_refused_by_its_place(broken):
    with pytest.raises(ValidationFailed) as refused:
        parse_scopes(["docs:read", broken])

    assert [fault.field for fault in refused.value.fields] == ["/scopes/1"]


def test_more_than_forty_forms_are_broken():
    assert len(set(BROKEN)) >= 40


@pytest.mark.parametrize(
    "value", [None, 7, "docs:read", b"docs:read", {"docs:read"}, [None], [7], [["docs:read"]], [b"a:b"]]
)
def test_what_is_no_list_of_texts_is_refused(value):
    with pytest.raises(ValidationFailed):
        parse_scopes(value)


@pytest.mark.parametrize("good", ["a:b", "0:0", "docs:*", "!docs:*", "a.b_c-d:e.f_g-h", "d" * 64 + ":" + "r" * 64])
def test_a_scope_has_its_own_form(good):
    assert parse_scopes([good]).as_list() == [good]


def test_a_scope_is_listed_once_and_at_most_64_are():
    with pytest.raises(ValidationFailed, match="listed twice"):
        parse_scopes(["docs:read", "docs:read"])
    assert len(parse_scopes([f"docs:a{number}" for number in range(MAX_SCOPES)]).allows) == MAX_SCOPES
    with pytest.raises(ValidationFailed, match="65 scopes exceed the limit of 64"):
        parse_scopes([f"docs:a{number}" for number in range(MAX_SCOPES + 1)])


def test_every_broken_scope_of_a_list_is_named():
    with pytest.raises(ValidationFailed) as refused:
        parse_scopes(["docs", "docs:read", "!"])

    assert [fault.field for fault in refused.value.fields] == ["/scopes/0", "/scopes/2"]


@pytest.mark.parametrize("order", [["docs:*", "!docs:delete"], ["!docs:delete", "docs:*"]])
def test_a_deny_wins_in_either_order(order):
    held = parse_scopes(order)

    assert held.permits("docs:read")
    assert not held.permits("docs:delete")
    assert not held.permits("docs:*"), "a caller that needs everything does not have what is denied"
    assert held.can_grant("docs:*"), "it may pass the wildcard on, because the deny goes along"


@pytest.mark.parametrize("required", ["!docs:read", "docs", "", None, 7, "*:*"])
def test_a_required_scope_has_the_form_of_an_allow(required):
    with pytest.raises(ValidationFailed) as refused:
        parse_required_scope(required)

    assert refused.value.fields[0].field == "/required_scope"


@pytest.mark.more_in_soak
@given(held=scope_sets)
@settings(max_examples=examples(50, many=1000))
def test_a_set_permits_what_its_definition_says(held):
    for request in single_requests:
        assert held.permits(request) == permits_by_definition(held, request)
        assert held.simplify().permits(request) == held.permits(request)


@pytest.mark.more_in_soak
@given(first=scope_sets, second=scope_sets)
@settings(max_examples=examples(50, many=2000))
def test_an_intersection_permits_what_both_permit(first, second):
    both = first.intersect(second)

    for request in single_requests:
        assert both.permits(request) == (first.permits(request) and second.permits(request))


@pytest.mark.more_in_soak
@given(child=scope_sets, parent=scope_sets)
@settings(max_examples=examples(100, many=3000))
def test_what_widens_nothing_permits_nothing_more(child, parent):
    widening = find_widening(child, parent)

    if widening is None:
        assert all(parent.permits(request) for request in single_requests if child.permits(request))
    elif widening.startswith("!"):
        assert widening[1:] in parent.denies - child.denies
    else:
        assert widening in child.allows
        assert not parent.can_grant(widening)
