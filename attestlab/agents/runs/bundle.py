"""Proof bundles of runs: what agents recorded, which anyone verifies offline with a pinned log and nothing else.

A bundle has the plan, the steps as their agents signed them, their keys with the entries of the log that give them to
the agents, the entry `run.completed` with the run's hash, and a signed head. The log proves keys and hash; the keys
prove the steps; the hash proves that no step is missing. This module needs no database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, Self

from attestlab.agents.key_evidence import (
    BundledEntry,
    KeyEvidence,
    ProvenAgentKey,
    has_format,
    prove_entry,
    prove_keys,
    read_entry,
    read_key,
    require_format,
)
from attestlab.agents.runs import rules
from attestlab.agents.runs.rules import MAX_STEPS, PlannedStep, RecordedStep, RunEnd, RunStatus, StepStatus
from attestlab.agents.runs.step_tokens import MAX_STEP_TOKEN_LENGTH, read_kid, verify_step
from attestlab.attestations.bundle.reader import Reader
from attestlab.core.errors import AttestLabError, IntegrityFailed, ProofInvalid, ValidationFailed
from attestlab.core.strict_json import parse_json
from attestlab.log.entries import EntryType
from attestlab.log.note.trust_policy import Checkpoint, TrustPolicy

FORMAT: Final = "attestlab-run/1"


class RunVerdict(StrEnum):
    """What a verification of a run says: the first that applies."""

    RUN_BROKEN = "RUN_BROKEN"
    HASH_MISMATCH = "HASH_MISMATCH"
    NOT_IN_LOG = "NOT_IN_LOG"
    KEY_NOT_PROVEN = "KEY_NOT_PROVEN"
    SIGNATURE_INVALID = "SIGNATURE_INVALID"
    VALID = "VALID"


class SignedRunStep(NamedTuple):
    """A step as a bundle has it: what was recorded, and the JWS of its agent."""

    recorded: RecordedStep
    jws: str


@dataclass(frozen=True)
class RunBundle:
    """A proof bundle as it was read; nothing of it is verified yet."""

    orchestration_id: str
    agent_id: str
    status: RunEnd
    run_hash: str
    plan: tuple[PlannedStep, ...] = field(repr=False)
    steps: tuple[SignedRunStep, ...] = field(repr=False)
    keys: tuple[KeyEvidence, ...] = field(repr=False)
    end: BundledEntry = field(repr=False)
    checkpoint: str = field(repr=False)

    @classmethod
    def parse(cls, document: object) -> Self:
        """Read a bundle from its JSON document.

        Raises:
            NewerFormat: it has a newer form than this version reads.
            ValidationFailed: a member is missing or has another form; the message names it by its JSON Pointer.
        """
        try:
            top = Reader(document, "")
            require_format(top.string("format"), FORMAT)
            _require_few(top)
            return cls(
                orchestration_id=str(top.uuid("orchestration_id")),
                agent_id=str(top.uuid("agent_id")),
                status=RunEnd(top.string("status")),
                run_hash=top.string("run_hash"),
                plan=tuple(_read_planned(each) for each in top.object("plan").objects("steps")),
                steps=tuple(_read_step(each) for each in top.objects("steps")),
                keys=tuple(read_key(each) for each in top.objects("keys")),
                end=read_entry(top),
                checkpoint=top.object("signed_tree_head").string("checkpoint"),
            )
        except ValueError as error:
            raise ValidationFailed(f"The run bundle cannot be read: {error}.") from None

    @classmethod
    def read(cls, content: bytes) -> Self:
        """Read a bundle from a file's content; raises the errors of `parse` and of strict JSON."""
        return cls.parse(parse_json(content))

    @property
    def recorded_steps(self) -> dict[str, RecordedStep]:
        """The recorded steps by their ids."""
        return {step.recorded.step_id: step.recorded for step in self.steps}


@dataclass(frozen=True)
class RunReport:
    """The verdict about a run, why it is not valid, and the steps that took other inputs than they depend on."""

    verdict: RunVerdict
    reason: str | None
    unchained: tuple[str, ...]
    head: Checkpoint | None

    @property
    def chain_ok(self) -> bool:
        """Whether each recorded step took what its dependencies put out."""
        return not self.unchained


class _Refused(Exception):
    """A check failed, which decides the verdict."""

    def __init__(self, verdict: RunVerdict, reason: str) -> None:
        super().__init__(reason)
        self.verdict = verdict


def is_run_bundle(document: object) -> bool:
    """Whether a JSON document says that it is a bundle of a run, of whatever version."""
    return has_format(document, FORMAT)


def verify_run_bundle(bundle: RunBundle, *, trust: TrustPolicy) -> RunReport:
    """Verify a run offline: its order, its hash, the log entry of that hash, the agents' keys, and their signatures.

    A run whose hashes do not chain is VALID, because that is what was recorded; the report names these steps.

    Args:
        bundle: the parsed bundle.
        trust: the pinned logs and witnesses.
    """
    unchained = _find_unchained(bundle)
    try:
        _require_order(bundle)
        _require_hash(bundle)
        head = _prove_end(bundle, trust)
        _require_signatures(bundle, _prove_signers(bundle, head))
    except _Refused as refused:
        return RunReport(refused.verdict, str(refused), unchained, None)
    return RunReport(RunVerdict.VALID, None, unchained, head)


