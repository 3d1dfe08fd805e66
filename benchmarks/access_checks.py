"""`access.*` and `limits.*`: cost of authentication and rate limiting for a request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from attestlab.attestations.minting import MintRequest
from attestlab.core.clock import SystemClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.orgs.service import InitResult
from attestlab.server.app import all_routes, build_application
from attestlab.server.write_queue import WriteQueue
from attestlab.settings import Settings
from attestlab.web.application import Application
from attestlab.web.rate_limit.limiter import lane_of
from attestlab.web.request import Credential, Request
from benchmarks.figures import Figure
from benchmarks.world import CLAIMS

ROUNDS = 9
TIMES = 500
UNLIMITED = 1_000_000_000  # requests a minute, so that none is refused


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the cost of a cached key and token, and of the limiter relative to a verification in process."""
    yield from asyncio.run(_measure(folder / "data"))


async def _measure(folder: Path) -> list[Figure]:
    lab, made = Installation.init(Settings(data=folder), clock=SystemClock())
    lab.orgs.set_plan(made.tenant.tenant_id, Plan.ENTERPRISE, {"requests_per_minute": UNLIMITED})
    write_queue = WriteQueue(lab)
    application = build_application(lab, write_queue)
    found = [*_authentication_figures(lab, application, made), _limiter_figure(lab, application, made)]
    await write_queue.finish()
    application.close()
    lab.close()
    return found


def _authentication_figures(lab: Installation, application: Application, made: InitResult) -> Iterator[Figure]:
    owner = made.tenant
    person = lab.identity.authenticate(owner.owner_email, owner.owner_password, peer="127.0.0.1", now=lab.clock.now())
    token = lab.identity.sign_in(person).access_token
    for name, credential in {"key": _api_key_credential(made), "token": Credential("bearer", token)}.items():
        request = _make_request(lab, application, credential)
        rounds = [_time_us(lambda request=request: application.authenticate(request)) for _ in range(ROUNDS)]  # type: ignore[misc]
        yield Figure.of_rounds(f"access.{name}_us", rounds, "us")


def _limiter_figure(lab: Installation, application: Application, made: InitResult) -> Figure:
    """Return the cost of the block check and bucket of a limited tenant, as a share of a verification.

    The verification is measured without HTTP and without its commit.
    """
    request = _make_request(lab, application, _api_key_credential(made))
    request.caller = application.authenticate(request)
    attestation_id = _mint(lab, made)

    def limit() -> None:
        application.limiter.require_unblocked(lane_of(request.peer, payer=request.caller), now=request.now)
        application.limiter.charge(request, request.caller)

    def verify() -> None:
        lab.attestations.verify(attestation_id)

    rounds = [_time_us(limit) / _time_us(verify) for _ in range(ROUNDS)]
    return Figure.of_rounds("limits.share_of_verify", rounds, "ratio", against="lab.attestations.verify")


def _api_key_credential(made: InitResult) -> Credential:
    return Credential("api_key", made.tenant.api_key)


def _mint(lab: Installation, made: InitResult) -> Any:
    caller = lab.orgs.service_caller(made.tenant.tenant_id)
    issuer = lab.issuers.create({"name": "Registry", "domain": "r.example"}, caller=caller, alg=Algorithm.ED25519)
    kid = issuer.keys[0].kid
    request = MintRequest(issuer_id=issuer.issuer.id, kid=kid, schema="degree", claims=CLAIMS)
    return lab.attestations.mint(request, caller=caller).id


def _make_request(lab: Installation, application: Application, credential: Credential) -> Request:
    route = next(route for route in all_routes() if (route.method, route.path) == ("GET", "/v1/issuers"))
    request = Request.without_connection(route, peer="127.0.0.1", request_id="cost", now=lab.clock.now())
    request.credential = credential
    return request


def _time_us(work: Callable[[], object]) -> float:
    work()
    begin = perf_counter()
    for _ in range(TIMES):
        work()
    return 1e6 * (perf_counter() - begin) / TIMES
