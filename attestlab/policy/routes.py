"""HTTP routes of policies."""

from typing import Literal, cast
from uuid import UUID

import orjson

from attestlab.core.clock import Clock
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound, QuotaExceeded
from attestlab.core.shapes import In
from attestlab.orgs.rules import Caller, Scope
from attestlab.policy import jobs, rendering
from attestlab.policy.active_policies import PendingDecision, PolicyQuery
from attestlab.policy.attribute_registry import AttributeRegistryService
from attestlab.policy.checked_input import CheckedAttributes, CheckedDocument
from attestlab.policy.decision_shapes import DecisionOut, EvaluateIn, EvaluateOut
from attestlab.policy.decisions import Decisions
from attestlab.policy.formats.toml import parse_body, parse_body_or_id
from attestlab.policy.jobs import CHECK_TIMEOUT_S, LARGE_BYTES
from attestlab.policy.language.document import Category, Document, TargetType
from attestlab.policy.large_requests import PolicyProcesses, encode_policy, is_large
from attestlab.policy.rules import ACTIVATORS
from attestlab.policy.service import ActivationCheck, Policies
from attestlab.policy.shapes import (
    ActivateIn,
    AnalysisOut,
    AnalyzeIn,
    AttributesIn,
    AttributesOut,
    PolicyIn,
    PolicyOut,
    PolicySummaryOut,
    PolicyVersionOut,
    PolicyVersionSummaryOut,
    WrittenPolicy,
)
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, PageQuery, decode_id, decode_number, split_page
from attestlab.web.request import Request
from attestlab.web.response import JSON, RawResponse
from attestlab.web.routing.authorization import users_with
from attestlab.web.routing.routes import Routes

routes = Routes("policies")
_LIST, _VERSIONS = "policies", "policy_versions"
_TOML = "application/toml"
_PEOPLE = users_with(ACTIVATORS)


class FormatQuery(In, wire_name="policy_query", source="CONTRACT 9"):
    """Selects the newest document alone: as JSON, as `PUT` accepts it, or as TOML, for its `{"toml": "..."}`."""

    format: Literal["json", "toml"] | None = None
    """Answers the newest document alone, in this format. Format: json or toml."""


@routes.get("/v1/policies/attributes", scope=Scope.POLICIES_READ)
async def get_policy_attributes(
    request: Request,
    caller: Caller,
    policies: Policies,
    policy_attributes: AttributeRegistryService,
    processes: PolicyProcesses,
    executor: Executor,
) -> AttributesOut | RawResponse:
    """Get the attributes that the tenant's policies may use.

    The platform's come first, then the tenant's own, each with its type, domain and unit.
    """
    own, _ = await executor.read(policies.attributes_of, caller)
    if len(own) > LARGE_BYTES:
        text = await processes.run(request, caller, jobs.render_attributes, processes.records_url, caller)
        return RawResponse(text, JSON)
    return rendering.render_attributes(policy_attributes.get(caller=caller))


async def _check_attributes(
    request: Request,
    body: AttributesIn,
    caller: Caller,
    policy_attributes: AttributeRegistryService,
    processes: PolicyProcesses,
    executor: Executor,
) -> tuple[CheckedAttributes, bytes]:
    """Check attributes against every version of the tenant's policies and render the response, without the writer's
    lock.
    """
    own = [each.model_dump(mode="json") for each in body.attributes]
    if await processes.is_needed(request, executor, caller):
        arguments = (processes.records_url, own, caller)
        return await processes.run(request, caller, jobs.check_attributes, *arguments, timeout_s=CHECK_TIMEOUT_S)
    return await executor.run_in_thread(jobs.check_and_render_attributes, policy_attributes, own, caller)


@routes.put(
    "/v1/policies/attributes", scope=Scope.POLICIES_WRITE, prepare=_check_attributes, raises=(Conflict, QuotaExceeded)
)
def set_policy_attributes(
    body: AttributesIn,
    prepared: tuple[CheckedAttributes, bytes],
    tx: Transaction,
    caller: Caller,
    policy_attributes: AttributeRegistryService,
) -> AttributesOut | RawResponse:
    """Replace the tenant's own attributes.

    An attribute that is left out is removed; one that a version of a policy uses cannot be removed or change
    its type.
    """
    checked, shown = prepared
    policy_attributes.replace(checked, caller=caller, tx=tx)
    return RawResponse(shown, JSON)


async def _decide(
    request: Request, body: EvaluateIn, caller: Caller, policy_decisions: Decisions, executor: Executor
) -> PendingDecision:
    """Evaluate policies, which only reads; a large context is parsed in a thread. Only recording needs the writer."""
    action, target_type = body.action or body.category, body.target_type or body.binding_target_type
    question = PolicyQuery(cast(Category, action), cast(TargetType, target_type), body.target_id)
    run = executor.run_in_thread if is_large(request) else executor.read
    return await run(lambda: policy_decisions.evaluate_context(question, body.context, caller=caller))


