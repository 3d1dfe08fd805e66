"""Replays of a policy over contexts of one's own, computed in this process by DuckDB; nothing is sent or recorded."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, Unpack, cast

from attestlab.client import arguments
from attestlab.client.analysis.caller_frames import open_frame
from attestlab.client.analysis.records import Records
from attestlab.client.analysis.refused_filters import refuse_filters
from attestlab.client.file_replacement import replace_file
from attestlab.client.handles.policies import name_policy
from attestlab.client.json_values import read_facts
from attestlab.client.service_client import Json, ServiceClient, path_of
from attestlab.core.errors import ValidationFailed
from attestlab.core.extras import naming_extras
from attestlab.core.shapes import Shape
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.formats.toml import parse_body, parse_toml
from attestlab.policy.language.ast import Policy
from attestlab.policy.language.attributes import Attribute, AttributeType, Registry

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import pyarrow as pa

    from attestlab.client.collections.filters import NoFilterArgs
    from attestlab.policy.sql.replay import Replay


class ArrowTable(Protocol):
    """A table in memory that Arrow reads: of pandas, Polars, pyarrow or DuckDB, or rows of a lab."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the rows by the Arrow PyCapsule interface."""
        ...


Contexts = str | PathLike[str] | ArrowTable


class ReplayGroup(Shape):
    """The number of contexts on which the same rules match; the first rule decides, without one the default."""

    allowed: bool
    matched_rules: list[str]
    count: int


class ContextsPlace(NamedTuple):
    """Where the contexts are: the path (or pattern) of Parquet files, and a folder to remove afterwards."""

    path: str
    folder: Path | None


class ContextReplay:
    """What one policy decides on each of many contexts; each method computes it when it is called."""

    def __init__(self, policy: Policy, place: ContextsPlace) -> None:
        from attestlab.policy.sql.replay import replay  # DuckDB is loaded by the first replay

        if place.folder is not None:
            weakref.finalize(self, shutil.rmtree, place.folder, ignore_errors=True)
        self._is_temporary = place.folder is not None
        self._name = policy.name
        self._replay: Replay = replay(policy, place.path)

    @cached_property
    def groups(self) -> Records[ReplayGroup]:
        """How many contexts each set of rules matches, the largest first."""
        found = [
            ReplayGroup(allowed=each.allowed, matched_rules=list(each.matched), count=each.count)
            for each in self._replay.groups()
        ]
        return Records(found, ReplayGroup)

    @property
    def allowed_count(self) -> int:
        """How many contexts the policy allows."""
        return sum(each.count for each in self.groups if each.allowed)

    def rel(self, **filters: Unpack[NoFilterArgs]) -> duckdb.DuckDBPyRelation:
        """Return the decisions as a DuckDB relation: `row` (from 0), `allowed`, and the matching rules as bits.

        It is lazy for contexts in files. Those of a data frame are decided at once, because the relation may live
        longer than this object, which owns their temporary file.

        Args:
            filters: none; the message says where they go.

        Raises:
            ValidationFailed: it was given a filter; the message says where that goes.
            MissingExtra: duckdb is not installed.

        >>> past = lab.decisions.sql("select * from this where created_at < '2026-11-02'")
        >>> decided = lab.policies.replay("Employment checks", past).rel()
        >>> decided.filter("not allowed").count("*").fetchall()
        [(1268,)]
        """
        refuse_filters(filters, "rel", "Filter the table that it returns.")
        from attestlab.client.analysis import frames  # loads pyarrow, which no other verb needs

        decided = self._replay.rel()
        return frames.to_relation(decided.to_arrow_table()) if self._is_temporary else decided

    def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Return the decisions as a data frame, one row for each context, in their order: `allowed`.

        Args:
            filters: none; the message says where they go.

        Raises:
            ValidationFailed: it was given a filter; the message says where that goes.
            MissingExtra: pandas is not installed.

        >>> past = lab.decisions.sql("select * from this where created_at < '2026-11-02'")
        >>> lab.policies.replay("Employment checks", past).df()["allowed"].value_counts().to_dict()
        {np.True_: 3924, np.False_: 1268}
        """
        refuse_filters(filters, "df", "Filter the table that it returns.")
        from attestlab.client.analysis import frames

        table = self._replay.rel().project("row, allowed").order("row").project("allowed").to_arrow_table()
        return frames.to_pandas(table, {})

    def to_parquet(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write the decisions as Parquet, in bounded memory; returns their number.

        A file that was there before is replaced when all of them are written, and otherwise stays as it is.

        Args:
            path: of the file.
            filters: none; the message says where they go.

        Raises:
            ValidationFailed: it cannot be written.

        >>> past = lab.decisions.sql("select * from this where created_at < '2026-11-02'")
        >>> lab.policies.replay("Employment checks", past).to_parquet("decided.parquet")
        5192
        """
        refuse_filters(filters, "to_parquet", "Filter the table that it returns.")
        import duckdb

        with replace_file(path) as draft:
            try:
                return self._replay.write(draft)
            except duckdb.IOException as error:
                raise OSError(str(error)) from error

    def __len__(self) -> int:
        return sum(each.count for each in self.groups)

    def __repr__(self) -> str:
        return f"ContextReplay({self._name[:60]!r}, {self.allowed_count:,} of {len(self):,} allowed)"

    def __dir__(self) -> list[str]:
        return sorted(name for name in vars(type(self)) if not name.startswith("_"))


