"""The HTTP door of verification packs."""

from uuid import UUID

from attestlab.attestations.shapes import PackIn, PackOut
from attestlab.core.db.transaction import AnyRow
from attestlab.orgs.rules import Scope
from attestlab.web.paging import Page, PageQuery, id_in, page_of
from attestlab.web.request import Request
from attestlab.web.routing.routes import Routes

routes = Routes("attestations")
_LIST = "packs"


@routes.post("/v1/attestation-packs", scope=Scope.ATTESTATIONS_MINT, status=201)
def create_pack(call: Request, body: PackIn) -> PackOut:
    """Make a verification pack; attestations join it by `pack_id` at the mint."""
    made = call.lab.packs.create(body.name, description=body.description, caller=call.caller)
    call.respond_headers["Location"] = f"/v1/attestation-packs/{made['id']}"
    return PackOut(**{name: made[name] for name in PackOut.model_fields})


@routes.get("/v1/attestation-packs", scope=Scope.ATTESTATIONS_READ)
def list_packs(call: Request, query: PageQuery) -> Page[PackOut]:
    """The tenant's packs, newest first."""
    found = call.lab.packs.page(caller=call.caller, before=id_in(_LIST, query.cursor), limit=query.limit + 1)
    shown, cursor = page_of(found, limit=query.limit, kind=_LIST, position=lambda row: [str(row.id)])
    return Page[PackOut](items=[_pack(row) for row in shown], next_cursor=cursor)


@routes.get("/v1/attestation-packs/{id}", scope=Scope.ATTESTATIONS_READ)
def get_pack(call: Request, id: UUID) -> PackOut:
    """One pack; `GET /v1/attestations?pack_id=` lists what is in it."""
    return _pack(call.lab.packs.get(id, caller=call.caller))


def _pack(row: AnyRow) -> PackOut:
    return PackOut(**{name: row._mapping[name] for name in PackOut.model_fields})
