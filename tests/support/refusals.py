"""What every refusal of an input states."""

from __future__ import annotations

from collections.abc import Collection

from attestlab.core.errors import ValidationFailed


def require_fault(refused: ValidationFailed, field: str, codes: Collection[str]) -> None:
    """A refusal is of one field, for one of these reasons, and its message is a sentence."""
    assert [fault.field for fault in refused.fields] == [field]
    (fault,) = refused.fields
    assert fault.code in codes
    assert fault.message == refused.message
    assert fault.message.endswith(".")
