"""OpenAPI 3.1, generated from the same routes and models that validate and answer requests."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from pydantic import TypeAdapter

from attestlab.web.body.reader import NDJSON
from attestlab.web.problems import ErrorEnvelope
from attestlab.web.response import JSON, RawResponse, StreamedResponse
from attestlab.web.routing.authorization import PUBLIC, Requirement
from attestlab.web.routing.routes import Route, Routes

if TYPE_CHECKING:
    from openapi_pydantic import Operation, Parameter, Reference, RequestBody, Response

JsonSchema = dict[str, Any]  # as pydantic returns it
_REF_TEMPLATE = "#/components/schemas/{model}"
_REST = re.compile(r"\.\.\.\}")
_PATH_SCHEMAS: Mapping[type, JsonSchema] = {
    UUID: {"type": "string", "format": "uuid"},
    int: {"type": "integer", "minimum": 0},
    str: {"type": "string"},
}
_SECURITY_SCHEMES = {
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "apiKeyAuthorization": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "`Authorization: ApiKey <key>`, the same key in the other form.",
    },
    "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
}
_IDEMPOTENCY_SCHEMA = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"}

Schemas = Mapping[tuple[str, str], JsonSchema]  # by operation id and role


def openapi_routes(others: Sequence[Route], *, title: str, version: str) -> Routes:
    """Builds `GET /openapi.json`, which describes `others` and itself."""
    routes = Routes("operations")

    @cache
    def render_json() -> bytes:
        return describe([*others, *routes], title=title, version=version)

    @routes.get("/openapi.json", scope=PUBLIC)
    async def openapi() -> RawResponse:
        """This description."""
        return RawResponse(await asyncio.to_thread(render_json), JSON)

    return routes


def describe(routes: Iterable[Route], *, title: str, version: str) -> bytes:
    """Describes `routes` as an OpenAPI document in JSON."""
    from openapi_pydantic import OpenAPI  # slow to import, and needed only here

    listed = list(routes)
    schemas, definitions = _build_schemas(listed)
    paths: dict[str, dict[str, Operation]] = {}
    for route in listed:
        query = _resolve_properties(schemas.get((operation_id(route), "query")), definitions)
        paths.setdefault(_REST.sub("}", route.path), {})[route.method.lower()] = _build_operation(route, schemas, query)
    document = OpenAPI.model_validate(
        {
            "openapi": "3.1.1",
            "info": {"title": title, "version": version},
            "paths": paths,
            "components": {"schemas": definitions, "securitySchemes": _SECURITY_SCHEMES},
            "tags": [{"name": tag} for tag in dict.fromkeys(route.tag for route in listed)],
        }
    )
    return document.model_dump_json(by_alias=True, exclude_unset=True, exclude_none=True).encode()


def operation_id(route: Route) -> str:
    """Returns the operation's id, unique as long as a capability has no two handlers of the same name."""
    return f"{route.tag}_{route.handler.function.__name__}"


def _build_schemas(routes: Sequence[Route]) -> tuple[Schemas, JsonSchema]:
    inputs: list[tuple[Any, Any, TypeAdapter[Any]]]  # pydantic takes keys and modes so
    inputs = [(("", "error"), "serialization", TypeAdapter(ErrorEnvelope))]
    for route in routes:
        name = operation_id(route)
        if route.body is not None:
            inputs.append(((name, "body"), "validation", TypeAdapter(route.body)))
        if route.query is not None:
            inputs.append(((name, "query"), "validation", TypeAdapter(route.query)))
        if route.serializer is not None:
            inputs.append(((name, "result"), "serialization", TypeAdapter(cast("type[object]", route.result))))
    by_key, document = TypeAdapter.json_schemas(inputs, ref_template=_REF_TEMPLATE)
    definitions: JsonSchema = document["$defs"]
    schemas = {key: schema for (key, _), schema in by_key.items()}
    return schemas, definitions


def _resolve_properties(reference: JsonSchema | None, definitions: JsonSchema) -> JsonSchema:
    """Resolves the reference to a query model; returns no properties if the route takes no query."""
    return {"properties": {}} if reference is None else definitions[reference["$ref"].rpartition("/")[2]]


def _build_operation(route: Route, schemas: Schemas, query: JsonSchema) -> Operation:
    from openapi_pydantic import Operation

    summary, _, description = (inspect.getdoc(route.handler.function) or route.path).partition("\n")
    needs = route.needs
    return Operation(
        tags=[route.tag],
        operationId=operation_id(route),
        summary=summary,
        description=description.strip() or None,
        parameters=[*_path_parameters(route), *_query_parameters(query), *_header_parameters(route)],
        requestBody=_request_body(route, schemas),
        responses=_responses(route, schemas),
        security=[] if needs is PUBLIC else _security(needs),
    )


def _security(needs: Requirement) -> list[dict[str, list[str]]]:
    """Lists the security schemes of a route; OpenAPI 3.1 lets each one name its required scopes and roles."""
    required = [*([str(needs.scope)] if needs.scope else []), *map(str, needs.roles)]
    schemes = ["bearer"] if needs.user_only else list(_SECURITY_SCHEMES)
    return [{scheme: required} for scheme in schemes]


def _path_parameters(route: Route) -> list[Parameter]:
    return [_parameter(name, "path", _PATH_SCHEMAS[kind], required=True) for name, kind in route.path_types.items()]


def _query_parameters(query: JsonSchema) -> list[Parameter]:
    required = query.get("required", [])
    return [_parameter(name, "query", part, required=name in required) for name, part in query["properties"].items()]


def _header_parameters(route: Route) -> list[Parameter]:
    if route.idempotency == "none":
        return []
    required = route.idempotency == "required"
    return [_parameter("Idempotency-Key", "header", _IDEMPOTENCY_SCHEMA, required=required)]


def _parameter(name: str, place: str, schema: JsonSchema, *, required: bool) -> Parameter:
    from openapi_pydantic import Parameter

    return Parameter.model_validate({"name": name, "in": place, "required": required, "schema": schema})


def _request_body(route: Route, schemas: Schemas) -> RequestBody | None:
    from openapi_pydantic import RequestBody

    if route.ndjson:
        return RequestBody.model_validate({"required": True, "content": {NDJSON: {"schema": {"type": "string"}}}})
    if route.body is None:
        return None
    content = {JSON: {"schema": schemas[operation_id(route), "body"]}}
    return RequestBody.model_validate({"required": not route.body_optional, "content": content})


def _responses(route: Route, schemas: Schemas) -> dict[str, Response | Reference]:
    from openapi_pydantic import Response

    error = {"description": "An error.", "content": {JSON: {"schema": schemas["", "error"]}}}
    success: dict[str, object] = {"description": "Done."}
    if route.result in (RawResponse, StreamedResponse):
        success["content"] = {"*/*": {}}
    elif route.serializer is not None:
        success["content"] = {JSON: {"schema": schemas[operation_id(route), "result"]}}
    responses = {str(route.status): success, "default": error}
    if route.method == "GET":
        responses["304"] = {"description": "The client's copy, named by If-None-Match, is still current."}
    return {status: Response.model_validate(response) for status, response in responses.items()}
