"""Messages of faults: the nearest known name, words for the form of a text, and ranges that hold nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import httpx
import pytest

from attestlab.cli.data_dictionary import list_public_models
from attestlab.core.shapes import In
from attestlab.core.suggestions import MAX_SUGGESTIONS
from attestlab.core.text_forms import is_described
from attestlab.policy.language.attributes import PATH
from attestlab.risk.signals.ndjson import read_signal_lines
from attestlab.server.app import all_routes, list_described_routes
from support.orgs import TenantClients
from support.risk import SIGNAL, add_signal, key, open_risk_tenant, put_on_list, tenant_clients  # noqa: F401  # fixtures

NDJSON = {"Content-Type": "application/x-ndjson"}
pytestmark = pytest.mark.one_world


def refuse(answer: httpx.Response) -> tuple[str, str]:
    """Return the pointer and the message of the first fault."""
    assert answer.status_code == 400, answer.text
    fault = answer.json()["details"]["fields"][0]
    assert fault["message"] in answer.json()["message"]
    return fault["field"], fault["message"]


UNKNOWN_PARAMETERS = {
    "/v1/risk/signals?min_scores=7": ("/min_scores", "Unknown parameter. Did you mean `min_score`?"),
    "/v1/risk/cases?statuss=open": ("/statuss", "Unknown parameter. Did you mean `status`?"),
    "/v1/attestations?shcema=degree": ("/shcema", "Unknown parameter. Did you mean `schema`?"),
    "/v1/audit/events?form=2026-01-01T00:00:00Z": ("/form", "Unknown parameter. Did you mean `from`?"),
    "/v1/risk/signals?zzzzzz=7": ("/zzzzzz", "Unknown parameter."),
}


@pytest.mark.parametrize("path", UNKNOWN_PARAMETERS)
def test_an_unknown_parameter_gets_the_nearest_known_one(path: str, key: httpx.Client) -> None:  # noqa: F811
    assert refuse(key.get(path)) == UNKNOWN_PARAMETERS[path]


def test_an_unknown_member_gets_the_nearest_known_one(key: httpx.Client) -> None:  # noqa: F811
    verified = key.post("/v1/verify", json={"document_hash_hexx": "0" * 64})
    nested = key.put("/v1/risk/mappings", json={"items": [{"event_typ": "a.b"}]})
    many = key.post("/v1/risk/signals", json={**SIGNAL, **{f"sourc{number}": 1 for number in range(30)}})

    assert "Unknown member. Did you mean `document_hash_hex`?" in verified.text
    assert "Unknown member. Did you mean `event_type`?" in nested.text
    assert refuse(many) == ("/sourc0", "Unknown member. Did you mean `source`?")


def test_an_unknown_member_of_a_line_gets_the_nearest_known_one(key: httpx.Client) -> None:  # noqa: F811
    loads = {
        "signals/bulk": (SIGNAL, "scor_scale", "score_scale"),
        "ato/backfill": ({"subject_id": "ada", "outcome": "success"}, "devise_id", "device_id"),
    }
    for path, (members, unknown, meant) in loads.items():
        body = json.dumps({**members, unknown: "d-1"})
        (rejected,) = key.post(f"/v1/risk/{path}", content=body, headers=NDJSON).json()["rejected"]
        assert rejected["message"] == f"/{unknown}: Unknown members: {unknown}. Did you mean `{meant}`?"


def test_only_the_first_lines_of_a_request_get_the_nearest_member() -> None:
    """A line of a body takes 15 microseconds, and the nearest member may take a millisecond."""
    text = "".join(f'{{"skore{number}": 1}}\n' for number in range(2 * MAX_SUGGESTIONS))
    lines = read_signal_lines(text.encode(), now=datetime(2026, 1, 1, tzinfo=UTC))
    lines.parse_batch()

    suggested = ["Did you mean `score`?" in rejected.message for rejected in lines.rejected]
    assert suggested == [True] * MAX_SUGGESTIONS + [False] * MAX_SUGGESTIONS


def test_an_unknown_member_of_a_policy_has_the_same_words(key: httpx.Client) -> None:  # noqa: F811
    unknown = {"effect_default": "ALLOW", "zzzzzz": 1, **{f"member{number}": 1 for number in range(MAX_SUGGESTIONS)}}
    refused = key.post("/v1/policies", json={"name": "a", "category": "MINT", **unknown})
    messages = {fault["field"]: fault["message"] for fault in refused.json()["details"]["fields"]}

    assert messages["/effect_default"] == "Unknown member. Did you mean `default_effect`?"
    assert {messages[f"/{name}"] for name in unknown if name != "effect_default"} == {"Unknown member."}


def test_no_message_has_a_regular_expression(key: httpx.Client) -> None:  # noqa: F811
    assert refuse(key.post("/v1/risk/signals", json={**SIGNAL, "source": "No Name"})) == (
        "/source", "Use 1 to 64 characters of a-z, 0-9 and _.",
    )  # fmt: skip
    login = {"subject_id": "ada", "outcome": "failure", "country": "Portugal"}
    country = refuse(key.post("/v1/risk/ato/evaluate", json=login))[1]
    assert "'Portugal' is no ISO 3166-1 code of two letters, such as CH, or XK for Kosovo." in country
    condition = {"attr": "jurisdiction", "op": "eq", "value": "CH"}
    rule = {"id": "no id!", "effect": "DENY", "priority": 1, "when": condition}
    policy = {"name": "a", "category": "MINT", "target_type": "TENANT_DEFAULT", "default_effect": "ALLOW"}
    refused = key.post("/v1/policies", json={**policy, "rules": [rule]})
    assert "Use 1 to 64 letters, digits" in refused.text
    assert "should match" not in refused.text


def list_patterns(schema: object) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(list_patterns, schema))
    if not isinstance(schema, dict):
        return set()
    own = {schema["pattern"]} if isinstance(schema.get("pattern"), str) else set()
    return own.union(*map(list_patterns, schema.values()))


def test_each_pattern_of_a_request_has_words() -> None:
    inputs = [each for each in list_public_models(list_described_routes()) if issubclass(each, In)]
    patterns = set().union(*(list_patterns(each.model_json_schema()) for each in inputs))

    assert len(patterns) > 5
    assert {each for each in patterns if not is_described(each)} <= CHECKED_BY_THEIR_OWN_VALIDATOR


# Only the schema has these; our validators refuse with other words.
CHECKED_BY_THEIR_OWN_VALIDATOR = {f"^{PATH.pattern}$"}

AGENT_ID = "0193b5a0-7f3c-7abc-8def-0123456789ab"
RANGES = [
    "/v1/risk/signals?min_score=80&max_score=20",
    "/v1/risk/signals?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z",
    "/v1/risk/signals/export?format=csv&min_score=80&max_score=20",
    "/v1/risk/drift?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z",
    "/v1/attestations?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z",
    "/v1/receipts?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z",
    "/v1/receipts/export?format=csv&from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z",
    "/v1/audit/events?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z",
    f"/v1/agents/{AGENT_ID}/trust/history?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z",
    "/v1/annotations?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z",
    "/v1/observability/metrics?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z",
    "/v1/lake/datasets/signals?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z",
]


@pytest.mark.parametrize("path", RANGES)
def test_a_range_that_holds_nothing_is_refused_everywhere(path: str, key: httpx.Client) -> None:  # noqa: F811
    pointer, message = refuse(key.get(path))

    assert pointer in ("/from", "/min_score")
    assert ("is above" if pointer == "/min_score" else "is after") in message
    assert json.dumps(message)


REVERSED = {"from": "2026-02-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}
BODIES = {
    "/v1/receipts/search": REVERSED,
    "/v1/risk/events/normalize": REVERSED,
    "/v1/risk/simulate": {"rules": [], **REVERSED},
    "/v1/policies/simulate": {"policy_id": "0193b5a0-7f3c-7abc-8def-0123456789ab", **REVERSED},
}


@pytest.mark.parametrize("path", BODIES)
def test_a_range_of_a_body_that_holds_nothing_is_refused(path: str, key: httpx.Client) -> None:  # noqa: F811
    pointer, message = refuse(key.post(path, json=BODIES[path]))

    assert (pointer, "is after" in message) == ("/from", True)


def test_every_route_with_a_range_is_among_these() -> None:
    tried = {path.partition("?")[0] for path in RANGES} | set(BODIES)
    ranged = {
        route.path
        for route in all_routes()
        for model in (route.query, route.body)
        if isinstance(model, type) and {"from", "to"} <= {each.alias for each in model.model_fields.values()}
    }

    assert {path.replace("{name}", "signals").replace("{id}", AGENT_ID) for path in ranged} - tried == set()


PAGED = {
    "risk/signals": ("min_score=1", "min_score=2", ["source=login", ""]),
    "risk/cases": ("status=open", "status=resolved", [""]),
    "risk/lists": ("list=deny", "list=allow", [""]),
}


@pytest.mark.parametrize("path", PAGED)
def test_a_cursor_continues_its_own_filters_alone(path: str, key: httpx.Client) -> None:  # noqa: F811
    own, other, more = PAGED[path]
    for number in range(3):
        add_signal(key, entity_id=f"user-{number}", score=90)
        put_on_list(key, "deny", entity_id=f"user-{number}")
    first = key.get(f"/v1/{path}?limit=1&{own}").json()
    cursor = first["next_cursor"]
    second = key.get(f"/v1/{path}?limit=2&{own}&cursor={cursor}").json()

    assert len({each["id"] for each in first["items"] + second["items"]}) == 3
    for filters in (other, *more):
        refused = key.get(f"/v1/{path}?limit=1&cursor={cursor}" + (f"&{filters}" if filters else ""))
        assert refuse(refused)[1].startswith("This cursor continues a list with other filters.")
    assert key.get(f"/v1/{path}?{own}&cursor={cursor}x").status_code == 400
    assert key.get(f"/v1/{path}?{own}&cursor=x{cursor}").status_code == 400


def test_a_range_of_one_value_is_none_of_these(key: httpx.Client, tenant_clients: TenantClients) -> None:  # noqa: F811
    with tenant_clients.with_key() as client:
        assert client.get("/v1/risk/signals?min_score=80&max_score=80").status_code == 200


FAULTS_OF_QUERIES = {
    "/v1/risk/signals?source=a&source=b": ("/source", "Duplicate query parameter."),
    "/v1/risk/signals?source=a%00": ("/source", "contains a NUL character"),
    "/v1/risk/signals?source": ("", "Invalid query string."),
    "/v1/risk/settings?limit=3": ("/limit", "This route takes none."),
}


@pytest.mark.parametrize("path", FAULTS_OF_QUERIES)
def test_a_fault_of_a_whole_query_names_its_place(path: str, key: httpx.Client) -> None:  # noqa: F811
    pointer, message = refuse(key.get(path))

    assert (pointer, FAULTS_OF_QUERIES[path][1] in message) == (FAULTS_OF_QUERIES[path][0], True)
