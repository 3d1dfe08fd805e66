"""HTTP routes for the API keys of tenants and consumers."""

from uuid import UUID

from attestlab.orgs.api_keys import CreatedApiKey
from attestlab.orgs.rules import Realm, Role
from attestlab.orgs.shapes import ApiKeyIn, ApiKeyMadeOut, ApiKeyOut, CompromiseIn, ConsumerKeyIn, RevokeApiKeyIn
from attestlab.orgs.tables import ApiKeyRecord
from attestlab.web.paging import Page, PageQuery, decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.routing.authorization import Requirement, users_with
from attestlab.web.routing.routes import Limit, Routes

routes = Routes("api-keys")
_LIST = "api_keys"
_MANAGERS = users_with([Role.OWNER, Role.ADMIN])
_CONSUMERS = Requirement(user_only=True, realm=Realm.CONSUMER)


@routes.post("/v1/api-keys", scope=_MANAGERS, status=201, limit=Limit("api-keys", 20, 86_400), secret=True)
def create(request: Request, body: ApiKeyIn) -> ApiKeyMadeOut:
    """Create an API key; only this response contains its secret."""
    keys, scopes = request.lab.api_keys, frozenset(body.scopes)
    created = keys.create(body.name, scopes=scopes, environment=body.environment, caller=request.caller)
    request.respond_headers["Location"] = f"/v1/api-keys/{created.row.id}"
    return _created_key_out(created)


@routes.get("/v1/api-keys", scope=_MANAGERS)
def list_keys(request: Request, query: PageQuery) -> Page[ApiKeyOut]:
    """The tenant's API keys, newest first, including revoked ones."""
    return _page(request, query)


@routes.get("/v1/api-keys/{id}", scope=_MANAGERS)
def get(request: Request, id: UUID) -> ApiKeyOut:
    """One API key."""
    return _key_out(request.lab.api_keys.get(id, caller=request.caller))


@routes.post("/v1/api-keys/{id}/revoke", scope=_MANAGERS)
def revoke(request: Request, id: UUID, body: RevokeApiKeyIn | None) -> ApiKeyOut:
    """Revoke an API key permanently; the next request with it gets a 401."""
    return _revoke(request, id, body)


@routes.post("/v1/api-keys/{id}/compromise", scope=_MANAGERS)
def compromise(request: Request, id: UUID, body: CompromiseIn) -> ApiKeyOut:
    """Flag an API key as compromised, which also revokes it."""
    return _key_out(request.lab.api_keys.compromise(id, reason=body.reason, caller=request.caller))


@routes.post("/v1/consumer/api-keys", scope=_CONSUMERS, status=201, secret=True)
def create_for_consumer(request: Request, body: ConsumerKeyIn) -> ApiKeyMadeOut:
    """Create a consumer's own key: five fixed scopes, for 90 days, at most five at a time."""
    return _created_key_out(request.lab.api_keys.create_for_consumer(body.name, caller=request.caller))


@routes.get("/v1/consumer/api-keys", scope=_CONSUMERS)
def list_of_consumer(request: Request, query: PageQuery) -> Page[ApiKeyOut]:
    """The consumer's own keys, newest first, including revoked and expired ones."""
    return _page(request, query)


@routes.post("/v1/consumer/api-keys/{id}/revoke", scope=_CONSUMERS)
def revoke_of_consumer(request: Request, id: UUID, body: RevokeApiKeyIn | None) -> ApiKeyOut:
    """Revoke one of the consumer's own keys permanently."""
    return _revoke(request, id, body)


def _page(request: Request, query: PageQuery) -> Page[ApiKeyOut]:
    rows = request.lab.api_keys.list_page(
        caller=request.caller, before=decode_id(_LIST, query.cursor), limit=query.limit + 1
    )
    page_rows, cursor = split_page(rows, limit=query.limit, kind=_LIST, position=lambda row: [str(row.id)])
    return Page[ApiKeyOut](items=[_key_out(row) for row in page_rows], next_cursor=cursor)


def _revoke(request: Request, key_id: UUID, body: RevokeApiKeyIn | None) -> ApiKeyOut:
    reason = None if body is None else body.reason
    return _key_out(request.lab.api_keys.revoke(key_id, reason=reason, caller=request.caller))


def _created_key_out(created: CreatedApiKey) -> ApiKeyMadeOut:
    return ApiKeyMadeOut(**dict(_key_out(created.row)), secret=created.secret)


def _key_out(row: ApiKeyRecord) -> ApiKeyOut:
    columns = {name: getattr(row, name) for name in ApiKeyOut.model_fields}
    return ApiKeyOut(**{**columns, "scopes": row.scopes.split()})
