"""One route as an operation of OpenAPI: its words, parameters, body and responses."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from types import NoneType
from typing import Final
from uuid import UUID

from attestlab.web.body.form import FILE_LIMIT_BYTES, FILE_PART, FORM
from attestlab.web.body.reader import NDJSON
from attestlab.web.content_coding import is_json, is_text, may_compress
from attestlab.web.cross_origin import is_shared
from attestlab.web.openapi.errors import refer_to_errors
from attestlab.web.openapi.headers import EVERY_RESPONSE, refer_to_headers
from attestlab.web.openapi.meanings import Meaning
from attestlab.web.openapi.schemas import SchemaKey, without_null
from attestlab.web.openapi.vocabulary import DocumentPart, Vocabulary
from attestlab.web.response import JSON
from attestlab.web.routing.authorization import PUBLIC, Requirement
from attestlab.web.routing.routes import Route

SECURITY_SCHEMES: Final[Mapping[str, DocumentPart]] = {
    "apiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "An API key of a tenant or a consumer.",
    },
    "apiKeyAuthorization": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "`Authorization: ApiKey <key>`, the same key in the other form.",
    },
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "The access token of a person, from `POST /v1/auth/login`.",
    },
}
_PATH_SCHEMAS: Mapping[type, DocumentPart] = {
    UUID: {"type": "string", "format": "uuid"},
    int: {"type": "integer", "format": "int64", "minimum": 0},
    str: {"type": "string", "minLength": 1},
}
_IDEMPOTENCY_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "1-255 printable characters, new for each operation. A repeat with the same key and body gets the "
    "stored response for 24 hours, and changes nothing.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
}
_REQUEST_ID: Final = {
    "name": "X-Request-Id",
    "in": "header",
    "required": False,
    "description": "The id of the request in the response, in errors and in the log of the service, which makes one "
    "where it is missing or malformed.",
    "schema": {"type": "string"},
}
_IF_NONE_MATCH: Final = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The entity tags that the client has. If one is current, the response is 304 without a body.",
    "schema": {"type": "string"},
}
_IF_MATCH: Final = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "The entity tag of the object that the client has read (RFC 9110). If another one is current, the "
    "response is 409 with the reason `stale`, and nothing was changed.",
    "schema": {"type": "string"},
}
_PREFER: Final = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "description": "With `return=representation` (RFC 7240) the response shows the result; else it has no body.",
    "schema": {"type": "string"},
}
_NOT_MODIFIED: Final = {
    "description": "The client's copy, named by If-None-Match, is still current.",
    "headers": refer_to_headers([*EVERY_RESPONSE, "ETag"]),
}
_REST = re.compile(r"\.\.\.\}")
_SEGMENT_AND_NAME = re.compile(r"([^/{}]+)?/?\{(\w+)(?:\.\.\.)?\}")

Schemas = Mapping[SchemaKey, DocumentPart]


def operation_id(route: Route) -> str:
    """Return the operation's id, the name of its handler."""
    return route.handler.function.__name__


def describe_path(route: Route) -> str:
    """Return the path template in the notation of OpenAPI."""
    return _REST.sub("}", route.path)


def build_operation(route: Route, schemas: Schemas, query: DocumentPart, vocabulary: Vocabulary) -> DocumentPart:
    """Build the operation of a route; `query` is the schema of its query."""
    summary, description = _read_docstring(route)
    example = vocabulary.examples.get(operation_id(route), {})
    operation: DocumentPart = {
        "tags": [route.tag],
        "operationId": operation_id(route),
        "summary": summary,
        "description": description,
        "parameters": [*_path_parameters(route, vocabulary), *_query_parameters(query), *_header_parameters(route)],
    }
    for parameter in operation["parameters"]:
        _add_example(parameter, example.get("request", {}).get("parameters", {}), parameter["name"])
    if (body := _request_body(route, schemas, example.get("request", {}))) is not None:
        operation["requestBody"] = body
    operation["responses"] = _responses(route, schemas, example.get("response", {}))
    operation["security"] = [] if route.needs is PUBLIC else _security(route.needs)
    return operation


def _read_docstring(route: Route) -> tuple[str, str]:
    """Read the summary and the description of a handler; what its declaration requires is added."""
    summary, _, rest = (inspect.getdoc(route.handler.function) or route.path).partition("\n")
    paragraphs = [" ".join(paragraph.split()) for paragraph in rest.strip().split("\n\n")]
    return summary.removesuffix("."), "\n\n".join([*filter(None, paragraphs), _describe_requirements(route)])


def _describe_requirements(route: Route) -> str:
    needs = "Public." if route.needs is PUBLIC else f"Needs {route.needs.describe()}."
    if route.limit is None:
        return needs
    return f"{needs} At most {route.limit.requests} requests in {route.limit.window_s} seconds."


def _security(needs: Requirement) -> list[dict[str, list[str]]]:
    """List the security schemes of a route; OpenAPI 3.1 lets each one name its required scopes and roles."""
    required = [*([str(needs.scope)] if needs.scope else []), *map(str, needs.roles)]
    schemes = ["bearer"] if needs.user_only else list(SECURITY_SCHEMES)
    return [{scheme: required} for scheme in schemes]


def list_path_parameters(route: Route) -> list[tuple[str, str]]:
    """List the parameters of a path, each with the segment before it (`issuers/{id}`) and by its name."""
    return [(f"{segment}/{{{name}}}", name) for segment, name in _SEGMENT_AND_NAME.findall(route.path)]


