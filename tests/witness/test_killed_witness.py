"""A witness that dies between accepting a checkpoint and answering never cosigns another tree in its place."""

from __future__ import annotations

import random
import signal
import threading
import time
from pathlib import Path

import httpx
import pytest

from attestlab.core.errors import IntegrityFailed, ProofInvalid
from attestlab.log.witnessing.submission_policy import PATH
from attestlab.witness.rules import SizeConflict
from attestlab.witness.service import create_witness
from support import patient_http
from support.fork_server import run_command, start_code
from support.in_process_server import wait_until
from support.timeouts import WAIT_TIMEOUT_S
from support.witnesses import LogBranch, WitnessProcess, open_witness

LOG = LogBranch.of(60)
FORK = LogBranch.of(60, other_from=0)
# The true witness with a key that kills the process instead of signing: what was decided never leaves.
DIES_BEFORE_IT_SIGNS = """
import os, signal, sys
from pathlib import Path
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.witnesses import make_log_signer
from attestlab.core.clock import SystemClock
from attestlab.log.note.note import NoteSigner
from attestlab.witness.rules import WitnessedLog
from attestlab.witness.service import Witness
from attestlab.witness.store import WitnessStore

class Deadly(NoteSigner):
    def cosign(self, text, *, at_s):
        os.kill(os.getpid(), signal.SIGKILL)

signer = Deadly("witness.example/w", Ed25519PrivateKey.generate())
with WitnessStore.open(Path(sys.argv[1])) as store:
    logs = [WitnessedLog.of(make_log_signer().vkey)]
    Witness(store, signer, logs=logs, clock=SystemClock()).add_checkpoint(Path(sys.argv[2]).read_bytes())
"""


def killed_while_signing(folder: Path, body: bytes) -> None:
    """Hand `body` to a witness that does not survive it."""
    request = folder.with_suffix(".request")
    request.write_bytes(body)
    with start_code(DIES_BEFORE_IT_SIGNS, str(folder), str(request)) as process:
        assert process.wait() == -signal.SIGKILL


def test_accepted_head_survives_a_kill_before_the_response(tmp_path: Path) -> None:
    create_witness(tmp_path / "w", name="witness.example/w", environ={})
    killed_while_signing(tmp_path / "w", LOG.body(0, 9))

    with open_witness(tmp_path / "w") as witness:
        with pytest.raises(SizeConflict) as refused:
            witness.add_checkpoint(FORK.body(0, 9))
        assert refused.value.size == 9
        with pytest.raises(ProofInvalid, match="fork"):
            witness.add_checkpoint(FORK.body(9, 9))
        assert witness.add_checkpoint(LOG.body(9, 9)), "the log gets the cosignature that it did not see"


def test_witness_killed_at_any_moment_cosigns_one_history(tmp_path: Path) -> None:
    """
    Two histories are handed to it at once, it is killed in the middle of it, and again, and again.
    """
    chance, cosigned = random.Random(4), dict[int, set[bytes]]()
    create_witness(tmp_path / "w", name="witness.example/w", environ={})
    running = WitnessProcess(tmp_path / "w", str(LOG.signer.vkey))
    for life in range(4):
        with running:
            clients = [threading.Thread(target=_fed, args=(running.url, branch, cosigned)) for branch in (LOG, FORK)]
            for thread in clients:
                thread.start()
            if life:  # the first may end before it cosigned anything; a slow machine needs longer than any pause
                wait_until(lambda: bool(cosigned), True)
            time.sleep(chance.uniform(0.02, 0.2) + 0.05 * life)
            running.kill()
            for thread in clients:
                thread.join(WAIT_TIMEOUT_S)

    assert [size for size, roots in cosigned.items() if len(roots) > 1] == []
    histories = [branch for branch in (LOG, FORK) if all({branch.head(n).root} == r for n, r in cosigned.items())]
    assert len(histories) == 1


def _fed(url: str, branch: LogBranch, cosigned: dict[int, set[bytes]]) -> None:
    """Hand over one size after the other, from where the witness says that it stands, until it is gone."""
    known, size = 0, 1
    with patient_http.open_client(base_url=url) as client:
        while size <= len(branch.leaves):
            try:
                answer = client.post(PATH, content=branch.body(known, size))
            except httpx.HTTPError:
                return
            if answer.status_code == 200:
                cosigned.setdefault(size, set()).add(branch.head(size).root)
                known, size = size, size + 1
            elif answer.status_code == 409 and int(answer.text) != known:
                known = int(answer.text)
                size = max(size, known)
            else:  # it knows the other history
                return


@pytest.mark.parametrize("name", ["witness.db", "keyring.key"])
def test_a_witness_without_its_memory_or_its_key_does_not_start(tmp_path: Path, name: str) -> None:
    create_witness(tmp_path / "w", name="witness.example/w", environ={})
    (tmp_path / "w" / name).unlink()
    arguments = ("witness", "serve", "--data", str(tmp_path / "w"), "--log", str(LOG.signer.vkey), "--port", "0")
    done = run_command(*arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_a_key_of_another_witness_does_not_open(tmp_path: Path) -> None:
    for name in ("w", "v"):
        create_witness(tmp_path / name, name="witness.example/w", environ={})
    (tmp_path / "w" / "keyring.key").write_bytes((tmp_path / "v" / "keyring.key").read_bytes())
    with pytest.raises(IntegrityFailed), open_witness(tmp_path / "w"):
        pass
