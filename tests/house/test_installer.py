"""The installer of `make`: uv by its hash in the lock, with what pip is configured with; else pip."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PIP = (sys.executable, "-m", "pip")
CONFIGURATION = """
[global]
index-url = https://mirror.example/simple
cert = /etc/global.pem
[install]
extra-index-url =
    https://one.example/simple
    https://two.example/simple
find-links = /srv/wheels /srv/more
trusted-host = mirror.example
"""


@pytest.fixture(scope="module")
def installer() -> ModuleType:
    specification = importlib.util.spec_from_file_location("installer", ROOT / ".ci" / "install.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_uv_is_taken_from_the_lock_with_its_hashes(installer: ModuleType) -> None:
    entry = installer.find_entry((ROOT / "requirements.lock").read_text(), "uv")

    assert entry.startswith("uv==")
    assert {line.strip().partition(":")[0] for line in entry.splitlines()[1:]} == {"--hash=sha256"}


def test_uv_gets_the_mirror_and_the_certificate_of_pip(
    installer: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable wins over a file, as with pip."""
    (tmp_path / "pip.conf").write_text(CONFIGURATION)
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_TRUSTED_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_CERT", "/etc/mine.pem")

    handed = installer.hand_over(installer.read_options(PIP))

    assert {name: handed[name] for name in handed if name != "ALL_PROXY"} == {
        "UV_DEFAULT_INDEX": "https://mirror.example/simple",
        "UV_EXTRA_INDEX_URL": "https://one.example/simple https://two.example/simple",
        "UV_FIND_LINKS": "/srv/wheels,/srv/more",
        "UV_INSECURE_HOST": "mirror.example",
        "SSL_CERT_FILE": "/etc/mine.pem",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_PYTHON_DOWNLOADS": "never",
    }


def test_modules_are_compiled_where_python_may_not(installer: ModuleType) -> None:
    assert installer.compile_option({"PYTHONDONTWRITEBYTECODE": "1"}) == ["--compile-bytecode"]
    assert installer.compile_option({"PYTHONDONTWRITEBYTECODE": ""}) == []


def test_a_command_that_fails_is_an_error_with_its_last_line(installer: ModuleType) -> None:
    said = "import sys; print('first', file=sys.stderr); sys.exit('no room')"
    with pytest.raises(installer.Failed, match=r"^no room$"):
        installer.run([sys.executable, "-c", said], said=True)


@pytest.mark.soak
def test_pip_installs_where_uv_cannot(tmp_path: Path) -> None:
    """Here neither can: the index has a wheel with another hash, and no uv. Nothing counts as installed."""
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "tiny-1.0-py3-none-any.whl").write_bytes(b"not what was locked")
    lock = tmp_path / "a.lock"
    lock.write_text(f"tiny==1.0 --hash=sha256:{hashlib.sha256(b'what was locked').hexdigest()}\n")
    environment = {"PATH": "/usr/bin:/bin", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "links")}

    command = [sys.executable, str(ROOT / ".ci" / "install.py"), str(tmp_path / "venv"), str(lock)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    assert done.returncode == 1
    assert "uv cannot install here (ERROR: No matching distribution found for uv==" in done.stderr
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr
    assert done.stderr.rstrip().endswith("The packages could not be installed: python: exit 1")