def _path_parameters(route: Route, vocabulary: Vocabulary) -> Iterator[DocumentPart]:
    for key, name in list_path_parameters(route):
        parameter: DocumentPart = {"name": name, "in": "path", "required": True}
        if (docstring := vocabulary.path_parameters.get(key)) is not None:
            parameter["description"] = Meaning.parse(docstring).description
        yield {**parameter, "schema": _PATH_SCHEMAS[route.path_types[name]]}


def _query_parameters(query: DocumentPart) -> Iterator[DocumentPart]:
    required = query.get("required", [])
    for name, part in query.get("properties", {}).items():
        schema = without_null(part)
        parameter: DocumentPart = {"name": name, "in": "query", "required": name in required}
        if "description" in schema:
            parameter["description"] = schema["description"]
        yield {**parameter, "schema": {key: value for key, value in schema.items() if key != "description"}}


def _header_parameters(route: Route) -> Iterator[DocumentPart]:
    if route.idempotency != "none":
        yield {**_IDEMPOTENCY_KEY, "required": route.idempotency == "required"}
    if route.has_etag:
        yield dict(_IF_NONE_MATCH)
    if route.conditional:
        yield dict(_IF_MATCH)
    if route.representation:
        yield dict(_PREFER)
    yield dict(_REQUEST_ID)


def _add_example(part: DocumentPart, captured: Mapping[str, object], name: str = "body") -> None:
    if name in captured:
        part["example"] = captured[name]


def _request_body(route: Route, schemas: Schemas, captured: DocumentPart) -> DocumentPart | None:
    if route.ndjson:
        content: DocumentPart = {"schema": {"type": "string"}}
        _add_example(content, captured)
        return {"description": "JSON objects, one a line.", "required": True, "content": {NDJSON: content}}
    if route.signed:
        content = {"schema": {"type": "object"}}
        _add_example(content, captured)
        return {"description": "JSON, as its sender signed it.", "required": True, "content": {JSON: content}}
    if route.body is None:
        return None
    content = {"schema": schemas[operation_id(route), "body"]}
    _add_example(content, captured)
    form = {} if route.form_part is None else {FORM: _describe_form(content["schema"], route.form_part)}
    return {"required": not route.body_optional, "content": {route.body_type: content, **form}}


def _describe_form(schema: DocumentPart, json_part: str) -> DocumentPart:
    """Describe a form of the JSON body without its payload, and then the file."""
    file = {"type": "string", "format": "binary", "description": f"The raw file, at most {FILE_LIMIT_BYTES:,} bytes."}
    json_body = {**schema, "description": "The JSON body without `payload_b64url`; the first part."}
    members = {json_part: json_body, FILE_PART: file}
    encoding = {json_part: {"contentType": JSON}}
    return {"schema": {"type": "object", "properties": members, "required": [*members]}, "encoding": encoding}


def _responses(route: Route, schemas: Schemas, captured: DocumentPart) -> dict[str, DocumentPart]:
    success: DocumentPart = {"description": _describe_result(route), "headers": refer_to_headers(_list_headers(route))}
    content: DocumentPart = {
        media_type: {"schema": schemas[operation_id(route), media_type]} for media_type in media_types(route)
    }
    for media_type, part in content.items():
        if media_type == captured.get("content_type"):
            _add_example(part, captured)
    if content:
        success["content"] = content
    existing = {} if route.existing is None else {"200": {**success, "description": route.existing}}
    responses = {str(route.status): success, **existing}
    if route.has_etag:
        responses["304"] = dict(_NOT_MODIFIED)
    if route.redirect is not None:
        responses["301" if route.permanent else "303"] = {
            "description": route.redirect,
            "headers": refer_to_headers([*EVERY_RESPONSE, "Location", *route.headers]),
        }
    responses |= refer_to_errors(route)
    if route.page and (route.path_types or "404" in responses):
        responses["404"] = _describe_unknown(content, schemas["", "error"])
    return responses


def _describe_unknown(content: DocumentPart, error: DocumentPart) -> DocumentPart:
    """Describe the 404 of a page for people: in each of its forms, it may show that the object is unknown."""
    forms = {media_type: {"schema": part["schema"]} for media_type, part in content.items() if media_type != JSON}
    return {
        "description": "The object is unknown: a page or a picture that shows so, or the error for programs.",
        "headers": refer_to_headers(EVERY_RESPONSE),
        "content": {JSON: {"schema": error}, "text/html": {"schema": {"type": "string"}}, **forms},
    }


def _list_headers(route: Route) -> list[str]:
    by_condition = {
        ("ETag",): route.has_etag,
        ("Vary",): "Location" in route.headers,
        ("Idempotent-Replayed",): route.idempotency != "none",
        ("Vary", "Content-Encoding"): may_compress(route) and any(map(_compresses(route), media_types(route))),
        ("Access-Control-Allow-Origin", "Access-Control-Expose-Headers"): is_shared(route),
    }
    implied = [name for names, is_sent in by_condition.items() if is_sent for name in names]
    return list(dict.fromkeys([*EVERY_RESPONSE, *route.headers, *implied]))


def _compresses(route: Route) -> Callable[[str], bool]:
    return is_text if route.fixed else is_json


def _describe_result(route: Route) -> str:
    doc = inspect.getdoc(route.result) if isinstance(route.result, type) and route.serializer is not None else None
    if doc is not None and not route.produces:
        return doc.partition("\n")[0]
    return "Done; there is no body." if route.result is NoneType else "The representation."


def media_types(route: Route) -> Mapping[str, object]:
    """Return the types of a route's successful response by its media types."""
    own = {} if route.serializer is None else {JSON: route.result}
    return {**own, **route.produces}
