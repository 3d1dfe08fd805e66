"""Jobs of child processes for large policies (`core.execution.worker_processes`): functions of bytes and plain values.

A document larger than `LARGE_BYTES` takes over 20 ms to read, type-check, prove or explain, and its response to write.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from attestlab.core.clock import FixedClock, SystemClock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict
from attestlab.orgs.rules import Caller
from attestlab.policy import rendering
from attestlab.policy.attribute_registry import NO_ATTRIBUTES, AttributeRegistryService, build_registry
from attestlab.policy.checked_input import CheckedAttributes, CheckedDocument
from attestlab.policy.decisions import Decisions
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.formats.toml import format_toml, parse_body
from attestlab.policy.language import policy_tests
from attestlab.policy.language.document import Document, TargetType
from attestlab.policy.service import ActivationCheck, Policies

LARGE_BYTES = 16 * 1024
CHECK_TIMEOUT_S = 15.0
PROOF_TIMEOUT_S = 60.0  # two proofs of 20 s each, and their preparation
PolicyArgument = bytes | UUID
"""A document as JSON or TOML in a JSON object, or the id of a policy whose newest version is meant."""


def check(text: bytes, own: str, is_operator: bool) -> CheckedDocument:
    """Parse and type-check a document and its tests under a tenant's own attributes.

    Raises:
        ValidationFailed: the document is not a policy, or is invalid under these attributes.
    """
    document = read_document(text)
    if is_operator and document.target_type is TargetType.TENANT_DEFAULT:
        own = NO_ATTRIBUTES
    registry = build_registry(own)
    bind(document, registry)
    policy_tests.require_valid(document, registry)
    return CheckedDocument(
        document.name,
        document.category,
        document.target_type,
        document.target_id,
        document.canonical,
        document.digest,
        own,
    )


def check_attributes(
    records: str, own: Sequence[Mapping[str, object]], caller: Caller
) -> tuple[CheckedAttributes, bytes]:
    """Check a tenant's new attributes against all versions of its policies, and render them as `AttributesOut`.

    Raises:
        ValidationFailed, Conflict: see `AttributeRegistryService.check`.
    """
    return check_and_render_attributes(
        AttributeRegistryService(storage=open_records(records), clock=SystemClock()), own, caller
    )


def check_and_render_attributes(
    vocabulary: AttributeRegistryService, own: Sequence[Mapping[str, object]], caller: Caller
) -> tuple[CheckedAttributes, bytes]:
    """Check attributes and render the response that shows them."""
    checked = vocabulary.check(own, caller=caller)
    return checked, rendering.render_attributes(build_registry(checked.stored)).model_dump_json().encode()


def render_attributes(records: str, caller: Caller) -> bytes:
    """Render the attributes that a tenant's policies may use as the JSON of `AttributesOut`."""
    registry = AttributeRegistryService(storage=open_records(records), clock=SystemClock()).get(caller=caller)
    return rendering.render_attributes(registry).model_dump_json().encode()


def read_document(text: bytes) -> Document:
    """Read a submitted document, as JSON or as `{"toml": "..."}`.

    Raises:
        ValidationFailed: the document is not a policy.
    """
    return parse_body(json.loads(text))


def convert_to_toml(text: bytes) -> bytes:
    """Convert a stored document to TOML."""
    return format_toml(Document.read(json.loads(text))).encode()


def analyze(records: str, policy: PolicyArgument, against: PolicyArgument | None, caller: Caller) -> bytes:
    """Analyze a policy for every possible context; return the JSON of `AnalysisOut`.

    Raises:
        NotFound, ValidationFailed, Unavailable: see `Policies.analyze`.
    """
    other = None if against is None else parse_policy_argument(against)
    found = _policies(records).analyze(parse_policy_argument(policy), against=other, caller=caller)
    return rendering.render_analysis(found).model_dump_json().encode()


def examine(records: str, policy_id: UUID, caller: Caller) -> ActivationCheck:
    """Run the tests of a policy's newest version and find its dead rules.

    Raises:
        NotFound, Unavailable: see `Policies.examine`.
    """
    return _policies(records).examine(policy_id, caller=caller)


def explain(records: str, decision_id: str, caller: Caller, now: datetime) -> bytes:
    """Evaluate a decision again and explain it; return the JSON of `DecisionOut`.

    Raises:
        NotFound: the tenant has no such decision.
    """
    found = Decisions(storage=open_records(records), clock=FixedClock(now)).explain(decision_id, caller=caller)
    return rendering.render_explanation(found).model_dump_json(by_alias=True).encode()


def parse_policy_argument(policy: PolicyArgument) -> Document | UUID:
    """Parse a document, or pass on the id of a policy whose newest version is meant.

    Raises:
        ValidationFailed: the document is not a policy.
    """
    return policy if isinstance(policy, UUID) else read_document(policy)


@lru_cache(maxsize=1)  # each process serves one server
def open_records(records: str) -> Storage:
    """Open the records for reading."""
    return Storage(records)


def _policies(records: str) -> Policies:
    return Policies(storage=open_records(records), clock=SystemClock(), simulations=_NoReports(), operator=_no_operator)


class _NoReports:
    """Rejects every activation, because child processes never activate policies."""

    def require_current(self, tx: Transaction, *, policy_id: UUID, digest: str, simulation_digest: str | None) -> None:
        raise Conflict("A child process activates no policy.")


def _no_operator() -> Caller:
    raise Conflict("A child process acts for one caller only.")
