"""Calls by operation id, as a generated client makes them, and their capture as examples."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import httpx

from attestlab.web.body.reader import WEB_FORM
from support.access import AccessScenario

JsonObject = dict[str, Any]
MAX_TEXT_CHARS = 3_000


class TourRecorder:
    """Calls operations as the description says, and records each request with its response."""

    def __init__(self, access: AccessScenario, document: JsonObject) -> None:
        self.access = access
        self.document = document
        self.account = access.account
        self.operations = {
            operation["operationId"]: (method, path, operation)
            for path, item in document["paths"].items()
            for method, operation in item.items()
        }
        self.examples: dict[str, JsonObject] = {}
        self.responses: dict[str, httpx.Response] = {}

    def call(self, name: str, client: httpx.Client, body: object = None, /, **parameters: Any) -> Any:
        """Call an operation, which must succeed; return the JSON of its response, or its text."""
        response, request = self._send(name, client, body, parameters)
        expected = next(iter(self.operations[name][2]["responses"]))
        assert response.status_code == int(expected), f"{name}: {response.status_code} {response.text[:400]}"
        self.responses[name] = response
        self.examples[name] = {"request": request, "response": _describe_response(response)}
        return _read_body(response)

    def fail(self, status: int, name: str, client: httpx.Client, body: object = None, /, **parameters: Any) -> None:
        """Call an operation, which must be rejected, as the example of that error."""
        response, _ = self._send(name, client, body, parameters)
        assert response.status_code == status, f"{name}: {response.status_code} {response.text[:400]}"
        self.responses[str(status)] = response
        self.examples[str(status)] = {"response": _describe_response(response)}

    def _send(
        self, name: str, client: httpx.Client, body: object, parameters: JsonObject
    ) -> tuple[httpx.Response, JsonObject]:
        method, path, operation = self.operations[name]
        query, headers = {}, {}
        if any(each["name"] == "Idempotency-Key" and each["required"] for each in operation["parameters"]):
            parameters = {"Idempotency-Key": f"example of {name}", **parameters}
        for each in operation["parameters"]:
            if (value := parameters.get(each["name"])) is None:
                continue
            if each["in"] == "path":
                path = path.replace(f"{{{each['name']}}}", str(value))
            else:
                (query if each["in"] == "query" else headers)[each["name"]] = str(value)
        media_type, *_ = operation.get("requestBody", {}).get("content", {"application/json": None})
        content = None if body is None else _encode(body, media_type)
        if content is not None:
            headers["Content-Type"] = media_type
        response = client.request(method, path, params=query, headers=headers, content=content)
        shown = {key: value for key, value in parameters.items() if key != "Accept"}
        return response, {"parameters": shown, **({} if body is None else {"body": body})}


def _encode(body: object, media_type: str) -> bytes:
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, dict) and media_type == WEB_FORM:
        return urlencode(body).encode()
    return json.dumps(body).encode()


def _describe_response(response: httpx.Response) -> JsonObject:
    content_type = response.headers.get("content-type", "").partition(";")[0]
    described = {"status": response.status_code, "content_type": content_type}
    body = _read_body(response)
    return described if body is None else {**described, "body": body}


def _read_body(response: httpx.Response) -> Any:
    """The JSON, or the text; None for a body that is neither, or too long to show."""
    content_type = response.headers.get("content-type", "").partition(";")[0]
    if content_type.endswith("json"):
        return response.json()
    is_text = content_type.startswith(("text/", "application/vc+", "application/dc+"))
    return response.text if is_text and len(response.text) <= MAX_TEXT_CHARS else None
