"""The command line, as scripts use it: output, exit status and errors."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import attestlab
from attestlab.demos.people import PASSWORD
from support import patient_http
from support.attestations import make_mint_body, mint
from support.dashboards.demo_server import copy_demo
from support.fork_server import run_command, start_code, start_command
from support.issuers import register_issuer
from support.server_process import COMMAND, ServerProcess, run_json_command
from support.timeouts import WAIT_TIMEOUT_S

STOPS = 5
HEAD_THAT_AWAITS_CONTINUE = (
    b"POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Length: 9\r\nExpect: 100-continue\r\n\r\n"
)
COUNT_OF_SCHEMAS = 'attestlab_http_requests_total{method="GET",route="/v1/schemas",status="200"}'


@contextmanager
def typed(*arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A command as the shell starts it, which loads everything itself, until SIGTERM ends it."""
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)


def first_line(process: subprocess.Popen[str]) -> str:
    """What a command prints once it is ready."""
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.fixture
def bundle(tmp_path: Path) -> tuple[Path, Path]:
    """A bundle and the policy that trusts its log."""
    with ServerProcess.initialised(tmp_path / "data", f"sqlite:///{tmp_path / 'r.db'}") as server:
        with server.client() as client:
            made = mint(client, make_mint_body(register_issuer(client))).json()
            found = client.get(f"/v1/attestations/{made['id']}/proof-bundle").content
        server.stop()
    (tmp_path / "bundle.json").write_bytes(found)
    (tmp_path / "log.policy").write_text(f"log {server.made['log_vkey']}\nquorum none\n")
    return tmp_path / "bundle.json", tmp_path / "log.policy"


def test_init_prints_credentials_only_once(tmp_path: Path) -> None:
    made = run_json_command("init", "--data", str(tmp_path / "d"), "--json")
    again = run_command("init", "--data", str(tmp_path / "d"), "--json")

    assert set(made) == {"tenant_id", "org_id", "owner_email", "owner_password", "api_key", "log_vkey"}
    assert (again.returncode, again.stdout) == (2, "")
    assert "initialized already" in again.stderr
    assert run_json_command("log", "vkey", "--data", str(tmp_path / "d"), "--json") == {"vkey": made["log_vkey"]}


def test_a_further_tenant_gets_the_same_object(tmp_path: Path) -> None:
    made = run_json_command("init", "--data", str(tmp_path), "--json")
    other = run_json_command(
        "tenant", "create", "Registry of Deeds", "--plan", "STARTER", "--data", str(tmp_path), "--json"
    )

    assert set(other) == set(made)
    assert other["tenant_id"] != made["tenant_id"]
    assert run_command("tenant", "create", "X", "--plan", "GOLD", "--data", str(tmp_path)).returncode == 2


def test_serve_initializes_an_empty_folder_of_the_environment(tmp_path: Path) -> None:
    with typed("serve", "--port", "0", ATTESTLAB_DATA=str(tmp_path)) as process:
        url = first_line(process).removeprefix("ready ").strip()
        assert patient_http.get(url + "/healthz").json() == {"status": "ok"}
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=WAIT_TIMEOUT_S)

    assert process.returncode == 0
    assert '"api_key"' in errors


def test_a_server_that_gets_sigterm_until_it_ends_exits_with_0(tmp_path: Path) -> None:
    """A service manager may repeat the signal, also while the records are being closed."""
    with ServerProcess.initialised(tmp_path / "data", f"sqlite:///{tmp_path / 'r.db'}") as server:
        assert server.process is not None
        while server.process.poll() is None:
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.0005)

        assert server.process.wait() == 0, server.errors()


def test_sigterm_finishes_accepted_requests(tmp_path: Path) -> None:
    with ServerProcess.initialised(tmp_path / "data", f"sqlite:///{tmp_path / 'r.db'}") as server:
        assert server.process is not None
        with server.client() as client:
            body = make_mint_body(register_issuer(client, alg="RS512"))
            # The request arrives while the server sleeps; when it wakes, SIGTERM is there as well.
            os.kill(server.process.pid, signal.SIGSTOP)
            awaken = f"sleep 0.5; kill -TERM {server.process.pid}; kill -CONT {server.process.pid}"
            with subprocess.Popen(["sh", "-c", awaken]):
                answer = mint(client, body)
        server.stop()

    assert answer.status_code == 201
    server.check()


def find_roles(url: str, address: str, password: str) -> list[str]:
    """The roles of a person who signs in over HTTP."""
    with attestlab.connect(url) as lab:
        return list(lab.as_(address, password=password).me().roles)


def find_realm(url: str, address: str, password: str) -> str:
    """The realm of a person who signs in over HTTP."""
    with attestlab.connect(url) as lab:
        return str(lab.as_(address, password=password).me().realm)


