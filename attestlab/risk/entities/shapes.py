"""Wire models of an entity and its graph (CONTRACT section 8)."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from attestlab.core.shapes import In, Moment, Out
from attestlab.risk.enforcement.shapes import CaseOut, ListEntryOut, Lists
from attestlab.risk.entities.graph import DEFAULT_DEPTH, MAX_DEPTH
from attestlab.risk.shapes import EntityTypeName
from attestlab.risk.signals.shapes import SignalOut


class EntityOut(Out, wire_name="risk_entity", source="CONTRACT 8"):
    """What is known about an entity: its 50 newest signals and cases, its list entries, and counts by action.

    `truncated` if it has more signals, cases or actions. `windows` are counts by action and window; each is exact up
    to 1,000, and stays there.
    """

    entity_type: EntityTypeName
    """The type of the entity. Format: user, device, ip, document, session, issuer or attestation."""
    entity_id: str
    """The id of the entity. Format: 1-256 characters."""
    signals: list[SignalOut]
    """Signals about it. Format: the 50 newest."""
    cases: list[CaseOut]
    """Its cases. Format: the 50 newest."""
    lists: list[ListEntryOut]
    """The list entries that name it."""
    windows: dict[str, dict[str, int]]
    """How often it did each of at most 20 actions; exact up to 1000, and 1000 beyond.
    Format: counts by action, then by 1m, 5m, 1h and 24h; at most 1000 each.
    """
    truncated: bool
    """Whether it has more signals, cases or actions than these. Format: true or false. Source: docs/risk.md."""


class GraphQuery(In, wire_name="risk_graph_query", source="CONTRACT 8"):
    """How many links a graph reaches from its first entity."""

    depth: Annotated[int, Field(ge=1, le=MAX_DEPTH)] = DEFAULT_DEPTH
    """How far the graph reaches from its first entity. Format: links."""


class EntityNameOut(Out, wire_name="risk_entity_name", source="CONTRACT 8"):
    """The type and id of an entity."""

    type: EntityTypeName
    """The kind of entity. Format: user, device, ip, document, session, issuer or attestation."""
    id: str
    """Its id. Format: at most 256 characters."""


class NodeOut(Out, wire_name="risk_node", source="docs/risk.md"):
    """An entity of a graph; `signal_count` and `max_score` cover its newest 1,000 signals."""

    type: EntityTypeName
    """The kind of entity. Format: user, device, ip, document, session, issuer or attestation. Source: CONTRACT 8."""
    id: str
    """Its id. Format: at most 256 characters. Source: CONTRACT 8."""
    distance: int
    """How many links it is away from the first entity. Format: from 0 to 3."""
    signal_count: int
    """The number of its signals; at most the newest 1000 are counted. Format: from 0 to 1000."""
    max_score: float | None
    """The highest score of those signals. Format: from 0 to 100."""
    open_case: UUID | None
    """Its open case. Format: UUID, 36 characters."""
    list: Lists | None
    """The list that it is on; deny if it is on both. Format: allow or deny."""


class EdgeOut(Out, wire_name="risk_edge", source="docs/risk.md"):
    """A link between two entities: `count` facts of the source `kind` name both."""

    source: EntityNameOut
    """One of the two entities. Format: JSON. Source: CONTRACT 8."""
    target: EntityNameOut
    """The other one. Format: JSON. Source: CONTRACT 8."""
    kind: str
    """The source of the facts that name both, or issuance. Format: a-z, 0-9 and _, at most 64."""
    count: int
    """The number of those facts. Format: from 1."""
    first_seen: Moment
    """When the earliest of them occurred. Format: RFC 3339."""
    last_seen: Moment
    """When the latest of them occurred. Format: RFC 3339."""


class RingOut(Out, wire_name="risk_ring", source="docs/risk.md"):
    """At least three users who share devices, documents, sessions, several addresses or linked issuers.

    `shared` lists what at least two of them have in common; `density` is above 0 and goes up to 1.
    """

    users: list[EntityNameOut]
    """The users who belong together. Format: at least 3."""
    shared: list[EntityNameOut]
    """What at least two of them have in common. Format: at least 1."""
    density: float
    """The part of all possible links between users and shared entities that exists. Format: above 0 and up to 1."""


class GraphOut(Out, wire_name="risk_graph", source="CONTRACT 8"):
    """The entities around one and the links between them; `truncated` if bounds left some out."""

    nodes: list[NodeOut]
    """The entities, the first one first. Format: at most 200."""
    edges: list[EdgeOut]
    """The links between them. Format: at most 600."""
    rings: list[RingOut]
    """Groups of users who share devices, documents, sessions, several addresses or linked issuers.
    Format: largest first.
    """
    truncated: bool
    """Whether a bound left entities or links out. Format: true or false. Source: docs/risk.md."""
