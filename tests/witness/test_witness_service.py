"""What a witness cosigns and what it refuses (C2SP tlog-witness), judged by a model that knows all leaves."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tlog_scales.signing import Ed25519CosignatureVerifier, Vkey
from tlog_scales.tlog import Checkpoint

from attestlab.core.clock import FixedClock
from attestlab.core.errors import (
    AttestLabError,
    Conflict,
    NotFound,
    ProofInvalid,
    SignatureInvalid,
    ValidationFailed,
)
from attestlab.log.note.note import Note, TreeHead
from attestlab.log.witnessing.submission_policy import Submission
from attestlab.witness.rules import SizeConflict
from attestlab.witness.service import Witness, create_witness
from attestlab.witness.store import CosignedHead, WitnessStore
from support.witnesses import NOON, NOON_S, LogBranch, make_log_signer, open_witness

LOG = LogBranch.of(20)


def cosigned_last(witness: Witness, log: LogBranch) -> int:
    """The size that the witness names to a submission that begins at another one."""
    with pytest.raises(SizeConflict) as refused:
        witness.add_checkpoint(log.body(1, 20))
    return refused.value.size


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the witness lives."""
    return tmp_path / "w1"


def test_cosignature_line_verifies_under_the_printed_key(folder: Path) -> None:
    """
    tlog-scales, which is not ours, reads the line beside the checkpoint and finds the time in it.
    """
    vkey = create_witness(folder, name="witness.example/w1", environ={})
    with open_witness(folder) as witness:
        line = witness.add_checkpoint(LOG.body(0, 7))

    assert line.startswith("— witness.example/w1 ")
    assert line.count("\n") == 1
    checkpoint = Checkpoint.from_text(LOG.checkpoint(7) + line)
    judge = Ed25519CosignatureVerifier(Vkey.from_string(str(vkey)))
    judge.verify_note(checkpoint.signatures[-1], checkpoint)
    assert judge.get_timestamp(checkpoint.signatures[-1].payload) == NOON_S


def test_witness_continues_from_the_tree_it_cosigned_last(folder: Path) -> None:
    with open_witness(folder) as witness:
        for old, size in ((0, 3), (3, 3), (3, 8), (8, 20)):
            line = witness.add_checkpoint(LOG.body(old, size))
            assert Note.parse(LOG.checkpoint(size) + line).verify([witness.vkey]) == {witness.vkey: NOON_S}
            assert cosigned_last(witness, LOG) == size


def test_witness_keeps_its_heads_across_restarts(folder: Path) -> None:
    with open_witness(folder) as witness:
        witness.add_checkpoint(LOG.body(0, 9))
    with open_witness(folder) as witness, pytest.raises(SizeConflict) as refused:
        witness.add_checkpoint(LOG.body(0, 12))
    assert refused.value.size == 9


def test_witness_cosigns_only_the_first_tree_of_a_size(folder: Path) -> None:
    fork = LogBranch.of(20, other_from=5)
    with open_witness(folder) as witness:
        witness.add_checkpoint(LOG.body(0, 9))
        with pytest.raises(ProofInvalid, match="fork"):
            witness.add_checkpoint(fork.body(9, 9))
        with pytest.raises(ProofInvalid):
            witness.add_checkpoint(fork.body(9, 12))


def test_the_time_of_its_cosignatures_never_runs_backwards(folder: Path) -> None:
    """
    A cosignature says that nothing larger was seen by its time; a clock that is set back must not make that untrue.
    """
    clock = FixedClock(NOON)
    with open_witness(folder, clock=clock) as witness:
        witness.add_checkpoint(LOG.body(0, 9))
        clock.advance(timedelta(hours=-1))
        line = witness.add_checkpoint(LOG.body(9, 10))
        assert Note.parse(LOG.checkpoint(10) + line).verify([witness.vkey])[witness.vkey] == NOON_S


def test_log_may_sign_with_any_of_its_keys_only(folder: Path) -> None:
    renewed, stranger = make_log_signer(seed=2), make_log_signer(seed=3)
    with open_witness(folder, make_log_signer().vkey, renewed.vkey) as witness:
        witness.add_checkpoint(LOG.body(0, 3))
        witness.add_checkpoint(LogBranch(LOG.leaves, renewed).body(3, 4))
        with pytest.raises(SignatureInvalid, match="not signed by a trusted key"):
            witness.add_checkpoint(LogBranch(LOG.leaves, stranger).body(4, 5))


def test_unconfigured_log_is_not_found(folder: Path) -> None:
    elsewhere = LogBranch(LOG.leaves, make_log_signer("log.example/elsewhere"))
    with open_witness(folder) as witness, pytest.raises(NotFound):
        witness.add_checkpoint(elsewhere.body(0, 3))


def test_the_logs_timestamp_alone_is_not_its_signature(folder: Path) -> None:
    text = LOG.head(3).text
    note = f"{text}\n{LOG.signer.cosign(text, at_s=NOON_S)}"
    with open_witness(folder) as witness, pytest.raises(SignatureInvalid):
        witness.add_checkpoint(Submission(0, (), note).text.encode())


