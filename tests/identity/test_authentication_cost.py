"""Authenticating a known credential costs less than verifying one signature."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from attestlab.core.clock import SystemClock
from attestlab.installation import Installation
from attestlab.server.app import all_routes, build_application
from attestlab.server.write_queue import WriteQueue
from attestlab.settings import Settings
from attestlab.web.application import Application
from attestlab.web.credentials import Credential
from attestlab.web.request import Request

TIMES = 1_000


def call_with(lab: Installation, site: Application, credential: Credential) -> Request:
    """Builds a request for `/v1/me` with this credential."""
    route = next(route for route in all_routes() if route.path == "/v1/me")
    call = Request(
        route=route,
        method="GET",
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


def medians_s(*works: Callable[[], object]) -> list[float]:
    """Returns the median time of each, measured in turns so that other load affects all of them alike."""
    durations: list[list[float]] = [[] for _ in works]
    for _ in range(TIMES):
        for work, found in zip(works, durations, strict=True):
            began = perf_counter()
            work()
            found.append(perf_counter() - began)
    return [median(found) for found in durations]


def verifying() -> Callable[[], object]:
    """Verifies a signature, which takes a tenth of a millisecond on our machine."""
    private = Ed25519PrivateKey.generate()
    public, signature = private.public_key(), private.sign(b"measure")
    return lambda: public.verify(signature, b"measure")


@pytest.mark.parametrize("kind", ["api_key", "bearer"])
def test_authenticating_costs_less_than_verifying_a_signature(tmp_path: Path, kind: str) -> None:
    """Includes every per-request check: the session is open, the key is not revoked, and the current plan."""

    async def measured() -> list[float]:
        lab, made = Installation.init(Settings(data=tmp_path / "data"), clock=SystemClock())
        desk = WriteQueue(lab)
        site = build_application(lab, desk)
        identity, tenant = lab.identity, made.tenant
        recognised = identity.authenticate(
            tenant.owner_email, tenant.owner_password, peer="127.0.0.1", now=lab.clock.now()
        )
        tokens = identity.sign_in(recognised)
        secret = tenant.api_key if kind == "api_key" else tokens.access_token
        call = call_with(lab, site, Credential(kind, secret))  # type: ignore[arg-type]
        found = medians_s(lambda: site.authenticate(call), verifying())
        await desk.finish()
        site.close()
        lab.close()
        return found

    authenticated_s, verified_s = asyncio.run(measured())
    assert authenticated_s < verified_s
