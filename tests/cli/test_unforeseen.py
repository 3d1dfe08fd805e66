"""Exit status of a command without a verdict: a package is missing or broken, or the program has an error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from attestlab.cli import commands
from attestlab.cli.main import main
from attestlab.cli.unforeseen import UNFORESEEN
from support.timeouts import WAIT_TIMEOUT_S

RUN = "import sys; sys.modules.update(dict.fromkeys({!r})); from attestlab.cli.main import main; main()"
VERIFY = ("verify", "bundle.json", "--trust", "log.policy")
# All commands whose status 1 is a finding, and one that exports what others verify.
FINDING = [
    VERIFY,
    ("verify", "--help"),
    ("log", "fsck", "--data", "."),
    ("log", "watch", "http://127.0.0.1:1", "--vkey", "x", "--state", "s", "--once"),
    ("policy", "check", "policy.toml"),
    ("trigger", "x", "--endpoint", "x", "--url", "http://127.0.0.1:1"),
    ("mint", "x", "--issuer", "x", "--schema", "x"),
    ("badge", "x", "x.png", "--data", "."),
]


def run(*command: str, missing: tuple[str, ...] = (), cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command where packages are missing, or with those of `cwd` in place of the installed ones."""
    return subprocess.run(
        [sys.executable, "-c", RUN.format(missing), *command],
        capture_output=True,
        text=True,
        timeout=WAIT_TIMEOUT_S,
        cwd=cwd,
        check=False,
    )


@pytest.mark.parametrize("package", ["cryptography", "orjson"])
def test_verify_names_the_package_that_it_lacks(package: str, tmp_path: Path) -> None:
    done = run(*VERIFY, "--json", missing=(package,), cwd=tmp_path)

    message = f"The package {package} is not installed. Install it: pip install attestlab"
    assert (done.returncode, done.stderr) == (3, f"attestlab: {message}\n")
    assert json.loads(done.stdout) == {"verdict": None, "error": message}


@pytest.mark.parametrize("command", FINDING, ids=lambda command: " ".join(command[:2]))
def test_a_missing_package_is_no_finding(command: tuple[str, ...], tmp_path: Path) -> None:
    done = run(*command, missing=("typer", "cryptography"), cwd=tmp_path)

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1), done.stderr
    assert done.stderr.endswith(" is not installed. Install it: pip install attestlab\n")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import _cffi_backend_of_nobody", "ModuleNotFoundError: No module named '_cffi_backend_of_nobody'"),
        ("raise ImportError('libssl.so.3: cannot open shared object file')", "ImportError: libssl.so.3: cannot open"),
        ("raise type('PanicException', (BaseException,), {})('Python API call failed')", "PanicException: Python API"),
        ("raise PermissionError(13, 'Permission denied', '_rust.abi3.so')", "PermissionError: [Errno 13]"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
    ids=["module", "library", "panic", "file", "code"],
)
def test_verify_names_a_package_that_is_broken(body: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "cryptography").mkdir()
    (tmp_path / "cryptography" / "__init__.py").write_text(body)

    done = run(*VERIFY, cwd=tmp_path)

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1), done.stderr
    assert done.stderr.startswith(f"attestlab: The package cryptography cannot be imported: {said}")
    assert done.stderr.endswith(". Install it again: pip install --force-reinstall cryptography\n")


def test_an_error_of_the_program_is_no_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its traceback is for who mends it."""

    def fail(**_: object) -> None:
        raise ArithmeticError("no such number")

    monkeypatch.setattr(commands, "app", fail)
    monkeypatch.setattr(sys, "argv", ["attestlab", "log", "fsck"])

    with pytest.raises(SystemExit) as ended:
        main()

    said = capsys.readouterr().err
    assert ended.value.code == 3
    assert said.startswith("Traceback ")
    assert said.endswith(f"attestlab: {UNFORESEEN} ArithmeticError: no such number\n")
