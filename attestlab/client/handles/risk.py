"""Risk: signals, entities and their graph, cases, lists and challenges."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from uuid import UUID

from pydantic import Field

from attestlab.client import arguments, risk_cards
from attestlab.client.analysis.records import Records
from attestlab.client.arguments import When
from attestlab.client.handles.base import Handle
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.client.service_errors import naming_remedy
from attestlab.core.counting import plural
from attestlab.core.errors import ValidationFailed
from attestlab.risk.enforcement.shapes import (
    CaseGroupOut,
    CaseOut,
    CaseResultOut,
    ChallengeOut,
    CommentOut,
    ListEntryOut,
    SettingsOut,
)
from attestlab.risk.entities.shapes import EdgeOut, EntityOut, GraphOut, NodeOut, RingOut
from attestlab.risk.normalization.shapes import MappingItemOut, MappingOut, NormalizedOut, NormalizeOut
from attestlab.risk.rules import EntityType
from attestlab.risk.shapes import FactorOut, LoginOut, ScanOut, SourceOut, VelocityOut
from attestlab.risk.signals.shapes import BulkOut, RejectedLineOut, SignalOut

if TYPE_CHECKING:
    from attestlab.plots import Chart


class EntityHandle(EntityOut, Handle):
    """What is known about an entity: its newest signals and cases, its list entries, and counts by action."""

    shown_fields: ClassVar = ("entity_type", "entity_id", "signals", "cases", "lists", "truncated")

    signals: Records[SignalOut]
    cases: Records[CaseOut]
    lists: Records[ListEntryOut]

    def _repr_html_(self) -> str:
        return risk_cards.draw_entity(self)


class GraphHandle(GraphOut, Handle):
    """The entities around one, the links between them, and the rings that they form."""

    shown_fields: ClassVar = ("truncated",)

    nodes: Records[NodeOut]
    edges: Records[EdgeOut]
    rings: Records[RingOut]

    def __repr__(self) -> str:
        entities, links = plural(len(self.nodes), "entity", "entities"), plural(len(self.edges), "link")
        return f"Graph({entities}, {links}, {plural(len(self.rings), 'ring')})"

    def plot(self, *, title: str | None = None) -> Chart:
        """Draw the entities on rings by their kind, with the links between them.

        Args:
            title: above the chart; by default the first entity with the numbers of the graph.

        Returns:
            A HoloViews element, which a notebook shows as a picture (`attestlab.plots.draw_graph`).

        Raises:
            MissingExtra: the extra `notebook` is not installed.

        >>> chart = lab.signals.graph("device:device-73d1efba", depth=1).plot()
        """
        from attestlab import plots  # loads HoloViews, which only charts need

        return plots.draw_graph(self, title=title)

    def _repr_html_(self) -> str:
        return risk_cards.draw_graph(self)


class SignalHandle(SignalOut, Handle):
    """A risk signal, with a score from 0 to 100."""

    shown_fields: ClassVar = ("source", "signal_type", "score", "entity_type", "entity_id", "occurred_at")

    warnings: list[str] = Field(default_factory=list)  # of the request that recorded it

    def entity(self) -> EntityHandle:
        """Return what is known about the signal's entity; `lab.signals.entity` explains the result and errors.

        >>> lab.signals.add("gateway", "behavior", 41, "user:u-2").entity().entity_id
        'u-2'
        """
        return get_entity(self._client, self.entity_type, self.entity_id)

    def graph(self, *, depth: int | None = None) -> GraphHandle:
        """Return the entities around the signal's entity.

        `lab.signals.graph` explains the arguments and errors.

        >>> lab.signals.add("gateway", "behavior", 41, "user:u-3").graph(depth=1).nodes
        Records(1 Node)
        """
        return get_graph(self._client, self.entity_type, self.entity_id, depth)

    def _repr_html_(self) -> str:
        return risk_cards.draw_signal(self, self.warnings)


class CaseHandle(CaseOut, Handle):
    """A case: the escalated signals of one entity, until a person resolves it."""

    shown_fields: ClassVar = ("id", "entity_type", "entity_id", "status", "max_score", "outcome")

    comments: Records[CommentOut]

    def resolve(self, outcome: str, note: str | None = None) -> CaseHandle:
        """Resolve the case as `fraud`, `legitimate` or `inconclusive`.

        `lab.cases.resolve` explains the arguments and errors.

        >>> case = next(lab.cases.list(status="open"))
        >>> case.resolve("fraud").status
        'resolved'
        """
        return resolve_case(self._client, self.id, outcome, note)

    def assign(self, person: object) -> CaseHandle:
        """Assign the case to a person of the tenant, or with None to no one.

        `lab.cases.assign` explains the arguments and errors.

        >>> next(lab.cases.list(status="open")).assign(None).assignee_id is None
        True
        """
        return assign_case(self._client, self.id, person)

    def comment(self, text: str) -> CommentHandle:
        """Write a comment to the case; `lab.cases[case.id].comments` are all of them.

        `lab.cases.comment` explains the arguments and errors.

        >>> next(lab.cases.list(status="open")).comment("Sofia confirmed the login.").text
        'Sofia confirmed the login.'
        """
        return comment_case(self._client, self.id, text)

    def entity(self) -> EntityHandle:
        """Return what is known about the case's entity; `lab.signals.entity` explains the result and errors.

        >>> case = next(lab.cases.list(entity_id="user-00225"))
        >>> case.entity().entity_id
        'user-00225'
        """
        return get_entity(self._client, self.entity_type, self.entity_id)

    def _repr_html_(self) -> str:
        return risk_cards.draw_case(self)


class CommentHandle(CommentOut, Handle):
    """What a person or a key wrote about a case."""

    shown_fields: ClassVar = ("text", "created_by", "created_at")


class CaseResultHandle(CaseResultOut, Handle):
    """What became of a case among many; `error` says why it stayed as it was."""

    shown_fields: ClassVar = ("id", "status", "outcome", "error")


class CaseGroupHandle(CaseGroupOut, Handle):
    """Open cases that a device, an issuer or an address links, with those of the highest scores."""

    shown_fields: ClassVar = ("by", "key", "count", "max_score", "oldest_at")

    sample: Records[CaseOut]


class ListEntryHandle(ListEntryOut, Handle):
    """An entity on the allow or the deny list."""

    shown_fields: ClassVar = ("id", "list", "entity_type", "entity_id", "reason", "expires_at")

    def remove(self) -> None:
        """Take the entity off the list.

        >>> entry = lab.lists.add("allow", "ip:192.0.2.8", reason="our own monitoring")
        >>> entry.remove()
        """
        self._client.delete(path_of("v1", "risk", "lists", self.id))


class ChallengeHandle(ChallengeOut, Handle):
    """A decision to challenge a subject."""

    shown_fields: ClassVar = ("decision_id", "subject_type", "subject_id", "challenge_required", "reason")


class BulkHandle(BulkOut, Handle):
    """How many rows were recorded as signals, which were rejected and why, and how many were not sent.

    `rejected` counts rows from 1, and each message names the field; `rejected.df()` is a frame.
    """

    rejected: Records[RejectedLineOut]

    @property
    def not_sent(self) -> int:
        """The number of rows that the service has not read."""
        return self.not_read

    @property
    def rejected_count(self) -> int:
        """The number of rejected rows, with those that are only counted."""
        return risk_cards.count_rejected(self)

    def __repr__(self) -> str:
        return f"Bulk({self.accepted:,} accepted, {self.rejected_count:,} rejected, {self.not_sent:,} not sent)"

    def _repr_html_(self) -> str:
        return risk_cards.draw_bulk(self)


class LoginBackfillHandle(BulkHandle):
    """How many rows were accepted as logins of the past, which were rejected and why, and how many logins are learnt.

    `learnt` counts the logins of the tenant's past, each once, those of earlier calls included.
    """

    learnt: int

    def __repr__(self) -> str:
        return f"LoginBackfill({self.accepted:,} accepted, {self.rejected_count:,} rejected, {self.learnt:,} learnt)"

    def _repr_html_(self) -> str:
        return risk_cards.draw_login_backfill(self, self.learnt)


class NormalizedHandle(NormalizedOut, Handle):
    """The signal that a raw event became."""

    shown_fields: ClassVar = ("normalized", "signal")

    def _repr_html_(self) -> str:
        return risk_cards.draw_normalized(self)


class VelocityHandle(VelocityOut, Handle):
    """The score of how often an entity did something, with its counts by window."""

    shown_fields: ClassVar = ("score", "windows", "signal_id")

    factors: Records[FactorOut]

    def _repr_html_(self) -> str:
        return risk_cards.draw_score(
            self, "velocity", ", ".join(f"{count:,} in {window}" for window, count in self.windows.items())
        )


class LoginHandle(LoginOut, Handle):
    """The score of a login."""

    shown_fields: ClassVar = ("score", "level", "signal_id")

    factors: Records[FactorOut]

    def _repr_html_(self) -> str:
        return risk_cards.draw_score(self, self.level, "Login")


class ScanHandle(ScanOut, Handle):
    """The score of the marks that a picture or film carries."""

    shown_fields: ClassVar = ("score", "verdict", "signal_id")

    factors: Records[FactorOut]

    def _repr_html_(self) -> str:
        return risk_cards.draw_score(self, self.verdict, "Media scan")


class SourceHandle(SourceOut, Handle):
    """A source of signals, and whether it fell silent."""

    shown_fields: ClassVar = ("source", "count", "last_seen", "silent")


class RiskSettingsHandle(SettingsOut, Handle):
    """The tenant's settings of risk."""

    shown_fields: ClassVar = ("escalation_threshold",)


