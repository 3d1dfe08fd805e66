"""`lab.cases`, `lab.challenges` and `lab.lists`: what people decide about entities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar, Unpack, cast
from uuid import UUID

from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.analysis.records import Records
from attestlab.client.arguments import When
from attestlab.client.collections.base import Collection, DatasetCollection
from attestlab.client.collections.filters import CaseFilterArgs, ChallengeFilterArgs, ListFilterArgs
from attestlab.client.handles.risk import (
    CaseGroupHandle,
    CaseHandle,
    CaseResultHandle,
    ChallengeHandle,
    CommentHandle,
    ListEntryHandle,
    assign_case,
    comment_case,
    compose_facts,
    resolve_case,
)
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import Json, ServiceClient, path_of
from attestlab.core.errors import AttestLabError, ValidationFailed
from attestlab.risk.enforcement.shapes import CasesQuery, ChallengesQuery, ListsQuery

Item = TypeVar("Item")
MAX_CASES: Final = 500  # of one request


@name_in_examples("cases")
class CaseCollection(DatasetCollection[CaseHandle]):
    """The tenant's cases, newest first."""

    noun = "a case"
    path = "/v1/risk/cases"
    query = CasesQuery
    dataset = "cases"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, CaseHandle)

    def list(self, *, limit: int | None = None, **filters: Unpack[CaseFilterArgs]) -> Listing[CaseHandle]:
        """List the cases that match all filters, newest first.

        Args:
            limit: how many at most; all by default.
            filters: such as `status="open"`, `entity_id="u-1"`; `lab.cases.filters` has all. None is no filter.

        Returns:
            The cases, which are read page by page when they are wanted; `max_score` is 0 to 100.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value; the message names the limit.

        >>> [case.status for case in lab.cases.list(status="open", limit=1)]
        ['open']
        """
        return self._list(limit, filters)

    def resolve(self, case: UUID | str | CaseHandle, outcome: str, note: str | None = None) -> CaseHandle:
        """Resolve a case as `fraud`, `legitimate` or `inconclusive`.

        Args:
            case: the case or its id.
            outcome: the label of the case's signals, with which rules are compared later.
            note: for people, at most 2,000 characters.

        Returns:
            The case as it is now, with its outcome, and who resolved it when.

        Raises:
            NotFound: the tenant has no such case.
            Conflict: it is resolved already.
            ValidationFailed: the outcome is another word.

        >>> case = next(lab.cases.list(status="open"))
        >>> lab.cases.resolve(case, "legitimate", "a new phone").outcome
        'legitimate'
        """
        return resolve_case(self._client, arguments.read_id(case, self.noun), outcome, note)

    def resolve_many(
        self, items: Iterable[Mapping[str, object]], *, undo_seconds: int = 0
    ) -> Records[CaseResultHandle]:
        """Resolve many cases, each with its outcome; each succeeds or fails separately.

        Args:
            items: mappings with `id` (a case or its id), `outcome` and perhaps `note`; 500 are one request.
            undo_seconds: how long `reopen` can undo it, 0 to 60; only then are the outcomes labels.

        Returns:
            What became of each case, in the order of `items`; `error` says why one stayed as it was.

        Raises:
            ValidationFailed: an item is not acceptable, or `undo_seconds` is not 0 to 60; the message names the limit.

        >>> wanted = [{"id": case, "outcome": "fraud"} for case in lab.cases.list(status="open", limit=2)]
        >>> [result.status for result in lab.cases.resolve_many(wanted)]
        ['resolved', 'resolved']
        """
        given = [self._read_resolution(item) for item in arguments.iterate(items, name="items", of="dicts")]
        bodies = [{"items": part, "undo_seconds": undo_seconds} for part in _split(given)]
        return self._change_many(f"{self.path}/resolve", bodies)

    def reopen(self, cases: Iterable[UUID | str | CaseHandle]) -> Records[CaseResultHandle]:
        """Open cases again that you resolved with `undo_seconds`, within that time.

        Args:
            cases: the cases or their ids.

        Returns:
            What became of each case, in their order; `error` says why one stayed resolved.

        Raises:
            ValidationFailed: an argument is not the id of a case.

        >>> wanted = [{"id": case, "outcome": "fraud"} for case in lab.cases.list(status="open", limit=1)]
        >>> done = lab.cases.resolve_many(wanted, undo_seconds=10)
        >>> [result.status for result in lab.cases.reopen(done)]
        ['open']
        """
        ids = [str(arguments.read_id(case, self.noun)) for case in arguments.iterate(cases, name="cases", of="cases")]
        return self._change_many(f"{self.path}/reopen", [{"ids": part} for part in _split(ids)])

    def assign(self, case: UUID | str | CaseHandle, person: object) -> CaseHandle:
        """Assign a case to a person of the tenant, or with None to no one.

        Args:
            case: the case or its id.
            person: the person or their id; None takes the case from everyone.

        Returns:
            The case as it is now; `assignee_id` is the person.

        Raises:
            NotFound: the tenant has no such case, or no such person.
            ValidationFailed: the person left, or has not joined yet.

        >>> case = next(lab.cases.list(status="open"))
        >>> lab.cases.assign(case, None).assignee_id is None
        True
        """
        return assign_case(self._client, arguments.read_id(case, self.noun), person)

    def comment(self, case: UUID | str | CaseHandle, text: str) -> CommentHandle:
        """Write a comment to a case, open or resolved; it never changes.

        Args:
            case: the case or its id.
            text: what colleagues should know, 1 to 2,000 characters.

        Returns:
            The comment, with who wrote it when. `lab.cases[id].comments` are all of the case, the oldest first;
            a case of a list has the newest three.

        Raises:
            NotFound: the tenant has no such case.
            Conflict: the case has 200 comments already.
            ValidationFailed: the text is empty or too long.

        >>> case = next(lab.cases.list(status="open"))
        >>> lab.cases.comment(case, "The device is new.").text
        'The device is new.'
        >>> lab.cases[case.id].comments[-1].text
        'The device is new.'
        """
        return comment_case(self._client, arguments.read_id(case, self.noun), text)

    def groups(self, by: str, *, limit: int = 50) -> Records[CaseGroupHandle]:
        """Group the open cases by what links them, the largest groups first.

        Args:
            by: `device`, `issuer`, `ip` or `entity`.
            limit: how many groups at most, 1 to 100.

        Returns:
            The groups; `lab.cases.list(status="open", linked_type=by, linked_id=group.key)` lists all cases of one.

        Raises:
            ValidationFailed: `by` is another word, or `limit` is not 1 to 100.

        >>> lab.cases.groups("issuer", limit=1)
        Records(1 CaseGroup)
        """
        answer = self._client.get(f"{self.path}/groups", {"by": by, "limit": arguments.read_count(limit, name="limit")})
        found = [CaseGroupHandle.parse(self._client, each) for each in cast("list[Json]", answer["items"])]
        return Records(found, CaseGroupHandle)

    def _change_many(self, path: str, bodies: Sequence[object]) -> Records[CaseResultHandle]:
        """Send the requests one after the other; an error of a later one carries what was done before."""
        done: list[CaseResultHandle] = []
        try:
            for body in bodies:
                answer = self._client.post(path, body)
                done += [CaseResultHandle.parse(self._client, each) for each in cast("list[Json]", answer["items"])]
        except AttestLabError as error:
            if done:
                error.note_done(f"{len(done)} cases were done before; call it again.", done=len(done))
            raise
        return Records(done, CaseResultHandle)

    def _read_resolution(self, item: object) -> dict[str, object]:
        if not isinstance(item, Mapping) or "id" not in item:
            raise ValidationFailed(f"{arguments.show(item)} is no resolution. Pass {{'id': case, 'outcome': 'fraud'}}.")
        given = {name: value for name, value in item.items() if value is not None}
        return {**given, "id": str(arguments.read_id(item["id"], self.noun))}


