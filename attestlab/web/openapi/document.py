"""OpenAPI 3.1 of an application, generated from the same routes and models that validate and answer requests."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, cast

import orjson
from pydantic import TypeAdapter

from attestlab.core.path_prefix import FORWARDED_PREFIX
from attestlab.web.openapi.errors import describe_errors
from attestlab.web.openapi.headers import describe_headers
from attestlab.web.openapi.operations import (
    SECURITY_SCHEMES,
    build_operation,
    describe_path,
    media_types,
    operation_id,
)
from attestlab.web.openapi.schemas import Input, build_schemas
from attestlab.web.openapi.vocabulary import DocumentPart, Vocabulary
from attestlab.web.problems import ErrorEnvelope
from attestlab.web.request import Request
from attestlab.web.response import JSON, RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Route, Routes

_ERROR = ("", "error")
_SERVERS: Final = ({"url": "/", "description": "This server."},)


def openapi_routes(
    others: Sequence[Route], *, title: str, version: str, load_vocabulary: Callable[[], Vocabulary] = Vocabulary
) -> Routes:
    """Build `GET /openapi.json`, which describes `others` and itself; the first request makes the document."""
    described, routes = tuple(others), Routes("operations")

    @cache
    def render_json() -> bytes:
        return describe([*described, *routes], title=title, version=version, vocabulary=load_vocabulary())

    @routes.get("/openapi.json", scope=PUBLIC, fixed=True, produces={JSON: DocumentPart})
    async def get_openapi(request: Request) -> RawResponse:
        """Get the description of this API, an OpenAPI 3.1 document.

        It is generated from the routes and models that validate and answer requests.
        """
        document = await asyncio.to_thread(render_json)
        return RawResponse(_place_below(document, request.path_prefix), JSON, {"Vary": FORWARDED_PREFIX})

    return routes


def describe(routes: Iterable[Route], *, title: str, version: str, vocabulary: Vocabulary | None = None) -> bytes:
    """Describe `routes` as an OpenAPI document in JSON.

    Raises:
        ValueError: two operations or two schemas have the same name.
    """
    listed, words = list(routes), vocabulary or Vocabulary()
    _require_unique_operations(listed)
    schemas, components = build_schemas(_list_bodies(listed), words)
    queries = _build_queries(listed, words)
    paths: dict[str, DocumentPart] = {}
    for route in listed:
        query = queries.get(operation_id(route), {})
        paths.setdefault(describe_path(route), {})[route.method.lower()] = build_operation(route, schemas, query, words)
    document = {
        "openapi": "3.1.1",
        "info": {"title": title, "version": version, **words.info},
        "servers": _SERVERS,
        "paths": paths,
        "webhooks": words.webhooks,
        "components": {
            "schemas": components,
            "responses": describe_errors(schemas[_ERROR], words.examples),
            "headers": describe_headers(),
            "securitySchemes": SECURITY_SCHEMES,
        },
        "tags": [
            _describe_tag(tag, words) for tag in dict.fromkeys([*(route.tag for route in listed), *_tags_of(words)])
        ],
    }
    return orjson.dumps(document)


def _place_below(document: bytes, prefix: str) -> bytes:
    """Return the document of a service that a proxy serves below a path; only `servers` differs.

    The bytes that are replaced occur once, because a text in JSON has no quotation mark without a backslash.
    """
    if not prefix:
        return document
    servers = [{**server, "url": prefix} for server in _SERVERS]
    return document.replace(orjson.dumps({"servers": _SERVERS})[1:-1], orjson.dumps({"servers": servers})[1:-1], 1)


def _tags_of(words: Vocabulary) -> Iterator[str]:
    """Yield the tags of the requests that the application sends."""
    for item in words.webhooks.values():
        for operation in item.values():
            yield from operation["tags"]


def _require_unique_operations(routes: Sequence[Route]) -> None:
    repeated = [name for name, count in Counter(map(operation_id, routes)).items() if count > 1]
    if repeated:
        raise ValueError(f"Several operations are named {repeated}. Give each handler a different name.")


def _list_bodies(routes: Iterable[Route]) -> Iterator[Input]:
    """List the models of the bodies of requests and responses, and that of errors."""
    yield _ERROR, "serialization", TypeAdapter(ErrorEnvelope)
    for route in routes:
        name = operation_id(route)
        if route.body is not None:
            yield (name, "body"), "validation", TypeAdapter(route.body)
        for media_type, kind in media_types(route).items():
            yield (name, media_type), "serialization", TypeAdapter(cast("type[object]", kind))


def _build_queries(routes: Iterable[Route], words: Vocabulary) -> Mapping[str, DocumentPart]:
    """Build the schema of each route's query, whose properties become parameters; it is no component."""
    inputs = [
        ((operation_id(route), "query"), "validation", TypeAdapter(route.query))
        for route in routes
        if route.query is not None
    ]
    schemas, components = build_schemas(inputs, words)
    return {name: components[schema["$ref"].rpartition("/")[2]] for (name, _), schema in schemas.items()}


def _describe_tag(tag: str, words: Vocabulary) -> DocumentPart:
    described = {"description": words.tags[tag]} if tag in words.tags else {}
    return {"name": tag, **described}
