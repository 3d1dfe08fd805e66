"""Every object of the facade shows itself in one short line without secrets, whatever its fields have."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import attestlab.client.lab  # loads every kind of handle
from attestlab.client.handles.base import Handle
from attestlab.core.short_text import MAX_REPR_CHARACTERS

SECRET = re.compile(r"password|secret|sealed|token|api_key|private")
LONG = "a\nb\u2028" + "x" * 10_000


def list_kinds(kind: type[Handle] = Handle) -> Iterator[type[Handle]]:
    for each in kind.__subclasses__():
        if not each.__name__.startswith("_"):
            yield each
        yield from list_kinds(each)


KINDS = sorted(set(list_kinds()), key=lambda kind: kind.__name__)


def build(kind: type[Handle]) -> Handle:
    """An object whose fields have long texts, past the checks of its shape."""
    return kind.model_construct(**dict.fromkeys(kind.model_fields, LONG))


def test_every_kind_is_found() -> None:
    assert len(KINDS) > 30
    assert attestlab.client.lab.MeHandle in KINDS


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_repr_is_one_short_line_without_secrets(kind: type[Handle]) -> None:
    fields = [name for name in kind.shown_fields if name in kind.model_fields]

    assert [name for name in kind.shown_fields if SECRET.search(name)] == []
    if fields == list(kind.shown_fields) and kind.__repr__ is Handle.__repr__:
        text = repr(build(kind))
        assert (len(text) <= MAX_REPR_CHARACTERS, "\n" in text, "\u2028" in text) == (True, False, False)
        assert text.startswith(f"{kind.__name__.removesuffix('Handle')}(")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_object_has_a_card_a_description_and_people_s_names(kind: type[Handle]) -> None:
    listed = dir(build(kind))

    assert callable(kind._repr_html_)
    assert kind.__doc__
    assert [name for name in listed if name.startswith("_") or name.startswith("model_")] == []
