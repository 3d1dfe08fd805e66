"""`lab.compliance`: self-assessments of agents, issuers and the tenant, and those that were made before."""

from __future__ import annotations

from typing import Unpack

from attestlab.agents.compliance.shapes import ComplianceChecksQuery
from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.collections.base import Collection
from attestlab.client.collections.filters import ComplianceFilterArgs
from attestlab.client.handles.compliance import CHECKS, CheckedLike, ComplianceCheckHandle, check_compliance
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import ServiceClient


@name_in_examples("compliance")
class ComplianceCollection(Collection[ComplianceCheckHandle]):
    """The tenant's compliance checks, newest first; each is a self-assessment, no audit and no certificate.

    The answers of their controls are rows: `lab.compliance.findings.df()`.
    """

    noun = "a compliance check"
    path = CHECKS
    query = ComplianceChecksQuery

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, ComplianceCheckHandle)

    def list(
        self, *, limit: int | None = None, **filters: Unpack[ComplianceFilterArgs]
    ) -> Listing[ComplianceCheckHandle]:
        """List the checks that match all filters, newest first.

        Args:
            limit: how many at most; all by default.
            filters: such as `entity_type="agent"`, `entity_id`, `regulation="SOC2"` or `status="failed"`. None is no
                filter.

        Returns:
            The checks, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value; the message names the limit.

        >>> agent = lab.agents.register("Ledger keeper")
        >>> made = lab.compliance.check(agent, regulation="GDPR")
        >>> [each.check_id == made.check_id for each in lab.compliance.list(entity_id=agent.id)]
        [True]
        """
        return self._list(limit, filters)

    def check(self, what: CheckedLike = None, *, regulation: str = "baseline") -> ComplianceCheckHandle:
        """Check an agent, an issuer or the tenant by up to ten controls over its own data.

        Args:
            what: an agent or its maip id, or an issuer; by default the tenant with all that it has.
            regulation: which controls are asked: `baseline` asks all, `SOC2`, `ISO27001`, `GDPR`, `HIPAA` and
                `EU_AI_ACT` ask some of them.

        Returns:
            The check with its findings; `left_out` names the controls for which there is no fact. It is valid for
            24 hours.

        Raises:
            NotFound: the tenant has no such agent.
            PermissionDenied: the caller may not read the audit trail.
            ValidationFailed: there is no such regulation, or `what` is something else.

        >>> agent = lab.agents.register("Wild card", scopes=["docs:*"], expires_at="2030-01-01")
        >>> check = lab.compliance.check(agent, regulation="SOC2")
        >>> check.status, [finding.control for finding in check.failures]
        ('failed', ['owner_active', 'no_wildcard'])
        >>> check.self_assessment
        True
        """
        return check_compliance(self._client, what, arguments.read_text(regulation, name="regulation"))
