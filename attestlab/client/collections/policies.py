"""`lab.policies`: policies, their analysis and simulation, and what they would decide."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from typing import cast
from uuid import UUID

from attestlab.client import arguments, policy_documents
from attestlab.client.analysis.records import Records
from attestlab.client.collections.base import MAX_COMPLETIONS
from attestlab.client.collections.decisions import read_decision_id
from attestlab.client.collections.what_ifs import WhatIfVerbs
from attestlab.client.handles.decisions import DecisionHandle, ExplanationHandle, explain_decision
from attestlab.client.handles.policies import (
    AttributeHandle,
    PolicyHandle,
    PolicyLike,
    PolicySummaryHandle,
    SimulationHandle,
    activate_policy,
    change_policy,
    find_policy_id,
)
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import Json, ServiceClient, path_of


@name_in_examples("policies")
class PolicyCollection(WhatIfVerbs):
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

        Returns:
            The policy with its document; it is a `DRAFT` of version 1, which decides nothing.

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

        Returns:
            The policy with its new document; `version` is one higher.

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

        Returns:
            Whether it is allowed, the rules that matched, and the id by which `explain` finds the decision.

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

        Returns:
            The truth of each rule, what was missing, and the smallest change that reverses the result
            (`counterfactual`).

        Raises:
            NotFound: the tenant has no such decision.

        >>> denied = next(lab.decisions.list(allowed=False, until="2026-11-02"))
        >>> explained = lab.policies.explain(denied)
        >>> [(each.path, each.before, each.after) for each in explained.counterfactual.changes]
        [('trust_tier', 'SELF_SIGNED', 'ENTERPRISE')]
        """
        return explain_decision(self._client, read_decision_id(decision))

    def attributes(self) -> Records[AttributeHandle]:
        """List the attributes that policies may use: the platform's, then the tenant's own.

        Returns:
            The attributes with type and unit; `own` says whether the tenant declared one.

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

        Returns:
            The policy as it is now; `shadow_version` is the version that is recorded.

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

        Returns:
            The policy as it is now, which is `ACTIVE`.

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

        Returns:
            The policy as it is now, which is `ARCHIVED` and decides nothing.

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
