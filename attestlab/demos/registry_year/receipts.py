"""The receipts of the demo's year: an archive records its loans, and a school who attended a course."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from random import Random
from typing import Final, NamedTuple
from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.demos.registry_year.registry import RegistryDesk
from attestlab.demos.registry_year.scheduled_actions import ScheduledAction
from attestlab.orgs.rules import Caller
from attestlab.receipts.shapes import ReceiptIn
from attestlab.receipts.types.json_schema import check_schema
from attestlab.receipts.types.shapes import ReceiptTypeIn

_TEXT: Final = {"type": "string", "minLength": 1, "maxLength": 200}
_REVOKED_DAYS_AGO, _REDACTED_DAYS_AGO = 45.6, 20.6
_READERS: Final = ("reader-104", "reader-118", "reader-131", "reader-140")
_ROOMS: Final = ("Quay 1", "Quay 2", "Boathouse")


class DemoReceiptType(NamedTuple):
    """A type of receipts, the issuer that mints them, and how often."""

    name: str
    display_name: str
    description: str
    issuer: str
    properties: Mapping[str, object]
    first_days_ago: float
    days_between: float


TYPES: Final = (
    DemoReceiptType(
        "archive-loan",
        "Loan of a box",
        "Who took which box out of the archive, and until when.",
        "Canton Archive",
        {"box": _TEXT, "reader": _TEXT, "days": {"type": "integer", "minimum": 1, "maximum": 90}},
        310.6,
        5.0,
    ),
    DemoReceiptType(
        "course-attendance",
        "Attendance of a course",
        "How many people attended which part of a course.",
        "Harbour Training",
        {"room": _TEXT, "part": {"type": "integer", "minimum": 1}, "people": {"type": "integer", "minimum": 0}},
        214.6,
        6.0,
    ),
)


class PastReceipts:
    """The receipts of the registry; every verb joins the transaction that it gets."""

    def __init__(self, registry: RegistryDesk, caller: Caller, *, seed: int) -> None:
        self._registry = registry
        self._lab = registry.lab
        self._caller = caller
        self._random = Random(f"{seed}:receipts")
        self._minted: list[UUID] = []

    def list_actions(self) -> Iterator[ScheduledAction]:
        """Yield the types, their receipts, a revocation, and a redaction."""
        for each in TYPES:
            yield ScheduledAction(each.first_days_ago, partial(self._create_type, each))
            days_ago = each.first_days_ago - self._random.random()
            while days_ago > 0:
                yield ScheduledAction(days_ago, partial(self._mint, each))
                days_ago -= each.days_between * self._random.uniform(0.6, 1.4)
        yield ScheduledAction(_REVOKED_DAYS_AGO, self._revoke)
        yield ScheduledAction(_REDACTED_DAYS_AGO, self._redact)

    def _create_type(self, created: DemoReceiptType, tx: Transaction) -> None:
        properties = dict(created.properties)
        schema: dict[str, object] = {
            "type": "object",
            "required": list(properties),
            "properties": properties,
            "additionalProperties": False,
        }
        body = {
            "name": created.name,
            "version": "1.0.0",
            "schema": schema,
            "display_name": created.display_name,
            "description": created.description,
        }
        self._lab.receipt_types.create(
            ReceiptTypeIn.model_validate(body), check_schema(schema), caller=self._caller, tx=tx
        )

    def _mint(self, minted: DemoReceiptType, tx: Transaction) -> None:
        subject, payload = self._draw(minted)
        request = ReceiptIn.model_validate(
            {
                "receipt_type": minted.name,
                "issuer_id": str(self._registry.get_id(minted.issuer)),
                "subject": subject,
                "payload": payload,
            }
        )
        self._minted.append(self._lab.receipts.mint(request, caller=self._caller, tx=tx).id)

    def _draw(self, minted: DemoReceiptType) -> tuple[str, dict[str, object]]:
        if minted.name == "archive-loan":
            box = f"box {self._random.randrange(1, 900)}"
            return box, {"box": box, "reader": self._random.choice(_READERS), "days": self._random.randrange(7, 60)}
        people = self._random.randrange(6, 25)
        room = self._random.choice(_ROOMS)
        return f"course in {room}", {"room": room, "part": self._random.randrange(1, 5), "people": people}

    def _revoke(self, tx: Transaction) -> None:
        self._lab.receipts.revoke(self._minted[-2], reason="The box stayed in the archive.", caller=self._caller, tx=tx)

    def _redact(self, tx: Transaction) -> None:
        self._lab.receipts.redact(self._minted[-6], reason="The reader asked for it.", caller=self._caller, tx=tx)
