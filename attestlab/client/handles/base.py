"""`Handle`: an object that the service sent, with the verbs that a person uses next.

A handle never changes. Its `repr` is one line, `dir()` lists its fields and verbs, and a notebook draws its card.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Self

from pydantic import ConfigDict, PrivateAttr, ValidationError

from attestlab.client.cards import CardRow, CardTone, draw_card
from attestlab.client.public_names import list_public_names
from attestlab.client.service_client import ServiceClient
from attestlab.core.errors import ServiceFailed
from attestlab.core.shapes import Shape
from attestlab.core.short_text import MAX_REPR_CHARACTERS, shorten, show_plainly, show_value

MAX_CARD_LINES = 6


class Handle(Shape):
    """The fields of one answer of the service; the class of an answer adds its verbs.

    `shown_fields` are those of the `repr`, in this order.
    """

    # A lab uses few of its kinds of handles, so their validators are built at the first use.
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)
    shown_fields: ClassVar[tuple[str, ...]] = ()
    _client: ServiceClient = PrivateAttr()

    @classmethod
    def parse(cls, client: ServiceClient, answer: object) -> Self:
        """Build a handle from an answer of the service; members that this version does not know are left out.

        Raises:
            ServiceFailed: the answer lacks a member, so the service is of another version.
        """
        try:
            found = cls.model_validate(_name_members(cls, answer), by_alias=True, by_name=True)
        except ValidationError as error:
            first = error.errors()[0]
            member = ".".join(map(str, first["loc"]))
            raise ServiceFailed(
                f"{client.place} answered with another {_noun_of(cls)} than this version reads "
                f"({member}: {first['msg']}). Install the version of the service."
            ) from None
        found._client = client
        return found

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a dict of JSON values, under their names in the HTTP interface.

        >>> sorted(lab.log.vkey().to_dict())
        ['cosigner_vkey', 'origin', 'vkey']
        """
        return self.model_dump(mode="json", by_alias=True)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={show_value(value)}" for name, value in self._list_shown())
        return shorten(f"{_noun_of(type(self))}({fields})", MAX_REPR_CHARACTERS)

    def __str__(self) -> str:
        return repr(self)

    def __dir__(self) -> list[str]:
        fields = {name for name in type(self).model_fields if not name.endswith("_")}
        return sorted((fields | list_public_names(type(self), hidden=_HIDDEN)) - {"schema_id"})

    def _repr_html_(self) -> str:
        shown = [(name, show_plainly(value)) for name, value in self._list_shown()][: MAX_CARD_LINES + 1]
        title = shown[0][1] if shown else ""
        return draw_card(CardTone.CALM, _noun_of(type(self)).upper(), title, [CardRow(*each) for each in shown[1:]])

    def _list_shown(self) -> Iterator[tuple[str, object]]:
        """List the shown fields that have a value, under their public names."""
        for name in self.shown_fields:
            value = getattr(self, name)
            if value is not None:
                field = type(self).model_fields.get(name)
                alias = None if field is None else field.serialization_alias
                yield alias or name.rstrip("_"), value


_HIDDEN = frozenset(
    {"model_config", "model_fields", "model_computed_fields", "parse", "shown_fields", "model_post_init"}
)


def _name_members(kind: type[Shape], answer: object) -> object:
    """Rename members of an answer that have another name there than the field here (`schema`)."""
    if not isinstance(answer, Mapping):
        return answer
    renamed = dict(answer)
    for name, field in kind.model_fields.items():
        wire = field.serialization_alias
        if wire and wire != name and wire in renamed and field.validation_alias is None:
            renamed[name] = renamed.pop(wire)
    return renamed


def _noun_of(kind: type) -> str:
    return kind.__name__.removesuffix("Handle")
