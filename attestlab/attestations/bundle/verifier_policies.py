"""Step 8 of a verification offline: the policies of whoever verifies, asked about what a bundle proves.

The service's own policies are in no bundle. Those that a verifier wrote or was given are at hand; they see
what the log's entries prove of issuer and key (`circumstances.of_entries`), by the names that they have online.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from attestlab.attestations import policy_context
from attestlab.attestations.rules import Statement
from attestlab.attestations.verification.status_proof import StatusProof
from attestlab.attestations.verification.steps import StepResult, check_policy
from attestlab.core.errors import ValidationFailed
from attestlab.core.strict_json import parse_json
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.evaluation.policy_set import PolicySet, PolicySetMember, SetDecision
from attestlab.policy.formats.toml import parse_toml
from attestlab.policy.language.attributes import PLATFORM
from attestlab.policy.language.context import ContextNormalizer
from attestlab.policy.language.document import Category, Document, TargetType

NO_STATUS_LIST = (
    "No status list of the log shows how issuer and key stand, so policies cannot be asked; get a newer bundle."
)
_normalize = ContextNormalizer(PLATFORM)


class VerifierPolicies:
    """Policies about verifications, all of which must allow; those that only monitor do not count.

    Raises:
        ValidationFailed: one is about another action, or asks for what no bundle could tell: an attribute of a
            tenant's own.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        self._members = [(document, _bind_member(document)) for document in documents]

    @classmethod
    def read(cls, texts: Iterable[bytes]) -> VerifierPolicies:
        """Of files in JSON or TOML.

        Raises:
            ValidationFailed: one is neither, or no valid policy of verifications.
        """
        return cls(_parse_document(text) for text in texts)

    def check(self, statement: Statement, proof: StatusProof, *, now: datetime) -> StepResult:
        """Step 8. A policy bound to one issuer is asked about that issuer alone.

        Where no status list shows that nothing came after it, how issuer and key stood is denied: else whoever
        hands the bundle over would choose what the policies see.
        """
        objection = self._find_objection(statement, proof, now)
        return replace(check_policy(lambda: objection is None), detail=objection or "")

    def _find_objection(self, statement: Statement, proof: StatusProof, now: datetime) -> str | None:
        policies = PolicySet(self._select_members(statement))
        if not any(member.is_enforced for member in policies.members):
            return None
        if proof.list_entry is None:
            return NO_STATUS_LIST
        about = policy_context.build_bundle_context(issuer=proof.issuer, key=proof.key, now=now)
        decision = policies(_normalize(about).values)
        return None if decision.allowed else _explain(decision)

    def _select_members(self, statement: Statement) -> Iterator[PolicySetMember]:
        for document, member in self._members:
            if document.target_type is not TargetType.ISSUER or document.target_id == statement.issuer_id:
                yield member


def _explain(decision: SetDecision) -> str:
    """The reasons, and the rules that matched."""
    matched = f" ({', '.join(decision.matched_rules)})" if decision.matched_rules else ""
    return " ".join(decision.reasons) + matched


def _bind_member(document: Document) -> PolicySetMember:
    if document.category is not Category.VERIFY:
        message = f"{document.name} is a policy of {document.category.value}, and a bundle is verified: VERIFY."
        raise ValidationFailed.of("/category", "category", message)
    return PolicySetMember(document.name, document.digest, bind(document, PLATFORM))


def _parse_document(text: bytes) -> Document:
    """JSON begins with a brace, TOML cannot."""
    if text.lstrip().startswith(b"{"):
        return Document.read(parse_json(text))
    try:
        return parse_toml(text.decode())
    except UnicodeDecodeError as error:
        raise ValidationFailed(f"A policy is UTF-8: {error}.") from None
