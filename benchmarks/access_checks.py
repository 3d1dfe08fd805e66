"""`access.*` and `limits.*`: what finding out who calls, and counting it, costs before a request is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from attestlab.attestations.minting import MintRequest
from attestlab.core.clock import SystemClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.installation import InitResult, Installation
from attestlab.orgs.rules import Plan
from attestlab.server.app import all_routes, site_of
from attestlab.server.write_queue import WriteQueue
from attestlab.settings import Settings
from attestlab.web.application import Application
from attestlab.web.credentials import Credential
from attestlab.web.rate_limit.limiter import lane_of
from attestlab.web.request import Request
from benchmarks.figures import Figure
from benchmarks.world import CLAIMS

ROUNDS = 9
TIMES = 500
A_LOT = 1_000_000_000  # requests a minute, so that none is refused


def figures(folder: Path) -> Iterator[Figure]:
    """A key and a token that were seen before; and the limiter against a verification in process."""
    yield from asyncio.run(_measured(folder / "data"))


async def _measured(folder: Path) -> list[Figure]:
    lab, made = Installation.init(Settings(data=folder), clock=SystemClock())
    lab.orgs.set_plan(made.tenant.tenant_id, Plan.ENTERPRISE, {"requests_per_minute": A_LOT})
    desk = WriteQueue(lab)
    site = site_of(lab, desk)
    found = [*_of_authentication(lab, site, made), _of_limiter(lab, site, made)]
    await desk.finish()
    site.close()
    lab.close()
    return found


def _of_authentication(lab: Installation, site: Application, made: InitResult) -> Iterator[Figure]:
    owner = made.tenant
    person = lab.identity.authenticate(owner.owner_email, owner.owner_password, peer="127.0.0.1", now=lab.clock.now())
    token = lab.identity.sign_in(person).access_token
    for name, credential in {"key": _key(made), "token": Credential("bearer", token)}.items():
        call = _call(lab, site, credential)
        rounds = [_each_us(lambda call=call: site.authenticate(call)) for _ in range(ROUNDS)]  # type: ignore[misc]
        yield Figure.of_rounds(f"access.{name}_us", rounds, "us")


def _of_limiter(lab: Installation, site: Application, made: InitResult) -> Figure:
    """Block and bucket of a tenant with a limit, as a share of a verification without its HTTP and its commit."""
    call = _call(lab, site, _key(made))
    call.caller = site.authenticate(call)
    attestation_id = _minted(lab, made)

    def limit() -> None:
        site.limiter.require_unblocked(lane_of(call.peer, payer=call.caller), now=call.now)
        site.limiter.charge(call, call.caller)

    def verify() -> None:
        lab.attestations.verify(attestation_id)

    rounds = [_each_us(limit) / _each_us(verify) for _ in range(ROUNDS)]
    return Figure.of_rounds("limits.share_of_verify", rounds, "ratio", against="lab.attestations.verify")


def _key(made: InitResult) -> Credential:
    return Credential("api_key", made.tenant.api_key)


def _minted(lab: Installation, made: InitResult) -> Any:
    caller = lab.orgs.service_caller(made.tenant.tenant_id)
    issuer = lab.issuers.create({"name": "Registry", "domain": "r.example"}, caller=caller, alg=Algorithm.ED25519)
    kid = issuer.keys[0]["kid"]
    request = MintRequest(issuer_id=issuer.issuer["id"], kid=kid, schema="degree", claims=CLAIMS)
    return lab.attestations.mint(request, caller=caller).id


def _call(lab: Installation, site: Application, credential: Credential) -> Request:
    route = next(route for route in all_routes() if (route.method, route.path) == ("GET", "/v1/issuers"))
    call = Request(
        lab=lab,
        application=site,
        route=route,
        method=route.method,
        path=route.path,
        path_values={},
        headers={},
        peer="127.0.0.1",
        request_id="cost",
        now=lab.clock.now(),
        on_disconnect=lambda tell: None,
    )
    call.credential = credential
    return call


def _each_us(work: Callable[[], object]) -> float:
    work()
    begin = perf_counter()
    for _ in range(TIMES):
        work()
    return 1e6 * (perf_counter() - begin) / TIMES
