"""HTTP routes of verification packs."""

from uuid import UUID

from attestlab.attestations.packs.service import Packs
from attestlab.attestations.shapes import PackIn, PackOut
from attestlab.attestations.tables import AttestationPackRecord
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import QuotaExceeded
from attestlab.core.row_rendering import RowRenderer
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.paging import Page, PageQuery, decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.routing.routes import Routes

routes = Routes("attestations")
_LIST = "packs"
_render_pack = RowRenderer(PackOut, AttestationPackRecord)


@routes.post(
    "/v1/attestation-packs",
    scope=Scope.ATTESTATIONS_MINT,
    status=201,
    headers=("Location",),
    raises=(QuotaExceeded,),
)
def create_pack(request: Request, body: PackIn, tx: Transaction, caller: Caller, packs: Packs) -> PackOut:
    """Create a verification pack; a mint adds an attestation to it by `pack_id`.

    A pack groups attestations that belong together, such as the documents of one application.
    """
    pack = packs.create(body.name, description=body.description, caller=caller, tx=tx)
    request.respond_headers["Location"] = f"/v1/attestation-packs/{pack.id}"
    return _render_pack(pack)


@routes.get("/v1/attestation-packs", scope=Scope.ATTESTATIONS_READ)
def list_packs(query: PageQuery, caller: Caller, packs: Packs) -> Page[PackOut]:
    """List the tenant's packs, newest first.

    A pack has no list of its attestations; `GET /v1/attestations?pack_id=` has.
    """
    rows = packs.page(caller=caller, before=decode_id(_LIST, query.cursor), limit=query.limit + 1)
    page, cursor = split_page(rows, limit=query.limit, kind=_LIST, position=lambda row: [str(row.id)])
    return Page[PackOut](items=[_render_pack(row) for row in page], next_cursor=cursor)


@routes.get("/v1/attestation-packs/{id}", scope=Scope.ATTESTATIONS_READ)
def get_pack(id: UUID, caller: Caller, packs: Packs) -> PackOut:
    """Get a pack; `GET /v1/attestations?pack_id=` lists its attestations.

    A pack never changes after it was created.
    """
    return _render_pack(packs.get(id, caller=caller))
