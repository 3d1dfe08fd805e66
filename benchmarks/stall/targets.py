"""The targets: every route of OpenAPI, with the callers and bodies that attack it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen
from uuid import uuid4

from benchmarks.stall import policies, signals
from benchmarks.stall.shapes import Case, Schemas, dump_json
from benchmarks.stall.world import AttackedInstallation

MAX_UNREQUESTED_BYTES = 64_000
MAX_ROW_BYTES = 2_000  # of a list; documents are fetched one by one
DEFAULT_ROWS = 50  # of a page if the client gives no limit
_PARAMETER = re.compile(r"/\{(\w+)\}")
JSON, NDJSON = "application/json", "application/x-ndjson"
_BARE = Case("plain", lambda size: b"")


@dataclass(frozen=True)
class Target:
    """One method of one path, for one kind of caller."""

    name: str
    method: str
    path: str
    headers: Mapping[str, str]
    cases: Sequence[Case]
    max_answer_bytes: float = float("inf")

    @property
    def has_body(self) -> bool:
        return self.method != "GET"


def list_targets(world: AttackedInstallation) -> Iterator[Target]:
    """Yield routes with a body first, because the objects that they create make lists longer."""
    with urlopen(f"{world.server.url}/openapi.json") as answer:
        document = json.load(answer)
    listed = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    for method, path, operation in sorted(listed, key=lambda each: each[0] == "GET"):
        schemas = Schemas(document, world.known)
        yield from (
            _read_targets(world, path, operation)
            if method == "GET"
            else _write_targets(world, schemas, method, path, operation)
        )


def _write_targets(
    world: AttackedInstallation, schemas: Schemas, method: str, path: str, operation: Mapping[str, Any]
) -> Iterator[Target]:
    content = operation.get("requestBody", {}).get("content", {})
    if NDJSON in content:
        cases, media_type = [*signals.cases()], NDJSON
    elif JSON in content:
        cases, media_type = [*_handwritten_cases(method, path), *schemas.cases(content[JSON]["schema"])], JSON
    else:
        return
    known, *strangers = _callers(operation, path)
    address = _fill_path(world, path)
    for who, its_cases in [(known, cases), *((who, cases[:1]) for who in strangers)]:  # strangers' are refused unread
        headers = {**world.credentials[who], "Content-Type": media_type}
        yield Target(f"{method} {path} as {who}", method, address, headers, its_cases)


def _read_targets(world: AttackedInstallation, path: str, operation: Mapping[str, Any]) -> Iterator[Target]:
    names = [each["name"] for each in operation.get("parameters", []) if each["in"] == "query"]
    who = _callers(operation, path)[0]
    for query in ["", *_queries(world, names), *_LONG_READS.get(path, [])]:
        target = _fill_path(world, path) + query
        limit = _max_answer_bytes(names, query)
        yield Target(f"GET {path}{query[:40]} as {who}", "GET", target, world.credentials[who], [_BARE], limit)


def _max_answer_bytes(names: Sequence[str], query: str) -> float:
    """Return the size limit for the requested rows; there is none for a single object."""
    if "limit" not in names:
        return float("inf")
    rows = int(query.partition("=")[2]) if query.startswith("?limit=") else DEFAULT_ROWS
    return max(MAX_UNREQUESTED_BYTES, rows * MAX_ROW_BYTES)


def _queries(world: AttackedInstallation, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        value = {"limit": "100", "format": "toml", **{key: str(value) for key, value in world.known.items()}}.get(name)
        yield f"?{name}={quote(value or 'a' * 4_000)}"


def _callers(operation: Mapping[str, Any], path: str) -> list[str]:
    """Return the attackers: a stranger if the route is public, otherwise its intended caller and a stranger."""
    security = operation.get("security", [])
    if not security:
        return ["stranger"]
    known = "consumer" if "/consumer/" in path else "user" if list(security[0]) == ["bearer"] else "key"
    return [known, "stranger"]


def _fill_path(world: AttackedInstallation, path: str) -> str:
    """Return the path with ids of existing objects."""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        return "/" + (world.ids.get(name) or world.ids.get(path[: match.start()]) or str(uuid4()))

    return _PARAMETER.sub(value, path)


def _handwritten_cases(method: str, path: str) -> list[Case]:
    """Return cases that no schema suggests: the worst policy documents, contexts and rules over signals."""
    if (method, path) in _DOCUMENTS:
        put = _DOCUMENTS[method, path]
        return [*policies.cases(put), *policies.toml_cases(put)]
    return _CONTEXTS.get(path, [])


_DOCUMENTS: dict[tuple[str, str], Callable[[dict[str, Any]], dict[str, Any]]] = {
    ("POST", "/v1/policies"): lambda document: document,
    ("PUT", "/v1/policies/{id}"): lambda document: document,
    ("POST", "/v1/policies/analyze"): lambda document: {"policy": document},
    ("POST", "/v1/policies/simulate"): lambda document: {"policy": document, "by": []},
}


_LONG_READS = {
    "/v1/risk/signals": ["?min_score=99&source=stall"],
    "/v1/risk/signals/export": ["?format=csv", "?format=json", "?format=parquet"],
    "/v1/risk/entities/{type}/{id}/graph": ["?depth=3"],
}
"""Queries with several parameters, or with values that the names do not tell."""


def _rules_over_signals(document: dict[str, Any]) -> dict[str, Any]:
    """Return the rules of a policy document as rules over risk signals."""
    return {"rules": [{"id": rule["id"], "when": rule["when"]} for rule in document["rules"]]}


def _evaluate_body(context: Callable[[int], dict[str, Any]]) -> Callable[[int], bytes]:
    asked = {"action": "MINT", "target_type": "TENANT_DEFAULT"}
    return lambda size: dump_json({**asked, "context": context(size)})


def _attributes(size: int) -> bytes:
    """Return a body of enums with many long values."""
    values = [f"{'value' * 10}{number:05}" for number in range(min(1_000, size // 60))]
    count = min(190, max(1, size // (60 * len(values))))
    return dump_json({"attributes": [{"path": f"own.a{n}", "type": "enum", "domain": values} for n in range(count)]})


_CONTEXTS = {
    "/v1/risk/simulate": [*signals.simulation_cases(), *policies.cases(_rules_over_signals)],
    "/v1/policies/attributes": [Case("long domains", _attributes)],
    "/v1/policies/evaluate": [
        Case("unknown attributes", _evaluate_body(lambda size: {f"jurisdictio{n}": "CH" for n in range(size // 24)})),
        Case("wrong values", _evaluate_body(lambda size: {f"own.a{n}": "value" * 12 + "x" for n in range(size // 80)})),
        Case("one long value", _evaluate_body(lambda size: {"jurisdiction": "CH" * (size // 2)})),
        Case("one long name", _evaluate_body(lambda size: {"jurisdiction" * (size // 12): "CH"})),
    ],
}
