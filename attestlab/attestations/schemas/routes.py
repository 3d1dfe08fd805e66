"""HTTP routes of the catalogue of credential schemas."""

import json

from attestlab.attestations.schemas.catalogue import CATALOGUE, json_schema
from attestlab.attestations.shapes import SchemaOut
from attestlab.web.paging import Page, PageQuery, decode_number, split_page
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("attestations")
_SCHEMAS = "schemas"
_JSON_SCHEMA = "application/schema+json"


@routes.get("/v1/schemas", scope=PUBLIC)
def list_schemas(query: PageQuery) -> Page[SchemaOut]:
    """List the catalogue of credential schemas, each as JSON Schema 2020-12 of its claims.

    The first claim of a schema is required, known claims are type-checked at the mint, and further claims are
    kept.
    """
    start = decode_number(_SCHEMAS, query.cursor) or 0
    numbered = list(enumerate(CATALOGUE, start=1))[start : start + query.limit + 1]
    page, cursor = split_page(numbered, limit=query.limit, kind=_SCHEMAS, position=lambda row: [row[0]])
    # pydantic checks that the document of each schema is JSON.
    items = [SchemaOut.model_validate({"id": name, "json_schema": json_schema(name)}) for _, name in page]
    return Page[SchemaOut](items=items, next_cursor=cursor)


@routes.get("/v1/schemas/{id}", scope=PUBLIC, produces={_JSON_SCHEMA: dict[str, object]})
def get_schema(id: str) -> RawResponse:
    """Get the JSON Schema of a schema, without an envelope.

    The document is JSON Schema 2020-12 of the claims, for the validator of your choice.
    """
    return RawResponse(json.dumps(json_schema(id)).encode(), _JSON_SCHEMA)