def _find_unchained(bundle: RunBundle) -> tuple[str, ...]:
    recorded = bundle.recorded_steps
    return tuple(
        step.id
        for step in bundle.plan
        if step.id in recorded and not rules.is_chained(step, recorded[step.id].inputs_hash, recorded)
    )


def _require_order(bundle: RunBundle) -> None:
    """Require a plan that the ledger takes, and its steps once each, in its order, with their dependencies."""
    recorded = bundle.recorded_steps
    try:
        rules.require_plan(bundle.plan)
        for step in bundle.plan:
            if step.id in recorded:
                others = {name: each for name, each in recorded.items() if name != step.id}
                rules.require_recordable(bundle.plan, step.id, others)
        rules.require_completable(bundle.plan, recorded, now=RunStatus.RUNNING, then=bundle.status)
    except AttestLabError as error:
        raise _Refused(RunVerdict.RUN_BROKEN, error.message) from None
    if [step.recorded.step_id for step in bundle.steps] != [step.id for step in bundle.plan if step.id in recorded]:
        message = "The steps are not those of the plan, once each and in its order."
        raise _Refused(RunVerdict.RUN_BROKEN, message)


def _require_hash(bundle: RunBundle) -> None:
    status = RunStatus(bundle.status.value)
    computed = rules.hash_run(bundle.orchestration_id, bundle.agent_id, bundle.plan, bundle.recorded_steps, status)
    if computed != bundle.run_hash:
        message = f"Plan, status and steps have the hash {computed}, not {bundle.run_hash}."
        raise _Refused(RunVerdict.HASH_MISMATCH, message)


def _prove_end(bundle: RunBundle, trust: TrustPolicy) -> Checkpoint:
    expected = {
        "type": EntryType.RUN_COMPLETED.value,
        "orchestration_id": bundle.orchestration_id,
        "status": bundle.status.value,
        "run_hash": bundle.run_hash,
    }
    try:
        head = trust.verify_checkpoint(bundle.checkpoint)
        members = prove_entry(bundle.end, head)
    except IntegrityFailed as error:
        raise _Refused(RunVerdict.NOT_IN_LOG, error.message) from None
    if {name: members.get(name) for name in expected} != expected:
        message = f"The log entry {bundle.end.log_index} is not the end of this run with this hash."
        raise _Refused(RunVerdict.NOT_IN_LOG, message)
    return head


def _prove_signers(bundle: RunBundle, head: Checkpoint) -> dict[str, ProvenAgentKey]:
    """Prove the keys, which are in the order of the log, and in the log before the run's end."""
    order = [key.proof.log_index for key in bundle.keys]
    try:
        if order != sorted(order):
            raise ProofInvalid("The keys are not in the order of the log.")
        proven = {key.kid: key for key in prove_keys(bundle.keys, head)}
        late = next((key for key in proven.values() if key.log_index > bundle.end.log_index), None)
        if late is not None:
            raise ProofInvalid(f"The key {late.kid} is in the log after the end of the run.")
    except IntegrityFailed as error:
        raise _Refused(RunVerdict.KEY_NOT_PROVEN, error.message) from None
    return proven


def _require_signatures(bundle: RunBundle, keys: Mapping[str, ProvenAgentKey]) -> None:
    used = {_require_signature(bundle, step, keys) for step in bundle.steps}
    unused = keys.keys() - used
    if unused:
        raise _Refused(RunVerdict.KEY_NOT_PROVEN, f"The key {min(unused)} has signed no step of the run.")


def _require_signature(bundle: RunBundle, step: SignedRunStep, keys: Mapping[str, ProvenAgentKey]) -> str:
    try:
        kid = read_kid(step.jws)
        key = keys.get(kid)
        if key is None or key.agent_id != step.recorded.agent_id:
            raise IntegrityFailed(f"The key {kid} is not one of the agent {step.recorded.agent_id}.")
        verify_step(step.jws, bundle.orchestration_id, step.recorded, kid=kid, public=key.public)
    except IntegrityFailed as error:
        message = f"The step {step.recorded.step_id} is not what its agent signed. {error.message}"
        raise _Refused(RunVerdict.SIGNATURE_INVALID, message) from None
    return kid


def _require_few(top: Reader) -> None:
    counts = [len(top.object("plan").objects("steps")), len(top.objects("steps")), len(top.objects("keys"))]
    if max(counts) > MAX_STEPS:
        raise ValueError(f"it has {max(counts)} planned steps, steps or keys; at most {MAX_STEPS} of each can be read")


def _read_planned(reader: Reader) -> PlannedStep:
    meant = reader.uuid("agent_id") if "agent_id" in reader.value else None
    return PlannedStep(
        reader.string("id"),
        reader.string("type"),
        tuple(reader.strings("depends_on")),
        None if meant is None else str(meant),
    )


def _read_step(reader: Reader) -> SignedRunStep:
    try:
        recorded = RecordedStep(
            step_id=reader.string("step_id"),
            agent_id=str(reader.uuid("agent_id")),
            inputs_hash=reader.string("inputs_hash"),
            outputs_hash=reader.string("outputs_hash"),
            status=StepStatus(reader.string("status")),
        )
    except ValidationFailed as error:
        raise ValueError(f"{reader.path}: {error.message.rstrip('.')}") from None
    token = reader.string("jws")
    if len(token) > MAX_STEP_TOKEN_LENGTH:
        raise ValueError(f"{reader.path}/jws has {len(token)} characters; the longest has {MAX_STEP_TOKEN_LENGTH}")
    return SignedRunStep(recorded, token)
