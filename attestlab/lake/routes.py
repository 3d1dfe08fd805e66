"""HTTP routes of the lake."""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing

from attestlab.lake import jobs
from attestlab.lake.rules import MAX_QUERY_S, ClientQuery, DatasetRequest, RowFormat, allow_queries, choose_format
from attestlab.lake.service import Lake
from attestlab.lake.shapes import DatasetQuery, DatasetsOut, QueryIn, RowsOut
from attestlab.orgs.role_rules import DATA_READERS
from attestlab.orgs.rules import Caller
from attestlab.web.request import Request
from attestlab.web.response import JSON, RawResponse, StreamedResponse
from attestlab.web.routing.routes import Routes

routes = Routes("lake")
ARROW = {RowFormat.ARROW.value: bytes}


@routes.get("/v1/lake/datasets", scope=DATA_READERS)
async def list_lake_datasets(request: Request, caller: Caller, lake: Lake) -> DatasetsOut | RawResponse:
    """List the data sets that the caller may read.

    Each has a name in SQL, columns whose types never depend on the rows, and the number of the tenant's rows.
    """
    allowance = allow_queries(caller.plan)
    text = await lake.workers.run(
        caller.tenant_id,
        jobs.describe_datasets,
        lake.locate(caller),
        frozenset(caller.scopes),
        timeout_s=allowance.timeout_s,
        elapsed_s=MAX_QUERY_S,
        share=allowance.share,
        on_disconnect=request.on_disconnect,
    )
    return RawResponse(text, JSON)


@routes.get("/v1/lake/datasets/{name}", scope=DATA_READERS, produces=ARROW, headers=("Vary",))
async def get_lake_dataset(
    name: str, request: Request, query: DatasetQuery, caller: Caller, lake: Lake
) -> RowsOut | StreamedResponse:
    """Read the rows of a data set: all of them as Arrow, or the newest 10,000 as JSON.

    A client that accepts `application/vnd.apache.arrow.stream` gets Arrow. The data set needs its scope:
    `attestations:read` for attestations, receipts, verifications and inbox_items, `issuers:read` for issuers,
    `audit:read` for audit and compliance_findings, `risk:read` for signals, raw_events, cases and challenges,
    `policies:read` for decisions and policies, `webhooks:read` for deliveries, `billing:read` for usage and invoices,
    `agents:read` for agents, agent_sessions, delegations, agent_events, witness_votes and run_steps.
    """
    columns = [] if query.columns is None else query.columns.split(",")
    wanted = DatasetRequest(name, query.start, query.end, columns, choose_format(request.header("Accept")))
    return await _stream_rows(request, caller, lake, jobs.stream_dataset, wanted)


@routes.post("/v1/lake/query", scope=DATA_READERS, idempotency="none", produces=ARROW, headers=("Vary",))
async def query_lake(request: Request, body: QueryIn, caller: Caller, lake: Lake) -> RowsOut | StreamedResponse:
    """Run one SELECT over the data sets and return its rows: all of them as Arrow, or the first 10,000 as JSON.

    Data sets are joined by their names, as of one moment, and each needs its scope. Pass values as `parameters`, an
    array for `?` or an object for `$name`.

    It runs in a child process, in turn with those of other tenants, and ends when the client disconnects.
    """
    query = ClientQuery(body.sql, body.parameters, choose_format(request.header("Accept")))
    return await _stream_rows(request, caller, lake, jobs.stream_query, query)


async def _stream_rows(
    request: Request,
    caller: Caller,
    lake: Lake,
    function: Callable[..., Generator[bytes]],
    wanted: ClientQuery | DatasetRequest,
) -> StreamedResponse:
    allowance = allow_queries(caller.plan)
    pieces = lake.workers.stream(
        caller.tenant_id,
        function,
        lake.locate(caller),
        wanted,
        frozenset(caller.scopes),
        timeout_s=allowance.timeout_s,
        elapsed_s=MAX_QUERY_S,
        share=allowance.share,
        on_disconnect=request.on_disconnect,
    )
    first = await anext(pieces)  # an error in it still becomes an error response
    return StreamedResponse(_prepend(first, pieces), wanted.format, {"Vary": "Accept"})


async def _prepend(first: bytes, pieces: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(pieces):
        yield first
        async for piece in pieces:
            yield piece
