"""What was read and typed before the writer's lock, often in another process: what is left of it to store."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from attestlab.policy.language.document import Category, TargetType


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


@dataclass(frozen=True)
class CheckedAttributes:
    """A tenant's own attributes, `stored` in place of `before`; all `versions` of its policies stay readable."""

    stored: str
    count: int
    before: str
    versions: int