@pytest.fixture
def demo_folder(tmp_path: Path) -> Path:
    """A demo that an earlier start has made."""
    copy_demo(tmp_path / "demo")
    return tmp_path / "demo"


def test_a_demo_prints_its_people_with_their_roles(demo_folder: Path) -> None:
    with start_command("demo", "--port", "0", "--data", str(demo_folder)) as process:
        printed = "".join(line for line, _ in zip(process.stdout, range(16), strict=False))

    stored = json.loads((demo_folder / "demo.json").read_text())
    assert f"people    password {stored['people_password']}" in printed
    assert re.findall(r"^ +(\w+@demo\.example)  (\w+)$", printed, re.MULTILINE) == [*stored["people"].items()]
    assert re.findall(r"^ +(\w+@people\.example)  /u/(\w+)$", printed, re.MULTILINE) == [*stored["consumers"].items()]
    assert re.search(r"^  consumers http://\S+/signin with the same password$", printed, re.MULTILINE)
    assert stored["people_password"] != PASSWORD  # that of the demo in process is public


def test_demo_serves_its_page_and_api(demo_folder: Path) -> None:
    with start_command("demo", "--port", "0", "--data", str(demo_folder), "--json") as process:
        shown = json.loads(process.stdout.readline())
        found = patient_http.post(shown["url"] + "/v1/verify", json={"attestation_id": shown["attestation_id"]}).json()
        key = {"X-API-Key": shown["api_key"]}
        issuers = patient_http.get(shown["url"] + "/v1/issuers", headers=key).json()["items"]
        consumers = {each: find_realm(shown["url"], each, shown["people_password"]) for each in shown["consumers"]}
        roles = {address: find_roles(shown["url"], address, shown["people_password"]) for address in shown["people"]}

    assert {"url", "api_key", "owner_password", "log_vkey"} < set(shown)
    assert consumers == dict.fromkeys(shown["consumers"], "consumer")
    assert roles == {address: [role] for address, role in shown["people"].items()}
    assert sorted(shown["people"].values()) == ["admin", "owner", "reviewer"]
    assert found["verdict"] == "VALID"
    assert sorted({issuer["trust_tier"] for issuer in issuers}) == ["BASIC", "ENTERPRISE", "SELF_SIGNED", "VERIFIED"]
    assert len(issuers) == 9  # with that of the platform


def test_verify_exit_status_follows_the_verdict(bundle: tuple[Path, Path], tmp_path: Path) -> None:
    sound, policy = bundle
    changed: dict[str, Any] = json.loads(sound.read_text())
    changed["attestation"]["payload"]["claims"]["degree_type"] = "PhD"
    altered, junk = tmp_path / "altered.json", tmp_path / "junk.json"
    altered.write_text(json.dumps(changed))
    junk.write_text("{}")

    assert run_command("verify", str(sound), "--trust", str(policy)).returncode == 0
    assert run_command("verify", str(sound), ATTESTLAB_TRUST=str(policy)).returncode == 0
    assert run_command("verify", str(altered), "--trust", str(policy)).returncode == 1
    assert run_command("verify", str(junk), "--trust", str(policy)).returncode == 2
    assert run_command("verify", str(tmp_path / "none.json"), "--trust", str(policy)).returncode == 2
    assert run_command("verify", str(sound)).returncode == 3
    assert run_command("verify", str(sound), "--trust", str(junk)).returncode == 3
    unchecked = run_command("verify", str(sound), "--file", str(policy), "--trust", str(policy))
    assert (unchecked.returncode, "has no document hash" in unchecked.stderr) == (3, True)


def test_verify_prints_checked_and_unchecked_steps(bundle: tuple[Path, Path]) -> None:
    done = run_command("verify", str(bundle[0]), "--trust", str(bundle[1]))

    assert done.stdout.startswith("VALID")
    assert "transparency_proof_ok" in done.stdout
    assert "not checked offline" in done.stdout


def test_fsck_tells_clean_from_damaged(tmp_path: Path) -> None:
    import sqlite3

    run_json_command("init", "--data", str(tmp_path), "--json")
    clean = run_command("log", "fsck", "--data", str(tmp_path), "--json")
    with sqlite3.connect(tmp_path / "records.db") as database:
        database.execute("UPDATE tenants SET plan = 'FREE'")
    database.close()
    damaged = run_command("log", "fsck", "--data", str(tmp_path), "--json")

    assert (clean.returncode, json.loads(clean.stdout)["clean"]) == (0, True)
    assert (damaged.returncode, json.loads(damaged.stdout)["problems"][0]["kind"]) == (1, "tenant")