class MappingHandle(MappingOut, Handle):
    """A version of the mapping: the signal that raw events of each type become."""

    shown_fields: ClassVar = ("version", "items")

    items: Records[MappingItemOut]


class NormalizationHandle(NormalizeOut, Handle):
    """How many raw events were normalized again, and how many became another signal."""

    shown_fields: ClassVar = ("events", "changed")


def get_entity(client: ServiceClient, entity_type: str, entity_id: str) -> EntityHandle:
    """Get what is known about an entity."""
    graph = f"lab.signals.graph({arguments.show(f'{entity_type}:{entity_id}')})"
    remedy = f"No signal, case or list entry is about it; {graph} also finds what mentions it. "
    with naming_remedy((remedy if _is_type(entity_type) else "") + _name_entities(entity_type)):
        return EntityHandle.parse(client, client.get(path_of("v1", "risk", "entities", entity_type, entity_id)))


def get_graph(client: ServiceClient, entity_type: str, entity_id: str, depth: int | None) -> GraphHandle:
    """Get the entities around one."""
    path = path_of("v1", "risk", "entities", entity_type, entity_id, "graph")
    with naming_remedy(_name_entities(entity_type)):
        return GraphHandle.parse(client, client.get(path, {"depth": depth}))


def _name_entities(entity_type: str) -> str:
    """Say how to find entities of a type, or which types there are."""
    if not _is_type(entity_type):
        return f"The types of entities are {', '.join(EntityType)}."
    return f"lab.signals.list(entity_type={entity_type!r}, limit=5).df() has the newest of its type."


