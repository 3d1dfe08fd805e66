"""Integrity check of delegations: rows are what parents signed and the log has, and children stand where they say."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from sqlalchemy import Connection, select

from attestlab.agents import store as agent_store
from attestlab.agents.delegation import ending, store
from attestlab.agents.delegation.hops import ALGORITHM, Hop, read_hop
from attestlab.agents.delegation.tables import DelegationRecord
from attestlab.agents.rules import AgentStatus
from attestlab.agents.tables import AgentKeyRecord, AgentRecord
from attestlab.core.counting import plural
from attestlab.core.crypto import signing
from attestlab.core.errors import AttestLabError
from attestlab.log import agent_entries
from attestlab.log import store as log_store
from attestlab.log.entries import EntryType

PAGE = 500
_before = store.delegations.alias("before")


class _Joined(NamedTuple):
    """A delegation with what it names; what is missing has None in every column."""

    row: DelegationRecord
    key: AgentKeyRecord
    child: AgentRecord
    before: DelegationRecord


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield delegations that differ from their hop, the log or their child, as (id, problem)."""
    count = 0
    for found in _iterate(connection):
        count += 1
        problem = _find_fault_of_hop(found) or _find_difference_of_log(connection, found.row)
        problem = problem or _find_difference_of_child(found.row, found.child)
        if problem is not None:
            yield str(found.row.id), problem
    if (chains := log_store.count_of_subjects(connection, EntryType.DELEGATION_STATUS)) != count:
        yield (
            "count",
            f"{plural(chains, 'chain')} of {EntryType.DELEGATION_STATUS.value}, {plural(count, 'delegation')}",
        )


def _iterate(connection: Connection) -> Iterator[_Joined]:
    rows, keys, agents = store.delegations, agent_store.keys, agent_store.agents
    joined = rows.outerjoin(keys, keys.c.kid == rows.c.kid).outerjoin(agents, agents.c.id == rows.c.child_agent_id)
    joined = joined.outerjoin(_before, _before.c.id == rows.c.previous_id)
    query = select(*rows.c, *keys.c, *agents.c, *_before.c).select_from(joined).order_by(rows.c.id)
    for found in connection.execute(query.execution_options(yield_per=PAGE)):
        values = iter(found)
        yield _Joined(
            DelegationRecord(*islice(values, len(rows.c))),
            AgentKeyRecord(*islice(values, len(keys.c))),
            AgentRecord(*islice(values, len(agents.c))),
            DelegationRecord(*values),
        )


def _find_fault_of_hop(found: _Joined) -> str | None:
    row, key, before = found.row, found.key, found.before
    if row.previous_id is not None and before.child_agent_id != row.parent_agent_id:
        return f"its parent did not receive the delegation {row.previous_id}, on which it rests"
    if key.agent_id != row.parent_agent_id:
        return f"its key {row.kid} is not one of the parent {row.parent_agent_id}"
    try:
        read = read_hop(row.hop)
        read.jws.verify(ALGORITHM, signing.load_public(ALGORITHM, key.spki))
    except (AttestLabError, ValueError) as error:
        return f"its hop is not what its parent signed: {error}"
    stated = {**_list_stated(read.hop), "kid": read.kid, "digest": read.digest}
    wrong = [name for name, value in _list_recorded(row, before.digest).items() if stated[name] != value]
    return f"the row differs from its hop in {', '.join(wrong)}" if wrong else None


def _list_stated(hop: Hop) -> dict[str, object]:
    return {
        **{"id": hop.id, "tenant_id": hop.tenant_id, "parent": hop.parent, "child": hop.child, "prev": hop.prev},
        **{"depth": hop.depth, "scopes": " ".join(hop.scopes.as_list()), "expires_at": hop.expires_at},
    }


def _list_recorded(row: DelegationRecord, prev: str | None) -> dict[str, object]:
    return {
        **{"id": str(row.id), "tenant_id": str(row.tenant_id), "prev": prev, "kid": row.kid, "digest": row.digest},
        **{"parent": str(row.parent_agent_id), "child": str(row.child_agent_id)},
        **{"depth": row.depth, "scopes": row.scopes, "expires_at": row.expires_at},
    }


def _find_difference_of_log(connection: Connection, row: DelegationRecord) -> str | None:
    """Compare both entries byte by byte: they follow from the row."""
    expected = [(row.log_index, ending.build_creation_entry(row))]
    if (row.revoked_at is None) != (row.revoked_index is None):
        return f"it was revoked at {row.revoked_at}, with the log index {row.revoked_index}"
    if row.revoked_at is not None and row.revoked_index is not None:
        expected.append((row.revoked_index, ending.build_revocation_entry(row, row.revoked_at)))
    found = [(leaf.index, leaf.entry) for leaf in log_store.chain_of(connection, _subject(row))]
    if len(found) != len(expected):
        return f"the log has {plural(len(found), 'entry', 'entries')} of it, and the row says {len(expected)}"
    wrong = [str(said[0]) for said, logged in zip(expected, found, strict=True) if said != logged]
    return f"the row differs from the log in the entry {' and '.join(wrong)}" if wrong else None


def _find_difference_of_child(row: DelegationRecord, child: AgentRecord) -> str | None:
    """Compare the child's place and limits with the delegation, while both hold."""
    if row.revoked_at is not None or child.status == AgentStatus.REVOKED:
        return None
    expected = (row.parent_agent_id, row.depth, row.scopes, row.expires_at)
    place = (child.parent_agent_id, child.delegation_depth, child.delegated_scopes, child.delegated_until)
    return None if place == expected else f"its child {row.child_agent_id} stands elsewhere, or has other limits"


def _subject(row: DelegationRecord) -> str:
    return agent_entries.delegation_subject(row.id)
