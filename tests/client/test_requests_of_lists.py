"""Verbs that take a list look up what its items name once a call, not once an item."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import pyarrow as pa
import pytest

import attestlab
from attestlab.client import collections, handles
from attestlab.client.asynchronous.twins import unwrap_twins
from attestlab.client.collections.bulk_signals import BulkTotals
from attestlab.client.collections.row_blocks import ArrowBlock, CsvBlock, PandasBlock, RowBlock
from attestlab.client.lab import Lab
from attestlab.core.errors import PermissionDenied
from attestlab.orgs.rules import Plan
from support.awaiting_lab import AwaitingLab
from support.lab_walk import CLAIMS, POLICY
from support.server_process import ServerProcess

UNKNOWN = "0193b5a0-7f3c-7abc-8def-0123456789ab"
LIST = "GET /v1/issuers"
BATCH = "POST /v1/attestations/batch"
LEARNT = "GET /v1/risk/ato/backfill"  # how often it is asked depends on how long the service learns
HOME = {"subject_id": "u-1", "outcome": "success", "ip": "192.0.2.7"}
KNOWN = "Known countries lists"  # a policy
FEW, MANY = 1, 3  # items; some lists have no more
INTERNAL = {BulkTotals, RowBlock, CsvBlock, PandasBlock, ArrowBlock}
LISTS = ("Iterable", "Sequence[", "BulkRows", "Contexts")

Use = Callable[[Any, int], object]


def _judge(lab: Any, count: int) -> object:
    rows = [{**HOME, "occurred_at": f"2026-01-0{day}T08:00:00Z"} for day in range(1, count + 1)]
    attack = {**HOME, "ip": "198.51.100.9", "occurred_at": "2026-01-09T08:00:00Z", "kind": "takeover"}
    return lab.signals.judge_logins([*rows, attack], labels="kind", innocent=[str(n) for n in range(count)])


def _activate(lab: Any, count: int) -> None:
    with suppress(PermissionDenied):  # a person would have to sign in
        lab.policies.activate(KNOWN, acknowledge=[f"rule-{n}" for n in range(count)])


def _create_key(lab: Any, count: int) -> None:
    scopes = ["attestations:read", "issuers:read", "risk:read"][:count]
    with suppress(PermissionDenied):  # a person would have to sign in
        lab.api_keys.create("Reader", scopes=scopes)


SWEPT = {
    "name": "Old keys",
    "category": "MINT",
    "target_type": "TENANT_DEFAULT",
    "default_effect": "ALLOW",
    "rules": [
        {"id": "old", "effect": "DENY", "priority": 1, "when": {"attr": "key.age_days", "op": "gt", "value": 365}}
    ],
}
EVENTS = ["key.*", "billing.*", "attestation.*"]
SCOPES = ["docs:read", "docs:write", "docs:list"]
ATTRIBUTES = ["key.age_days", "jurisdiction", "trust_tier"]

# Each verb with its parameters that are lists: a call whose lists have that many items.
USES: dict[str, Use] = {
    "mint_many items": lambda lab, count: lab.attestations.mint_many(
        [{"issuer": "First", "schema": "degree", "claims": CLAIMS}] * count
    ),
    "add_many signals": lambda lab, count: lab.signals.add_many(
        [{"source": "a", "signal_type": "b", "score": n, "entity_type": "ip", "entity_id": "::1"} for n in range(count)]
    ),
    "backfill_logins logins": lambda lab, count: lab.signals.backfill_logins(
        [{**HOME, "occurred_at": f"2026-0{month}-01T08:00:00Z"} for month in range(1, count + 1)]
    ),
    "judge_logins logins, innocent": _judge,
    "change_mapping items": lambda lab, count: lab.signals.change_mapping(
        [{"event_type": f"a.{n}", "signal_type": "b", "score": 1} for n in range(count)]
    ),
    "simulate rules": lambda lab, count: lab.signals.simulate(
        [{"id": f"r-{n}", "when": {"attr": "signal.score", "op": "gte", "value": n}} for n in range(count)]
    ),
    "simulate by": lambda lab, count: lab.policies[KNOWN].simulate(by=ATTRIBUTES[:count]),
    "simulate by, sweeps": lambda lab, count: lab.policies.simulate(
        SWEPT, by=ATTRIBUTES[:count], sweeps=[[("old", "key.age_days")]] * count
    ),
    "isolate by": lambda lab, count: lab.policies.isolate(SWEPT, "old", by=ATTRIBUTES[:count]),
    "replay contexts": lambda lab, count: lab.policies.replay(KNOWN, pa.table({"jurisdiction": ["CH"] * count})),
    "resolve_many items": lambda lab, count: lab.cases.resolve_many(
        [{"id": f"{UNKNOWN[:-1]}{n}", "outcome": "fraud"} for n in range(count)]
    ),
    "reopen cases": lambda lab, count: lab.cases.reopen([f"{UNKNOWN[:-1]}{n}" for n in range(count)]),
    "activate acknowledge": _activate,
    "create events": lambda lab, count: lab.webhooks.create(f"https://receiver.invalid/{count}", EVENTS[:count]),
    "update events": lambda lab, count: lab.webhooks.update("receiver.invalid", events=EVENTS[:count]),
    "create scopes": _create_key,
    "register scopes": lambda lab, count: lab.agents.register("Scoped", scopes=SCOPES[:count]),
    "delegate scopes": lambda lab, count: lab.agents.list(q="Keeper of lists")[0].delegate(
        {"display_name": "Child"}, SCOPES[:count]
    ),
    "session scopes": lambda lab, count: lab.agents.list(q="Keeper of lists")[0].session(SCOPES[:count]),
    "verify chain": lambda lab, count: lab.delegations.verify(["a.b.c"] * count),
    "recover events": lambda lab, count: lab.webhooks.recover(
        "receiver.invalid", "2026-01-01", events=EVENTS[:count], dry_run=True
    ),
    "search types": lambda lab, count: lab.search("First", types=["issuer", "policy", "case"][:count]),
}

EACH_SENT = {"deliver to", "report_many events"}  # one recipient a request; lines in requests of bulk
OF_PEOPLE = {"schedule recipients", "send_by_mail recipients"}  # for a person, by ids, in one request: tests/views


@pytest.fixture(scope="module")
def doors(running: ServerProcess) -> Iterator[dict[str, Any]]:
    """A lab through each door to one installation, each for a new tenant with two issuers."""
    installation = running.open_lab()
    made = [installation.orgs.create_tenant(name, plan=Plan.ENTERPRISE) for name in ("Inside", "Outside", "Async")]
    installation.close()
    with (
        attestlab.open(running.database_url, data=running.data) as lab,
        attestlab.connect(running.url, made[1].api_key) as outside,
        asyncio.Runner() as runner,
    ):
        twin = runner.run(_connect(running.url, made[2].api_key))
        found = {"in process": lab.as_("Inside"), "over HTTP": outside, "async": AwaitingLab(twin, runner)}
        for each in found.values():
            each.issuers.create("First", "first.example")
            each.issuers.create("Second", "second.example")
        yield found
        runner.run(twin.close())


@pytest.fixture(scope="module")
def filled(doors: dict[str, Any]) -> Lab:
    """The lab over HTTP, with the objects that the uses name."""
    lab: Lab = doors["over HTTP"]
    lab.policies.create(POLICY.format(door="lists"))
    lab.webhooks.create("https://receiver.invalid/hooks", "key.*")
    lab.agents.register("Keeper of lists", scopes=["docs:*"])
    return lab


async def _connect(url: str, key: str) -> Any:
    return await attestlab.connect_async(url, key)


@contextmanager
def requests_of(lab: Any) -> Iterator[Counter[str]]:
    """Count the requests that a lab sends in the block, by method and path."""
    plain = unwrap_twins(lab.twin) if isinstance(lab, AwaitingLab) else lab
    http, sent = plain._client._http, Counter[str]()

    def note(request: httpx.Request) -> None:
        sent[f"{request.method} {request.url.path}"] += 1

    before = http.event_hooks
    http.event_hooks = {**before, "request": [*before["request"], note]}
    try:
        yield sent
    finally:
        http.event_hooks = before


def find_lists() -> set[str]:
    """Find the verbs of the facade that take lists, each with these parameters."""
    modules = [
        importlib.import_module(f"{package.__name__}.{each.name}")
        for package in (collections, handles)
        for each in pkgutil.iter_modules(package.__path__)
    ]
    kinds = {kind for module in modules for kind in vars(module).values() if inspect.isclass(kind)}
    verbs = [
        (name, [each.name for each in inspect.signature(verb).parameters.values() if _is_list(each)])
        for kind in {*kinds, Lab}
        if kind.__module__.startswith("attestlab.client.") and kind not in INTERNAL
        for name, verb in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    ]
    return {f"{name} {', '.join(lists)}" for name, lists in verbs if lists}


def _is_list(parameter: inspect.Parameter) -> bool:
    return any(word in str(parameter.annotation) for word in LISTS)


def test_the_verbs_that_take_lists_are_known() -> None:
    assert find_lists() == USES.keys() | EACH_SENT | OF_PEOPLE


@pytest.mark.parametrize("name", USES)
def test_more_items_are_no_more_requests(filled: Lab, name: str) -> None:
    counts = []
    for items in (FEW, MANY):
        with requests_of(filled) as sent:
            USES[name](filled, items)
        counts.append({path: count for path, count in sent.items() if path != LEARNT})

    assert counts[0] == counts[1]


@pytest.mark.parametrize("door", ["in process", "over HTTP", "async"])
def test_mint_many_asks_once_for_each_issuer(doors: dict[str, Any], door: str) -> None:
    """It asked once an item, so that minting by name was a quarter as quick as by id."""
    lab = doors[door]
    second = lab.issuers["Second"].id
    named = ["First", "first.example", "FIRST", second, str(second), "Unknown", "Unknown", UNKNOWN, UNKNOWN, "Second"]
    items = [{"issuer": each, "schema": "degree", "claims": CLAIMS} for each in named]

    with requests_of(lab) as sent:
        results = lab.attestations.mint_many([*items, *([{**items[3], "kid": "none"}] * 2)])

    assert sent == {LIST: 1, f"{LIST}/{second}": 1, f"{LIST}/{UNKNOWN}": 1, BATCH: 1}
    refused = {place: (each.code, each.message) for place, each in enumerate(results) if hasattr(each, "code")}
    assert {place: code for place, (code, _) in refused.items()} == {
        **dict.fromkeys((5, 6, 7, 8), "NOT_FOUND"),
        **dict.fromkeys((10, 11), "VALIDATION_ERROR"),
    }
    assert (refused[5], refused[7]) == (refused[6], refused[8])
    assert ["Unknown" in refused[5][1], UNKNOWN in refused[7][1], "has no key" in refused[11][1]] == [True] * 3


def test_the_next_call_sees_another_name_and_another_key(doors: dict[str, Any]) -> None:
    lab = doors["in process"]
    issuer = lab.issuers.create("Before", "renamed.example")
    items = [{"issuer": name, "schema": "degree", "claims": CLAIMS} for name in ("Before", "After")]

    def mint() -> list[str]:
        return [str(getattr(each, "kid", "refused")) for each in lab.attestations.mint_many(items)]

    first = mint()
    lab.issuers.update(issuer, name="After")
    renamed = mint()
    rotated = issuer.rotate_key().new_kid

    assert (first, renamed, mint()) == (
        [issuer.active_key.kid, "refused"],
        ["refused", issuer.active_key.kid],
        ["refused", rotated],
    )