def _is_type(entity_type: str) -> bool:
    return entity_type in EntityType.__members__.values()


def resolve_case(client: ServiceClient, case_id: UUID, outcome: str, note: str | None) -> CaseHandle:
    """Resolve a case."""
    body = {"outcome": outcome} | ({"note": note} if note else {})
    return CaseHandle.parse(client, client.post(path_of("v1", "risk", "cases", case_id, "resolve"), body))


def assign_case(client: ServiceClient, case_id: UUID, person: object) -> CaseHandle:
    """Assign a case to a person, or to no one."""
    user_id = None if person is None else str(arguments.read_id(person, "a person"))
    return CaseHandle.parse(client, client.patch(path_of("v1", "risk", "cases", case_id), {"assignee_id": user_id}))


def comment_case(client: ServiceClient, case_id: UUID, text: str) -> CommentHandle:
    """Write a comment to a case."""
    body = {"text": text}
    return CommentHandle.parse(client, client.post(path_of("v1", "risk", "cases", case_id, "comments"), body))


def read_entity(entity: object, entity_id: str | None = None) -> tuple[str, str]:
    """Read an entity: its type and id, `"user:u-1"`, or an object about one.

    Raises:
        ValidationFailed: it is none of them.
    """
    if isinstance(entity, str) and entity_id is not None:
        return entity, entity_id
    if isinstance(entity, str) and ":" in entity:
        named, _, own_id = entity.partition(":")
        return named, own_id
    kind, own = getattr(entity, "entity_type", None), getattr(entity, "entity_id", None)
    if isinstance(kind, str) and isinstance(own, str):
        return kind, own
    raise ValidationFailed(f"{arguments.show(entity)} is no entity. Pass its type and id: 'user', 'u-1'.")


def compose_facts(
    entity: object, entity_id: str | None, occurred_at: When | None, **fields: object
) -> dict[str, object]:
    """Compose the body about an entity, with the time of the occurrence where it is known."""
    kind, own = read_entity(entity, entity_id)
    at = arguments.read_time(occurred_at, name="occurred_at")
    return {**fields, "entity_type": kind, "entity_id": own, **({"occurred_at": at} if at else {})}
