"""A policy document that was read and typed elsewhere: what is left of it to store."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from attestlab.policy.documents import Category, TargetType


@dataclass(frozen=True)
class CheckedDocument:
    """A document without its rules; it was typed against the tenant's own attributes as they were, `own`."""

    name: str
    category: Category
    target_type: TargetType
    target_id: UUID | None
    canonical: bytes
    digest: str
    own: str
