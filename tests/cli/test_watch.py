"""`log watch` and `witness init`, as scripts use them: exit status, one line for each entry and alarm."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from attestlab.log.note.note import SignatureType, VerifierKey
from support.fork_server import run_command, start_command
from support.server_process import run_json_command
from support.timeouts import WAIT_TIMEOUT_S
from support.witnesses import LogBranch, make_log_signer, serve_folder

VKEY = str(make_log_signer().vkey)
SERVED = tuple[str, Path]  # the address of a log, and the folder that it shows


@pytest.fixture
def served(tmp_path: Path) -> Iterator[SERVED]:
    with serve_folder(tmp_path / "public") as url:
        yield url, tmp_path / "public"


def watch(served: SERVED, *options: str) -> subprocess.CompletedProcess[str]:
    url, folder = served
    state = str(folder.with_name("state.json"))
    return run_command("log", "watch", url, "--vkey", VKEY, "--state", state, "--once", *options)


def test_each_entry_is_printed_once_on_a_line(served: SERVED) -> None:
    LogBranch.of(3).publish(served[1], 3)
    first, second = watch(served), watch(served, "--json")

    shown = [json.loads(line) for line in first.stdout.splitlines()]
    assert [(item["log_index"], item["type"], item["entry"]) for item in shown] == [(n, None, None) for n in range(3)]
    unknown = "; 3 have a type that this version does not audit"
    assert (first.returncode, first.stderr) == (0, f"3 entries, 3 of them new{unknown}\n")
    assert (second.returncode, second.stdout) == (0, "")
    counted = json.loads(second.stderr)
    assert (counted["new"], counted["not_audited"]) == (0, 0)


def test_an_alarm_has_a_name_and_ends_with_1(served: SERVED) -> None:
    LogBranch.of(3).publish(served[1], 3)
    watch(served)
    LogBranch.of(4, other_from=2).publish(served[1], 4)
    spoken, as_json = watch(served), watch(served, "--json")

    assert (spoken.returncode, spoken.stdout) == (1, "")
    assert spoken.stderr.startswith("ALARM fork: ")
    alarm = json.loads(as_json.stderr)
    assert alarm["alarm"] == "fork"
    assert (alarm["known"], alarm["shown"]) == (
        LogBranch.of(3).checkpoint(3),
        LogBranch.of(4, other_from=2).checkpoint(4),
    )


def test_invalid_address_exits_2_without_retry(served: SERVED) -> None:
    state = str(served[1].with_name("state.json"))
    done = run_command("log", "watch", "notaurl", "--vkey", VKEY, "--state", state)

    assert (done.returncode, done.stdout) == (2, "")
    assert "'notaurl' is no address of a log. Pass one like" in done.stderr


def test_unreachable_log_exits_3_and_unusable_input_exits_2(served: SERVED, tmp_path: Path) -> None:
    assert watch(served).returncode == 3
    assert watch(served, "--witnessed", str(tmp_path / "none")).returncode == 2
    (tmp_path / "state.json").write_text("{}")
    assert watch(served).returncode == 2


def test_watch_continues_until_an_alarm(served: SERVED) -> None:
    """
    Neither a log that is away nor one that grows ends it.
    """
    url, folder = served
    state = str(folder.with_name("state.json"))
    options = ["--vkey", VKEY, "--state", state, "--interval", "0.1"]
    with start_command("log", "watch", url, *options) as process:
        assert "There is no log" in process.stderr.readline()
        LogBranch.of(1).publish(folder.with_name("next"), 1)
        (folder.with_name("next")).rename(folder / "log")
        assert json.loads(process.stdout.readline())["log_index"] == 0
        LogBranch(LogBranch.of(1).leaves, make_log_signer(seed=2)).publish(folder.with_name("next"), 1)
        (folder.with_name("next") / "checkpoint").replace(folder / "log" / "checkpoint")
        _, talk = process.communicate(timeout=WAIT_TIMEOUT_S)
    assert process.returncode == 1
    assert "ALARM unknown_key" in talk


def test_ctrl_c_ends_watch_without_a_traceback(served: SERVED) -> None:
    LogBranch.of(1).publish(served[1], 1)
    state = str(served[1].with_name("s"))
    with start_command("log", "watch", served[0], "--vkey", VKEY, "--state", state) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, talk = process.communicate(timeout=WAIT_TIMEOUT_S)
    assert "Traceback" not in talk


def test_witness_init_prints_its_key_and_never_overwrites(tmp_path: Path) -> None:
    made = run_json_command("witness", "init", "--data", str(tmp_path / "w"), "--name", "witness.example/w", "--json")
    again = run_command("witness", "init", "--data", str(tmp_path / "w"), "--name", "witness.example/w")

    key = VerifierKey.parse(made["vkey"])
    assert (key.name, key.type) == ("witness.example/w", SignatureType.COSIGNATURE_V1)
    assert (again.returncode, again.stdout) == (2, "")


def test_a_verifier_key_of_small_order_is_refused_by_every_command(served: SERVED, tmp_path: Path) -> None:
    hostile = str(VerifierKey("log.example/a", SignatureType.ED25519, bytes(32)))
    run_json_command("witness", "init", "--data", str(tmp_path / "w"), "--name", "witness.example/w", "--json")
    for command in (
        ["log", "watch", served[0], "--vkey", hostile, "--state", str(tmp_path / "s"), "--once"],
        ["witness", "serve", "--data", str(tmp_path / "w"), "--log", hostile, "--port", "0"],
    ):
        done = run_command(*command)

        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert "the Ed25519 point is of small order" in done.stderr
