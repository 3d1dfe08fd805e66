"""Clients that generators make from the OpenAPI document, in Python and Go, do the main job of the quickstart.

`make clients` installs the generators into `.clients`, because they want older packages than the lock has.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.fork_server import run_command
from support.server_process import ServerProcess

pytestmark = pytest.mark.clients

HERE = Path(__file__).parent
PROGRAMS = HERE.parents[1] / ".clients" / "bin"
DOCUMENT = b"any file will do"
# A condition of every form, with a value of every type.
RULE: dict[str, Any] = {
    "id": "known",
    "effect": "ALLOW",
    "priority": 1,
    "when": {
        "all": [
            {"attr": "jurisdiction", "op": "in", "value": ["CH", "NO"]},
            {"any": [{"not": {"attr": "status", "op": "eq", "value": "REVOKED"}}]},
            {"attr": "risk.issuer.deny_listed", "op": "exists", "value": False},
            {"attr": "key.age_days", "op": "lt", "value": 365.25},
        ]
    },
}
POLICY = {
    **{"name": "Known issuers", "category": "MINT", "target_type": "TENANT_DEFAULT", "default_effect": "DENY"},
    "rules": [RULE],
}
GO, GO_MODULE = "openapi_generator_go", "client.example/attestlab/attestlab_api"
GENERATE = {
    "openapi_python_client": "openapi-python-client generate --path {source} --output-path attestlab_api --meta none",
    "openapi_generator": "openapi-generator-cli generate -g python -i {source} -o . --package-name attestlab_api",
    # Go's constants share one name space, so each has the name of its enum.
    GO: "openapi-generator-cli generate -g go -i {source} -o attestlab_api --package-name attestlab_api"
    " --git-host client.example --git-user-id attestlab --git-repo-id attestlab_api"
    " --additional-properties=enumClassPrefix=true",
}


@pytest.mark.parametrize("generator", GENERATE)
def test_generated_client_mints_verifies_and_writes_a_policy(
    generator: str, running: ServerProcess, tmp_path: Path
) -> None:
    # The bundle is taken as it came: a typed model writes times in another form, which no hash matches.
    source, folder = tmp_path / "openapi.json", tmp_path / "client"
    folder.mkdir()
    source.write_text(run_command("openapi").stdout)
    running.start()

    run(folder, *GENERATE[generator].format(source=source).split())
    words = (running.url, running.made["api_key"], hashlib.sha256(DOCUMENT).hexdigest(), json.dumps(POLICY))
    job = prepare_go(folder) if generator == GO else ("python", str(HERE / f"{generator}_job.py"))
    found = json.loads(run(folder, *job, *words))
    (tmp_path / "bundle.json").write_text(found["bundle"])
    (tmp_path / "document").write_bytes(DOCUMENT)
    (tmp_path / "trust.txt").write_text(f"log {running.made['log_vkey']}\nquorum none\n")
    options = ("--file", str(tmp_path / "document"), "--trust", str(tmp_path / "trust.txt"))

    assert found["minted_once"]
    assert found["verdicts"] == ["VALID", "ALTERED"]
    assert found["unknown"]["verdict"] == "NOT_FOUND"
    assert [each["when"] for each in found["rules"]] == [RULE["when"]]
    assert run_command("verify", str(tmp_path / "bundle.json"), *options).returncode == 0
    running.stop()


def prepare_go(folder: Path) -> tuple[str, ...]:
    """Make a module of the job next to the generated one; returns the command that compiles and runs it."""
    module = f"module job\n\ngo 1.18\n\nrequire {GO_MODULE} v0.0.0\n\nreplace {GO_MODULE} => ./attestlab_api\n"
    (folder / "go.mod").write_text(module)
    shutil.copy(HERE / f"{GO}_job.go", folder / "main.go")
    return ("go", "run", ".")


def run(folder: Path, program: str, *arguments: str) -> str:
    """Run a program, of the environment of the generators if it has it, with the generated client on its path."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder), "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
    environment |= {"HOME": str(folder), "GOCACHE": str(folder / "cache"), "GO111MODULE": "on"}
    own = PROGRAMS / program
    done = subprocess.run(
        [str(own) if own.exists() else program, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
