"""HTTP routes for the API keys of tenants and consumers."""

from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.core.row_rendering import RowRenderer
from attestlab.orgs import scope_rules
from attestlab.orgs.api_keys import ApiKeys
from attestlab.orgs.credential_uses import CredentialUses
from attestlab.orgs.role_rules import MANAGERS
from attestlab.orgs.rules import Caller, Realm
from attestlab.orgs.shapes import ApiKeyIn, ApiKeyMadeOut, ApiKeyOut, CompromiseIn, ConsumerKeyIn, RevokeApiKeyIn
from attestlab.orgs.tables import ApiKeyRecord
from attestlab.web.paging import Page, PageQuery, decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.routing.authorization import Requirement, users_with
from attestlab.web.routing.routes import Limit, Routes

routes = Routes("api-keys")
_LIST = "api_keys"
_MANAGERS = users_with(MANAGERS)
_CONSUMERS = Requirement(user_only=True, realm=Realm.CONSUMER)


def _list_scopes(row: ApiKeyRecord) -> list[str]:
    scopes = scope_rules.parse_scopes(row.scopes, has_group_scopes=row.has_group_scopes is True)
    return scope_rules.format_scopes(scopes).split()


_render_key = RowRenderer(ApiKeyOut, ApiKeyRecord, computed=["last_used_at"], scopes=_list_scopes)
_render_made_key = RowRenderer(
    ApiKeyMadeOut, ApiKeyRecord, computed=["secret"], scopes=_list_scopes, last_used_at=lambda _: None
)


@routes.post(
    "/v1/api-keys",
    scope=_MANAGERS,
    status=201,
    limit=Limit("api-keys", 20, 86_400),
    secret=True,
    headers=("Location",),
)
def create_api_key(
    request: Request, body: ApiKeyIn, tx: Transaction, caller: Caller, api_keys: ApiKeys
) -> ApiKeyMadeOut:
    """Create an API key; only this response contains its secret.

    Its scopes may not exceed those of the person who creates it. Production refuses keys of the environment
    `dev`.
    """
    scopes = frozenset(body.scopes)
    created = api_keys.create(body.name, scopes=scopes, environment=body.environment, caller=caller, tx=tx)
    request.respond_headers["Location"] = f"/v1/api-keys/{created.row.id}"
    return _render_made_key(created.row, secret=created.secret)


@routes.get("/v1/api-keys", scope=_MANAGERS)
def list_api_keys(
    query: PageQuery, caller: Caller, api_keys: ApiKeys, credential_uses: CredentialUses
) -> Page[ApiKeyOut]:
    """List the tenant's API keys, newest first, including revoked ones.

    Keys are recognised by name and prefix; their secrets cannot be read again.
    """
    return _page(query, caller, api_keys, credential_uses)


@routes.get("/v1/api-keys/{id}", scope=_MANAGERS)
def get_api_key(id: UUID, caller: Caller, api_keys: ApiKeys, credential_uses: CredentialUses) -> ApiKeyOut:
    """Get one API key.

    The response has its status and scopes, not its secret.
    """
    row = api_keys.get(id, caller=caller)
    return _render_key(row, last_used_at=credential_uses.find_of_actors([id]).get(id))


@routes.post("/v1/api-keys/{id}/revoke", scope=_MANAGERS)
def revoke_api_key(
    id: UUID,
    body: RevokeApiKeyIn | None,
    tx: Transaction,
    caller: Caller,
    api_keys: ApiKeys,
    credential_uses: CredentialUses,
) -> ApiKeyOut:
    """Revoke an API key permanently; the next request with it gets a 401.

    A second revocation changes nothing and has the same response.
    """
    row = api_keys.revoke(id, reason=None if body is None else body.reason, caller=caller, tx=tx)
    return _render_key(row, last_used_at=credential_uses.find_of_actors([id], tx=tx).get(id))


@routes.post("/v1/api-keys/{id}/compromise", scope=_MANAGERS)
def compromise_api_key(
    id: UUID,
    body: CompromiseIn,
    tx: Transaction,
    caller: Caller,
    api_keys: ApiKeys,
    credential_uses: CredentialUses,
) -> ApiKeyOut:
    """Flag an API key as compromised, which also revokes it.

    The flag remains visible, and the reason is audited.
    """
    row = api_keys.compromise(id, reason=body.reason, caller=caller, tx=tx)
    return _render_key(row, last_used_at=credential_uses.find_of_actors([id], tx=tx).get(id))


@routes.post("/v1/consumer/api-keys", scope=_CONSUMERS, status=201, secret=True)
def create_consumer_key(body: ConsumerKeyIn, tx: Transaction, caller: Caller, api_keys: ApiKeys) -> ApiKeyMadeOut:
    """Create a consumer's own key: five fixed scopes, for 90 days, at most five at a time.

    Only this response contains its secret. A sixth active key is a 409.
    """
    created = api_keys.create_for_consumer(body.name, caller=caller, tx=tx)
    return _render_made_key(created.row, secret=created.secret)


@routes.get("/v1/consumer/api-keys", scope=_CONSUMERS)
def list_consumer_keys(
    query: PageQuery, caller: Caller, api_keys: ApiKeys, credential_uses: CredentialUses
) -> Page[ApiKeyOut]:
    """List the consumer's own keys, newest first, including revoked and expired ones.

    Only the consumer who created them sees them.
    """
    return _page(query, caller, api_keys, credential_uses)


@routes.post("/v1/consumer/api-keys/{id}/revoke", scope=_CONSUMERS)
def revoke_consumer_key(
    id: UUID,
    body: RevokeApiKeyIn | None,
    tx: Transaction,
    caller: Caller,
    api_keys: ApiKeys,
    credential_uses: CredentialUses,
) -> ApiKeyOut:
    """Revoke one of the consumer's own keys permanently.

    The next request with it gets a 401.
    """
    row = api_keys.revoke(id, reason=None if body is None else body.reason, caller=caller, tx=tx)
    return _render_key(row, last_used_at=credential_uses.find_of_actors([id], tx=tx).get(id))


def _page(query: PageQuery, caller: Caller, api_keys: ApiKeys, credential_uses: CredentialUses) -> Page[ApiKeyOut]:
    rows = api_keys.list_page(caller=caller, before=decode_id(_LIST, query.cursor), limit=query.limit + 1)
    page_rows, cursor = split_page(rows, limit=query.limit, kind=_LIST, position=lambda row: [str(row.id)])
    last_uses = credential_uses.find_of_actors([row.id for row in page_rows])
    items = [_render_key(row, last_used_at=last_uses.get(row.id)) for row in page_rows]
    return Page[ApiKeyOut](items=items, next_cursor=cursor)