def _split(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Split items into those of one request each."""
    return (items[start : start + MAX_CASES] for start in range(0, len(items), MAX_CASES))


@name_in_examples("challenges")
class ChallengeCollection(DatasetCollection[ChallengeHandle]):
    """The decisions to challenge a subject, newest first."""

    noun = "a challenge"
    path = "/v1/risk/challenges"
    query = ChallengesQuery
    dataset = "challenges"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, ChallengeHandle)

    def list(self, *, limit: int | None = None, **filters: Unpack[ChallengeFilterArgs]) -> Listing[ChallengeHandle]:
        """List the challenges that match all filters, newest first.

        Args:
            limit: how many at most; all by default.
            filters: `subject_type` and `subject_id`. None is no filter.

        Returns:
            The decisions, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value; the message names the limit.

        >>> [*lab.challenges.list(subject_id="u-0")]
        []
        """
        return self._list(limit, filters)

    def create(
        self, subject_id: str, reason: str, *, subject_type: str = "user", risk_score: int | None = None
    ) -> ChallengeHandle:
        """Decide that a subject must prove who it is.

        Args:
            subject_id: the id of the subject, 1 to 256 characters.
            reason: for people and the audit trail.
            subject_type: the type of the subject.
            risk_score: the score behind it, a whole number from 0 to 100.

        Returns:
            The decision; `challenge_required` is False for a subject on the allow list.

        Raises:
            ValidationFailed: an argument is not acceptable; the message names the limit.

        >>> lab.challenges.create("u-1", "24 failed logins from one device").challenge_required
        True
        """
        body: dict[str, object] = {"subject_id": subject_id, "subject_type": subject_type, "reason": reason}
        body |= {} if risk_score is None else {"risk_score": risk_score}
        return self._parse(self._client.post("/v1/risk/challenge", body))

    def _find(self, which: object) -> ChallengeHandle:
        wanted = arguments.read_id(getattr(which, "decision_id", which), self.noun)
        found = next((each for each in self if each.decision_id == wanted), None)
        if found is None:
            raise ValidationFailed(f"There is no challenge {wanted}. `lab.challenges` lists them.")
        return found


@name_in_examples("lists")
class ListCollection(Collection[ListEntryHandle]):
    """The entities on the allow and the deny list, newest first."""

    noun = "a list entry"
    path = "/v1/risk/lists"
    query = ListsQuery

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, ListEntryHandle)

    def list(self, *, limit: int | None = None, **filters: Unpack[ListFilterArgs]) -> Listing[ListEntryHandle]:
        """List the entries that match all filters, newest first.

        Args:
            limit: how many at most; all by default.
            filters: such as `list="deny"`, `entity_type="ip"`. None is no filter.

        Returns:
            The entries that hold now, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value; the message names the limit.

        >>> [*lab.lists.list(list="deny", entity_id="u-0")]
        []
        """
        return self._list(limit, filters)

    def add(
        self,
        list_name: str,
        entity: object,
        entity_id: str | None = None,
        *,
        reason: str,
        expires_at: When | None = None,
    ) -> ListEntryHandle:
        """Put an entity on the `allow` or the `deny` list.

        Args:
            list_name: `allow` or `deny`.
            entity: `"user:u-1"`, an object about one, or a type with `entity_id` after it: user, device, ip, document,
                session, issuer or attestation.
            entity_id: the id, where `entity` is a type; of an `ip` also a network, such as `192.0.2.0/24`.
            reason: for people and the audit trail, 1 to 1,024 characters.
            expires_at: the end of the entry, in the future; by default it has none.

        Returns:
            The entry; `remove` takes the entity off the list again.

        Raises:
            Conflict: the entity is on the list already.
            ValidationFailed: an argument is not acceptable; the message names the limit.

        >>> entry = lab.lists.add("deny", "device:pc-0", reason="lost", expires_at="2026-12-01")
        >>> entry.list, entry.expires_at.isoformat()
        ('deny', '2026-12-01T00:00:00+00:00')
        """
        body = compose_facts(entity, entity_id, None, list=list_name, reason=reason)
        end = arguments.read_time(expires_at, name="expires_at")
        return self._parse(self._client.post(self.path, body | ({"expires_at": end} if end else {})))

    def remove(self, entry: UUID | str | ListEntryHandle) -> None:
        """Take an entity off its list.

        Args:
            entry: the entry of `lab.lists`, or its id.

        Raises:
            NotFound: the tenant has no such entry, or it was removed already.

        >>> entry = lab.lists.add("allow", "ip:192.0.2.7", reason="our own monitoring")
        >>> lab.lists.remove(entry)
        >>> "192.0.2.7" in [each.entity_id for each in lab.lists]
        False
        """
        self._client.delete(path_of("v1", "risk", "lists", arguments.read_id(entry, self.noun)))

    def _find(self, which: object) -> ListEntryHandle:
        wanted = arguments.read_id(which, self.noun)
        found = next((each for each in self if each.id == wanted), None)
        if found is None:
            raise ValidationFailed(f"There is no list entry {wanted}. `lab.lists` lists them.")
        return found
