"""HTTP routes of policies."""

from typing import Literal, cast
from uuid import UUID

import orjson

from attestlab.core.shapes import In
from attestlab.policy import jobs, rendering
from attestlab.policy.active_policies import PendingDecision, PolicyQuery
from attestlab.policy.attribute_registry import AttributeRegistryService
from attestlab.policy.checked_input import CheckedAttributes, CheckedDocument
from attestlab.policy.decisions import Decisions
from attestlab.policy.formats.toml import parse_body
from attestlab.policy.jobs import CHECK_TIMEOUT_S, LARGE_BYTES
from attestlab.policy.language.document import Category, Document, TargetType
from attestlab.policy.large_requests import encode_policy, has_large_policies, is_large, records_url, run_in_process
from attestlab.policy.rules import ACTIVATORS
from attestlab.policy.service import ActivationCheck, Policies
from attestlab.policy.shapes import (
    ActivateIn,
    AnalysisOut,
    AnalyzeIn,
    AttributesIn,
    AttributesOut,
    DecisionOut,
    EvaluateIn,
    EvaluateOut,
    PolicyIn,
    PolicyOut,
    PolicySummaryOut,
    PolicyVersionOut,
    PolicyVersionSummaryOut,
)
from attestlab.web.paging import Page, PageQuery, decode_id, decode_number, split_page
from attestlab.web.request import Request
from attestlab.web.response import JSON, RawResponse
from attestlab.web.routing.authorization import Requirement, users_with
from attestlab.web.routing.routes import Routes

routes = Routes("policies")
_LIST, _VERSIONS = "policies", "policy_versions"
_TENANT = Requirement(tenant_only=True)
_PEOPLE = users_with(ACTIVATORS)


class FormatQuery(In):
    """Selects the newest document alone: as JSON, as `PUT` accepts it, or as TOML, for its `{"toml": "..."}`."""

    format: Literal["json", "toml"] | None = None


@routes.get("/v1/policies/attributes", scope=_TENANT)
async def attributes(request: Request) -> AttributesOut:
    """Return the attributes that the tenant's policies may use."""
    own, _ = await request.application.read(lambda: request.lab.policies.attributes_of(request.caller))
    if len(own) > LARGE_BYTES:
        text = await run_in_process(request, jobs.render_attributes, records_url(request), request.caller)
        return cast(AttributesOut, RawResponse(text, JSON))
    return rendering.render_attributes(request.lab.policy_attributes.get(caller=request.caller))


async def _check_attributes(request: Request, body: AttributesIn) -> tuple[CheckedAttributes, bytes]:
    """Check attributes against every version of the tenant's policies and render the response, without the writer's
    lock.
    """
    own = [each.model_dump(mode="json") for each in body.attributes]
    checked: tuple[CheckedAttributes, bytes]
    if is_large(request) or await has_large_policies(request):
        arguments = (records_url(request), own, request.caller)
        checked = await run_in_process(request, jobs.check_attributes, *arguments, timeout_s=CHECK_TIMEOUT_S)
    else:
        vocabulary: AttributeRegistryService = request.lab.policy_attributes
        checked = await request.application.run_in_thread(
            lambda: jobs.check_and_render_attributes(vocabulary, own, request.caller)
        )
    return checked


@routes.put("/v1/policies/attributes", scope=_TENANT, prepare=_check_attributes)
def set_attributes(request: Request, body: AttributesIn, prepared: tuple[CheckedAttributes, bytes]) -> AttributesOut:
    """Replace the tenant's own attributes."""
    checked, shown = prepared
    request.lab.policy_attributes.replace(checked, caller=request.caller)
    return cast(AttributesOut, RawResponse(shown, JSON))


async def _decide(request: Request, body: EvaluateIn) -> PendingDecision:
    """Evaluate policies, which only reads; a large context is parsed in a thread. Only recording needs the writer."""
    action, target_type = body.action or body.category, body.target_type or body.binding_target_type
    question = PolicyQuery(cast(Category, action), cast(TargetType, target_type), body.target_id)
    decisions: Decisions = request.lab.policy_decisions
    where = request.application.run_in_thread if is_large(request) else request.application.read
    asked: PendingDecision = await where(
        lambda: decisions.evaluate_context(question, body.context, caller=request.caller)
    )
    return asked


@routes.post("/v1/policies/evaluate", scope=_TENANT, prepare=_decide)
def evaluate(request: Request, body: EvaluateIn, prepared: PendingDecision) -> EvaluateOut:
    """Evaluate all policies that apply; the decision is recorded and audited."""
    return rendering.render_decision(request.lab.policy_decisions.record(prepared, caller=request.caller))


@routes.get("/v1/policies/decisions/{id}", scope=_TENANT)
async def decision(request: Request, id: str) -> DecisionOut:
    """Explain a decision, and what would have to change for the opposite result."""
    if await has_large_policies(request):
        now = request.lab.clock.now()
        text = await run_in_process(request, jobs.explain, records_url(request), id, request.caller, now)
        return cast(DecisionOut, RawResponse(text, JSON))
    found = await request.application.run_in_thread(
        lambda: request.lab.policy_decisions.explain(id, caller=request.caller)
    )
    return rendering.render_explanation(found)


@routes.post("/v1/policies/analyze", scope=_TENANT, idempotency="none")
async def analyze(request: Request, body: AnalyzeIn) -> AnalysisOut:
    """Analyze a policy for every possible context."""
    if is_large(request) or await has_large_policies(request):
        policies: Policies = request.lab.policies
        wanted = (encode_policy(body.policy or body.policy_id), encode_policy(body.against))
        with policies.proofs.acquire():
            text = await run_in_process(request, jobs.analyze, records_url(request), *wanted, request.caller)
        return cast(AnalysisOut, RawResponse(text, JSON))
    policy = body.policy_id if body.policy is None else parse_body(body.policy)
    against = parse_body(body.against) if isinstance(body.against, dict) else body.against
    found = await request.application.run_in_thread(
        lambda: request.lab.policies.analyze(policy, against=against, caller=request.caller)
    )
    return rendering.render_analysis(found)