def test_an_export_is_a_tile_tree_with_its_checkpoint(tmp_path: Path) -> None:
    run_json_command("init", "--data", str(tmp_path / "d"), "--json")
    exported = run_json_command("log", "export", str(tmp_path / "out"), "--data", str(tmp_path / "d"), "--json")

    assert exported["tree_size"] == 2, "the status of the platform's issuer, and that of its key"
    assert (tmp_path / "out" / "checkpoint").read_text().splitlines()[1] == "2"


def test_folder_without_an_installation_is_an_error(tmp_path: Path) -> None:
    done = run_command("log", "vkey", "--data", str(tmp_path))

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("attestlab: ")


@pytest.mark.parametrize("command", [("init",), ("serve", "--port", "0"), ("log", "fsck")])
def test_missing_kek_leaves_the_installation_unchanged(tmp_path: Path, command: tuple[str, ...]) -> None:
    """
    A new key beside an old log would open nothing, and be kept in place of the one that does.
    """
    run_json_command("init", "--data", str(tmp_path), "--json")
    (tmp_path / "keyring.key").rename(tmp_path / "elsewhere")

    refused = run_command(*command, "--data", str(tmp_path))

    assert (refused.returncode, "ready" in refused.stdout) == (2, False)
    assert not (tmp_path / "keyring.key").exists()
    assert len(refused.stderr.splitlines()) == 1


def test_kek_of_another_installation_is_rejected_at_start(tmp_path: Path) -> None:
    for name in ("one", "other"):
        run_json_command("init", "--data", str(tmp_path / name), "--json")
    shutil.copy(tmp_path / "other" / "keyring.key", tmp_path / "one" / "keyring.key")

    refused = run_command("serve", "--port", "0", "--data", str(tmp_path / "one"))

    assert refused.returncode == 2
    assert "key-encryption key" in refused.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("init", "--data", "/etc/passwd"),
        ("serve", "--port", "0", "--host", "999.1.1.1"),
        ("serve", "--port", "0", "--database-url", "mysql://x/y"),
        ("serve", "--port", "0", "--database-url", "postgresql://absent@127.0.0.1:1/nothing"),
        ("log", "fsck", "--database-url", "postgresql://absent@127.0.0.1:1/nothing"),
        ("log", "export", "/proc/nowhere"),
    ],
    ids=lambda command: " ".join(command[:3]),
)
def test_unusable_input_is_one_line_and_exit_2(tmp_path: Path, command: tuple[str, ...]) -> None:
    if "--data" not in command:
        run_json_command("init", "--data", str(tmp_path), "--json")
        command = (*command, "--data", str(tmp_path))

    failed = run_command(*command)

    assert (failed.returncode, failed.stdout) == (2, "")
    assert "Traceback" not in failed.stderr
    assert failed.stderr.startswith("attestlab: ")


