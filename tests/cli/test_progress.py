"""Long commands show a bar on a terminal, and an interrupt leaves nothing behind that a second run cannot use."""

from __future__ import annotations

import os
import pty
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from attestlab.attestations.minting import MintRequest
from attestlab.cli import rekey
from attestlab.cli.progress import progress_of_start
from attestlab.core.clock import SystemClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.installation import Installation
from attestlab.log import export
from attestlab.settings import Settings
from support.fork_server import get_fork_server
from support.processes import watch_process
from support.timeouts import WAIT_TIMEOUT_S

# `log fsck` in two processes whose parts never end; each says that it has begun.
ENDLESS = """
import os, pathlib, time
import attestlab.integrity.parallel_fsck as checking
from attestlab.cli.main import main
def never_end(*_given):
    pathlib.Path(os.environ["BEGUN"], str(os.getpid())).touch()
    time.sleep(600)
checking._process_count = lambda planned: 2
checking._check_in_process = never_end
main()
"""


@pytest.fixture
def used(tmp_path: Path) -> Settings:
    """A closed installation with an issuer's key and an entry of the log."""
    settings = Settings(data=tmp_path / "data", database_url=None)
    lab, made = Installation.init(settings, clock=SystemClock())
    caller = lab.orgs.service_caller(made.tenant.tenant_id)
    issuer = lab.issuers.create({"name": "N", "domain": "n.example"}, caller=caller, alg=Algorithm.ED25519, kid="k")
    request = MintRequest(issuer_id=issuer.issuer.id, kid="k", schema="degree", claims={"student_name": "Ada"})
    lab.attestations.mint(request, caller=caller)
    lab.close()
    return settings


def run_on_a_terminal(*arguments: str) -> tuple[int, bytes]:
    """Run a command whose stderr is a terminal; returns its exit code, and what the terminal got."""
    terminal, its_end = pty.openpty()
    with open(os.devnull, "w+") as nothing, ThreadPoolExecutor(1) as threads:
        shown = threads.submit(read_terminal, terminal)
        streams = (nothing.fileno(), nothing.fileno(), its_end)
        code = get_fork_server().start_with(streams, "attestlab", *arguments, environment={"TERM": "xterm"}).wait()
        os.close(its_end)
        return code, shown.result()


def read_terminal(terminal: int) -> bytes:
    """What is written to a terminal until its other end is closed."""
    shown = b""
    with suppress(OSError), open(terminal, "rb", buffering=0) as file:
        while piece := file.read(10_000):
            shown += piece
    return shown


@pytest.mark.parametrize(
    ("words", "label"), [(("log", "export", "{out}"), b"exporting"), (("keyring", "rewrap"), b"resealing")]
)
def test_a_long_command_shows_a_bar_that_is_erased(
    used: Settings, tmp_path: Path, words: tuple[str, ...], label: bytes
) -> None:
    where = ("--data", str(used.data))

    code, shown = run_on_a_terminal(*(word.format(out=tmp_path / "out") for word in words), *where)

    assert code == 0, shown
    assert label in shown
    assert re.search(rb"\b(\d+) of \1\b", shown)
    assert shown.rstrip().endswith(b"\x1b[2K")  # the line is erased


def test_a_start_in_a_log_prints_a_line_for_each_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_of_start("Building") as report:
        assert capsys.readouterr() == ("", ""), "nothing that is there already is built"
        for percent in (0, 4, 10, 19, 37, 100):
            report(percent, 100)

    out, errors = capsys.readouterr()
    assert out == ""
    assert errors.splitlines() == [f"Building: {percent} %" for percent in (0, 10, 30, 100)]


def test_an_interrupted_check_ends_at_once_with_its_processes(used: Settings, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    begun.mkdir()
    where = ("--data", str(used.data))
    with open(os.devnull, "w+") as nothing, TemporaryFile("w+") as errors, ExitStack() as watching:
        streams = (nothing.fileno(), nothing.fileno(), errors.fileno())
        variables = {"BEGUN": str(begun)}
        check = get_fork_server().start_with(streams, "code", ENDLESS, "log", "fsck", *where, environment=variables)
        deadline = time.monotonic() + WAIT_TIMEOUT_S
        while len(list(begun.iterdir())) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        processes = [watching.enter_context(watch_process(int(each.name))) for each in begun.iterdir()]
        check.send_signal(signal.SIGINT)
        code = check.wait()
        errors.seek(0)

        assert (code, errors.read()) == (130, "attestlab: Interrupted. The check has no result.\n")
        assert len(processes) == 2
        while remaining := [process.pid for process in processes if not process.has_ended()]:
            assert time.monotonic() < deadline, remaining  # killed, but on a busy machine not yet ended
            time.sleep(0.01)


def test_an_interrupted_rewrap_has_changed_nothing(used: Settings) -> None:
    key = (used.data / "keyring.key").read_bytes()

    def interrupt(_done: int, _of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rekey.rewrap(used, {}, progress=interrupt)
    assert (used.data / "keyring.key").read_bytes() == key
    done = rekey.rewrap(used, {})
    assert done is not None
    assert done.issuer_keys == 1


def test_an_interrupted_export_is_completed_by_the_next(used: Settings, tmp_path: Path) -> None:
    out, seen = tmp_path / "out", []

    def interrupt(done: int, of: int) -> None:
        seen.append((done, of))
        raise KeyboardInterrupt

    with closing(Installation.open(used)) as lab, lab.storage.read() as connection:
        with pytest.raises(KeyboardInterrupt):
            export.export(lab.log, connection, out, progress=interrupt)
        assert not (out / "checkpoint").exists()
        done = export.export(lab.log, connection, out)

    assert seen == [(1, 2)]
    assert done.files == 3
    assert (out / "checkpoint").exists()
