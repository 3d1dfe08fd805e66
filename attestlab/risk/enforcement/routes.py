"""HTTP routes of cases, challenges, lists and settings."""

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AttestLabError
from attestlab.core.row_rendering import RowRenderer
from attestlab.orgs.rules import Caller, Scope
from attestlab.risk.enforcement.cases import Cases, RiskPreferences
from attestlab.risk.enforcement.comments import Comments
from attestlab.risk.enforcement.lists import Challenges, EntityLists
from attestlab.risk.enforcement.shapes import (
    CaseGroupOut,
    CaseGroupsOut,
    CaseOut,
    CasePatchIn,
    CaseResultOut,
    CaseResultsOut,
    CasesQuery,
    ChallengeIn,
    ChallengeOut,
    ChallengesQuery,
    CommentIn,
    CommentOut,
    GroupsQuery,
    ListEntryIn,
    ListEntryOut,
    ListsQuery,
    ReopenIn,
    ResolveIn,
    ResolveManyIn,
    SettingsIn,
    SettingsOut,
)
from attestlab.risk.enforcement.store import RiskChallengeRecord
from attestlab.risk.enforcement.triage import CaseGroup, CaseResult, Resolution, Triage, split
from attestlab.risk.rendering import render_case, render_cases, render_comment, render_list_entry
from attestlab.risk.rules import CaseOutcome, Entity, ListName, require_address, spell_id
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, decode_id, split_page
from attestlab.web.routing.routes import Routes

routes = Routes("risk")
_CASES, _CHALLENGES, _ENTRIES = "risk_cases", "risk_challenges", "risk_list_entries"
_render_challenge = RowRenderer(ChallengeOut, RiskChallengeRecord, decision_id="id", action=lambda _: "challenge")
_render_group = RowRenderer(CaseGroupOut, CaseGroup, computed=["sample"])


def _render_results(ids: Sequence[UUID], results: Sequence[CaseResult]) -> CaseResultsOut:
    return CaseResultsOut(items=[_render_result(*each) for each in zip(ids, results, strict=True)])


def _render_result(case_id: UUID, result: CaseResult) -> CaseResultOut:
    if isinstance(result, AttestLabError):
        return CaseResultOut.model_validate({"id": case_id, "error": {"code": result.code, "message": result.message}})
    return CaseResultOut.model_validate({"id": case_id, "status": result.status, "outcome": result.outcome})


def _read_page(
    query: CasesQuery, caller: Caller, before: UUID | None, cases: Cases, comments: Comments
) -> Page[CaseOut]:
    found = cases.page(query, caller=caller, before=before, limit=query.limit + 1)
    shown, cursor = split_page(found, limit=query.limit, kind=_CASES, position=lambda row: [str(row.id)])
    discussions = comments.read_newest([row.id for row in shown], caller=caller)
    return Page[CaseOut](items=render_cases(shown, discussions), next_cursor=cursor)


@routes.post("/v1/risk/challenge", scope=Scope.RISK_WRITE)
def create_challenge(body: ChallengeIn, caller: Caller, challenges: Challenges, tx: Transaction) -> ChallengeOut:
    """Record the decision to challenge a subject; the caller verifies the subject by its own means.

    The decision is stored and audited. `challenge_required` is false only for a subject on the allow list.
    """
    require_address(body.subject_type, body.subject_id, "/subject_id")
    row = challenges.create(
        spell_id(body.subject_type, body.subject_id),
        subject_type=body.subject_type,
        reason=body.reason,
        risk_score=body.risk_score,
        caller=caller,
        tx=tx,
    )
    return _render_challenge(row)