def test_a_setting_that_makes_no_sense_is_named(tmp_path: Path) -> None:
    failed = run_command("serve", "--port", "0", "--data", str(tmp_path), ATTESTLAB_BODY_TIMEOUT_S="soon")

    assert failed.returncode == 2
    assert "body_timeout_s" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_records_that_are_no_database_are_a_problem(tmp_path: Path) -> None:
    run_json_command("init", "--data", str(tmp_path), "--json")
    for name in ("records.db", "records.db-wal", "records.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / "records.db").write_bytes(b"this is no database, " * 1000)

    found = run_command("log", "fsck", "--data", str(tmp_path))

    assert (found.returncode, "cannot be read" in found.stdout) == (1, True)


@pytest.mark.parametrize("command", [("serve",), ("demo",)])
def test_a_port_in_use_is_named_and_nothing_is_made(tmp_path: Path, command: tuple[str, ...]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        failed = run_command(*command, "--data", str(tmp_path), "--port", str(port))

    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr == (
        f"attestlab: Port {port} of 127.0.0.1 is in use. Stop the program that has it, or choose another one with "
        "--port (0 takes a free one).\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_serve_makes_nothing_in_a_missing_folder(tmp_path: Path) -> None:
    missing = tmp_path / "mistyped"

    failed = run_command("serve", "--data", str(missing), "--port", "0")

    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.endswith(f"Create an installation: attestlab init --data {missing}\n")
    assert not missing.exists()


def test_when_several_workers_stop_the_port_is_free_at_once(tmp_path: Path) -> None:
    """
    While one of them still finishes what it accepted, no client is admitted to be cut off.

    A worker finishes within seconds, which a machine may also take to run this test; then it stops them once more.
    """
    server = ServerProcess.initialised(tmp_path, f"sqlite:///{tmp_path / 'r.db'}")

    assert any(refuses_before_it_ends(server) for _ in range(STOPS))


def refuses_before_it_ends(server: ServerProcess) -> bool:
    """Stop workers of which one waits for a body; whether they refused a connection before they closed that one."""
    with server.start("--workers", "2"):
        assert server.process is not None
        address = ("127.0.0.1", int(server.url.rpartition(":")[2]))
        with socket.create_connection(address, WAIT_TIMEOUT_S) as slow:
            slow.sendall(HEAD_THAT_AWAITS_CONTINUE)
            assert slow.recv(100).startswith(b"HTTP/1.1 100 ")
            server.process.send_signal(signal.SIGTERM)
            while is_admitted(address):
                time.sleep(0.01)
            is_open = not select.select([slow], [], [], 0)[0]
        assert server.process.wait() == 0, server.errors()
    return is_open


def is_admitted(address: tuple[str, int]) -> bool:
    try:
        with socket.create_connection(address, WAIT_TIMEOUT_S):
            return True
    except ConnectionRefusedError:
        return False


def test_any_worker_reports_the_metrics_of_all(tmp_path: Path) -> None:
    """From a fresh start, because metrics choose when they are imported how they are counted."""
    counted = []
    with typed("serve", "--port", "0", "--workers", "2", "--data", str(tmp_path)) as process:
        url = first_line(process).split()[1]
        for _ in range(20):
            patient_http.get(f"{url}/v1/schemas")
            lines = patient_http.get(f"{url}/metrics").text.splitlines()
            counted += [float(line.split()[-1]) for line in lines if line.startswith(COUNT_OF_SCHEMAS)]

    assert counted == list(range(1, 21))


DEMO_WITH_THE_SHARED_WORLD = """
import tempfile
from attestlab.cli.main import main
from attestlab.demos import served
from support.dashboards.demo_server import copy_demo

def copy_world(folder, *, report_progress):
    report_progress(0.0)
    copy_demo(folder)
    return served.read_credentials(folder)

tempfile.tempdir = None  # the place is looked up again
served.create_world = copy_world
main()
"""


def test_demo_ignores_the_database_of_the_environment(tmp_path: Path) -> None:
    """Nor does the creation of its world use it, which `build_world` checks where the tests' world is built."""
    with tempfile.TemporaryDirectory(prefix="long" * 20) as place:
        environment = {"ATTESTLAB_DATABASE_URL": f"sqlite:///{place}/precious.db", "TMPDIR": place}
        environment["XDG_CACHE_HOME"] = str(tmp_path)
        with start_code(DEMO_WITH_THE_SHARED_WORLD, "demo", "--port", "0", "--json", **environment) as process:
            shown = json.loads(process.stdout.readline())
            lines = [process.stderr.readline() for _ in range(2)]
            with attestlab.connect(shown["url"], shown["api_key"]) as lab:
                assert len(lab.issuers) == 9
            assert [*Path(place).glob("attestlab-demo-*/demo.json")] != []

        assert lines == [f"Building the demo world: {percent} %\n" for percent in (0, 100)]
        assert process.returncode == 0
        assert os.listdir(place) == [], "what it made for itself is gone with it"


WITHOUT = "import sys; sys.modules.update(dict.fromkeys({!r})); from attestlab.cli.main import main; main()"


@pytest.mark.parametrize(
    ("missing", "command", "said"),
    [
        (
            ("PIL",),
            ["demo", "--port", "0"],
            "attestlab: The package pillow is not installed. Install it: pip install 'attestlab[server]'\n",
        ),
        (
            ("c2pa", "dns", "z3"),
            ["demo", "--port", "0"],
            "attestlab: The packages c2pa-python, dnspython and z3-solver are not installed. "
            "Install them: pip install 'attestlab[server]'\n",
        ),
        (
            ("psycopg",),
            ["log", "vkey", "--data", ".", "--database-url", "postgresql://nowhere.example/records"],
            "attestlab: The package psycopg is not installed. Install it: pip install 'attestlab[postgres]'\n",
        ),
    ],
    ids=["pillow", "three", "a driver"],
)
def test_missing_packages_are_named_in_one_line(
    missing: tuple[str, ...], command: list[str], said: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(missing), *command],
        capture_output=True,
        text=True,
        timeout=WAIT_TIMEOUT_S,
        cwd=tmp_path,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_a_misspelt_variable_is_named_when_the_server_starts(tmp_path: Path) -> None:
    environment = {"ATTESTLAB_PORTAL_ULR": "https://x.example", "ATTESTLAB_KEK_NEXT": "", "OTHER": "1"}
    with start_command("serve", "--port", "0", "--data", str(tmp_path), **environment) as process:
        assert process.stdout.readline().startswith("ready ")
        process.send_signal(signal.SIGTERM)
        _, talk = process.communicate(timeout=WAIT_TIMEOUT_S)

    assert [line for line in talk.splitlines() if "environment variable" in line] == [
        "attestlab: The environment variable ATTESTLAB_PORTAL_ULR is not read. Did you mean 'ATTESTLAB_PORTAL_URL'?"
    ]
