"""Input that was parsed and type-checked before taking the writer's lock, often in another process."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from attestlab.policy.language.document import Category, TargetType


@dataclass(frozen=True)
class CheckedDocument:
    """A document without its rules, type-checked against the tenant's own attributes as of then, `own`."""

    name: str
    category: Category
    target_type: TargetType
    target_id: UUID | None
    canonical: bytes
    digest: str
    own: str


@dataclass(frozen=True)
class CheckedAttributes:
    """A tenant's new own attributes, `stored`, which replace `before`; all `versions` of its policies stay readable."""

    stored: str
    count: int
    before: str
    versions: int
