"""`lab.policies`: policies, their analysis and simulation, and what they would decide."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from typing import cast
from uuid import UUID

from attestlab.client import arguments, policy_documents
from attestlab.client.analysis.records import Records
from attestlab.client.arguments import When
from attestlab.client.collections.base import MAX_COMPLETIONS, DatasetCollection
from attestlab.client.collections.decisions import read_decision_id
from attestlab.client.collections.thresholds import read_thresholds
from attestlab.client.handles.draft_decisions import DraftDecisionHandle, decide_context
from attestlab.client.handles.policies import (
    AnalysisHandle,
    AttributeHandle,
    DecisionHandle,
    ExplanationHandle,
    PolicyHandle,
    PolicyLike,
    PolicySummaryHandle,
    SimulationHandle,
    ThresholdLike,
    activate_policy,
    change_policy,
    explain_decision,
    find_policy_id,
    name_policy,
    simulate,
)
from attestlab.client.handles.replays import ContextReplay, Contexts, replay_policy
from attestlab.client.service_client import Json, ServiceClient, path_of
from attestlab.core.errors import ValidationFailed

# A stored policy, or a document: a dict, TOML text, or the path of a TOML or JSON file.
PolicyOrDocument = PolicyLike | policy_documents.PolicyDocument


class PolicyCollection(DatasetCollection[PolicySummaryHandle]):
    """The tenant's policies, newest first; `lab.policies["Employment checks"]` finds one by name or id."""

    noun = "a policy"
    path = "/v1/policies"
    dataset = "policies"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, PolicySummaryHandle)

    def create(self, policy: policy_documents.PolicyDocument) -> PolicyHandle:
        """Create a policy as a draft, from a dict, TOML text, or the path of a TOML or JSON file.

        Args:
            policy: the document; docs/policies.md describes its members.

        Raises:
            ValidationFailed: the document is not valid; the error has the place of each fault.
            NotFound: the tenant has no such target.
            QuotaExceeded: the tenant has as many policies as its plan allows.

        >>> far = {"attr": "jurisdiction", "op": "eq", "value": "AQ"}
        >>> rule = {"id": "far-away", "effect": "DENY", "priority": 1, "when": far}
        >>> target = {"target_type": "TENANT_DEFAULT", "default_effect": "ALLOW"}
        >>> lab.policies.create({"name": "Near", "category": "MINT", "rules": [rule], **target}).status
        'DRAFT'
        """
        return PolicyHandle.parse(self._client, self._client.post(self.path, policy_documents.read_policy(policy)))

    def update(self, policy: PolicyLike, document: policy_documents.PolicyDocument) -> PolicyHandle:
        """Write a new version; the active one remains active.

        Args:
            policy: its name or id, or the object.
            document: the new document, as for `create`, for the same category and target.

        Raises:
            NotFound: the tenant has no such policy.
            ValidationFailed: the document is not valid, or for another category or target.
            Conflict: the policy is archived.
            QuotaExceeded: the policy has as many versions as the plan allows.

        >>> active = lab.policies.get("Employment checks")
        >>> copy = lab.policies.create(active.document | {"name": "Employment checks, second"})
        >>> lab.policies.update(copy, copy.document | {"default_effect": "ALLOW"}).version
        2
        """
        path = path_of("v1", "policies", find_policy_id(self._client, policy))
        return PolicyHandle.parse(self._client, self._client.put(path, policy_documents.read_policy(document)))

    def get(self, policy: PolicyLike) -> PolicyHandle:
        """Return a policy with its newest document.

        Args:
            policy: its name or id, or the object.

        Raises:
            NotFound: the tenant has no such policy.

        >>> [rule["id"] for rule in lab.policies.get("Employment checks").rules]
        ['young-workshop', 'old-key', 'raised-risk', 'proven-issuer', 'known-domain']
        """
        path = path_of("v1", "policies", find_policy_id(self._client, policy))
        return PolicyHandle.parse(self._client, self._client.get(path))

    def evaluate(
        self,
        action: str,
        context: Mapping[str, object],
        *,
        target_type: str = "TENANT_DEFAULT",
        target_id: UUID | str | None = None,
    ) -> DecisionHandle:
        """Let the policies in force decide; the decision is recorded.

        Args:
            action: `MINT`, `VERIFY` or `BUNDLE_EXPORT`.
            context: the attributes, by path or nested; what is left out, or None, is missing.
            target_type: `TENANT_DEFAULT`, `ISSUER` or `VERIFICATION_PROFILE`.
            target_id: the issuer or profile, for the last two.

        Raises:
            ValidationFailed: an argument is not acceptable.
            NotFound: the tenant has no such target.

        >>> active = lab.policies.get("Employment checks")
        >>> guild = {"jurisdiction": "DE", "trust_tier": "BASIC", "key.age_days": 365}
        >>> target = {"target_type": active.target_type, "target_id": active.target_id}
        >>> lab.policies.evaluate("VERIFY", guild, **target).matched_rule
        'old-key'
        """
        body: dict[str, object] = {"action": action, "target_type": target_type}
        body["context"] = arguments.read_mapping(context, name="context")
        if target_id is not None:
            body["target_id"] = arguments.read_id(target_id, "a target")
        return DecisionHandle.parse(self._client, self._client.post("/v1/policies/evaluate", body))

    def explain(self, decision: str | DecisionHandle) -> ExplanationHandle:
        """Explain a decision, and what would have to change for the opposite result.

        Args:
            decision: the decision or its id, `dec_...`.

        Raises:
            NotFound: the tenant has no such decision.

        >>> denied = next(lab.decisions.list(allowed=False, until="2026-11-02"))
        >>> explained = lab.policies.explain(denied)
        >>> [(each.path, each.before, each.after) for each in explained.counterfactual.changes]
        [('trust_tier', 'SELF_SIGNED', 'ENTERPRISE')]
        """
        return explain_decision(self._client, read_decision_id(decision))

    def simulate(
        self,
        policy: PolicyOrDocument,
        *,
        replaces: PolicyLike | None = None,
        since: When | None = None,
        until: When | None = None,
        by: Iterable[str] | str = (),
        sweeps: Iterable[Sequence[ThresholdLike]] = (),
        points: int = 200,
    ) -> SimulationHandle:
        """Replay a policy or a draft over the tenant's past decisions.

        Args:
            policy: a stored policy, or a draft.
            replaces: the stored policy that a draft would replace; otherwise it joins the policies in force.
            since: of the first decision; `until` of the first one that is left out.
            by: attributes to count the flips by, at most three.
            sweeps: at most four sweeps of one threshold or of two, each as of `sweep`; all of them read the history
                once, and their results are in `sweeps` in the same order.
            points: how many values each sweep has at most.

        Raises:
            NotFound: the tenant has no such policy.
            ValidationFailed: the draft, an attribute or a threshold is not valid; or `since` is not before `until`.
            Unavailable: the simulation took too long.

        >>> active = lab.policies.get("Employment checks")
        >>> draft = active.document | {"default_effect": "ALLOW"}
        >>> report = lab.policies.simulate(draft, replaces=active, until="2026-11-02")
        >>> report.newly_allowed, report.newly_denied
        (58, 444)
        """
        body = self._name_draft(policy, replaces)
        wanted = arguments.iterate(sweeps, name="sweeps", of="sweeps, each a list of thresholds")
        options = {"sweeps": list(map(read_thresholds, wanted)), "points": points}
        return simulate(self._client, body, since=since, until=until, by=by, options=options)

    def sweep(
        self,
        policy: PolicyOrDocument,
        *thresholds: ThresholdLike,
        points: int = 200,
        replaces: PolicyLike | None = None,
        since: When | None = None,
        until: When | None = None,
    ) -> SimulationHandle:
        """Simulate every value of one threshold, or of two; the results are in `sweep`.

        Args:
            thresholds: each `(rule_id, attribute)`, or an `op` (`lt`, `gte`, ...) where a rule has several.
            points: how many values at most.
            policy: a stored policy, or a draft, which may take the place of the stored policy `replaces`.
            since: of the first decision; `until` of the first one that is left out.

        Raises:
            NotFound: the tenant has no such policy.
            ValidationFailed: the draft or a threshold is not valid; or `since` is not before `until`.
            Unavailable: the simulation took too long.

        >>> active = lab.policies.get("Employment checks")
        >>> bound = ("old-key", "key.age_days")
        >>> report = lab.policies.sweep(active, bound, points=3, until="2026-11-02")
        >>> report.sweep.df()[["value", "opened", "closed"]]
           value  opened  closed
        0   34.0      58     543
        1   35.0      58     543
        2  120.0      58     444
        3  156.0      58     303
        4  278.0     161     231
        5  399.0     268     231
        """
        options = {"sweep": read_thresholds(thresholds), "points": points}
        body = self._name_draft(policy, replaces)
        return simulate(self._client, body, since=since, until=until, by=(), options=options)

    def analyze(self, policy: PolicyOrDocument, *, against: PolicyOrDocument | None = None) -> AnalysisHandle:
        """Analyze a policy for every possible context; `against` compares it with another one.

        Args:
            policy: a stored policy, or a draft.
            against: a stored policy, or a draft.

        Returns:
            The dead, shadowed and contradicting rules, each with an example; with `against` whether both always agree.

        Raises:
            NotFound: the tenant has no such policy.
            ValidationFailed: a draft is not valid.
            Unavailable: the proof takes over 20 seconds, or too many are running.

        >>> active = lab.policies.get("Employment checks").document
        >>> lab.policies.analyze(active).findings
        Records(0 Finding)
        >>> lab.policies.analyze(active, against=active | {"default_effect": "ALLOW"}).equivalent
        False
        """
        body = name_policy(self._client, policy)
        if against is not None:
            body["against"] = next(iter(name_policy(self._client, against).values()))
        return AnalysisHandle.parse(self._client, self._client.post("/v1/policies/analyze", body, is_read=True))

    def replay(self, policy: PolicyOrDocument, contexts: Contexts) -> ContextReplay:
        """Decide contexts of your own with a policy or a draft, in this process; nothing is sent or recorded.

        Args:
            policy: a stored policy, of which the newest version decides, or a draft.
            contexts: a data frame, or the path (or pattern) of Parquet files, with a column for each attribute, such
                as `key.age_days`; `lab.decisions.to_parquet` writes such a file.

        Raises:
            ValidationFailed: the contexts cannot be read, or a column has another type than its attribute.

        >>> import pandas as pd
        >>> contexts = pd.DataFrame({"trust_tier": ["BASIC", "VERIFIED"], "key.age_days": [400.0] * 2})
        >>> lab.policies.replay("Employment checks", contexts).df()["allowed"].to_list()
        [False, True]
        """
        return replay_policy(self._client, policy, contexts)

    def decide(self, policy: PolicyOrDocument, context: Mapping[str, object]) -> DraftDecisionHandle:
        """Decide one context with a policy or a draft alone, in this process, and explain it; nothing is recorded.

        Args:
            policy: a stored policy, of which the newest version decides, or a draft.
            context: the attributes by path; what is left out, or None, is missing.

        Raises:
            NotFound: the tenant has no such policy.
            ValidationFailed: the draft is not valid, or the context is no dict.

        >>> decided = lab.policies.decide("Employment checks", {"key.age_days": 300, "trust_tier": "BASIC"})
        >>> decided.decision, decided.matched_rule
        ('DENY', 'old-key')
        """
        return decide_context(self._client, policy, context)

    def attributes(self) -> Records[AttributeHandle]:
        """List the attributes that policies may use: the platform's, then the tenant's own.

        >>> [each.path for each in lab.policies.attributes()][:3]
        ['jurisdiction', 'trust_tier', 'status']
        """
        answer = self._client.get(f"{self.path}/attributes")
        found = [AttributeHandle.parse(self._client, each) for each in cast("list[Json]", answer["items"])]
        return Records(found, AttributeHandle)

    def shadow(self, policy: PolicyLike) -> PolicyHandle:
        """Evaluate and record the newest version next to the active ones, without effect.

        Args:
            policy: its name or id, or the object.

        Raises:
            NotFound: the tenant has no such policy.
            Conflict: it is archived, or its newest version is active.

        >>> active = lab.policies.get("Employment checks")
        >>> copy = lab.policies.create(active.document | {"name": "Shadowed checks"})
        >>> lab.policies.shadow(copy).status
        'SHADOW'
        """
        return change_policy(self._client, find_policy_id(self._client, policy), "shadow")

    def activate(
        self,
        policy: PolicyLike,
        simulation: SimulationHandle | str | None = None,
        *,
        acknowledge: Iterable[str] = (),
        note: str | None = None,
    ) -> PolicyHandle:
        """Let the newest version decide; by a signed-in owner or admin (`lab.as_(email, password=...)`).

        Args:
            policy: its name or id, or the object.
            simulation: the simulation of exactly this version over all past decisions, or its `report_digest`.
            acknowledge: the ids of dead rules that are meant to be dead.
            note: for the audit trail, at most 1,024 characters.

        Raises:
            PermissionDenied: the caller is no owner or admin who signed in, or is the author while another one could.
            NotFound: the tenant has no such policy.
            Conflict: a test fails, a dead rule is not acknowledged, the simulation is missing or stale, or the policy
                is archived; `details["reason"]` says which.

        >>> target = {"target_type": "ISSUER", "target_id": lab.issuers["Maker Guild"].id}
        >>> checks = lab.policies.get("Employment checks").document
        >>> draft = lab.policies.create(checks | target | {"name": "Guild checks", "category": "MINT"})
        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> ann.policies.activate(draft, draft.simulate()).status
        'ACTIVE'
        """
        policy_id = find_policy_id(self._client, policy)
        return activate_policy(self._client, policy_id, simulation, acknowledge=acknowledge, note=note)

    def archive(self, policy: PolicyLike) -> PolicyHandle:
        """Archive a policy permanently; by a signed-in owner or admin.

        Args:
            policy: its name or id, or the object.

        Raises:
            PermissionDenied: the caller is no owner or admin who signed in.
            NotFound: the tenant has no such policy.
            Conflict: it is archived already.

        >>> active = lab.policies.get("Employment checks")
        >>> copy = lab.policies.create(active.document | {"name": "Former checks"})
        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> ann.policies.archive(copy).status
        'ARCHIVED'
        """
        return change_policy(self._client, find_policy_id(self._client, policy), "archive")

    def _find(self, which: object) -> PolicySummaryHandle:
        path = path_of("v1", "policies", find_policy_id(self._client, which))
        return self._parse(self._client.get(path))

    def _ipython_key_completions_(self) -> builtins.list[str]:
        """Complete `lab.policies["` with the policies' names."""
        return [policy.name for policy in self.list(limit=MAX_COMPLETIONS)]

    def _name_draft(self, policy: PolicyOrDocument, replaces: PolicyLike | None) -> dict[str, object]:
        body = name_policy(self._client, policy)
        if replaces is not None:
            if "policy_id" in body:
                raise ValidationFailed("`replaces` belongs to a draft. Pass a stored policy alone.")
            body["policy_id"] = find_policy_id(self._client, replaces)
        return body
