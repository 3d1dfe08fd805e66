"""Install a lock and this project into a virtual environment: with uv, or with pip where uv cannot.

    python3 .ci/install.py VENV LOCK

uv is some ten times faster. It is taken from `requirements.lock` by its hash, as every other package. uv reads no
configuration of pip, so it gets pip's mirrors and certificates handed over. Only the standard library is used here.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FULL_LOCK = ROOT / "requirements.lock"
PINNED = ("--require-hashes", "--no-deps", "--requirement")
EDITABLE = ("--no-index", "--no-deps", "--no-build-isolation", "--editable", str(ROOT))
HANDED_OVER = {  # options of pip, the variables by which uv takes them, and what stands between their values there
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_EXTRA_INDEX_URL", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "no-index": ("UV_NO_INDEX", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "client-cert": ("SSL_CLIENT_CERT", " "),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "proxy": ("ALL_PROXY", " "),
}
SECTIONS = ("global", "install", ":env:")  # a later one wins, as in pip


class Failed(Exception):
    """A command that did not succeed; its text is the last line that the command printed."""


def install(venv: Path, lock: Path) -> None:
    """Install the packages of the lock, and the project as editable."""
    python = venv / "bin" / "python"
    if not python.exists():
        run([sys.executable, "-m", "venv", str(venv)])
    pip = [str(python), "-m", "pip"]
    try:
        with_uv(pip, python, lock)
    except Failed as error:
        print(f"== uv cannot install here ({error}); pip does it, which takes longer.", file=sys.stderr)
        run([*pip, "install", *PINNED, str(lock)])
        run([*pip, "install", "--quiet", *EDITABLE])
        run([*pip, "check"])


def with_uv(pip: Sequence[str], python: Path, lock: Path) -> None:
    """Install by uv, which pip fetches if the environment has none of the version in the lock."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "uv.lock"
        wanted.write_text(find_entry(FULL_LOCK.read_text(), "uv"))
        run([*pip, "install", "--quiet", *PINNED, str(wanted)], said=True)
    environment = {**os.environ, **hand_over(read_options(pip)), "UV_PYTHON": str(python)}
    uv = [str(python.parent / "uv"), "pip"]
    run([*uv, "install", *PINNED, str(lock), *compile_option(os.environ)], environment)
    run([*uv, "install", "--quiet", *EDITABLE], environment)
    run([*uv, "check"], environment)


def find_entry(lock: str, package: str) -> str:
    """Return the lines of a lock that pin a package."""
    found = re.search(rf"^{re.escape(package)}==.*?(?=^\S|\Z)", lock, re.MULTILINE | re.DOTALL)
    if found is None:
        raise Failed(f"the lock has no {package}")
    return found[0]


def read_options(pip: Sequence[str]) -> dict[str, str]:
    """Return what pip is configured with, by files and variables."""
    listed = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=False).stdout
    lines = [re.fullmatch(r"(\S+?)\.([a-z-]+)=(.+)", line) for line in listed.splitlines()]
    found = [(match[1], match[2], str(ast.literal_eval(match[3]))) for match in lines if match is not None]
    return {name: value for section in SECTIONS for each, name, value in found if each == section}


def hand_over(options: Mapping[str, str]) -> dict[str, str]:
    """Return pip's options as variables of uv.

    uv takes a package from the first index that has any version of it; pip looks at all. Hashes make both safe.
    """
    handed = {
        variable: between.join(options[name].split())
        for name, (variable, between) in HANDED_OVER.items()
        if name in options
    }
    return {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_PYTHON_DOWNLOADS": "never", **handed}


def compile_option(environment: Mapping[str, str]) -> list[str]:
    """Compile modules at once where Python may not do it at their first import, or each start compiles them again."""
    return ["--compile-bytecode"] if environment.get("PYTHONDONTWRITEBYTECODE") else []


def run(command: Sequence[str], environment: Mapping[str, str] | None = None, *, said: bool = False) -> None:
    """Run a command, whose output is shown; with `said` only what it says in the end, in the error.

    Raises:
        Failed: the command did not succeed.
    """
    done = subprocess.run(command, env=environment, capture_output=said, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or "").strip().splitlines()
        raise Failed(lines[-1] if lines else f"{Path(command[0]).name}: exit {done.returncode}")


if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036 - any Python may read this file
        sys.exit("AttestLab needs Python 3.11 or newer; select one with: make PYTHON=python3.12")
    try:
        install(Path(sys.argv[1]), Path(sys.argv[2]))
    except Failed as error:
        sys.exit(f"The packages could not be installed: {error}")