@routes.get("/v1/risk/challenges", scope=Scope.RISK_READ)
def list_challenges(query: ChallengesQuery, caller: Caller, challenges: Challenges) -> Page[ChallengeOut]:
    """List the tenant's challenge decisions, newest first.

    Filters by the subject's type and id are combined.
    """
    before = decode_id(_CHALLENGES, query.cursor)
    found = challenges.page(query, caller=caller, before=before, limit=query.limit + 1)
    shown, cursor = split_page(found, limit=query.limit, kind=_CHALLENGES, position=lambda row: [str(row.id)])
    return Page[ChallengeOut](items=[_render_challenge(row) for row in shown], next_cursor=cursor)


@routes.get("/v1/risk/cases", scope=Scope.RISK_READ)
async def list_cases(
    query: CasesQuery, caller: Caller, cases: Cases, comments: Comments, executor: Executor
) -> Page[CaseOut]:
    """List the tenant's cases, newest first, each with its newest three comments.

    Filters by status, outcome, entity, assignee and a linked entity are combined.
    """
    before = decode_id(_CASES, query.cursor)
    read_page = partial(_read_page, query, caller, before, cases, comments)
    return await executor.run_in_thread(read_page)  # in a thread, because a filter may skip many cases


@routes.get("/v1/risk/cases/groups", scope=Scope.RISK_READ)
async def list_case_groups(query: GroupsQuery, caller: Caller, triage: Triage, executor: Executor) -> CaseGroupsOut:
    """Group the tenant's open cases by the device, issuer or address that links them, the largest groups first.

    A case is in the group of each of them. `GET /v1/risk/cases?status=open&linked_type&linked_id` lists a group.
    """
    found = await executor.run_in_thread(partial(triage.group, query.by, limit=query.limit, caller=caller))
    return CaseGroupsOut(
        items=[_render_group(group, sample=render_cases(group.sample, found.discussions)) for group in found.items],
        truncated=found.truncated,
    )


@routes.post("/v1/risk/cases/resolve", scope=Scope.RISK_WRITE)
async def resolve_cases(body: ResolveManyIn, caller: Caller, triage: Triage, executor: Executor) -> CaseResultsOut:
    """Resolve up to 500 open cases, each with its outcome; each succeeds or fails separately.

    The response is 200 and lists the results in the order of the request. Each hundred cases are one transaction.
    With `undo_seconds` the outcomes are labels only after that time. A repeated request finds what is done.
    """
    resolutions = [Resolution(each.id, CaseOutcome(each.outcome), each.note) for each in body.items]
    results: list[CaseResult] = []
    try:
        for part in split(resolutions):
            results += await executor.write(partial(triage.resolve, part, body.undo_seconds, caller))
    except AttestLabError as error:
        if results:
            error.note_done(f"{len(results)} cases were done before; send the request again.", done=len(results))
        raise
    return _render_results([each.id for each in body.items], results)


@routes.post("/v1/risk/cases/reopen", scope=Scope.RISK_WRITE)
def reopen_cases(body: ReopenIn, caller: Caller, triage: Triage, tx: Transaction) -> CaseResultsOut:
    """Open cases again that the caller resolved with `undo_seconds`, within that time.

    The audit trail keeps both. A case stays resolved if its time is over, another person resolved it, or its entity
    has a new open case.
    """
    return _render_results(body.ids, triage.reopen(body.ids, caller=caller, tx=tx))


@routes.patch("/v1/risk/cases/{id}", scope=Scope.RISK_WRITE)
def assign_case(
    id: UUID, body: CasePatchIn, caller: Caller, triage: Triage, cases: Cases, comments: Comments, tx: Transaction
) -> CaseOut:
    """Assign a case to a person of the tenant; null takes it from everyone.

    A body without `assignee_id` changes nothing.
    """
    is_assigned = "assignee_id" in body.model_fields_set
    case = triage.assign(id, body.assignee_id, caller=caller, tx=tx) if is_assigned else None
    case = case or cases.get(id, caller=caller, tx=tx)
    return render_case(case, comments.read(id, caller=caller, tx=tx))


