"""HTTP routes of risk that need no module of their own, in the order of the API."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound, ValidationFailed
from attestlab.core.row_rendering import RowRenderer
from attestlab.orgs.rules import Caller, Scope
from attestlab.risk.account_takeover.backfill import BackfillProgress, LoginBackfill, PackedLogin
from attestlab.risk.account_takeover.service import AccountTakeover, LoginScore
from attestlab.risk.drift import Activity, DriftReport, KindDrift, SourceStatus
from attestlab.risk.entities.graph import Edge, Ring
from attestlab.risk.entities.service import UNNAMED, Entities, EntityGraph, EntityView, GraphNode
from attestlab.risk.entities.shapes import EdgeOut, EntityNameOut, EntityOut, GraphOut, GraphQuery, NodeOut, RingOut
from attestlab.risk.logins.login import Login, LoginOutcome
from attestlab.risk.media.findings import MediaAssessment
from attestlab.risk.media.service import MediaScans
from attestlab.risk.rendering import render_bulk, render_cases, render_factor, render_list_entry, render_signal
from attestlab.risk.rules import Entity, resolve_occurrence
from attestlab.risk.shapes import (
    BackfillProgressOut,
    DriftOut,
    DriftQuery,
    FactorOut,
    KindDriftOut,
    LoginAttemptIn,
    LoginOut,
    ScanIn,
    ScanOut,
    SourceOut,
    VelocityIn,
    VelocityOut,
)
from attestlab.risk.signals.bulk_requests import parse_batch
from attestlab.risk.signals.ndjson import require_few_lines
from attestlab.risk.signals.shapes import BulkOut
from attestlab.risk.velocity import Velocity, VelocityScore
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, PageQuery, decode_position, split_page
from attestlab.web.request import Request
from attestlab.web.routing.routes import Routes

routes = Routes("risk")
_SOURCES = "risk_sources"
BACKFILL_LIMIT_BYTES = 50 * 1024 * 1024
LOGINS_PER_WRITE, LOGINS_PER_WRITE_IN_TURN = 250, 50  # the latter while writes of other requests wait


def _list_factors(scored: VelocityScore | MediaAssessment | LoginScore) -> list[FactorOut]:
    return list(map(render_factor, scored.factors))


def _count_seconds(duration: timedelta | None) -> int | None:
    return None if duration is None else int(duration.total_seconds())


_render_velocity = RowRenderer(VelocityOut, VelocityScore, factors=_list_factors)
_render_scan = RowRenderer(
    ScanOut,
    MediaAssessment,
    computed=["signal_id"],
    verdict=lambda scan: scan.verdict.value,
    factors=_list_factors,
)
_render_login = RowRenderer(LoginOut, LoginScore, level=lambda score: score.level.value, factors=_list_factors)
_render_progress = RowRenderer(BackfillProgressOut, BackfillProgress)
_render_view = RowRenderer(
    EntityOut,
    EntityView,
    entity_type=lambda view: view.entity.type.value,
    entity_id=lambda view: view.entity.id,
    signals=lambda view: list(map(render_signal, view.signals)),
    cases=lambda view: render_cases(view.cases, view.discussions),
    lists=lambda view: list(map(render_list_entry, view.list_entries)),
)
_render_name = RowRenderer(EntityNameOut, Entity, type=lambda entity: entity.type.value)
_render_node = RowRenderer(NodeOut, GraphNode, type=lambda node: node.entity.type.value, id=lambda node: node.entity.id)
_render_edge = RowRenderer(
    EdgeOut, Edge, source=lambda edge: _render_name(edge.source), target=lambda edge: _render_name(edge.target)
)
_render_ring = RowRenderer(
    RingOut,
    Ring,
    users=lambda ring: list(map(_render_name, ring.users)),
    shared=lambda ring: list(map(_render_name, ring.shared)),
)
_render_graph = RowRenderer(
    GraphOut,
    EntityGraph,
    nodes=lambda graph: list(map(_render_node, graph.nodes)),
    edges=lambda graph: list(map(_render_edge, graph.edges)),
    rings=lambda graph: list(map(_render_ring, graph.rings)),
)
_render_source = RowRenderer(
    SourceOut,
    SourceStatus,
    source=lambda status: status.source.source,
    count=lambda status: status.source.count,
    first_seen=lambda status: status.source.first_seen,
    last_seen=lambda status: status.source.last_seen,
    typical_gap_s=lambda status: _count_seconds(status.rhythm.typical_gap),
    silent_after_s=lambda status: _count_seconds(status.rhythm.silent_after),
    silent="is_silent",
)
_render_kind = RowRenderer(
    KindDriftOut,
    KindDrift,
    source=lambda drift: drift.kind.source,
    signal_type=lambda drift: drift.kind.signal_type,
    level=lambda drift: drift.level.value,
)
_render_drift = RowRenderer(DriftOut, DriftReport, items=lambda report: list(map(_render_kind, report.kinds)))


@routes.post("/v1/risk/velocity/record", scope=Scope.RISK_WRITE)
def record_velocity(
    request: Request, body: VelocityIn, caller: Caller, velocity: Velocity, tx: Transaction
) -> VelocityOut:
    """Count an occurrence of an action, and score how often the entity did it in the last minute, hour and day.

    The windows slide and follow `occurred_at`. Each count is exact up to 1,000, and stays there; no score needs
    more. From a score of 60 on it becomes a signal.
    """
    entity = Entity.of_sent(body.entity_type, body.entity_id)
    occurred_at = resolve_occurrence(body.occurred_at, request.now)
    scored = velocity.record(entity, body.action, occurred_at=occurred_at, caller=caller, tx=tx)
    return _render_velocity(scored)


async def _scan_media(request: Request, body: ScanIn, caller: Caller, scans: MediaScans) -> MediaAssessment:
    """Scan in a child process, before the write: it takes up to two seconds."""
    file = None if request.payload is None else request.payload.file
    return await scans.scanner.scan(
        caller.tenant_id,
        None if file is None else file.path,
        body.content_type,
        body.indicators,
        claimed_at=body.claimed_at,
        on_disconnect=request.on_disconnect,
    )


@routes.post("/v1/risk/deepfake/scan", scope=Scope.RISK_WRITE, prepare=_scan_media, content=True)
def scan_media(body: ScanIn, prepared: MediaAssessment, caller: Caller, scans: MediaScans, tx: Transaction) -> ScanOut:
    """Scan media for marks of generation and alteration; the result is heuristic and says what it cannot see.

    The file is read in a child process with limits of time and memory and is not stored. From a score of 60
    on it becomes a signal.
    """
    signal_id = scans.record(body.subject_ref, prepared, caller=caller, tx=tx)
    return _render_scan(prepared, signal_id=signal_id)


async def _parse_login(request: Request, body: LoginAttemptIn, logins: AccountTakeover, executor: Executor) -> Login:
    """Validate the login; the first one waits until the table of addresses is loaded in a thread."""
    if body.backfill and body.occurred_at is None:
        raise ValidationFailed.of("/occurred_at", "missing", "A login of the past needs `occurred_at`. Send its time.")
    login = Login(
        subject_id=body.subject_id,
        outcome=LoginOutcome(body.outcome),
        occurred_at=resolve_occurrence(body.occurred_at, request.now),
        ip=body.ip,
        device_id=body.device_id,
        country=body.country,
        user_agent=body.user_agent,
    )
    await _warm_up_logins(logins, executor)
    return login


@routes.post("/v1/risk/ato/evaluate", scope=Scope.RISK_READ, prepare=_parse_login)
def evaluate_login(
    prepared: Login, body: LoginAttemptIn, caller: Caller, logins: AccountTakeover, tx: Transaction
) -> LoginOut:
    """Assess one login: failures within an hour, spraying, strange values, travel, and what came before.

    Call it once for each attempt, failed ones included; the factors explain the score. From a score of 60 on
    it becomes a signal. With `backfill: true`, the login may be up to five years old: it is scored by what is known
    now, learnt in the order of time, and becomes no signal.
    """
    evaluate = logins.evaluate_past if body.backfill else logins.evaluate
    scored = evaluate(prepared, caller=caller, tx=tx)
    return _render_login(scored)


@routes.post("/v1/risk/ato/backfill", scope=Scope.RISK_WRITE, ndjson=True, body_limit=BACKFILL_LIMIT_BYTES)
async def load_past_logins(
    request: Request, caller: Caller, logins: AccountTakeover, backfill: LoginBackfill, executor: Executor
) -> BulkOut:
    """Load logins of the past, one a line; a line that is no login is reported and the others are accepted.

    The body is NDJSON of up to 50 MiB and 700,000 lines, each as the body of `POST /v1/risk/ato/evaluate` with
    `occurred_at`, which may be five years ago, in any order. The service learns them in the order of time, in the
    background, and makes no signals of them. A login that is sent again counts once.
    """
    require_few_lines(request.unparsed)
    await _warm_up_logins(logins, executor)
    lines, accepted = logins.read_past(request.unparsed, now=request.now), 0
    while (batch := await parse_batch(lines, str(caller.tenant_id), executor)) is not None:
        for part in _slice_logins(batch, executor):
            async with executor.bulk.piece():
                await executor.write(partial(backfill.keep, tenant_id=caller.tenant_id, logins=part))
        accepted += len(batch)
    return render_bulk(lines, accepted)


@routes.get("/v1/risk/ato/backfill", scope=Scope.RISK_READ)
def get_backfill_progress(caller: Caller, backfill: LoginBackfill) -> BackfillProgressOut:
    """Get how many logins of the past were accepted, each once, and how many are learnt.

    Both numbers are equal when all are learnt. If an older login comes later, learning begins again.
    """
    return _render_progress(backfill.progress(caller=caller))


async def _warm_up_logins(logins: AccountTakeover, executor: Executor) -> None:
    if not logins.is_warm:
        await executor.run_in_thread(logins.warm_up)


def _slice_logins(logins: Sequence[PackedLogin], executor: Executor) -> Iterator[Sequence[PackedLogin]]:
    """Divide logins into writes, short ones while writes of other requests wait."""
    start = 0
    while start < len(logins):
        end = start + (LOGINS_PER_WRITE_IN_TURN if executor.count_waiting() else LOGINS_PER_WRITE)
        yield logins[start:end]
        start = end


@routes.get("/v1/risk/entities/{type}/{id}", scope=Scope.RISK_READ)
async def get_risk_entity(type: str, id: str, caller: Caller, entities: Entities, executor: Executor) -> EntityOut:
    """Get what is known about an entity: its newest signals and cases, its list entries and velocity.

    An entity of which the tenant knows nothing is a 404.
    """
    view = await executor.read(partial(entities.get, _parse_entity(type, id), caller=caller))
    return _render_view(view)


@routes.get("/v1/risk/entities/{type}/{id}/graph", scope=Scope.RISK_READ)
async def get_risk_graph(
    type: str, id: str, query: GraphQuery, caller: Caller, entities: Entities, executor: Executor
) -> GraphOut:
    """Get the entities around one that facts name together with it, the links between them, and rings of users.

    The graph is explored breadth first up to `depth` links; `truncated` says whether bounds left something
    out.
    """
    read_graph = partial(entities.graph, _parse_entity(type, id), depth=query.depth, caller=caller)
    graph = await executor.run_in_thread(read_graph)
    return _render_graph(graph)


def _parse_entity(kind: str, entity_id: str) -> Entity:
    """Read an entity from the path; a kind that does not exist has no entity."""
    try:
        return Entity.of(kind, entity_id)
    except ValidationFailed:
        raise NotFound("entity", UNNAMED) from None


@routes.get("/v1/risk/sources", scope=Scope.RISK_READ)
async def list_risk_sources(
    query: PageQuery, caller: Caller, activity: Activity, executor: Executor
) -> Page[SourceOut]:
    """List the sources of the tenant's signals by name, each with its rhythm and whether it is silent.

    A source is silent when it has sent nothing for much longer than its usual gap.
    """
    after = None if query.cursor is None else str(decode_position(_SOURCES, query.cursor)[0])
    found = await executor.run_in_thread(partial(activity.sources, caller=caller, after=after, limit=query.limit + 1))
    shown, cursor = split_page(found, limit=query.limit, kind=_SOURCES, position=lambda each: [each.source.source])
    return Page[SourceOut](items=list(map(_render_source, shown)), next_cursor=cursor)


@routes.get("/v1/risk/drift", scope=Scope.RISK_READ)
async def get_risk_drift(query: DriftQuery, caller: Caller, activity: Activity, executor: Executor) -> DriftOut:
    """Compare the scores of each source and type with those of the window of equal length before.

    The measure is the population stability index (PSI) over tens of the score; the strongest drift comes
    first.
    """
    read_drift = partial(activity.drift, query.since, query.until, caller=caller)
    return _render_drift(await executor.run_in_thread(read_drift))
