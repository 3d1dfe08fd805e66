"""Tables of trust: each change of an agent's score with its cause, and when scores are computed again."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Double, Index
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr
from attestlab.core.records.hash_chain import SEQUENCE_TYPE


@short_repr
class TrustChangeRecord(NamedTuple):
    """A change of an agent's trust score, or its first evidence; it never changes.

    `seq` numbers the changes of all tenants without gaps, and `hash` chains them. `reference` is the id of what caused
    the change: a check, a request for votes, a risk signal, a delegation, or the parent.
    """

    seq: Annotated[int, Field(primary_key=True, sa_type=SEQUENCE_TYPE, sa_column_kwargs={"autoincrement": False})]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    agent_id: Annotated[UUID, Field(foreign_key="agents.id")]
    at: datetime
    score: Annotated[float, Field(sa_type=Double)]
    evidence: Annotated[int, Field(sa_type=BigInteger)]
    cause: Annotated[str, Field(max_length=10)]
    reference: UUID | None
    hash: bytes = b""


TrustChange = model_of(
    TrustChangeRecord,
    "agent_trust_changes",
    Index("ix_agent_trust_changes_of_agent", "agent_id", "seq"),
)


class TrustDueRecord(NamedTuple):
    """When an agent's score is computed again: at once for new outcomes, else because penalties and keys age."""

    agent_id: Annotated[UUID, Field(primary_key=True, foreign_key="agents.id")]
    due_at: Annotated[datetime, Field(index=True)]
    cause: Annotated[str, Field(max_length=10)]


TrustDue = model_of(TrustDueRecord, "agent_trust_due")
