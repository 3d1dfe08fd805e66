"""Filters of event types: exact names and categories."""

from __future__ import annotations

import pytest

from attestlab.core.errors import ValidationFailed
from attestlab.core.suggestions import MAX_SUGGESTIONS
from attestlab.webhooks.event_types import list_type_names
from attestlab.webhooks.rules import MAX_FILTERS, decode_filters, encode_filters, matches, validate_filters


@pytest.mark.parametrize(
    ("filters", "matched"),
    [
        (["risk.signal.created"], ["risk.signal.created"]),
        (["risk.*"], ["risk.signal.created", "risk.signal.escalated"]),
        (["receipt.type.*"], ["receipt.type.created", "receipt.type.deprecated"]),
        (["key.rotated", "key.revoked"], ["key.rotated", "key.revoked"]),
        ([], []),
    ],
)
def test_filters_match_names_and_categories(filters: list[str], matched: list[str]) -> None:
    assert [name for name in list_type_names() if matches(filters, name)] == matched


def test_category_is_not_a_prefix_of_letters() -> None:
    """`policy.*` is about policies, and `verification.*` not about verification profiles."""
    assert not matches(["verification.*"], "verification_profile.created")
    assert matches(["verification.*"], "verification.failed")


def test_every_category_can_be_a_filter() -> None:
    categories = [f"{name.partition('.')[0]}.*" for name in list_type_names()]

    assert validate_filters(categories, list_type_names()) == list(dict.fromkeys(categories))


def test_stored_filters_are_read_back() -> None:
    assert decode_filters(encode_filters(["key.*", "team.role_changed"])) == ["key.*", "team.role_changed"]


def test_longest_list_fits_its_column() -> None:
    assert len(encode_filters(["x" * 66] * MAX_FILTERS)) <= 4096


def test_suggestions_are_bounded() -> None:
    with pytest.raises(ValidationFailed) as caught:
        validate_filters([f"attestation.craeted{number}" for number in range(MAX_FILTERS)], list_type_names())

    assert len(caught.value.fields) == MAX_FILTERS
    assert sum("Did you mean" in fault.message for fault in caught.value.fields) == MAX_SUGGESTIONS
