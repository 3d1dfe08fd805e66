"""HTTP routes of receipt types."""

from functools import partial

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, QuotaExceeded
from attestlab.orgs.rules import Caller, Scope
from attestlab.receipts.types.json_schema import CheckedSchema, check_schema
from attestlab.receipts.types.rendering import LIST, render_page, render_type
from attestlab.receipts.types.rules import parse_reference
from attestlab.receipts.types.service import ReceiptTypes
from attestlab.receipts.types.shapes import DeprecateTypeIn, ReceiptTypeIn, ReceiptTypeOut, ReceiptTypesQuery
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, decode_id
from attestlab.web.request import Request
from attestlab.web.response import RawResponse
from attestlab.web.routing.routes import Routes

routes = Routes("receipts")


async def _check_schema(body: ReceiptTypeIn, executor: Executor) -> CheckedSchema:
    """Check and compile the schema in a thread, before the write."""
    return await executor.run_in_thread(check_schema, body.payload_schema)


@routes.post(
    "/v1/receipt-types",
    scope=Scope.ISSUERS_WRITE,
    status=201,
    prepare=_check_schema,
    headers=("Location",),
    raises=(Conflict, QuotaExceeded),
)
def create_receipt_type(
    request: Request,
    body: ReceiptTypeIn,
    prepared: CheckedSchema,
    tx: Transaction,
    caller: Caller,
    receipt_types: ReceiptTypes,
) -> ReceiptTypeOut | RawResponse:
    """Create a receipt type, or a further version of one, which is higher than those before.

    The payload of each receipt conforms to the schema: JSON Schema 2020-12 of an object, whose references stay inside
    it. Formats are checked, and patterns are matched in linear time, so they have no look-around and no
    back-references. A version never changes.
    """
    row = receipt_types.create(body, prepared, caller=caller, tx=tx)
    request.respond_headers["Location"] = f"/v1/receipt-types/{row.name}@{row.version}"
    return render_type(row)


@routes.get("/v1/receipt-types", scope=Scope.ATTESTATIONS_READ)
async def list_receipt_types(
    query: ReceiptTypesQuery, caller: Caller, receipt_types: ReceiptTypes, executor: Executor
) -> Page[ReceiptTypeOut] | RawResponse:
    """List the newest version of each of the tenant's receipt types, newest first; with `versions=all` every version.

    With `status` it is the newest version in that state: `status=active` lists what receipts can be minted with.
    """
    before, offset = decode_id(LIST, query.cursor), query.rows_to_skip
    read = partial(receipt_types.page, query, caller=caller, before=before, offset=offset, limit=query.limit + 1)
    return await executor.run_in_thread(lambda: render_page(read(), query))


@routes.get("/v1/receipt-types/{name}", scope=Scope.ATTESTATIONS_READ)
def get_receipt_type(name: str, caller: Caller, receipt_types: ReceiptTypes) -> ReceiptTypeOut | RawResponse:
    """Get the newest version of a receipt type, or as `name@version` that version, in any state.

    A receipt names its type and version, and signs the hash of the schema.
    """
    return render_type(receipt_types.get(parse_reference(name), caller=caller))


@routes.post("/v1/receipt-types/{name}/deprecate", scope=Scope.ISSUERS_WRITE)
def deprecate_receipt_type(
    name: str, body: DeprecateTypeIn | None, tx: Transaction, caller: Caller, receipt_types: ReceiptTypes
) -> ReceiptTypeOut | RawResponse:
    """Deprecate a version of a receipt type, or all: no new receipt has it, and those that exist stay valid.

    The answer is that version, or the newest one. What is deprecated already stays as it is. A higher version can
    follow.
    """
    return render_type(receipt_types.deprecate(name, body or DeprecateTypeIn(), caller=caller, tx=tx))
