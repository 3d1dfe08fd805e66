"""Renders receipt types as JSON of `ReceiptTypeOut`; a schema may have 64 KB, so it is copied instead of parsed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import orjson

from attestlab.core.row_rendering import RowRenderer
from attestlab.receipts.types.shapes import ReceiptTypeOut, ReceiptTypesQuery
from attestlab.receipts.types.tables import ReceiptTypeRecord
from attestlab.web.paging import bind_cursor, split_page
from attestlab.web.response import JSON, RawResponse

LIST: Final = "receipt_types"
_render_row = RowRenderer(ReceiptTypeOut, ReceiptTypeRecord, payload_schema=lambda _: {})


def render_type(row: ReceiptTypeRecord) -> RawResponse:
    """Render a version of a type."""
    return RawResponse(_encode(row), JSON)


def render_page(rows: Sequence[ReceiptTypeRecord], query: ReceiptTypesQuery) -> RawResponse:
    """Render a page of types from up to `limit + 1` rows, as JSON of `Page[ReceiptTypeOut]`."""
    shown, cursor = split_page(rows, limit=query.limit, kind=LIST, position=lambda row: [str(row.id)])
    bound = None if cursor is None else bind_cursor(cursor, query)
    items = b",".join(map(_encode, shown))
    return RawResponse(b'{"items":[%b],"next_cursor":%b}' % (items, orjson.dumps(bound)), JSON)


def _encode(row: ReceiptTypeRecord) -> bytes:
    rest = _render_row(row).model_dump_json(exclude={"payload_schema"})
    return f'{rest[:-1]},"schema":{row.schema_text}}}'.encode()
