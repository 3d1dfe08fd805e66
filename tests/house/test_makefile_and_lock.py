"""The house: what a newcomer types works, and what the project locks names no place to fetch it from."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from attestlab.core.extras import list_packages

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements.lock", "requirements-run.lock")
BASE = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
TARGET = re.compile(r"^([a-z]+):", re.MULTILINE)


def test_make_without_target_lists_every_target():
    """`make` is the first thing that one types, so it explains itself and does nothing."""
    targets = set(TARGET.findall((ROOT / "Makefile").read_text()))

    done = subprocess.run(["make", "-C", str(ROOT), "--no-print-directory"], capture_output=True, text=True, check=True)

    listed = {line.split()[1] for line in done.stdout.splitlines()}
    assert listed == targets


def test_pre_commit_calls_what_make_check_calls():
    """The hooks are local: the same programs of .venv, in the same order."""
    makefile = (ROOT / "Makefile").read_text()
    (parts,) = re.findall(r"^check:.*\n\t.* --jobs 2 --output-sync=target (.+)\n", makefile, re.MULTILINE)
    recipes = "".join(re.findall(rf"^(?:{'|'.join(parts.split())}):\n((?:\t.*\n)+)", makefile, re.MULTILINE))
    commands = [line.strip().replace("$(BIN)", ".venv/bin").removesuffix(" .") for line in recipes.splitlines()]
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    entries = [hook["entry"].removeprefix("env ").removesuffix(" --force-exclude") for hook in repository["hooks"]]

    assert repository["repo"] == "local"
    assert entries == commands, "bring .pre-commit-config.yaml and the target check of the Makefile into step"


def test_jupyterlab_asks_its_user_nothing_about_news(tmp_path: Path) -> None:
    """The settings that `make lab` names answer the question of the first start, for each user."""
    pytest.importorskip("jupyterlab")
    from jupyterlab.commands import get_app_dir
    from jupyterlab_server.settings_utils import get_settings

    (folder,) = re.findall(r"--LabApp\.app_settings_dir=(\S+)", (ROOT / "Makefile").read_text())
    found, _ = get_settings(
        str(ROOT / folder),
        str(Path(get_app_dir()) / "schemas"),
        str(tmp_path),
        schema_name="@jupyterlab/apputils-extension:notification",
    )
    defaults = found["schema"]["properties"]

    assert (defaults["fetchNews"]["default"], defaults["checkForUpdates"]["default"]) == ("false", False)


@pytest.mark.parametrize(("user", "arguments", "code"), [(0, "", 2), (0, "--port=9000 --allow-root", 0), (1000, "", 0)])
def test_root_gets_the_line_that_starts_jupyterlab(tmp_path: Path, user: int, arguments: str, code: int) -> None:
    """JupyterLab refuses root, which is often the only user of a container."""
    (tmp_path / "id").write_text(f"#!/bin/sh\necho {user}\n")
    (tmp_path / "id").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}

    done = subprocess.run(
        ["make", "-C", str(ROOT), "--no-print-directory", "lab_user", f"ARGS={arguments}"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )

    assert done.returncode == code
    assert ('make lab ARGS="--allow-root"' in done.stderr) is (code != 0)
    assert "\nlab: lab_user setup " in (ROOT / "Makefile").read_text(), "it comes before the setup"


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_is_pinned_with_a_hash(lock: str) -> None:
    """`pip install --require-hashes` takes the lock as it stands."""
    packages = _list_entries(lock)

    assert len(packages) > 50
    assert [entry.split()[0] for entry in packages if "==" not in entry or "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_names_no_index_host(lock: str) -> None:
    """The machine that installs it chooses the package index."""
    assert [line for line in (ROOT / lock).read_text().splitlines() if "://" in line] == []


def test_lock_has_every_direct_dependency():
    """A dependency that was added without `make lock` is noticed here, not on someone's machine."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    asked = {_name(wanted) for group in (project["dependencies"], *extras) for wanted in group} - {"attestlab"}

    assert asked - {_name(entry) for entry in _list_entries("requirements.lock")} == set()


def test_the_lock_of_make_run_is_a_part_of_the_other() -> None:
    """It has what the demo needs, in the same versions and with the same hashes."""
    whole = {_pin_of(entry) for entry in _list_entries("requirements.lock")}
    part = {_pin_of(entry) for entry in _list_entries("requirements-run.lock")}
    needed = {"hatchling", "editables", *map(_name, (*list_packages("demo"), *BASE))}

    assert part - whole == set()
    assert needed - {name for name, _, _ in part} == set()


def _list_entries(lock: str) -> list[str]:
    """The lines of each package of a lock."""
    return re.split(r"\n(?=\S)", (ROOT / lock).read_text().strip())


def _pin_of(entry: str) -> tuple[str, str, frozenset[str]]:
    """The name, version and hashes of a package."""
    version = re.search(r"==(\S+)", entry)
    assert version is not None
    return _name(entry), version[1], frozenset(re.findall(r"sha256:[0-9a-f]{64}", entry))


def _name(requirement: str) -> str:
    """The package's name as PEP 503 spells it."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def test_ci_runs_the_documented_targets():
    """`.ci/run` ends with `make check test shard`, so that green there is green here."""
    lines = (ROOT / ".ci" / "run").read_text().splitlines()

    assert [line for line in lines if line.startswith("make")] == ["make check test shard"]
    assert lines[-1] == "make check test shard"
