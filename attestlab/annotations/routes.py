"""HTTP routes of annotations."""

from uuid import UUID

from attestlab.annotations.service import Annotations
from attestlab.annotations.shapes import AnnotationIn, AnnotationOut, AnnotationsQuery
from attestlab.annotations.tables import AnnotationRecord
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict
from attestlab.core.row_rendering import RowRenderer
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.paging import Page, decode_id, split_page
from attestlab.web.routing.routes import Routes

routes = Routes("annotations")
_LIST = "annotations"
_render_annotation = RowRenderer(AnnotationOut, AnnotationRecord)


@routes.post("/v1/annotations", scope=Scope.RISK_WRITE, status=201, raises=(Conflict,))
def annotate_time(body: AnnotationIn, tx: Transaction, caller: Caller, annotations: Annotations) -> AnnotationOut:
    """Write what happened at a time or in a period; the whole tenant reads it.

    The time may be past or to come. A tenant has at most 5,000 annotations.
    """
    return _render_annotation(annotations.add(body, caller=caller, tx=tx))


@routes.get("/v1/annotations", scope=Scope.RISK_READ)
def list_annotations(query: AnnotationsQuery, caller: Caller, annotations: Annotations) -> Page[AnnotationOut]:
    """List the tenant's annotations, newest first.

    With `from` and `to`, those that overlap this period: `from` is inclusive, `to` exclusive.
    """
    before = decode_id(_LIST, query.cursor)
    found = annotations.page(query, caller=caller, before=before, limit=query.limit + 1)
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda row: [str(row.id)])
    return Page[AnnotationOut](items=[_render_annotation(row) for row in shown], next_cursor=cursor)


@routes.delete("/v1/annotations/{id}", scope=Scope.RISK_WRITE, status=204)
def remove_annotation(id: UUID, tx: Transaction, caller: Caller, annotations: Annotations) -> None:
    """Remove an annotation that you wrote from all charts; owners and admins remove any.

    It stays in the audit trail.
    """
    annotations.remove(id, caller=caller, tx=tx)
