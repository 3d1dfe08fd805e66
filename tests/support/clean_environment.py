"""A clean virtual environment with a built wheel of the project and the packages that it asks for, made offline.

The packages are linked from the environment that runs the tests, which has those of the lock.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from support.timeouts import WAIT_TIMEOUT_S

ROOT = Path(__file__).parents[2]


def build_wheel(folder: Path) -> Path:
    """Build the wheel as `python -m build --no-isolation` does."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, env=_plain_environment(), check=True, capture_output=True, text=True)
    [wheel] = folder.glob("attestlab-*.whl")
    return wheel


class CleanEnvironment:
    """A virtual environment in `folder` with the wheel, and what the wheel requires with some of its extras."""

    def __init__(self, folder: Path, wheel: Path, *extras: str) -> None:
        self.folder = folder
        venv.create(folder, with_pip=False, symlinks=True)
        [self._packages] = folder.glob("lib/python*/site-packages")
        self._pip("install", "--no-index", "--no-deps", str(wheel))
        [metadata] = self._packages.glob("attestlab-*.dist-info")
        self.distributions = list(_required_by(Distribution.at(metadata), extras))
        for each in self.distributions:
            self._link(each)

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment, such as `attestlab` or `python`, outside of the source tree."""
        return subprocess.run(
            [str(self.folder / "bin" / command[0]), *command[1:]],
            cwd=self.folder,
            env={**_plain_environment(), **variables},
            capture_output=True,
            text=True,
            timeout=WAIT_TIMEOUT_S,
            check=False,
        )

    def start(self, *command: str, **variables: str) -> subprocess.Popen[str]:
        """Start a command of the environment in a new process group, with pipes for its output."""
        return subprocess.Popen(
            [str(self.folder / "bin" / command[0]), *command[1:]],
            cwd=self.folder,
            env={**_plain_environment(), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )

    @contextmanager
    def without(self, module: str) -> Iterator[None]:
        """Take a module of a package away."""
        link = self._packages / module
        source = link.readlink()
        link.unlink()
        try:
            yield
        finally:
            link.symlink_to(source)

    def check(self) -> str:
        """Return what `pip check` says about requirements that are not met."""
        return self._pip("check").strip()

    def _pip(self, *arguments: str) -> str:
        python = str(self.folder / "bin" / "python")
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, *arguments]
        done = subprocess.run(command, env=_plain_environment(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _link(self, package: Distribution) -> None:
        parts = {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}
        for part in parts:
            (self._packages / part).symlink_to(Path(str(package.locate_file(part))))


def installed_bytes(packages: Iterable[Distribution]) -> int:
    """Return the size of installed packages, without the bytecode that Python makes of them."""
    files = {Path(str(file.locate())).resolve() for package in packages for file in package.files or ()}
    return sum(file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc")


def _required_by(package: Distribution, extras: Iterable[str]) -> Iterator[Distribution]:
    """The packages that a package requires with some extras, and those that they require in turn."""
    wanted, seen = [(package, frozenset(extras))], set()
    while wanted:
        asking, its_extras = wanted.pop()
        for requirement in map(Requirement, asking.requires or ()):
            if not _applies(requirement, its_extras):
                continue
            found = (canonicalize_name(requirement.name), frozenset(requirement.extras))
            if found in seen:
                continue
            seen.add(found)
            is_itself = found[0] == "attestlab"
            wanted.append((package if is_itself else distribution(requirement.name), found[1]))
    yield from (distribution(name) for name in sorted({name for name, _ in seen} - {"attestlab"}))


def _applies(requirement: Requirement, extras: Iterable[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in (*extras, ""))


def _plain_environment() -> dict[str, str]:
    """The variables of this process without those by which Python would find the source tree, and without settings."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ATTESTLAB_"))}
