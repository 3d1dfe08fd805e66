"""The requests that once stalled a server for seconds: a fixed list, for `make soak` and to compare commits.

The same rules apply as for any other case (`rules.py`), except for the time limits. These are multiples of the time
that this machine takes to parse the widest JSON body, so a slower or busy machine reaches the same result.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from time import process_time
from typing import Any

import httpx

from benchmarks.stall import policies, rules
from benchmarks.stall.server_under_attack import Outcome, ServerUnderAttack
from benchmarks.stall.shapes import Case, dump_json
from benchmarks.stall.targets import MAX_ROW_BYTES, MAX_UNREQUESTED_BYTES, Target
from benchmarks.stall.world import AttackedInstallation

WIDE_MEMBERS = 75_000
MAX_PACES = 20.0  # processor time of the server's own process per request; the mildest defect took 25
NOT_GROWING = 0


@dataclass(frozen=True)
class OnceWorst:
    """One request that was once a defect; `once` describes its former effect."""

    once: str
    target: Target
    case: Case
    size: int
    at_once: int = 1
    half: int = NOT_GROWING  # half the size, to measure growth


@dataclass(frozen=True)
class Verdict:
    """The measured effect of one request, and its defects."""

    outcome: Outcome
    growth: float | None
    defects: tuple[str, ...]


def measure_pace_s() -> float:
    """Measure the processor time that this machine takes to parse 75,000 members."""
    text = json.dumps({f"m{number:06}": number for number in range(WIDE_MEMBERS)})

    def parse_s() -> float:
        begin = process_time()
        json.loads(text)
        return process_time() - begin

    return statistics.median(parse_s() for _ in range(5))


def judge(server: ServerUnderAttack, each: OnceWorst, *, pace: float) -> Verdict:
    """Send the request, and the ones to compare it with, and report broken rules."""
    body = each.case.make(each.size)
    outcome = server.send(each.target, body, at_once=each.at_once)
    defects = [*rules.find_oversized_response(each.target, outcome), *rules.find_server_error(outcome)]
    limit = MAX_PACES * pace
    defects += rules.find_stall(
        server, each.target, body, outcome, at_once=each.at_once, max_stall_ms=max(rules.MAX_STALL_MS, 1000 * limit)
    )
    if outcome.own_cpu_s > limit * each.at_once:
        defects.append(f"costs {outcome.own_cpu_s:.1f} s of the server's processor time")
    if each.half == NOT_GROWING:
        return Verdict(outcome, None, tuple(defects))
    alone = outcome if each.at_once == 1 else server.send(each.target, body)
    half = server.send(each.target, each.case.make(each.half))
    defects += rules.find_superlinear_growth(server, each.target, each.case, (each.half, each.size), (half, alone))
    return Verdict(outcome, alone.cpu_s / max(half.cpu_s, 0.001), tuple(defects))


def list_once_worst(world: AttackedInstallation) -> Iterator[OnceWorst]:
    """Create the policies that the requests need, and yield the requests."""
    key, stranger = world.credentials["key"], world.credentials["stranger"]
    with httpx.Client(base_url=world.server.url, headers=key, timeout=120) as client:
        client.put("/v1/policies/attributes", json={"attributes": _long_domains()}).raise_for_status()
        wide = client.post("/v1/policies", json=policies.many_leaves(LEAVES_BYTES)).raise_for_status().json()["id"]

    def post(path: str, headers: Mapping[str, str] = key) -> Target:
        return Target(f"POST {path}", "POST", path, headers, ())

    def get(path: str, limit: float = float("inf")) -> Target:
        return Target(f"GET {path}", "GET", path, key, (), limit)

    issuer = {"target_type": "ISSUER", "target_id": world.known["issuer_id"]}
    misspelt = Case("misspelt values", lambda size: dump_json(_misspelt_document(size, issuer)))
    wrong = Case("wrong values", lambda size: dump_json({"action": "MINT", **issuer, "context": _WRONG_VALUES}))
    yield OnceWorst("1.2 s and 6.6 MB", post("/v1/verify", stranger), _UNKNOWN, 975_000, half=480_000)
    yield OnceWorst("20 stall 16.6 s", post("/v1/verify", stranger), _UNKNOWN, 975_000, at_once=20)
    yield OnceWorst("32.7 s", post("/v1/verify", stranger), _ESCAPED, 8_000_000, half=4_000_000)
    yield OnceWorst("stalls 17 s", post("/v1/policies"), misspelt, 22_000, half=11_000)
    yield OnceWorst("stalls 5.1 s", post("/v1/policies"), _COUNTRIES, 270_000, half=135_000)
    yield OnceWorst("0.7 s", post("/v1/policies/evaluate"), wrong, 1_000)
    yield OnceWorst("holds the loop", post("/v1/policies/evaluate"), _CONTEXT, 960_000, half=480_000)
    yield OnceWorst("9 s", post("/v1/policies"), _LONG_KEY, 60_000, half=30_000)
    yield OnceWorst("3.7 s", get(f"/v1/policies/{wide}?format=toml"), _PLAIN, 0)
    yield OnceWorst("23 MB", get("/v1/policies?limit=100", max(MAX_UNREQUESTED_BYTES, 100 * MAX_ROW_BYTES)), _PLAIN, 0)
    yield OnceWorst("p99 of mints 1.4 s", post("/v1/policies"), _LEAVES, LEAVES_BYTES, at_once=8)
    yield OnceWorst("p99 of mints 1.6 s", post("/v1/policies/simulate"), _SIMULATED, LEAVES_BYTES)
    yield OnceWorst("scans on the loop", get("/v1/attestations?status=REVOKED&schema=degree"), _PLAIN, 0)
    yield OnceWorst("scans on the loop", get(f"/v1/issuers/{world.ids['/v1/issuers']}/blast-radius"), _PLAIN, 0)


LEAVES_BYTES = 720_000  # 12,000 leaves
ENUMS = 10
_ALIKE = "value" * 10
_WRONG_VALUES = {f"own.a{number}": f"{_ALIKE}x" for number in range(ENUMS)}


def _verify_body(**members: Any) -> dict[str, Any]:
    return {"attestation_id": "01890000-0000-7000-8000-000000000000", **members}


def _escaped_body(size: int) -> bytes:
    text = "\\u0041" * (size // 6)
    return dump_json(_verify_body(payload_b64url="@")).replace(b"@", text.encode())


def _context_body(size: int) -> bytes:
    context = {f"jurisdictio{number}": "CH" for number in range(size // 24)}
    return dump_json({"action": "MINT", "target_type": "TENANT_DEFAULT", "context": context})


def _long_domains() -> list[dict[str, Any]]:
    """Return enums with long, similar values; the server once compared each misspelt value with all of them."""
    values = [f"{_ALIKE}{number:05}" for number in range(1_000)]
    return [{"path": f"own.a{number}", "type": "enum", "domain": values} for number in range(ENUMS)]


def _misspelt_document(size: int, issuer: dict[str, Any]) -> dict[str, Any]:
    """Return a policy for an issuer with one list of wrong values.

    It is for an issuer because the operator's defaults may not use attributes of the operator's tenant.
    """
    values = [f"{_ALIKE}x{number:05}" for number in range(size // 60)]
    return policies.document([policies.rule(0, {"attr": "own.a0", "op": "in", "value": values})], **issuer)


def _document_maker(make: Callable[[int], dict[str, Any]]) -> Callable[[int], bytes]:
    return lambda size: dump_json(make(size))


_PLAIN = Case("plain", lambda size: b"")
_UNKNOWN = Case(
    "unknown members", lambda size: dump_json(_verify_body(**{f"m{number:06}": 0 for number in range(size // 13)}))
)
_ESCAPED = Case("\\u0041 escapes", _escaped_body)
_COUNTRIES = Case("wrong jurisdictions", _document_maker(policies.wrong_lists))
_CONTEXT = Case("unknown attributes", _context_body)
_LONG_KEY = Case("TOML with a dotted key", lambda size: dump_json({"toml": policies.long_key(size)}))
_LEAVES = Case("12,000 leaves", _document_maker(policies.many_leaves))
_SIMULATED = Case("12,000 leaves", lambda size: dump_json({"policy": policies.many_leaves(size), "by": []}))
