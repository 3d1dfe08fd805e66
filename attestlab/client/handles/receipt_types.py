"""Receipt types: what a tenant's receipts state."""

from __future__ import annotations

from typing import ClassVar

from attestlab.client import arguments
from attestlab.client.handles.base import Handle
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.receipts.types.rules import TypeReference, parse_reference
from attestlab.receipts.types.shapes import ReceiptTypeOut

RECEIPT_TYPES = "/v1/receipt-types"


class ReceiptTypeHandle(ReceiptTypeOut, Handle):
    """A version of a receipt type."""

    shown_fields: ClassVar = ("name", "version", "status", "display_name", "id")

    @property
    def schema(self) -> dict[str, object]:  # type: ignore[override]  # pydantic's deprecated class method of this name
        """What the payload of a receipt conforms to, as JSON Schema 2020-12.

        >>> lab.receipt_types.create("handover", "1.0.0", {"required": ["parcel"]}).schema
        {'required': ['parcel']}
        """
        return self.payload_schema

    def deprecate(self, *, reason: str | None = None) -> ReceiptTypeHandle:
        """Deprecate this version; `lab.receipt_types.deprecate` explains the result and errors.

        >>> lab.receipt_types.create("pick-up", "1.0.0", {}).deprecate(reason="renamed").status
        'deprecated'
        """
        return deprecate_type(self._client, TypeReference(self.name, self.version), reason)


ReceiptTypeLike = str | ReceiptTypeHandle


def read_reference(what: object) -> TypeReference:
    """Read the name of a type, `name@version`, or the version of a handle.

    Raises:
        ValidationFailed: it is none of them.
    """
    if isinstance(what, ReceiptTypeHandle):
        return TypeReference(what.name, what.version)
    return parse_reference(arguments.read_text(what, name="The receipt type"))


def deprecate_type(client: ServiceClient, reference: TypeReference, reason: str | None) -> ReceiptTypeHandle:
    """Deprecate the version that a reference names, or all.

    Raises:
        NotFound: the tenant has no such type or version.
    """
    body = {"version": reference.version, "reason": reason}
    sent = {name: value for name, value in body.items() if value is not None}
    answer = client.post(f"{RECEIPT_TYPES}{path_of(reference.name, 'deprecate')}", sent)
    return ReceiptTypeHandle.parse(client, answer)
