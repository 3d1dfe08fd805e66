"""Step 8 of an offline verification: the verifier's own policies, evaluated on the values that a bundle proves.

The service's policies are in no bundle; these are policies that the verifier wrote or received. Their context
(`policy_context.build_bundle_context`) has the attributes that the log's entries prove of issuer and key, with
the same names as online.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from attestlab.attestations import policy_context
from attestlab.attestations.rules import SignedStatement
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
    "The bundle has no status list that proves the current status of issuer and key, so policies cannot be evaluated. "
    "Get a newer bundle."
)
_normalize = ContextNormalizer(PLATFORM)


class VerifierPolicies:
    """The verifier's policies for verifications, all of which must allow; those in MONITOR mode do not count.

    Raises:
        ValidationFailed: a policy is for another action, or uses a tenant's own attribute, which no bundle contains.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        self._members = [(document, _bind_member(document)) for document in documents]

    @classmethod
    def read(cls, texts: Iterable[bytes]) -> VerifierPolicies:
        """Read policies from the contents of files in JSON or TOML.

        Raises:
            ValidationFailed: a file is neither, or not a valid policy for verifications.
        """
        return cls(_parse_document(text) for text in texts)

    def check(self, statement: SignedStatement, proof: StatusProof, *, now: datetime) -> StepResult:
        """Evaluate the policies on a bundle (step 8); a policy for one issuer applies to that issuer only.

        Denies if the bundle has no status list to prove that the status of issuer and key is current. Otherwise the
        presenter of the bundle could omit later changes, and so choose the context of the policies.
        """
        objection = self._find_objection(statement, proof, now)
        return replace(check_policy(lambda: objection is None), detail=objection or "")

    def _find_objection(self, statement: SignedStatement, proof: StatusProof, now: datetime) -> str | None:
        policies = PolicySet(self._select_members(statement))
        if not any(member.is_enforced for member in policies.members):
            return None
        if proof.list_entry is None:
            return NO_STATUS_LIST
        context = policy_context.build_bundle_context(issuer=proof.issuer, key=proof.key, now=now)
        decision = policies(_normalize(context).values)
        return None if decision.allowed else _explain(decision)

    def _select_members(self, statement: SignedStatement) -> Iterator[PolicySetMember]:
        for document, member in self._members:
            if document.target_type is not TargetType.ISSUER or document.target_id == statement.issuer_id:
                yield member


def _explain(decision: SetDecision) -> str:
    """Return the reasons of a decision, and the rules that matched."""
    matched = f" ({', '.join(decision.matched_rules)})" if decision.matched_rules else ""
    return " ".join(decision.reasons) + matched


def _bind_member(document: Document) -> PolicySetMember:
    if document.category is not Category.VERIFY:
        message = f"The policy {document.name} has the category {document.category.value}; it must be VERIFY."
        raise ValidationFailed.of("/category", "category", message)
    return PolicySetMember(document.name, document.digest, bind(document, PLATFORM))


def _parse_document(text: bytes) -> Document:
    """Parse a policy in JSON, which begins with a brace, or TOML, which cannot."""
    text = text.removeprefix(BOM_UTF8)  # as some editors save it
    if text.lstrip().startswith(b"{"):
        return Document.read(parse_json(text))
    try:
        return parse_toml(text.decode())
    except UnicodeDecodeError as error:
        raise ValidationFailed(f"A policy must be UTF-8 text: {error}.") from None
