"""`lab.log`: the transparency log, oldest entry first; every proof is verified when it arrives."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import TYPE_CHECKING, cast, overload
from uuid import UUID

from attestlab.client.analysis.arrow_reading import Parameters
from attestlab.client.analysis.rows import Rows
from attestlab.client.handles.attestations import read_attestation_id
from attestlab.client.handles.log import (
    CheckpointHandle,
    ConsistencyHandle,
    EntryHandle,
    InclusionHandle,
    SignedHead,
    TreeHeadHandle,
    VkeyHandle,
    read_size,
    require_root,
)
from attestlab.client.service_client import PAGE_ROWS, Json, ServiceClient
from attestlab.core.errors import NotFound, ProofInvalid, ValidationFailed

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa


class LogCollection:
    """The entries of the transparency log, in their order; `len` is the size of the tree."""

    def __init__(self, client: ServiceClient) -> None:
        self._client = client

    @property
    def rows(self) -> Rows:
        """All entries as rows: `lab.log.rows.df()`, `lab.log.rows.sql("... from this")`."""
        return Rows.of_dataset(self._client, "log_entries")

    def df(self) -> pd.DataFrame:
        """Read all entries as a data frame."""
        return self.rows.df()

    def arrow(self) -> pa.Table:
        """Read all entries as a pyarrow Table."""
        return self.rows.arrow()

    def pl(self) -> pl.DataFrame:
        """Read all entries as a Polars frame."""
        return self.rows.pl()

    def rel(self) -> duckdb.DuckDBPyRelation:
        """Read all entries as a DuckDB relation, to filter and join in this process."""
        return self.rows.rel()

    def sql(self, query: str, parameters: Parameters = None) -> Rows:
        """Run a SELECT on the entries, which it calls `this`."""
        return self.rows.sql(query, parameters)

    def to_parquet(self, path: str | PathLike[str]) -> int:
        """Write all entries as one Parquet file; returns their number."""
        return self.rows.to_parquet(path)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.rows.columns

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the entries by the Arrow PyCapsule interface."""
        return self.rows.__arrow_c_stream__(requested_schema)

    def head(self) -> TreeHeadHandle:
        """Return the newest signed tree head."""
        return TreeHeadHandle.parse(self._client, self._client.get("/v1/log/head"))

    def checkpoints(self) -> Iterator[CheckpointHandle]:
        """Iterate over all signed tree heads, newest first."""
        answers = self._client.iterate("/v1/log/checkpoints")
        return (CheckpointHandle.parse(self._client, answer) for answer in answers)

    def entry(self, index: int) -> EntryHandle:
        """Return the entry at an index.

        Raises:
            NotFound: the log is shorter.
        """
        found = next(self._read(index, 1), None) if index >= 0 else None
        if found is None:
            raise NotFound("log entry", f"{index}; the log has {len(self)} entries, from 0")
        return found

    def proof(self, what: int | str | UUID | object, *, tree_size: int | None = None) -> InclusionHandle:
        """Prove that the log has an entry: its index, or an attestation or its id.

        Raises:
            ProofInvalid: the proof of the service does not hold.
        """
        index = what if isinstance(what, int) else self.lookup(what).log_index
        answer = self._client.get(f"/v1/log/proofs/{index}", {"tree_size": tree_size})
        proven = InclusionHandle.parse(self._client, answer)
        proven.verify()
        return proven

    def consistency(self, older: int | SignedHead, newer: int | SignedHead | None = None) -> ConsistencyHandle:
        """Prove that the log only grew between two sizes or heads; the newer one is the head's by default.

        Two sizes prove that the service agrees with itself. A head that you kept proves that this is the log you saw.

        Raises:
            ProofInvalid: the larger tree does not begin with the smaller one; or the log has another root than a head
                that you kept (a fork), or fewer entries (it was rolled back).
        """
        first, last = read_size(older), len(self) if newer is None else read_size(newer)
        if last < first and not isinstance(older, int):
            raise ProofInvalid(f"The log has {last:,} entries, the head that you kept {first:,}: it was rolled back.")
        answer = self._client.get("/v1/log/consistency", {"from": first, "to": last})
        proven = ConsistencyHandle.parse(self._client, answer)
        proven.verify()
        require_root(older, proven.from_root)
        require_root(newer, proven.to_root)
        return proven

    def lookup(self, what: str | UUID | object) -> EntryHandle:
        """Find the entry of an attestation, of a leaf hash (`sha256:<hex>`), or of a document's SHA-256 (hex)."""
        return EntryHandle.parse(self._client, self._client.get("/v1/log/lookup", _name_entry(what)))

    def vkey(self) -> VkeyHandle:
        """Return the log's public key. Pin it from a source that you trust more than the service."""
        return VkeyHandle.parse(self._client, self._client.get("/v1/log/vkey"))

    def __len__(self) -> int:
        return self.head().tree_size

    def __iter__(self) -> Iterator[EntryHandle]:
        return self._read(0, None)

    @overload
    def __getitem__(self, which: int) -> EntryHandle: ...

    @overload
    def __getitem__(self, which: slice) -> list[EntryHandle]: ...

    def __getitem__(self, which: int | slice) -> EntryHandle | list[EntryHandle]:
        if isinstance(which, int):
            return self.entry(which if which >= 0 else len(self) + which)
        if not isinstance(which, slice):
            raise ValidationFailed(
                f"lab.log takes an index or a slice, not a {type(which).__name__}. See lab.log.lookup."
            )
        wanted = range(*which.indices(len(self)))
        if not wanted:
            return []
        first, last = min(wanted[0], wanted[-1]), max(wanted[0], wanted[-1])
        found = list(self._read(first, last - first + 1))
        return [found[index - first] for index in wanted]

    def __repr__(self) -> str:
        return f"Log of {self._client.place}"

    def __dir__(self) -> list[str]:
        return sorted(name for name in vars(type(self)) if not name.startswith("_"))

    def _read(self, start: int | None, count: int | None) -> Iterator[EntryHandle]:
        left = count
        while start is not None and left != 0:
            limit = PAGE_ROWS if left is None else min(left, PAGE_ROWS)
            page = self._client.get("/v1/log/entries", {"start": start, "limit": limit})
            items = cast("list[Json]", page["items"])
            yield from (EntryHandle.parse(self._client, item) for item in items)
            left = None if left is None else left - len(items)
            start = cast("int | None", page["next_start"])


def _name_entry(what: object) -> dict[str, object]:
    if isinstance(what, str) and what.startswith("sha256:"):
        return {"hash": what}
    if isinstance(what, str) and len(what) == 64:
        return {"document_hash": what}
    return {"attestation_id": read_attestation_id(what)}
