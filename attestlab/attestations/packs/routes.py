"""The HTTP door of verification packs."""

from uuid import UUID

from attestlab.attestations.shapes import PackIn, PackOut
from attestlab.core.db.transaction import AnyRow
from attestlab.orgs.rules import Scope
from attestlab.web.paging import Page, PageQuery, decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.routing.routes import Routes

routes = Routes("attestations")
_LIST = "packs"


@routes.post("/v1/attestation-packs", scope=Scope.ATTESTATIONS_MINT, status=201)
def create_pack(request: Request, body: PackIn) -> PackOut:
    """Make a verification pack; attestations join it by `pack_id` at the mint."""
    made = request.lab.packs.create(body.name, description=body.description, caller=request.caller)
    request.respond_headers["Location"] = f"/v1/attestation-packs/{made['id']}"
    return PackOut(**{name: made[name] for name in PackOut.model_fields})


@routes.get("/v1/attestation-packs", scope=Scope.ATTESTATIONS_READ)
def list_packs(request: Request, query: PageQuery) -> Page[PackOut]:
    """The tenant's packs, newest first."""
    found = request.lab.packs.page(caller=request.caller, before=decode_id(_LIST, query.cursor), limit=query.limit + 1)
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda row: [str(row.id)])
    return Page[PackOut](items=[_render_pack(row) for row in shown], next_cursor=cursor)


@routes.get("/v1/attestation-packs/{id}", scope=Scope.ATTESTATIONS_READ)
def get_pack(request: Request, id: UUID) -> PackOut:
    """One pack; `GET /v1/attestations?pack_id=` lists what is in it."""
    return _render_pack(request.lab.packs.get(id, caller=request.caller))


def _render_pack(row: AnyRow) -> PackOut:
    return PackOut(**{name: row._mapping[name] for name in PackOut.model_fields})