async def _read_document(request: Request, body: PolicyIn) -> Document | CheckedDocument:
    """Parse the submitted document; parse and type-check a large one in another process, without the writer's lock."""
    if not is_large(request):
        return parse_body(body.root)
    own, is_operator = await request.application.read(lambda: request.lab.policies.attributes_of(request.caller))
    text = orjson.dumps(body.root)
    checked: CheckedDocument = await run_in_process(
        request, jobs.check, text, own, is_operator, timeout_s=CHECK_TIMEOUT_S
    )
    return checked


@routes.post("/v1/policies", scope=_TENANT, status=201, prepare=_read_document)
def create(request: Request, body: PolicyIn, prepared: Document | CheckedDocument) -> PolicyOut:
    """Create a policy as a draft, which decides nothing yet."""
    made = request.lab.policies.create(prepared, caller=request.caller)
    request.respond_headers["Location"] = f"/v1/policies/{made.id}"
    return _render_newest(request, made.id)


@routes.get("/v1/policies", scope=_TENANT)
def list_policies(request: Request, query: PageQuery) -> Page[PolicySummaryOut]:
    """List the tenant's policies, newest first, without their documents."""
    found = request.lab.policies.page(
        caller=request.caller, before=decode_id(_LIST, query.cursor), limit=query.limit + 1
    )
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda pair: [str(pair[0].id)])
    return Page[PolicySummaryOut](items=[rendering.render_summary(*pair) for pair in shown], next_cursor=cursor)


@routes.get("/v1/policies/{id}", scope=_TENANT)
async def get(request: Request, id: UUID, query: FormatQuery) -> PolicyOut:
    """Return one policy with its newest document; `?format=json` or `?format=toml` returns the document alone."""
    row, version = await request.application.read(lambda: request.lab.policies.get(id, caller=request.caller))
    if query.format is None:
        return rendering.render_policy(row, version)
    if query.format == "json":
        return cast(PolicyOut, RawResponse(version.document.encode(), "application/json"))
    text = version.document.encode()
    toml = (
        jobs.convert_to_toml(text)
        if len(text) <= LARGE_BYTES
        else await run_in_process(request, jobs.convert_to_toml, text)
    )
    return cast(PolicyOut, RawResponse(toml, "application/toml; charset=utf-8"))


@routes.put("/v1/policies/{id}", scope=_TENANT, prepare=_read_document)
def update(request: Request, id: UUID, body: PolicyIn, prepared: Document | CheckedDocument) -> PolicyOut:
    """Write a new version; the active version remains active."""
    request.lab.policies.update(id, prepared, caller=request.caller)
    return _render_newest(request, id)


@routes.get("/v1/policies/{id}/versions", scope=_TENANT)
def versions(request: Request, id: UUID, query: PageQuery) -> Page[PolicyVersionSummaryOut]:
    """List all versions of the policy, newest first, without their documents."""
    before = decode_number(_VERSIONS, query.cursor)
    row, found = request.lab.policies.versions(id, caller=request.caller, before=before, limit=query.limit + 1)
    shown, cursor = split_page(found, limit=query.limit, kind=_VERSIONS, position=lambda each: [each.version])
    listed = [rendering.render_version_summary(row, each) for each in shown]
    return Page[PolicyVersionSummaryOut](items=listed, next_cursor=cursor)


@routes.get("/v1/policies/{id}/versions/{version}", scope=_TENANT)
def version(request: Request, id: UUID, version: int) -> PolicyVersionOut:
    """Return one version with its document."""
    return rendering.render_version(*request.lab.policies.version(id, version, caller=request.caller))


@routes.post("/v1/policies/{id}/shadow", scope=_TENANT)
def shadow(request: Request, id: UUID) -> PolicyOut:
    """Evaluate the newest version next to the active versions, without effect on decisions."""
    request.lab.policies.shadow(id, caller=request.caller)
    return _render_newest(request, id)


async def _examine(request: Request, body: ActivateIn) -> ActivationCheck:
    """Run tests and proofs before waiting for the writer, because they take time."""
    policy_id: UUID = request.path_values["id"]
    if await has_large_policies(request):
        policies: Policies = request.lab.policies
        with policies.proofs.acquire():
            examined: ActivationCheck = await run_in_process(
                request, jobs.examine, records_url(request), policy_id, request.caller
            )
        return examined
    found: ActivationCheck = await request.application.run_in_thread(
        lambda: request.lab.policies.examine(policy_id, caller=request.caller)
    )
    return found


@routes.post("/v1/policies/{id}/activate", scope=_PEOPLE, prepare=_examine)
def activate(request: Request, id: UUID, body: ActivateIn, prepared: ActivationCheck) -> PolicyOut:
    """Activate the newest version."""
    request.lab.policies.activate(
        id,
        prepared,
        simulation_digest=body.simulation_digest,
        acknowledged=body.acknowledge,
        note=body.note,
        caller=request.caller,
    )
    return _render_newest(request, id)


@routes.post("/v1/policies/{id}/archive", scope=_PEOPLE)
def archive(request: Request, id: UUID) -> PolicyOut:
    """Archive a policy permanently."""
    request.lab.policies.archive(id, caller=request.caller)
    return _render_newest(request, id)


def _render_newest(request: Request, policy_id: UUID) -> PolicyOut:
    return rendering.render_policy(*request.lab.policies.get(policy_id, caller=request.caller))
