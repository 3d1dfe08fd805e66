"""Comments of cases: what people found out before they decide. A comment never changes and is never deleted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Final, NamedTuple
from uuid import UUID

from sqlalchemy import Index, and_, func, select
from sqlmodel import Field

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute, fetch_all, model_of, short_repr, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs.rules import Caller
from attestlab.risk.enforcement import store
from attestlab.risk.enforcement.impartiality import Impartiality
from attestlab.risk.enforcement.shapes import MAX_COMMENT_LENGTH

MAX_COMMENTS: Final = 200  # of a case
LISTED: Final = 3  # of a case among others, the newest


@short_repr
class RiskCaseCommentRecord(NamedTuple):
    """What a person or a key wrote about a case; `number` counts the comments of the case from 1."""

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    case_id: Annotated[UUID, Field(foreign_key="risk_cases.id")]
    number: int
    text: Annotated[str, Field(max_length=MAX_COMMENT_LENGTH)]
    created_at: datetime
    created_by: Annotated[str, Field(max_length=64)]


RiskCaseComment = model_of(
    RiskCaseCommentRecord,
    "risk_case_comments",
    Index("ix_risk_case_comments_of_case", "case_id", "number", unique=True),
)
comments = table_of(RiskCaseComment)


class Discussion(NamedTuple):
    """Comments of a case, the oldest first; of a case among others the newest three of `total`."""

    total: int = 0
    comments: Sequence[RiskCaseCommentRecord] = ()


class Comments:
    """The comments of a tenant's cases.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock, impartiality: Impartiality) -> None:
        self.storage = storage
        self.clock = clock
        self._impartiality = impartiality

    def add(self, case_id: UUID, text: str, *, caller: Caller, tx: Transaction | None = None) -> RiskCaseCommentRecord:
        """Write a comment to an open or resolved case.

        Raises:
            NotFound: the tenant has no such case.
            PermissionDenied: the caller is an agent, and the case is about its own tree.
            Conflict: the case has as many comments as one may have.
        """
        with self.storage.write(tx) as tx:
            case = store.get_case(tx.exec, case_id, tenant_id=caller.tenant_id)
            self._impartiality.require(tx.exec, case.entity, caller=caller, verb="comment on the case of")
            number, now = _choose_number(tx.exec, case_id), self.clock.now()
            comment = RiskCaseCommentRecord(new_id(now), caller.tenant_id, case_id, number, text, now, caller.actor_id)
            context = AuditContext(caller.tenant_id, caller, "risk_case_comment.add", now, {"case_id": str(case_id)})
            return audited_write.insert(tx, comments, comment, context)

    def read(self, case_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> Discussion:
        """Return all comments of a case; none of one that the tenant does not have."""
        with self.storage.read(tx) as connection:
            query = select(*comments.c).where(comments.c.case_id == case_id, comments.c.tenant_id == caller.tenant_id)
            found = fetch_all(connection.execute(query.order_by(comments.c.number)), RiskCaseCommentRecord)
            return Discussion(len(found), found)

    def read_newest(self, case_ids: Collection[UUID], *, caller: Caller) -> Mapping[UUID, Discussion]:
        """Return the newest comments of each of several cases; a case without comments is left out."""
        with self.storage.read() as connection:
            return find_newest(connection.execute, caller.tenant_id, case_ids)


def find_newest(execute: Execute, tenant_id: UUID, case_ids: Collection[UUID]) -> Mapping[UUID, Discussion]:
    """Find the newest comments of cases and how many each has, with one query; texts of older ones stay unread."""
    columns = comments.c
    of_cases = (columns.case_id.in_(case_ids), columns.tenant_id == tenant_id)
    totals = select(columns.case_id, func.max(columns.number).label("total")).where(*of_cases)
    counted = totals.group_by(columns.case_id).subquery()
    is_newest = and_(counted.c.case_id == columns.case_id, columns.number > counted.c.total - LISTED)
    query = select(*columns).join(counted, is_newest).order_by(columns.number)
    found: defaultdict[UUID, list[RiskCaseCommentRecord]] = defaultdict(list)
    for comment in fetch_all(execute(query), RiskCaseCommentRecord):
        found[comment.case_id].append(comment)
    return {case_id: Discussion(written[-1].number, written) for case_id, written in found.items()}


def _choose_number(execute: Execute, case_id: UUID) -> int:
    (last,) = execute(select(func.max(comments.c.number)).where(comments.c.case_id == case_id)).one()
    if last is not None and last >= MAX_COMMENTS:
        message = (
            f"The case has {last} comments, the most that one may have. Resolve it; its note holds 2,000 characters."
        )
        raise Conflict(message, details={"comments": last})
    return 1 if last is None else int(last) + 1
