"""Describes the data sets of a tenant: their columns as a query returns them, and how many rows each has."""

from __future__ import annotations

from uuid import UUID

import duckdb
import orjson
from sqlalchemy import Connection

from attestlab.lake import context_columns, datasets, queries, views
from attestlab.lake.datasets import Dataset
from attestlab.lake.json_rows import describe_columns
from attestlab.lake.named_views import is_readable
from attestlab.lake.rules import LakeConnectionInfo
from attestlab.lake.views import LakeView, Source
from attestlab.policy.attribute_registry import build_registry, load_own_attributes


def describe_datasets(info: LakeConnectionInfo, scopes: frozenset[str]) -> bytes:
    """Return `{items: [{name, rows, columns: [{name, type}]}]}` of the data sets that these scopes may read.

    The rows are counted on a trusted connection, which reads little of the parts.

    Raises:
        Unavailable: a part is damaged.
    """
    readable = [view for view in views.ALL if is_readable(view, scopes)]
    exported = {each.name: each for view in readable for each in view.sources if isinstance(each, Dataset)}
    with (
        queries.open_records(info.records).read() as records,
        queries.open_trusted(info.records, info.folder).open(info.tenant_id, *exported.values()) as connection,
    ):
        _register_current_rows(connection, records, readable, info.tenant_id)
        items = [_describe(connection, records, view, info.tenant_id) for view in readable]
    return orjson.dumps({"items": items})


def _register_current_rows(
    connection: duckdb.DuckDBPyConnection, records: Connection, readable: list[LakeView], tenant_id: UUID
) -> None:
    for view in readable:
        for source in view.sources:
            if not isinstance(source, Dataset):
                connection.register(source.name, source.table(records, tenant_id))


def _describe(
    connection: duckdb.DuckDBPyConnection, records: Connection, view: LakeView, tenant_id: UUID
) -> dict[str, object]:
    tables = {source.name: _select_as_exported(source) for source in view.sources}
    attributes = _select_attributes(connection, records, tenant_id) if view is views.DECISIONS else ()
    schema = connection.sql(view.select(tables, attributes)).limit(0).arrow().schema
    ((rows,),) = connection.execute(f"SELECT count(*) FROM {view.name}").fetchall()
    return {"name": view.name, "rows": rows, "columns": describe_columns(schema)}


def _select_as_exported(source: Source) -> str:
    """Return SQL for the rows of a source without the second name of its time, which the view adds."""
    if isinstance(source, Dataset) and source.time_alias:
        return f"(SELECT * EXCLUDE ({source.time_alias}) FROM {source.name})"
    return source.name


def _select_attributes(connection: duckdb.DuckDBPyConnection, records: Connection, tenant_id: UUID) -> list[str]:
    """Return SQL for the columns of the contexts of decisions."""
    registry = build_registry(load_own_attributes(records.execute, tenant_id))
    names = context_columns.column_types(connection.table(views.DECISIONS.name).columns)
    return context_columns.select_attributes(names, registry, reserved=datasets.DECISIONS.columns)
