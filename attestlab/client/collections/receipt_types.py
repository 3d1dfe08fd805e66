"""`lab.receipt_types`: what the tenant's receipts state, as JSON Schemas with versions."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Unpack

from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.collections.base import MAX_COMPLETIONS, Collection
from attestlab.client.collections.filters import ReceiptTypeFilterArgs
from attestlab.client.handles.receipt_types import (
    RECEIPT_TYPES,
    ReceiptTypeHandle,
    ReceiptTypeLike,
    deprecate_type,
    read_reference,
)
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.receipts.types.shapes import ReceiptTypesQuery


@name_in_examples("receipt_types")
class ReceiptTypeCollection(Collection[ReceiptTypeHandle]):
    """The tenant's receipt types; `lab.receipt_types["delivery@1.0.0"]` finds a version, `["delivery"]` the newest.

    Reads need the scope `attestations:read`, writes `issuers:write`.
    """

    noun = "a receipt type"
    path = RECEIPT_TYPES
    query = ReceiptTypesQuery

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, ReceiptTypeHandle)

    def list(self, *, limit: int | None = None, **filters: Unpack[ReceiptTypeFilterArgs]) -> Listing[ReceiptTypeHandle]:
        """List the newest version of each type, newest first.

        Args:
            limit: how many at most; all by default.
            filters: `versions="all"` lists every version; `status="active"` those that receipts can be minted with.
                None is no filter.

        Returns:
            The versions, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value; the message names the limit.

        >>> kept = lab.receipt_types.create("weighing", "1.0.0", {"required": ["grams"]})
        >>> [each.version for each in lab.receipt_types.list(status="active") if each.name == "weighing"]
        ['1.0.0']
        """
        return self._list(limit, filters)

    def create(
        self,
        name: str,
        version: str,
        schema: Mapping[str, object],
        *,
        display_name: str | None = None,
        description: str = "",
    ) -> ReceiptTypeHandle:
        """Create a receipt type, or a further version of one. A version never changes.

        Args:
            name: 1 to 64 characters a-z, 0-9, underscore, dot and hyphen.
            version: a semantic version, higher than all that the type has.
            schema: JSON Schema 2020-12 of an object, at most 64 KB, whose references stay inside it.
            display_name: the name for people, one line; by default the name.
            description: what its receipts record, at most 2,000 characters.

        Returns:
            The version, which is active.

        Raises:
            ValidationFailed: an argument is not acceptable; the message names the place in the schema.
            Conflict: the type has this version or a higher one.
            QuotaExceeded: the plan allows no more types, or no more versions of one.

        >>> schema = {"type": "object", "required": ["parcel"], "properties": {"parcel": {"type": "string"}}}
        >>> lab.receipt_types.create("delivery", "1.0.0", schema).status
        'active'
        >>> lab.receipt_types["delivery"].version
        '1.0.0'
        """
        body = {
            "name": arguments.read_text(name, name="name"),
            "version": arguments.read_text(version, name="version"),
            "schema": arguments.read_mapping(schema, name="schema"),
            "description": description,
            **({} if display_name is None else {"display_name": display_name}),
        }
        return self._parse(self._client.post(self.path, body))

    def deprecate(self, receipt_type: ReceiptTypeLike, *, reason: str | None = None) -> ReceiptTypeHandle:
        """Deprecate a version, or all of a type: no new receipt has it, and those that exist stay valid.

        Args:
            receipt_type: `name@version` or the object of a version; a name alone means all its versions.
            reason: why, at most 1,000 characters.

        Returns:
            The version as it is now, or the newest of all. What is deprecated already stays as it is.

        Raises:
            NotFound: the tenant has no such type or version.
            ValidationFailed: the reason is too long.

        >>> first = lab.receipt_types.create("sampling", "1.0.0", {})
        >>> second = lab.receipt_types.create("sampling", "1.1.0", {"required": ["batch"]})
        >>> lab.receipt_types.deprecate("sampling@1.0.0").status, lab.receipt_types["sampling"].status
        ('deprecated', 'active')
        """
        return deprecate_type(self._client, read_reference(receipt_type), reason)

    def _find(self, which: object) -> ReceiptTypeHandle:
        return self._parse(self._client.get(f"{self.path}{path_of(read_reference(which))}"))

    def _ipython_key_completions_(self) -> builtins.list[str]:
        """Complete `lab.receipt_types["` with the types' names."""
        return [found.name for found in self.list(limit=MAX_COMPLETIONS)]