@routes.post("/v1/policies/evaluate", scope=Scope.POLICIES_READ, prepare=_decide, raises=(NotFound,))
def evaluate_policies(
    body: EvaluateIn, prepared: PendingDecision, tx: Transaction, caller: Caller, policy_decisions: Decisions
) -> EvaluateOut:
    """Evaluate all policies that apply; the decision is recorded and audited.

    The response names every matching rule, the deciding one first. Without an active policy the answer is
    allowed. An issuer or profile that the tenant does not have is a 404. `GET /v1/policies/decisions/{id}` explains
    the decision later.
    """
    return rendering.render_decision(policy_decisions.record(prepared, caller=caller, tx=tx))


@routes.get("/v1/policies/decisions/{id}", scope=Scope.POLICIES_READ)
async def get_policy_decision(
    request: Request,
    id: str,
    caller: Caller,
    clock: Clock,
    policy_decisions: Decisions,
    processes: PolicyProcesses,
    executor: Executor,
) -> DecisionOut | RawResponse:
    """Explain a decision, and what would have to change for the opposite result.

    The decision is evaluated again with the recorded versions; each rule shows the truth value of every node
    of its condition.
    """
    if await processes.has_large_policies(executor, caller):
        text = await processes.run(request, caller, jobs.explain, processes.records_url, id, caller, clock.now())
        return RawResponse(text, JSON)
    found = await executor.run_in_thread(lambda: policy_decisions.explain(id, caller=caller))
    return rendering.render_explanation(found)


@routes.post("/v1/policies/analyze", scope=Scope.POLICIES_READ, idempotency="none", raises=(NotFound,))
async def analyze_policy(
    request: Request,
    body: AnalyzeIn,
    caller: Caller,
    policies: Policies,
    processes: PolicyProcesses,
    executor: Executor,
) -> AnalysisOut | RawResponse:
    """Analyze a policy for every possible context.

    A solver proves which rules are dead, shadowed or contradicting, and with `against` whether two policies
    are equivalent; each finding has a witness. Nothing is stored.
    """
    if await processes.is_needed(request, executor, caller):
        documents = (encode_policy(body.policy or body.policy_id), encode_policy(body.against))
        with policies.proofs.acquire():
            text = await processes.run(request, caller, jobs.analyze, processes.records_url, *documents, caller)
        return RawResponse(text, JSON)
    policy = parse_body_or_id(body.policy, body.policy_id)
    against = parse_body(body.against) if isinstance(body.against, dict) else body.against
    found = await executor.run_in_thread(lambda: policies.analyze(policy, against=against, caller=caller))
    return rendering.render_analysis(found)


async def _read_document(
    request: Request,
    body: PolicyIn,
    caller: Caller,
    policies: Policies,
    processes: PolicyProcesses,
    executor: Executor,
) -> Document | CheckedDocument:
    """Parse the submitted document; parse and type-check a large one in another process, without the writer's lock."""
    if not is_large(request):
        return parse_body(body.root)
    own, is_operator = await executor.read(policies.attributes_of, caller)
    text = orjson.dumps(body.root)
    return await processes.run(request, caller, jobs.check, text, own, is_operator, timeout_s=CHECK_TIMEOUT_S)


@routes.post(
    "/v1/policies",
    scope=Scope.POLICIES_WRITE,
    status=201,
    prepare=_read_document,
    headers=("Location",),
    raises=(NotFound, QuotaExceeded),
)
def create_policy(
    request: Request,
    body: PolicyIn,
    prepared: Document | CheckedDocument,
    tx: Transaction,
    caller: Caller,
    policies: Policies,
) -> PolicyOut | RawResponse:
    """Create a policy as a draft, which decides nothing yet.

    The body is a policy document as JSON, or `{"toml": "..."}`. Faults are reported with the path into the
    document.
    """
    made = policies.create(prepared, caller=caller, tx=tx)
    request.respond_headers["Location"] = f"/v1/policies/{made.id}"
    return _render_newest(tx, policies, made.id, caller)


@routes.get("/v1/policies", scope=Scope.POLICIES_READ)
def list_policies(query: PageQuery, caller: Caller, policies: Policies) -> Page[PolicySummaryOut]:
    """List the tenant's policies, newest first, without their documents.

    Each has the number of its newest version, and of those that are active and in shadow.
    """
    found = policies.page(caller=caller, before=decode_id(_LIST, query.cursor), limit=query.limit + 1)
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda pair: [str(pair[0].id)])
    return Page[PolicySummaryOut](
        items=[rendering.render_summary(row, digest=version.digest) for row, version in shown], next_cursor=cursor
    )


