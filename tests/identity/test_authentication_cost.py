"""Authenticating a known credential costs less than verifying one signature."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from attestlab.core.clock import SystemClock
from attestlab.installation import Installation
from attestlab.server.app import all_routes, build_application
from attestlab.server.write_queue import WriteQueue
from attestlab.settings import Settings
from attestlab.web.application import Application
from attestlab.web.request import Credential, Request
from support.processor_time import measure_least_s

TIMES = 100  # in each round, so that what only some requests need is measured too


def call_with(lab: Installation, site: Application, credential: Credential) -> Request:
    """Builds a request for `/v1/me` with this credential."""
    route = next(route for route in all_routes() if route.path == "/v1/me")
    call = Request.without_connection(route, peer="127.0.0.1", request_id="cost", now=lab.clock.now())
    call.credential = credential
    return call


def repeat(work: Callable[[], object]) -> Callable[[], None]:
    """Returns what does the work `TIMES` times."""

    def work_many_times() -> None:
        for _ in range(TIMES):
            work()

    return work_many_times


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
        found = measure_least_s(repeat(lambda: site.authenticate(call)), repeat(verifying()))
        await desk.finish()
        site.close()
        lab.close()
        return found

    authenticated_s, verified_s = asyncio.run(measured())
    assert authenticated_s < verified_s
