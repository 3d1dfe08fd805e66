"""What-ifs, as verbs of `lab.policies`: what a policy or a draft would decide, of the past or of any context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attestlab.client import arguments, policy_documents
from attestlab.client.arguments import When
from attestlab.client.collections.base import DatasetCollection
from attestlab.client.collections.thresholds import read_thresholds
from attestlab.client.handles.draft_decisions import DraftDecisionHandle, decide_context
from attestlab.client.handles.policies import (
    AnalysisHandle,
    PolicyLike,
    PolicySummaryHandle,
    SimulationHandle,
    ThresholdLike,
    find_policy_id,
    name_policy,
    simulate,
)
from attestlab.client.handles.replays import ContextReplay, Contexts, replay_policy
from attestlab.core.errors import ValidationFailed

# A stored policy, or a document: a dict, TOML text, or the path of a TOML or JSON file.
PolicyOrDocument = PolicyLike | policy_documents.PolicyDocument


class WhatIfVerbs(DatasetCollection[PolicySummaryHandle]):
    """The verbs of what policies would decide."""

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

        Returns:
            The counts of decisions before and after (`transitions`), those that flip, and why; its digest is what
            `activate` needs.

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

        Returns:
            A simulation whose `sweep` has a row for each value: how many decisions it would allow and deny.

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

    def isolate(
        self,
        policy: PolicyOrDocument,
        rule: str,
        *,
        replaces: PolicyLike | None = None,
        since: When | None = None,
        until: When | None = None,
        by: Iterable[str] | str = (),
    ) -> SimulationHandle:
        """Simulate a policy with one of its rules and without it; the difference is in `alone`.

        Args:
            policy: a stored policy, or a draft, which may take the place of the stored policy `replaces`.
            rule: the id of an enforced rule of it.
            since: of the first decision; `until` of the first one that is left out.
            by: attributes to count the rule's hits by, at most three.

        Returns:
            A simulation whose `alone` has the rule's `hits`, how many it decides, how many decisions would be allowed
            (`would_allow`) or denied without it, and the same for each of the `segments` and `targets` (issuers).

        Raises:
            NotFound: the tenant has no such policy.
            ValidationFailed: the draft has no such rule, or is not valid; or `since` is not before `until`.
            Unavailable: the simulation took too long.

        >>> active = lab.policies.get("Employment checks")
        >>> alone = lab.policies.isolate(active, "old-key", until="2026-11-02", by="trust_tier").alone
        >>> alone.hits, alone.decisive, alone.would_allow
        (1095, 1037, 423)
        >>> alone.segments.df()[["trust_tier", "hits", "would_allow"]]
            trust_tier  hits  would_allow
        0        BASIC   423          423
        1  SELF_SIGNED   672            0
        """
        options = {"rule": arguments.read_text(rule, name="rule")}
        return simulate(
            self._client, self._name_draft(policy, replaces), since=since, until=until, by=by, options=options
        )

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

        Returns:
            The decisions, one for each context, which `df`, `rel` and `to_parquet` give as a table.

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

        Returns:
            `ALLOW` or `DENY`, the truth of each rule, what was missing, and what would reverse the decision.

        Raises:
            NotFound: the tenant has no such policy.
            ValidationFailed: the draft is not valid, or the context is no dict.

        >>> decided = lab.policies.decide("Employment checks", {"key.age_days": 300, "trust_tier": "BASIC"})
        >>> decided.decision, decided.matched_rule
        ('DENY', 'old-key')
        """
        return decide_context(self._client, policy, context)

    def _name_draft(self, policy: PolicyOrDocument, replaces: PolicyLike | None) -> dict[str, object]:
        body = name_policy(self._client, policy)
        if replaces is not None:
            if "policy_id" in body:
                raise ValidationFailed("`replaces` belongs to a draft. Pass a stored policy alone.")
            body["policy_id"] = find_policy_id(self._client, replaces)
        return body