@routes.get("/v1/policies/{id}", scope=Scope.POLICIES_READ, produces={JSON: PolicyOut | WrittenPolicy, _TOML: str})
async def get_policy(
    request: Request,
    id: UUID,
    query: FormatQuery,
    caller: Caller,
    policies: Policies,
    processes: PolicyProcesses,
    executor: Executor,
) -> PolicyOut | RawResponse:
    """Get a policy with its newest document; `?format=json` or `?format=toml` returns the document alone.

    The document alone is what `PUT` accepts, so it can be edited and sent back.
    """
    row, version = await executor.read(lambda: policies.get(id, caller=caller))
    if query.format is None:
        return rendering.render_policy(row, version)
    if query.format == "json":
        return RawResponse(version.document.encode(), "application/json")
    text = version.document.encode()
    toml = (
        jobs.convert_to_toml(text)
        if len(text) <= LARGE_BYTES
        else await processes.run(request, caller, jobs.convert_to_toml, text)
    )
    return RawResponse(toml, f"{_TOML}; charset=utf-8")


@routes.put("/v1/policies/{id}", scope=Scope.POLICIES_WRITE, prepare=_read_document, raises=(Conflict, QuotaExceeded))
def update_policy(
    request: Request,
    id: UUID,
    body: PolicyIn,
    prepared: Document | CheckedDocument,
    tx: Transaction,
    caller: Caller,
    policies: Policies,
) -> PolicyOut | RawResponse:
    """Write a new version; the active version remains active.

    Versions never change. The new one decides when it is activated.
    """
    policies.update(id, prepared, caller=caller, tx=tx)
    return _render_newest(tx, policies, id, caller)


@routes.get("/v1/policies/{id}/versions", scope=Scope.POLICIES_READ)
def list_policy_versions(
    id: UUID, query: PageQuery, caller: Caller, policies: Policies
) -> Page[PolicyVersionSummaryOut]:
    """List all versions of the policy, newest first, without their documents.

    Each names its author and the digest of its document.
    """
    before = decode_number(_VERSIONS, query.cursor)
    row, found = policies.versions(id, caller=caller, before=before, limit=query.limit + 1)
    shown, cursor = split_page(found, limit=query.limit, kind=_VERSIONS, position=lambda each: [each.version])
    listed = [rendering.render_version_summary(row, each) for each in shown]
    return Page[PolicyVersionSummaryOut](items=listed, next_cursor=cursor)


@routes.get("/v1/policies/{id}/versions/{version}", scope=Scope.POLICIES_READ)
def get_policy_version(id: UUID, version: int, caller: Caller, policies: Policies) -> PolicyVersionOut | RawResponse:
    """Get one version with its document.

    A version never changes, and its digest is the SHA-256 of the document as canonical JSON.
    """
    return rendering.render_version(*policies.version(id, version, caller=caller))


@routes.post("/v1/policies/{id}/shadow", scope=Scope.POLICIES_WRITE)
def shadow_policy(
    request: Request, id: UUID, tx: Transaction, caller: Caller, policies: Policies
) -> PolicyOut | RawResponse:
    """Evaluate the newest version next to the active versions, without effect on decisions.

    Decisions record what it would have decided, so that it can be compared before it is activated.
    """
    policies.shadow(id, caller=caller, tx=tx)
    return _render_newest(tx, policies, id, caller)


async def _examine(
    request: Request, id: UUID, caller: Caller, policies: Policies, processes: PolicyProcesses, executor: Executor
) -> ActivationCheck:
    """Run tests and proofs before waiting for the writer, because they take time."""
    if await processes.has_large_policies(executor, caller):
        with policies.proofs.acquire():
            return await processes.run(request, caller, jobs.examine, processes.records_url, id, caller)
    return await executor.run_in_thread(lambda: policies.examine(id, caller=caller))


@routes.post("/v1/policies/{id}/activate", scope=_PEOPLE, prepare=_examine)
def activate_policy(
    request: Request,
    id: UUID,
    body: ActivateIn,
    prepared: ActivationCheck,
    tx: Transaction,
    caller: Caller,
    policies: Policies,
) -> PolicyOut | RawResponse:
    """Activate the newest version.

    It needs a simulation report on exactly this version, named by its digest, and passing tests. Dead rules
    must be acknowledged. Where the tenant has two or more owners and admins, the author cannot activate the
    own version.
    """
    policies.activate(
        id,
        prepared,
        simulation_digest=body.simulation_digest,
        acknowledged=body.acknowledge,
        note=body.note,
        caller=caller,
        tx=tx,
    )
    return _render_newest(tx, policies, id, caller)


@routes.post("/v1/policies/{id}/archive", scope=_PEOPLE)
def archive_policy(
    request: Request, id: UUID, tx: Transaction, caller: Caller, policies: Policies
) -> PolicyOut | RawResponse:
    """Archive a policy permanently.

    It decides nothing from then on; its versions and decisions can still be read.
    """
    policies.archive(id, caller=caller, tx=tx)
    return _render_newest(tx, policies, id, caller)


def _render_newest(tx: Transaction, policies: Policies, policy_id: UUID, caller: Caller) -> RawResponse:
    return rendering.render_policy(*policies.get(policy_id, caller=caller, tx=tx))
