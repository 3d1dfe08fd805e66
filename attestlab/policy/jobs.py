"""What child processes do with large policies (`core.execution.worker_processes`): functions of bytes and plain values.

A document beyond `LARGE_BYTES` takes over 20 ms to read, type, prove or explain, and its answer to write.
"""

from __future__ import annotations

import json
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from attestlab.core.clock import FixedClock, SystemClock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict
from attestlab.orgs.rules import Caller
from attestlab.policy import attribute_documents, rendering
from attestlab.policy.attribute_registry import AttributeRegistryService
from attestlab.policy.checked_input import CheckedAttributes, CheckedDocument
from attestlab.policy.decisions import Decisions
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.formats.toml import document_in_body, toml_of
from attestlab.policy.language import policy_tests
from attestlab.policy.language.document import Document, TargetType
from attestlab.policy.service import ActivationCheck, Policies

LARGE_BYTES = 16 * 1024
CHECK_TIMEOUT_S = 15.0
PROOF_TIMEOUT_S = 60.0  # two proofs of 20 s each, and what comes before them
Written = bytes | UUID
"""A document as JSON or TOML in a JSON object, or a policy whose newest version is meant."""


def check(text: bytes, own: str, is_operator: bool) -> CheckedDocument:
    """Read and type a document, and its tests, under a tenant's own attributes.

    Raises:
        ValidationFailed: it is no policy, or means nothing under these attributes.
    """
    document = read(text)
    if is_operator and document.target_type is TargetType.TENANT_DEFAULT:
        own = attribute_documents.NONE
    registry = attribute_documents.registry_of(own)
    bind(document, registry)
    policy_tests.require_sound(document, registry)
    return CheckedDocument(
        document.name,
        document.category,
        document.target_type,
        document.target_id,
        document.canonical,
        document.digest,
        own,
    )


def check_attributes(records: str, own: list[dict[str, Any]], caller: Caller) -> tuple[CheckedAttributes, bytes]:
    """Check a tenant's new attributes against all versions of its policies, and render them as `AttributesOut`.

    Raises:
        ValidationFailed, Conflict: see `AttributeRegistryService.check`.
    """
    return attributes_and_json(AttributeRegistryService(storage=storage_at(records), clock=SystemClock()), own, caller)


def attributes_and_json(
    vocabulary: AttributeRegistryService, own: list[dict[str, Any]], caller: Caller
) -> tuple[CheckedAttributes, bytes]:
    """Check attributes, and render the answer that shows them."""
    checked = vocabulary.check(own, caller=caller)
    return checked, rendering.attributes(attribute_documents.registry_of(checked.stored)).model_dump_json().encode()


def shown_attributes(records: str, caller: Caller) -> bytes:
    """Show what a tenant's policies may ask about, as the JSON of `AttributesOut`."""
    registry = AttributeRegistryService(storage=storage_at(records), clock=SystemClock()).get(caller=caller)
    return rendering.attributes(registry).model_dump_json().encode()


def read(text: bytes) -> Document:
    """The document that was sent, as JSON or as `{"toml": "..."}`.

    Raises:
        ValidationFailed: it is no policy.
    """
    return document_in_body(json.loads(text))


def toml(text: bytes) -> bytes:
    """A stored document as TOML."""
    return toml_of(Document.read(json.loads(text))).encode()


def analyze(records: str, policy: Written, against: Written | None, caller: Caller) -> bytes:
    """What is true of a policy for every context there could be, as the JSON of `AnalysisOut`.

    Raises:
        NotFound, ValidationFailed, Unavailable: see `Policies.analyze`.
    """
    other = None if against is None else written(against)
    found = _policies(records).analyze(written(policy), against=other, caller=caller)
    return rendering.analysed(found).model_dump_json().encode()


def examine(records: str, policy_id: UUID, caller: Caller) -> ActivationCheck:
    """Run the tests of a policy's newest version and look for dead rules.

    Raises:
        NotFound, Unavailable: see `Policies.examine`.
    """
    return _policies(records).examine(policy_id, caller=caller)


def explain(records: str, decision_id: str, caller: Caller, now: datetime) -> bytes:
    """Make a decision again and say why it came out so, as the JSON of `DecisionOut`.

    Raises:
        NotFound: no such decision of the tenant's.
    """
    found = Decisions(storage=storage_at(records), clock=FixedClock(now)).explain(decision_id, caller=caller)
    return rendering.explained(found).model_dump_json(by_alias=True).encode()


def written(policy: Written) -> Document | UUID:
    """A document, or the policy whose newest version is meant.

    Raises:
        ValidationFailed: it is no policy.
    """
    return policy if isinstance(policy, UUID) else read(policy)


@lru_cache(maxsize=1)  # a process works for one server
def storage_at(records: str) -> Storage:
    """The records, for reading."""
    return Storage(records)


def _policies(records: str) -> Policies:
    return Policies(storage=storage_at(records), clock=SystemClock(), simulations=_Unasked(), operator=_no_operator)


class _Unasked:
    """Nothing is activated here, so no report is asked for."""

    def require_current(self, tx: Transaction, *, policy_id: UUID, digest: str, simulation_digest: str | None) -> None:
        raise Conflict("A child process activates no policy.")


def _no_operator() -> Caller:
    raise Conflict("A child process acts for one caller only.")