def test_an_old_size_beyond_the_checkpoint_is_a_mistake(folder: Path) -> None:
    with open_witness(folder) as witness, pytest.raises(ValidationFailed, match="exceeds"):
        witness.add_checkpoint(LOG.body(9, 8))


def test_logs_are_identified_by_origin_and_independent(folder: Path) -> None:
    other = LogBranch.of(20, other_from=0, signer=make_log_signer("log.example/other", seed=5))
    with open_witness(folder, LOG.signer.vkey, other.signer.vkey) as witness:
        witness.add_checkpoint(LOG.body(0, 9))
        witness.add_checkpoint(other.body(0, 4))
        witness.add_checkpoint(LOG.body(9, 10))
        assert (cosigned_last(witness, LOG), cosigned_last(witness, other)) == (10, 4)


def test_witness_is_created_once_and_never_without_its_store(folder: Path) -> None:
    """
    A witness that had lost its memory could cosign a fork, so none is made up beside a key.
    """
    vkey = create_witness(folder, name="witness.example/w1", environ={})
    with pytest.raises(Conflict):
        create_witness(folder, name="witness.example/w1", environ={})
    with open_witness(folder) as witness:
        assert witness.vkey == vkey
    (folder / "witness.db").unlink()
    with pytest.raises(NotFound), ExitStack() as stack:
        stack.enter_context(WitnessStore.open(folder))


def test_head_of_a_transaction_that_fails_is_not_remembered(folder: Path) -> None:
    create_witness(folder, name="witness.example/w1", environ={})
    head = TreeHead("log.example/a", 3, bytes(32))

    with WitnessStore.open(folder) as store:
        with pytest.raises(KeyboardInterrupt), store.transaction() as heads:
            heads.put(CosignedHead(head, 1), "note")
            raise KeyboardInterrupt
        assert store.latest(head.origin) is None
        with store.transaction() as heads:
            heads.put(CosignedHead(head, 1), "note")
        assert store.latest(head.origin) == (CosignedHead(head, 1), "note")


BRANCHES = (LogBranch.of(40), LogBranch.of(40, other_from=11), LogBranch.of(40, other_from=0))
SIZES = st.integers(0, 40)


class OneWitness(RuleBasedStateMachine):
    """A log with three histories and no scruples, against one witness that is restarted now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.stack = ExitStack()
        self.known: tuple[bytes, ...] = ()
        self.cosigned: dict[int, bytes] = {}
        self.open()

    def open(self) -> None:
        self.witness: Witness = self.stack.enter_context(open_witness(self.folder / "w"))

    @rule()
    def restart(self) -> None:
        self.stack.close()
        self.open()

    @rule(branch=st.sampled_from(BRANCHES), old=SIZES, size=SIZES)
    def submit_anything(self, branch: LogBranch, old: int, size: int) -> None:
        self.submit(branch, old, size)

    @rule(branch=st.sampled_from(BRANCHES), size=SIZES)
    def submit_from_where_it_stands(self, branch: LogBranch, size: int) -> None:
        self.submit(branch, len(self.known), size)

    @precondition(lambda self: self.known)
    @rule(branch=st.sampled_from(BRANCHES), size=SIZES, flip=st.integers(0, 255))
    def submit_a_damaged_proof(self, branch: LogBranch, size: int, flip: int) -> None:
        sent = branch.submission(len(self.known), size)
        if sent.proof and size > len(self.known):
            damaged = bytes([sent.proof[0][0] ^ (flip or 1)]) + sent.proof[0][1:]
            with pytest.raises(ProofInvalid):
                self.witness.add_checkpoint(
                    Submission(sent.old_size, (damaged, *sent.proof[1:]), sent.checkpoint).text.encode()
                )

    def submit(self, branch: LogBranch, old: int, size: int) -> None:
        expected = self.judged(branch, old, size)
        if expected is not None:
            with pytest.raises(expected):
                self.witness.add_checkpoint(branch.body(old, size))
            return
        self.witness.add_checkpoint(branch.body(old, size))
        self.known = branch.leaves[:size]
        root = branch.head(size).root
        assert self.cosigned.setdefault(size, root) == root, "two trees of one size"

    def judged(self, branch: LogBranch, old: int, size: int) -> type[AttestLabError] | None:
        """What tlog-witness says to a log whose leaves one can see."""
        if old > size:
            return ValidationFailed
        if old != len(self.known):
            return SizeConflict
        return None if branch.leaves[:old] == self.known else ProofInvalid

    @invariant()
    def everything_cosigned_is_a_beginning_of_what_is_known(self) -> None:
        history = LogBranch(self.known, make_log_signer())
        assert all(size <= len(self.known) for size in self.cosigned)
        assert all(history.head(size).root == root for size, root in self.cosigned.items())

    def teardown(self) -> None:
        self.stack.close()
        shutil.rmtree(self.folder)


OneWitness.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
test_whatever_is_handed_to_it_a_witness_cosigns_one_history = OneWitness.TestCase