@routes.get("/v1/risk/cases/{id}", scope=Scope.RISK_READ)
def get_case(id: UUID, caller: Caller, cases: Cases, comments: Comments) -> CaseOut:
    """Get a case with all its comments; `GET /v1/risk/signals` with its entity lists the signals.

    An entity has at most one open case.
    """
    return render_case(cases.get(id, caller=caller), comments.read(id, caller=caller))


@routes.post("/v1/risk/cases/{id}/comments", scope=Scope.RISK_WRITE, status=201)
def comment_case(id: UUID, body: CommentIn, caller: Caller, comments: Comments, tx: Transaction) -> CommentOut:
    """Write a comment to a case, open or resolved; it never changes and is never deleted.

    `GET /v1/risk/cases/{id}` returns all comments of the case, at most 200; a 201st is a 409.
    """
    return render_comment(comments.add(id, body.text, caller=caller, tx=tx))


@routes.post("/v1/risk/cases/{id}/resolve", scope=Scope.RISK_WRITE)
def resolve_case(
    id: UUID, body: ResolveIn, caller: Caller, cases: Cases, comments: Comments, tx: Transaction
) -> CaseOut:
    """Resolve an open case with what it turned out to be; outcomes are the labels of backtests.

    A resolved case stays so; the entity's next escalation opens another.
    """
    resolved = cases.resolve(id, CaseOutcome(body.outcome), note=body.note, caller=caller, tx=tx)
    return render_case(resolved, comments.read(id, caller=caller, tx=tx))


@routes.post("/v1/risk/lists", scope=Scope.RISK_WRITE, status=201)
def add_list_entry(body: ListEntryIn, caller: Caller, lists: EntityLists, tx: Transaction) -> ListEntryOut:
    """Put an entity on the allow or deny list.

    An entry with `expires_at` ends by itself. An entry about a network, such as `203.0.113.0/24`, holds for every
    address in it. Policies see the lists, and challenges honour the allow list.
    """
    entity = Entity.of_list(body.entity_type, body.entity_id)
    row = lists.add(ListName(body.list), entity, reason=body.reason, expires_at=body.expires_at, caller=caller, tx=tx)
    return render_list_entry(row)


@routes.get("/v1/risk/lists", scope=Scope.RISK_READ)
def list_list_entries(query: ListsQuery, caller: Caller, lists: EntityLists) -> Page[ListEntryOut]:
    """List the entities on the tenant's lists, newest first; expired and removed entries are left out.

    Filters by list and entity are combined.
    """
    before = decode_id(_ENTRIES, query.cursor)
    found = lists.page(query, caller=caller, before=before, limit=query.limit + 1)
    shown, cursor = split_page(found, limit=query.limit, kind=_ENTRIES, position=lambda row: [str(row.id)])
    return Page[ListEntryOut](items=[render_list_entry(row) for row in shown], next_cursor=cursor)


@routes.delete("/v1/risk/lists/{id}", scope=Scope.RISK_WRITE, status=204)
def remove_list_entry(id: UUID, caller: Caller, lists: EntityLists, tx: Transaction) -> None:
    """Remove an entity from a list.

    The removal is audited; a second one is a 404.
    """
    lists.remove(id, caller=caller, tx=tx)


@routes.get("/v1/risk/settings", scope=Scope.RISK_READ)
def get_risk_settings(caller: Caller, preferences: RiskPreferences) -> SettingsOut:
    """Get the tenant's settings of risk.

    The escalation threshold is the score from which a signal opens or joins a case.
    """
    return SettingsOut(escalation_threshold=preferences.get_threshold(caller=caller))


@routes.put("/v1/risk/settings", scope=Scope.RISK_WRITE)
def set_risk_settings(body: SettingsIn, caller: Caller, preferences: RiskPreferences, tx: Transaction) -> SettingsOut:
    """Set the score from which later signals are escalated.

    Signals that are already recorded stay as they are.
    """
    threshold = preferences.set_threshold(body.escalation_threshold, caller=caller, tx=tx)
    return SettingsOut(escalation_threshold=threshold)
