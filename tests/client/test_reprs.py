"""The repr of every answer shows its values, and no secret; a card shows them too."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from attestlab.client.handles.base import Handle
from attestlab.core.shapes import Out
from attestlab.identity.shapes import TokensOut
from attestlab.orgs.shapes import ApiKeyMadeOut
from attestlab.server.app import all_routes
from attestlab.simulation.risk.shapes import ProportionOut
from attestlab.webhooks.shapes import SecretRotatedOut, WebhookEndpointMadeOut

SECRET = "s3cret-kept-from-view"
WORDS = ("secret", "password", "access_token", "refresh_token", "private")
NO_SECRETS = {"old_secret_until"}  # when the old one ends


def list_answers() -> Iterator[type[Out]]:
    """Every class of answers that a route has; handles say themselves what they show."""
    all_routes()
    waiting = [Out]
    while waiting:
        found = [each for each in waiting.pop().__subclasses__() if not issubclass(each, Handle)]
        waiting += found
        yield from found


def test_an_answer_shows_its_values() -> None:
    assert repr(ProportionOut(value=0.5, low=0.25, high=0.75)) == "Proportion(value=0.5, low=0.25, high=0.75)"


@pytest.mark.parametrize(
    ("answer", "member"),
    [
        (TokensOut, "access_token"),
        (TokensOut, "refresh_token"),
        (ApiKeyMadeOut, "secret"),
        (SecretRotatedOut, "secret"),
        (WebhookEndpointMadeOut, "secret"),
    ],
)
def test_a_secret_is_in_no_repr(answer: type[Out], member: str) -> None:
    made = answer.model_construct(**{member: SECRET})

    assert SECRET not in repr(made)
    assert SECRET not in str(made)


def test_every_member_that_is_named_like_a_secret_is_one() -> None:
    shown = {
        f"{answer.__name__}.{name}"
        for answer in list_answers()
        for name, field in answer.model_fields.items()
        if field.repr and name not in NO_SECRETS and any(word in name for word in WORDS)
    }

    assert shown == set()


def test_every_answer_has_a_repr_whatever_it_holds() -> None:
    for answer in list_answers():
        values: dict[str, Any] = {name: make_value(number) for number, name in enumerate(answer.model_fields)}
        assert repr(answer.model_construct(**values)).startswith(answer.__name__[:2])


def make_value(number: int) -> Any:
    values = (None, "text" * 40, 7, 0.5, UUID(int=1), datetime(2026, 1, 1, tzinfo=UTC), [1, 2], {"a": "b"})
    return values[number % len(values)]
