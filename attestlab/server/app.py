"""The server: every capability's routes on one port, from the first request to the last answer."""

from __future__ import annotations

import asyncio
import hashlib
import signal
import socket
from collections.abc import Callable
from datetime import datetime

from tornado.netutil import bind_sockets

from attestlab import __version__
from attestlab.attestations import routes as attestation_routes
from attestlab.attestations.packs import routes as pack_routes
from attestlab.audit import routes as audit_routes
from attestlab.audit import trail
from attestlab.core.error_text import cause_of
from attestlab.core.errors import AttestLabError, AuthInvalid
from attestlab.core.limits.rate_counters import Count
from attestlab.delivery import routes as delivery_routes
from attestlab.exports import routes as export_routes
from attestlab.governance import routes as governance_routes
from attestlab.identity import routes as identity_routes
from attestlab.installation import Installation
from attestlab.issuers import routes as issuer_routes
from attestlab.log import routes as log_routes
from attestlab.log.witnessing.feeder import Feeder
from attestlab.mail.delivery_worker import DeliveryWorker
from attestlab.orgs import api_key_routes, quotas
from attestlab.orgs import routes as org_routes
from attestlab.orgs.rules import Caller
from attestlab.policy import routes as policy_routes
from attestlab.policy.profiles import routes as profile_routes
from attestlab.portal import routes as portal_routes
from attestlab.server.write_queue import WriteQueue
from attestlab.settings import Stage
from attestlab.simulation import routes as simulation_routes
from attestlab.web import logging_setup
from attestlab.web.application import Application, BlockedClient
from attestlab.web.health import health_routes
from attestlab.web.http1.acceptor import LOOPBACK, ConnectionLimits, raise_file_limit
from attestlab.web.http1.connection import Timeouts
from attestlab.web.http1.server import Server
from attestlab.web.metrics import Metrics, metrics_routes
from attestlab.web.rate_limit.client_address import ClientAddressResolver
from attestlab.web.rate_limit.limiter import Limiter
from attestlab.web.request import Request
from attestlab.web.routing.openapi import openapi_routes
from attestlab.web.routing.routes import Route, Routes

STOP_WITHIN_S = 4.5  # of the five seconds in which the process is gone
TITLE = "AttestLab"
CAPABILITIES: tuple[Routes, ...] = (
    attestation_routes.routes,
    pack_routes.routes,
    export_routes.routes,
    portal_routes.routes,
    issuer_routes.routes,
    governance_routes.routes,
    policy_routes.routes,
    simulation_routes.routes,
    profile_routes.routes,
    delivery_routes.routes,
    log_routes.routes,
    audit_routes.routes,
    identity_routes.routes,
    api_key_routes.routes,
    org_routes.routes,
)


def all_routes() -> list[Route]:
    """Every route of every capability; the operations routes come with a running server."""
    return [route for routes in CAPABILITIES for route in routes]


def site_of(lab: Installation, desk: WriteQueue) -> Application:
    """The installation as the web toolkit sees it."""
    metrics = Metrics()
    logging_setup.STDERR.on_lost = metrics.count_lost_line

    def commit_failed(error: BaseException) -> None:
        metrics.count_failed_commit(cause_of(error))
        logging_setup.log_repeated_failure("commit failed", error, cause=cause_of(error))

    lab.storage.on_commit_failed = commit_failed
    checks = {**lab.readiness(), "writes": desk.check_writes, "background": desk.background.check}
    operations = [*health_routes(checks), *metrics_routes(metrics)]
    routes = [*all_routes(), *operations]

    def authenticate(request: Request) -> Caller:
        credential = request.credential
        if credential is None:
            raise AuthInvalid
        if credential.kind == "bearer":
            return lab.identity.sessions.authenticate(credential.secret, now=request.now)
        name = ("caller", hashlib.sha256(credential.secret.encode()).digest())
        caller = lab.storage.cached_read(name, lambda connection: lab.orgs.authenticate(connection, credential.secret))
        if caller.expires_at is not None and request.now >= caller.expires_at:
            raise AuthInvalid(known=caller)
        return caller

    async def denied(request: Request, fault: AttestLabError) -> None:
        await desk.write(lambda tx: trail.record_denied(tx, request, fault))

    async def blocked(block: BlockedClient) -> None:
        await desk.write(lambda tx: trail.record_blocked(tx, block))

    return Application(
        lab,
        [*routes, *openapi_routes(routes, title=TITLE, version=__version__)],
        authenticate=authenticate,
        execute_write=desk.perform,
        write=desk.write,
        on_denied=denied,
        on_blocked=blocked,
        on_metered=desk.verifications.add,
        limiter=limiter_of(lab),
        clock=lab.clock,
        metrics=metrics,
        reads_inline=lab.storage.is_sqlite,
        checks_tenant_header=lab.settings.env is Stage.SANDBOX,
    )


def limiter_of(lab: Installation) -> Limiter:
    """Who may ask how often, by plans and settings."""

    def spent_today(caller: Caller, metric: str, now: datetime) -> Count | None:
        with lab.storage.read() as connection:
            return quotas.spent_today(connection, caller, metric, at=now)

    return Limiter(
        lab.counters,
        spent_today=spent_today,
        address_per_minute=lab.settings.address_requests_per_minute,
        allowance_of=quotas.allowance_of,
        addresses=ClientAddressResolver(lab.settings.trusted_proxies),
    )


def server_of(lab: Installation, site: Application) -> Server:
    """The server with its patience and its room for connections, by settings and the limit of open files."""
    settings = lab.settings
    room = ConnectionLimits.within_files(
        raise_file_limit(),
        total=settings.max_connections,
        per_address=settings.max_connections_per_address,
        exempt=(*LOOPBACK, *settings.trusted_proxies),
    )
    return Server(site, timeouts=Timeouts(idle_s=settings.idle_timeout_s, body_s=settings.body_timeout_s), limits=room)


async def serve(lab: Installation, sockets: list[socket.socket], *, ready: Callable[[], None]) -> None:
    """Answer on `sockets` until SIGTERM or SIGINT, then finish what was accepted."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(logging_setup.log_loop_failure)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    lab.storage.serve_requests()
    desk = WriteQueue(lab)
    site = site_of(lab, desk)
    server = server_of(lab, site)
    server.add_sockets(sockets)
    sweeper = desk.background.start("sweeper", desk.sweep_forever)
    courier = DeliveryWorker(lab.mails, lab.mail_carrier, sender=lab.mail_sender, write=desk.write)
    courier.start(desk.background)
    feeder = Feeder(
        lab.log,
        lab.storage,
        write=desk.write,
        clock=lab.clock,
        folder=lab.settings.data,
        on_outcome=site.metrics.count_submission,
    )
    feeder.start(desk.background)
    ready()
    await stop.wait()
    loop.call_later(STOP_WITHIN_S, lab.storage.cancel_waits)
    await sweeper.finish(within_s=0)
    await feeder.finish()
    await asyncio.gather(server.stop_gracefully(within_s=STOP_WITHIN_S), courier.finish(within_s=STOP_WITHIN_S))
    await desk.finish()


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets that are bound and listening; port 0 takes a free one, the same for every address of `host`."""
    return bind_sockets(port, host)


def address_of(sockets: list[socket.socket], host: str) -> str:
    """The URL that a newcomer can open."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{sockets[0].getsockname()[1]}"
