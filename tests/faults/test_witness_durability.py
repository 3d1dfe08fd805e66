"""A witness syncs its decision before it responds, and may be killed at any write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from attestlab.core.errors import ProofInvalid
from attestlab.log.witnessing.submission_policy import PATH
from attestlab.witness.rules import SizeConflict
from attestlab.witness.service import create_witness
from support import patient_http
from support.faults import strace
from support.witnesses import LogBranch, WitnessProcess, open_witness

LOG = LogBranch.of(20)
FORK = LogBranch.of(20, other_from=5)

pytestmark = strace.needs_strace


@pytest.fixture
def running(tmp_path: Path) -> Iterator[WitnessProcess]:
    """A witness that has cosigned three entries."""
    create_witness(tmp_path / "w", name="witness.example/w", environ={})
    with WitnessProcess(tmp_path / "w", str(LOG.signer.vkey)) as witness:
        assert asked(witness, LOG, 0, 3)
        yield witness


def asked(witness: WitnessProcess, branch: LogBranch, old: int, size: int) -> bool:
    """Whether the witness cosigned; False also where it died over it."""
    try:
        return patient_http.post(witness.url + PATH, content=branch.body(old, size)).status_code == 200
    except httpx.HTTPError:
        return False


def test_witness_syncs_before_it_responds(running: WitnessProcess, tmp_path: Path) -> None:
    recorded = tmp_path / "calls"
    calls = ("pwrite64", "fdatasync", "sendto")
    with strace.attach(running.process.pid, *strace.recording_options(recorded, calls)):
        assert asked(running, LOG, 3, 9)

    calls = [(found[1], "witness.db" in found[2]) for found in re.finditer(r"(\w+)\((.*)", recorded.read_text())]
    kinds = [call for call, is_store in calls if is_store or call == "sendto"]
    assert kinds[-1] == "sendto"
    assert kinds.index("sendto") > max(place for place, call in enumerate(kinds) if call == "fdatasync")
    assert max(place for place, call in enumerate(kinds) if call == "pwrite64") < kinds.index("fdatasync")


@pytest.mark.parametrize(("call", "number"), [("pwrite64", 1), ("pwrite64", 2), ("fdatasync", 1), ("sendto", 1)])
def test_witness_killed_at_any_write_keeps_its_cosigned_heads(running: WitnessProcess, call: str, number: int) -> None:
    with strace.attach(running.process.pid, *strace.injection_options(call, number, "signal=SIGKILL")):
        was_answered = asked(running, LOG, 3, 9)
        running.process.wait()

    with open_witness(running.folder) as witness:
        with pytest.raises(SizeConflict) as stands:
            witness.add_checkpoint(LOG.body(0, 9))
        known = stands.value.size
        assert known in (3, 9)
        assert known == 9 or not (was_answered or call == "sendto")
        first, second = (LOG, FORK) if known == 9 else (FORK, LOG)
        assert witness.add_checkpoint(first.body(known, 9))
        with pytest.raises(ProofInvalid, match="fork"):
            witness.add_checkpoint(second.body(9, 9))