def replay_policy(client: ServiceClient, policy: object, contexts: Contexts) -> ContextReplay:
    """Replay a stored policy or a draft over contexts, which stay in this process.

    Raises:
        ValidationFailed: the policy is invalid, or the contexts cannot be read.
    """
    return ContextReplay(bind_policy(client, policy, read_registry(client)), _place_contexts(contexts))


def bind_policy(client: ServiceClient, policy: object, registry: Registry) -> Policy:
    """Bind a policy to the tenant's attributes, as the service does.

    Raises:
        ValidationFailed: the policy is invalid.
    """
    named = name_policy(client, policy)
    if "policy_id" in named:
        path = path_of("v1", "policies", named["policy_id"])
        document = parse_toml(client.get_text(path, {"format": "toml"}))
    else:
        document = parse_body(read_facts(named["policy"], name="policy"))
    return bind(document, registry)


def read_registry(client: ServiceClient) -> Registry:
    """Read the attributes that the tenant's policies may use."""
    attributes = cast("list[Json]", client.get("/v1/policies/attributes")["items"])
    return Registry(map(_read_attribute, attributes))


def _read_attribute(sent: Json) -> Attribute:
    domain = sent["domain"]
    bounds = domain if isinstance(domain, Mapping) else {}
    return Attribute(
        str(sent["path"]),
        AttributeType(str(sent["type"])),
        values=tuple(domain) if isinstance(domain, list) else (),
        least=bounds.get("min"),
        most=bounds.get("max"),
        unit=cast("str | None", sent["unit"]),
        mutable=bool(sent["mutable"]),
    )


def _place_contexts(contexts: Contexts) -> ContextsPlace:
    """Name the Parquet file of the contexts; a table in memory is written to a temporary one."""
    if isinstance(contexts, str | PathLike):
        return ContextsPlace(arguments.read_pattern(contexts), None)
    if not hasattr(contexts, "__arrow_c_stream__"):
        raise ValidationFailed(
            f"A value of type {type(contexts).__name__} has no contexts. Pass a Parquet file or a data frame with a "
            "column for each attribute, such as key.age_days."
        )
    reader = open_frame(contexts, name="contexts")
    folder = Path(tempfile.mkdtemp(prefix="attestlab-replay-"))
    _write_parquet(reader, folder / "contexts.parquet")
    return ContextsPlace(str(folder / "contexts.parquet"), folder)


def _write_parquet(reader: pa.RecordBatchReader, path: Path) -> None:
    with naming_extras():
        from pyarrow import parquet
    with parquet.ParquetWriter(path, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
