"""Clients that two generators make from the OpenAPI document do the main job of the quickstart: mint and verify.

`make clients` installs the generators into `.clients`, because they want older packages than the lock has.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from support.fork_server import run_command
from support.server_process import ServerProcess

pytestmark = pytest.mark.clients

HERE = Path(__file__).parent
PROGRAMS = HERE.parents[1] / ".clients" / "bin"
DOCUMENT = b"any file will do"
GENERATE = {
    "openapi_python_client": "openapi-python-client generate --path {source} --output-path attestlab_api --meta none",
    "openapi_generator": "openapi-generator-cli generate -g python -i {source} -o . --package-name attestlab_api",
}


@pytest.mark.parametrize("generator", GENERATE)
def test_generated_client_mints_and_verifies(generator: str, running: ServerProcess, tmp_path: Path) -> None:
    # The bundle is taken as it came: a typed model writes times in another form, which no hash matches.
    source, folder = tmp_path / "openapi.json", tmp_path / "client"
    folder.mkdir()
    source.write_text(run_command("openapi").stdout)
    running.start()

    run(folder, *GENERATE[generator].format(source=source).split())
    job = (
        str(HERE / f"{generator}_job.py"),
        running.url,
        running.made["api_key"],
        hashlib.sha256(DOCUMENT).hexdigest(),
    )
    found = json.loads(run(folder, "python", *job))
    (tmp_path / "bundle.json").write_text(found["bundle"])
    (tmp_path / "document").write_bytes(DOCUMENT)
    (tmp_path / "trust.txt").write_text(f"log {running.made['log_vkey']}\nquorum none\n")
    options = ("--file", str(tmp_path / "document"), "--trust", str(tmp_path / "trust.txt"))

    assert found["minted_once"]
    assert found["verdicts"] == ["VALID", "ALTERED"]
    assert found["unknown"]["verdict"] == "NOT_FOUND"
    assert run_command("verify", str(tmp_path / "bundle.json"), *options).returncode == 0
    running.stop()


def run(folder: Path, program: str, *arguments: str) -> str:
    """Run a program of the environment of the generators, with the generated client on its path."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [str(PROGRAMS / program), *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
