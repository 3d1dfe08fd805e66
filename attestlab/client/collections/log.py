"""`lab.log`: the transparency log, oldest entry first; every proof is verified when it arrives."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import cast, overload
from uuid import UUID

from attestlab.client import arguments, lab_cards
from attestlab.client.analysis.listing import Listing
from attestlab.client.analysis.records import Records
from attestlab.client.analysis.row_forms import RowForms
from attestlab.client.cards import CardRow, write_time
from attestlab.client.collections.base import HIDDEN_NAMES, describe_noun, list_own_verbs
from attestlab.client.exploring import LiveView, explore
from attestlab.client.handles.attestations import read_attestation_id
from attestlab.client.handles.log import (
    AnyHeadHandle,
    CheckpointHandle,
    ConsistencyHandle,
    EntryHandle,
    InclusionHandle,
    TreeHeadHandle,
    VkeyHandle,
    read_size,
    require_root,
)
from attestlab.client.own_examples import name_in_examples
from attestlab.client.public_names import list_public_names
from attestlab.client.service_client import PAGE_ROWS, Json, ServiceClient
from attestlab.core.counting import plural
from attestlab.core.errors import NotFound, ProofInvalid, ValidationFailed


@name_in_examples("log")
class LogCollection(RowForms):
    """The entries of the transparency log, in their order; `len` is the size of the tree.

    As rows they are `log_entries`: `lab.log.df()`, `lab.log.sql("... from this")`.
    """

    dataset = "log_entries"

    def __init__(self, client: ServiceClient) -> None:
        self._client = client

    def head(self) -> TreeHeadHandle:
        """Return the newest signed tree head.

        Returns:
            The number of entries (`tree_size`), the root hash, and the signed note that states both.

        >>> head = lab.log.head()
        >>> head.tree_size == len(lab.log)
        True
        """
        return TreeHeadHandle.parse(self._client, self._client.get("/v1/log/head"))

    def explore(self, **state: object) -> LiveView:
        """Show the inspector of the log in a cell: what is clicked in it is data for the next cell.

        Args:
            state: what the page shows at first, such as `entry=0` (`Lab.explore`).

        Returns:
            The view: its `state`, `rows`, `sql`, `python`, `set`, `save` and panes, as `Lab.explore` explains.

        Raises:
            MissingExtra: a package of the extra `notebook` is not installed.
            ValidationFailed: the page has no such parameter or value; the message names those that it has.

        >>> lab.log.explore(entry=0)
        lab.explore("log", entry=0)
        """
        return explore(self._client, "log", state)

    def checkpoints(self) -> Listing[CheckpointHandle]:
        """List all signed tree heads, newest first.

        Returns:
            The heads, each with its signed note (`checkpoint`); they are read page by page when they are wanted.

        >>> lab.log.checkpoints()[0].root_hash == lab.log.head().root_hash
        True
        """
        return Listing("checkpoint", CheckpointHandle, self._read_checkpoints)

    def entry(self, index: int) -> EntryHandle:
        """Return the entry at an index.

        Args:
            index: its place in the log, from 0.

        Returns:
            The bytes of the entry (`entry_b64`), the same parsed (`entry`), and its leaf hash.

        Raises:
            NotFound: the log is shorter.

        >>> lab.log.entry(0).type
        'issuer.status'
        """
        place = arguments.find_whole_number(index)
        if place is None:
            raise ValidationFailed(f"The index is a {type(index).__name__}. Pass a number from 0; see lab.log.lookup.")
        found = next(self._read(place, 1), None) if 0 <= place <= sys.maxsize else None
        if found is None:
            shown = place if abs(place) <= sys.maxsize else "out of range"
            remedy = f"The log has {plural(len(self), 'entry', 'entries')}, from 0."
            raise NotFound("log entry", shown, remedy=remedy)
        return found

    def proof(self, what: int | str | UUID | object, *, tree_size: int | None = None) -> InclusionHandle:
        """Prove that the log has an entry: its index, or an attestation or its id.

        Args:
            what: the index, from 0, or an attestation, or its id.
            tree_size: the number of entries of the log that has it; by default those of now.

        Returns:
            The proof, which was verified when it arrived: `hashes` lead from the leaf to the root of `tree_size`
            entries.

        Raises:
            NotFound: the log has no such entry.
            ProofInvalid: the proof of the service does not hold.

        >>> proof = lab.log.proof(0, tree_size=8)
        >>> proof.tree_size, len(proof.hashes)
        (8, 3)
        """
        place = arguments.find_whole_number(what)
        place = arguments.read_count(self.lookup(what).log_index if place is None else place, name="The index")
        answer = self._client.get(f"/v1/log/proofs/{place}", {"tree_size": tree_size})
        proven = InclusionHandle.parse(self._client, answer)
        proven.verify()
        return proven

    def consistency(self, older: int | AnyHeadHandle, newer: int | AnyHeadHandle | None = None) -> ConsistencyHandle:
        """Prove that the log only grew between two sizes or heads; the newer one is the head's by default.

        Two sizes prove that the service agrees with itself. A head that you kept proves that this is the log you saw.

        Args:
            older: a number of entries, or a head.
            newer: a number of entries, or a head.

        Returns:
            The proof, which was verified when it arrived: `hashes` lead from the older root to the newer.

        Raises:
            ValidationFailed: the log never had one of the sizes, or `older` is larger.
            ProofInvalid: the larger tree does not begin with the smaller one; or the log has another root than a head
                that you kept (a fork), or fewer entries (it was rolled back).

        >>> kept = lab.log.head()
        >>> lab.log.consistency(kept).to_root == kept.root_hash
        True
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
        """Find the entry of an attestation, a receipt, a leaf hash (`sha256:<hex>`), or a document's SHA-256 (hex).

        Args:
            what: an attestation or a receipt, its id, `sha256:` with 64 hex digits, or 64 hex digits alone.

        Returns:
            The bytes of the entry (`entry_b64`), the same parsed (`entry`), and its index.

        Raises:
            NotFound: the log has no such entry.
            ValidationFailed: it is none of these.

        >>> lab.log.lookup(next(lab.attestations.list(schema="degree"))).type
        'attestation.minted'
        """
        named = _name_entry(what)
        try:
            return self._look_up(named)
        except NotFound:
            if not isinstance(what, UUID | str) or "attestation_id" not in named:
                raise
        return self._look_up({"receipt_id": named["attestation_id"]})

    def _look_up(self, named: Json) -> EntryHandle:
        return EntryHandle.parse(self._client, self._client.get("/v1/log/lookup", named))

    def vkey(self) -> VkeyHandle:
        """Return the log's public key. Pin it from a source that you trust more than the service.

        Returns:
            The key as a signed note names it (`vkey`), and as the text of a trust policy (`trust_policy`).

        >>> key = lab.log.vkey()
        >>> key.vkey.startswith(key.origin), key.trust_policy.splitlines()[1]
        (True, 'quorum none')
        """
        return VkeyHandle.parse(self._client, self._client.get("/v1/log/vkey"))

    def __len__(self) -> int:
        return self.head().tree_size

    def __iter__(self) -> Iterator[EntryHandle]:
        return self._read(0, None)

    @overload
    def __getitem__(self, which: int) -> EntryHandle: ...

    @overload
    def __getitem__(self, which: slice) -> Records[EntryHandle]: ...

    def __getitem__(self, which: int | slice) -> EntryHandle | Records[EntryHandle]:
        place = arguments.find_whole_number(which)
        if place is not None:
            return self.entry(place if place >= 0 else len(self) + place)
        if not isinstance(which, slice):
            raise ValidationFailed(
                f"lab.log takes an index or a slice, not a {type(which).__name__}. See lab.log.lookup."
            )
        try:
            wanted = range(*which.indices(len(self)))
        except (TypeError, ValueError) as error:
            raise ValidationFailed(f"That is no slice of the log: {error}.") from None
        if not wanted:
            return Records([], EntryHandle)
        first, last = min(wanted[0], wanted[-1]), max(wanted[0], wanted[-1])
        found = list(self._read(first, last - first + 1))
        return Records((found[index - first] for index in wanted), EntryHandle)

    def __repr__(self) -> str:
        return describe_noun(type(self), self._client.place)

    def _repr_html_(self) -> str:
        return self._draw_card(self._read_card_rows)

    def __dir__(self) -> list[str]:
        return sorted(list_public_names(type(self), hidden=HIDDEN_NAMES))

    def _draw_card(self, *reads: lab_cards.Read) -> str:
        """Draw the card with the contents that `reads` read, none of which raises; without one it reads nothing."""
        about = (type(self).__doc__ or "").partition("\n")[0]
        return lab_cards.draw_noun("log", about, self._client.place, list_own_verbs(type(self)), reads, has_rows=True)

    def _read_card_rows(self) -> Iterator[CardRow]:
        """Read the head and the newest entries for the card."""
        head = self.head()
        yield CardRow("Count", f"{plural(head.tree_size, 'entry', 'entries')}, signed {write_time(head.timestamp)}")
        first = max(0, head.tree_size - lab_cards.MAX_ITEMS)
        yield from reversed([*lab_cards.list_newest(self._read(first, head.tree_size - first), first=first)])

    def _read_checkpoints(self) -> Iterator[CheckpointHandle]:
        for answer in self._client.iterate("/v1/log/checkpoints"):
            yield CheckpointHandle.parse(self._client, answer)

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
    receipt_id = getattr(what, "receipt_id", None)
    return {"attestation_id": read_attestation_id(what)} if receipt_id is None else {"receipt_id": receipt_id}
