"""The HTTP server: the routes of all capabilities on one port, from start to graceful stop."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Callable
from datetime import datetime
from functools import partial

from tornado.netutil import bind_sockets

from attestlab.agents import routes as agent_routes
from attestlab.agents.cards import routes as card_routes
from attestlab.agents.compliance import routes as compliance_routes
from attestlab.agents.delegation import routes as delegation_routes
from attestlab.agents.observability import routes as observability_routes
from attestlab.agents.observability.anomalies import watch_denied
from attestlab.agents.oversight import routes as oversight_routes
from attestlab.agents.runs import routes as run_routes
from attestlab.agents.sessions import routes as agent_session_routes
from attestlab.agents.trust import routes as trust_routes
from attestlab.agents.witnessing import routes as witnessing_routes
from attestlab.annotations import routes as annotation_routes
from attestlab.attestations import routes as attestation_routes
from attestlab.attestations.inbox import routes as inbox_routes
from attestlab.attestations.metering.write_behind import WriteBehind
from attestlab.attestations.packs import routes as pack_routes
from attestlab.attestations.schemas import routes as schema_routes
from attestlab.attestations.verification import routes as verification_routes
from attestlab.audit import routes as audit_routes
from attestlab.audit import trail
from attestlab.billing import routes as billing_routes
from attestlab.billing.portal_page import routes as billing_portal_routes
from attestlab.billing.providers import routes as provider_routes
from attestlab.blog import routes as blog_routes
from attestlab.consumer.accounts import routes as account_routes
from attestlab.core.db.transaction import Transaction
from attestlab.core.error_text import cause_of
from attestlab.core.errors import AttestLabError
from attestlab.core.execution import stop_signals
from attestlab.core.execution.long_writes import LongWrites
from attestlab.core.limits.rate_counters import Count
from attestlab.core.version import VERSION
from attestlab.delivery import routes as delivery_routes
from attestlab.exports import routes as export_routes
from attestlab.governance import routes as governance_routes
from attestlab.identity import routes as identity_routes
from attestlab.installation import Installation
from attestlab.issuers import routes as issuer_routes
from attestlab.lake import routes as lake_routes
from attestlab.log import routes as log_routes
from attestlab.log.witnessing.feeder import Feeder
from attestlab.mail.delivery_queue import MailQueue
from attestlab.orgs import api_key_routes, quotas
from attestlab.orgs import routes as org_routes
from attestlab.orgs.rules import Caller
from attestlab.policy import routes as policy_routes
from attestlab.policy.profiles import routes as profile_routes
from attestlab.portal import billing_routes as billing_page_routes
from attestlab.portal import blog_routes as blog_page_routes
from attestlab.portal import (
    consumer_download_routes,
    consumer_inbox_routes,
    consumer_password_routes,
    consumer_portfolio_routes,
    consumer_protect_routes,
    consumer_settings_routes,
    consumer_signin_routes,
    consumer_signup_routes,
    front_routes,
    invitation_routes,
)
from attestlab.portal import routes as portal_routes
from attestlab.portal.navigation import NAVIGATION
from attestlab.protections import routes as protection_routes
from attestlab.receipts import routes as receipt_routes
from attestlab.receipts.types import routes as receipt_type_routes
from attestlab.risk import routes as risk_routes
from attestlab.risk.enforcement import routes as enforcement_routes
from attestlab.risk.normalization import routes as normalization_routes
from attestlab.risk.signals import routes as signal_routes
from attestlab.risk.velocity import record_blocked_address
from attestlab.search import routes as search_routes
from attestlab.server import readiness
from attestlab.server.api_reference import load_vocabulary
from attestlab.server.authentication import build_authenticator
from attestlab.server.dashboards import PREFIX, Dashboards, are_installed, refuse
from attestlab.server.login_learner import LoginLearner
from attestlab.server.memory_watch import MemoryWatch, list_pools
from attestlab.server.report_drawer import ReportDrawer
from attestlab.server.warm_up import warm_up
from attestlab.server.write_queue import WriteQueue
from attestlab.settings import Stage
from attestlab.simulation import routes as simulation_routes
from attestlab.simulation.risk import routes as risk_simulation_routes
from attestlab.views import routes as view_routes
from attestlab.views.schedules.queue import ReportQueue
from attestlab.web import logging_setup
from attestlab.web.application import Application, BlockedClient
from attestlab.web.delivery_worker import DeliveryWorker
from attestlab.web.health import health_routes
from attestlab.web.http1.acceptor import LOOPBACK, ConnectionLimits, raise_file_limit
from attestlab.web.http1.connection import Timeouts
from attestlab.web.http1.forwarding import Forwarder
from attestlab.web.http1.server import Server
from attestlab.web.metrics import Metrics, metrics_routes
from attestlab.web.openapi.document import describe, openapi_routes
from attestlab.web.path_prefix import PathPrefixResolver
from attestlab.web.problems import ErrorEnvelope, HtmlPage
from attestlab.web.rate_limit.client_address import ClientAddressResolver
from attestlab.web.rate_limit.limiter import Limiter
from attestlab.web.request import Authenticate, Request
from attestlab.web.routing.routes import Route, Routes
from attestlab.webhooks import delivery_routes as webhook_delivery_routes
from attestlab.webhooks import routes as webhook_routes

STOP_TIMEOUT_S = 4.5  # the process ends within five seconds
TITLE = "AttestLab"
CAPABILITIES: tuple[Routes, ...] = (
    attestation_routes.routes,
    pack_routes.routes,
    inbox_routes.routes,
    verification_routes.routes,
    schema_routes.routes,
    export_routes.routes,
    portal_routes.routes,
    front_routes.routes,
    invitation_routes.routes,
    billing_page_routes.routes,
    billing_portal_routes.routes,
    provider_routes.routes,
    consumer_signup_routes.routes,
    consumer_signin_routes.routes,
    consumer_password_routes.routes,
    consumer_download_routes.routes,
    consumer_inbox_routes.routes,
    consumer_protect_routes.routes,
    consumer_settings_routes.routes,
    consumer_portfolio_routes.routes,
    blog_page_routes.routes,
    blog_routes.routes,
    account_routes.routes,
    protection_routes.routes,
    billing_routes.routes,
    receipt_routes.routes,
    receipt_type_routes.routes,
    agent_routes.routes,
    card_routes.routes,
    oversight_routes.routes,
    delegation_routes.routes,
    agent_session_routes.routes,
    witnessing_routes.routes,
    observability_routes.routes,
    run_routes.routes,
    compliance_routes.routes,
    trust_routes.routes,
    issuer_routes.routes,
    governance_routes.routes,
    policy_routes.routes,
    simulation_routes.routes,
    profile_routes.routes,
    signal_routes.routes,
    normalization_routes.routes,
    risk_routes.routes,
    enforcement_routes.routes,
    risk_simulation_routes.routes,
    webhook_routes.routes,
    webhook_delivery_routes.routes,
    search_routes.routes,
    view_routes.routes,
    annotation_routes.routes,
    lake_routes.routes,
    delivery_routes.routes,
    log_routes.routes,
    audit_routes.routes,
    identity_routes.routes,
    api_key_routes.routes,
    org_routes.routes,
)


def all_routes() -> list[Route]:
    """Return the routes of all capabilities, without the operations routes that only a running server has."""
    return [route for routes in CAPABILITIES for route in routes]


def list_described_routes() -> list[Route]:
    """List the routes that `GET /openapi.json` of a server describes, without a server."""
    routes = [*all_routes(), *health_routes({}), *metrics_routes(Metrics())]
    return [*routes, *openapi_routes(routes, title=TITLE, version=VERSION)]


def describe_api() -> bytes:
    """Describe the HTTP API without a server, byte for byte as `GET /openapi.json` of one does."""
    return describe(list_described_routes(), title=TITLE, version=VERSION, vocabulary=load_vocabulary())


def build_application(
    lab: Installation,
    write_queue: WriteQueue,
    *,
    authenticate: Authenticate | None = None,
    limiter: Limiter | None = None,
) -> Application:
    """Build the web application of an installation: routes, authentication, limits and metrics.

    `authenticate` and `limiter` replace those of a server, for an application that only its own process can reach.
    """
    metrics = Metrics()
    logging_setup.STDERR.on_lost = metrics.count_lost_line

    def report_failed_commit(error: BaseException) -> None:
        metrics.count_failed_commit(cause_of(error))
        logging_setup.log_repeated_failure("commit failed", error, cause=cause_of(error))

    lab.storage.on_commit_failed = report_failed_commit
    lab.storage.observer = metrics
    checks = {
        **readiness.list_checks(lab),
        "writes": write_queue.check_writes,
        "background": write_queue.background.check,
    }
    operations = [*health_routes(checks), *metrics_routes(metrics)]
    routes = [*all_routes(), *operations]

    async def record_denied(request: Request, error: AttestLabError) -> None:
        def record(tx: Transaction) -> None:
            trail.record_denied(tx, request, error)
            watch_denied(tx, request.caller, error, at=request.now)

        await write_queue.write(record)

    async def record_blocked(block: BlockedClient) -> None:
        def record(tx: Transaction) -> None:
            record_blocked_address(tx, trail.record_blocked(tx, block), block.address, at=block.at)

        await write_queue.write(record)

    return Application(
        {**lab.services, WriteBehind: write_queue.verifications, LongWrites: write_queue.long_writes},
        [*routes, *openapi_routes(routes, title=TITLE, version=VERSION, load_vocabulary=load_vocabulary)],
        executor=write_queue.executor,
        authenticate=authenticate or build_authenticator(lab),
        execute_write=write_queue.perform,
        on_denied=record_denied,
        on_blocked=record_blocked,
        limiter=limiter or build_limiter(lab),
        clock=lab.clock,
        metrics=metrics,
        page_of_error=render_error_page,
        path_prefix=lab.settings.served_below,
        checks_tenant_header=lab.settings.env is Stage.SANDBOX,
    )


def render_error_page(envelope: ErrorEnvelope, *, path: str, path_prefix: str) -> HtmlPage:
    """Render an error for a browser; the template engine is loaded with the first one."""
    from attestlab.portal import error_pages  # imports the template engine, which must not delay the start

    return error_pages.error_page(envelope, path=path, path_prefix=path_prefix)


def build_limiter(lab: Installation) -> Limiter:
    """Build the rate limiter from plans and settings."""

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


def build_server(lab: Installation, application: Application, dashboards: Dashboards | None = None) -> Server:
    """Build the HTTP server with its timeouts and connection limits, from settings and the limit of open files."""
    settings = lab.settings
    limits = ConnectionLimits.within_files(
        raise_file_limit(),
        total=settings.max_connections,
        per_address=settings.max_connections_per_address,
        exempt=(*LOOPBACK, *settings.trusted_proxies),
    )
    timeouts = Timeouts(idle_s=settings.idle_timeout_s, body_s=settings.body_timeout_s)
    addresses = ClientAddressResolver(settings.trusted_proxies)
    connect = refuse if dashboards is None else dashboards.connect
    fallback = Forwarder(PREFIX, connect, addresses, PathPrefixResolver(addresses, settings.served_below))
    return Server(application, timeouts=timeouts, limits=limits, fallback=fallback)


async def serve(
    lab: Installation,
    sockets: list[socket.socket],
    *,
    ready: Callable[[], None],
    dashboards: Dashboards | None = None,
) -> None:
    """Serve requests on `sockets` until SIGTERM or SIGINT, then finish the accepted requests and writes.

    A long write that takes more than `STOP_TIMEOUT_S` then is rolled back. With `dashboards`, one of the sockets is
    theirs, and paths below /dash are forwarded to their process.
    """
    stop, loop = stop_signals.catch(), asyncio.get_running_loop()
    loop.set_exception_handler(logging_setup.log_loop_failure)
    lab.storage.serve_requests()
    lab.risk.logins.on_warm = gc.freeze  # with the table of addresses, a full collection would take 45 ms, not 2
    write_queue = WriteQueue(lab)
    application = build_application(lab, write_queue)
    server = build_server(lab, application, dashboards)
    NAVIGATION.has_dashboards = dashboards is not None and are_installed()
    if dashboards is not None:
        dashboards.on_start = partial(warm_up, lab)
        dashboards.cookie_key = lab.keyring.keyed_sha256(b"cookies of the dashboards v1")
    server.add_sockets(sockets)
    sweeper = write_queue.background.start("sweeper", write_queue.sweep_forever)
    dispatcher = lab.webhook_deliveries.dispatcher.start(write_queue.background, write_queue.write)
    mails = MailQueue(lab.mails, lab.mail_carrier, storage=lab.storage, sender=lab.mail_sender)
    mail_worker = DeliveryWorker(mails, write=write_queue.write)
    mail_worker.start(write_queue.background)
    webhook_worker = DeliveryWorker(lab.webhook_deliveries.queue, write=write_queue.write)
    webhook_worker.start(write_queue.background)
    drawer = ReportDrawer(
        None if dashboards is None else dashboards.place,
        settings=lab.settings,
        readers=lab.identity.readers,
        clock=lab.clock,
    )
    reports = ReportQueue(lab.views.schedules, drawer, storage=lab.storage)
    report_worker = DeliveryWorker(reports, write=write_queue.write)
    report_worker.start(write_queue.background)
    feeder = Feeder(
        lab.log,
        lab.storage,
        write=write_queue.write,
        clock=lab.clock,
        folder=lab.settings.data,
        on_outcome=application.metrics.count_submission,
    )
    feeder.start(write_queue.background)
    learner = LoginLearner(lab.risk.logins.backfill, write_queue.executor)
    learner.start(write_queue.background)
    pools = {**list_pools(lab), "long_writes": write_queue.long_writes.workers}
    memory_watch = MemoryWatch(pools, application.metrics.observe_child_memory)
    memory_watch.start(write_queue.background)
    ready()
    await stop.wait()
    loop.call_later(STOP_TIMEOUT_S, lab.storage.cancel_waits)
    loop.call_later(STOP_TIMEOUT_S, write_queue.long_writes.abort)
    await sweeper.finish(within_s=0)
    await feeder.finish()
    await learner.finish()
    await memory_watch.finish()
    await dispatcher.finish(within_s=0)
    await report_worker.finish(within_s=0)
    if dashboards is not None:
        await dashboards.stop()
    await asyncio.gather(
        server.stop_gracefully(within_s=STOP_TIMEOUT_S),
        mail_worker.finish(within_s=STOP_TIMEOUT_S),
        webhook_worker.finish(within_s=STOP_TIMEOUT_S),
    )
    await lab.webhook_deliveries.transport.close()
    await write_queue.finish()
    stop_signals.ignore()


def listen(host: str, port: int) -> list[socket.socket]:
    """Bind and listen on all addresses of `host`; port 0 takes a free port, the same for every address."""
    return bind_sockets(port, host)


def url_of(sockets: list[socket.socket], host: str) -> str:
    """Return the URL of a server that listens on these sockets."""
    authority = f"[{host}]" if ":" in host else host
    return f"http://{authority}:{sockets[0].getsockname()[1]}"
