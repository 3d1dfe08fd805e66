"""`MintBatch`: what became of each of many attestations, and what was refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from attestlab.client.analysis.records import Records
from attestlab.client.cards import CardRow, CardTone, draw_card
from attestlab.client.handles.base import MAX_CARD_LINES, MAX_REPR_CHARACTERS, shorten
from attestlab.core.errors import AttestLabError
from attestlab.core.shapes import Shape

Minted = TypeVar("Minted")


class RefusedItem(Shape):
    """An item that was not minted; `item` is its place in the list, from 0."""

    item: int
    code: str
    message: str


class MintBatch(list[Minted | AttestLabError], Generic[Minted]):
    """For each item, in order, the attestation, or the error for which it alone was refused."""

    def __init__(self, items: Iterable[Minted | AttestLabError] = ()) -> None:
        super().__init__(items)

    @property
    def minted(self) -> list[Minted]:
        """The attestations that were minted."""
        return [each for each in self if not isinstance(each, AttestLabError)]

    @property
    def refused(self) -> Records[RefusedItem]:
        """The items that were refused, with the reason; `refused.df()` is a table of them."""
        found = [
            RefusedItem(item=place, code=each.code, message=str(each))
            for place, each in enumerate(self)
            if isinstance(each, AttestLabError)
        ]
        return Records(found, RefusedItem)

    def __repr__(self) -> str:
        refused = self.refused
        first = f", first=item {refused[0].item}: {refused[0].message}" if refused else ""
        counts = f"minted={len(self) - len(refused)}, refused={len(refused)}"
        return shorten(f"MintBatch({counts}{first})", MAX_REPR_CHARACTERS)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        refused = self.refused
        minted = len(self) - len(refused)
        rows = [CardRow("minted", f"{minted:,}"), CardRow("refused", f"{len(refused):,}")]
        rows += [CardRow(f"item {each.item:,}", each.message) for each in refused[:MAX_CARD_LINES]]
        tone, word = (CardTone.WARN, "NOT ALL MINTED") if refused else (CardTone.GOOD, "ALL MINTED")
        foot = "Every refused item: .refused.df()" if refused else None
        return draw_card(tone, word, f"{minted:,} attestations", rows, foot=foot)
