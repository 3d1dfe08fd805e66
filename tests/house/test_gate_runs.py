"""The gate itself, on a small project whose tests fail by chance, for good, by hanging, or with a killed process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFIGURATION = """\
[pytest]
testpaths = tests
addopts = --strict-markers -p no:cacheprovider
timeout_method = thread
markers =
    soak: long
    more_in_soak: more examples
    spark: wants Spark
"""
OTHERS = "def test_that_passes():\n    pass\n"
CHANCE = """\
import pathlib
import time

def _is_first(name):
    mark = pathlib.Path("build", name)
    first = not mark.exists()
    mark.touch()
    return first
"""


@dataclass(frozen=True)
class Project:
    """A checkout with the gate and a few tests."""

    folder: Path

    def write_tests(self, name: str, text: str) -> None:
        (self.folder / "tests" / name).write_text(text)

    def commit(self) -> None:
        """Commit everything in a past that is no part of a landing, and then one file, which is."""
        (self.folder / "README").touch()
        self._git("add", "--all", ":!README")
        self._git("commit", "--quiet", "--message", "before", date="2026-01-01T00:00:00Z")
        self._git("add", "README")
        self._git("commit", "--quiet", "--message", "landing", date="2026-01-02T00:00:00Z")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(self.folder / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        plugins = ("-p", "xdist", "-p", "pytest_timeout", "-p", "_hypothesis_pytestplugin")
        command = [sys.executable, "-m", "gate", *arguments, *plugins]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    def _git(self, *arguments: str, date: str = "") -> None:
        environment = {
            **os.environ,
            **{
                f"GIT_{who}_{what}": "committer@lab.example"
                for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            },
            **({"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date} if date else {}),
        }
        subprocess.run(["git", *arguments], cwd=self.folder, env=environment, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with one test that passes."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "build").mkdir()
    (tmp_path / ".gitignore").write_text("build/\n__pycache__/\n")
    (tmp_path / "tests" / "gate").symlink_to(ROOT / "tests" / "gate")
    (tmp_path / "tests" / "flaky.toml").touch()
    (tmp_path / "tests" / "representatives.toml").write_text("representative = []\n")
    (tmp_path / "pytest.ini").write_text(CONFIGURATION)
    made = Project(tmp_path)
    made._git("init", "--quiet")
    made.write_tests("test_others.py", OTHERS)
    return made


def test_chance_is_named_and_counted_and_does_not_refuse(project: Project) -> None:
    project.write_tests(
        "test_chance.py", f"{CHANCE}\ndef test_now_and_then():\n    assert not _is_first('a'), 'port 8080'\n"
    )
    project.commit()

    done = project.run("test")

    assert done.returncode == 0, done.stdout
    assert "== FLAKY tests/test_chance.py::test_now_and_then: passed alone on try 1." in done.stdout
    assert done.stdout.rstrip().endswith("== green, 1 FLAKY")
    (line,) = (project.folder / "build" / "flaky.jsonl").read_text().splitlines()
    assert json.loads(line)["signature"] == "tests/test_chance.py: AssertionError: port #"


def test_a_real_failure_refuses(project: Project) -> None:
    project.write_tests("test_defect.py", "def test_wrong():\n    assert 1 == 2\n")
    project.commit()

    done = project.run("test")

    assert done.returncode == 1
    assert "== RED tests/test_defect.py::test_wrong: failed again when it ran alone." in done.stdout
    assert done.stdout.count("== Again, alone") == 2


HANGS = {
    "a test that waits for too long": (
        "    if _is_first('a'):\n        time.sleep(60)\n",
        ("--timeout", "2"),
        "crashed",
    ),
    "a process that does not end": (
        "    if _is_first('a'):\n        raise TimeoutError('process 1 did not end within 120 s')\n",
        (),
        "a hang is never chance",
    ),
    "a killed process": (
        "    if _is_first('a'):\n        __import__('os').kill(__import__('os').getpid(), 9)\n",
        (),
        "crashed",
    ),
}


@pytest.mark.parametrize("case", HANGS)
def test_what_hangs_or_crashes_is_not_tried_again_although_it_would_pass(project: Project, case: str) -> None:
    body, options, reason = HANGS[case]
    project.write_tests("test_hang.py", f"{CHANCE}\ndef test_hangs():\n{body}")
    project.commit()

    done = project.run("test", *options)

    assert done.returncode == 1, done.stdout
    assert "== RED tests/test_hang.py::test_hangs: " in done.stdout
    assert reason in done.stdout
    assert "== Again, alone" not in done.stdout


def test_four_of_chance_refuse(project: Project) -> None:
    cases = "".join(f"\ndef test_{n}():\n    assert not _is_first('{n}')\n" for n in ("a", "b", "c", "d"))
    project.write_tests("test_chance.py", CHANCE + cases)
    project.commit()

    done = project.run("test")

    assert done.returncode == 1
    assert "== RED 4 tests failed by chance; a run may have 3." in done.stdout


def test_a_test_that_the_landing_touches_is_not_pardoned(project: Project) -> None:
    project.commit()
    project.write_tests("test_chance.py", f"{CHANCE}\ndef test_now_and_then():\n    assert not _is_first('a')\n")

    done = project.run("test")

    assert done.returncode == 1
    assert "test_now_and_then: this landing touches its file" in done.stdout


def test_what_the_landing_touches_runs_three_times(project: Project) -> None:
    project.commit()
    count = "pathlib.Path('build', 'runs').open('a').write('x')"
    project.write_tests("test_new.py", f"import pathlib\n\ndef test_counts():\n    {count}\n")

    done = project.run("test")

    assert done.returncode == 0, done.stdout
    assert (project.folder / "build" / "runs").read_text() == "xxx"


def test_quick_never_tries_again(project: Project) -> None:
    project.write_tests("test_chance.py", f"{CHANCE}\ndef test_now_and_then():\n    assert not _is_first('a')\n")
    project.commit()

    done = project.run("quick")

    assert done.returncode == 1
    assert "Again" not in done.stdout


WRITE_RUNS = """\
import pathlib
import pytest

def _ran(name):
    with pathlib.Path("build", "ran").open("a") as out:
        out.write(name + " ")

def test_cheap(): _ran("cheap")

def test_dear(): _ran("dear")

def test_represents(): _ran("represents")

@pytest.mark.soak
def test_long(): _ran("long")
"""


@pytest.fixture
def tiered(project: Project) -> Callable[[str], list[str]]:
    """Returns the tests that a command runs, of a cheap one, two dear ones and a long one."""
    project.write_tests("test_tiers.py", WRITE_RUNS)
    rows = ["5.0\tbounded\ttests/test_tiers.py::test_dear", "5.0\tbounded\ttests/test_tiers.py::test_represents"]
    (project.folder / "tests" / "costs.tsv").write_text("seconds\tform\ttest\n" + "\n".join(rows) + "\n")
    represented = (
        '[[representative]]\nkind = "dear"\ntest = "tests/test_tiers.py::test_represents"\nreason = "a test"\n'
    )
    (project.folder / "tests" / "representatives.toml").write_text(represented)
    (project.folder / "pytest.ini").write_text(CONFIGURATION.replace("addopts =", 'addopts = -m "not soak"'))
    (project.folder / "tests" / "conftest.py").write_text(
        "from hypothesis import settings\nsettings.register_profile('new-seeds')\nsettings.register_profile('soak')\n"
    )
    project.commit()

    def run(command: str) -> list[str]:
        done = project.run(command)
        assert done.returncode == 0, done.stdout + done.stderr
        return sorted((project.folder / "build" / "ran").read_text().split())

    return run


@pytest.mark.parametrize(
    ("command", "ran"),
    [("quick", ["cheap"]), ("test", ["cheap", "represents"]), ("shard", ["dear", "long"])],
)
def test_a_command_runs_the_tests_of_its_tier(tiered: Callable[[str], list[str]], command: str, ran: list[str]) -> None:
    assert tiered(command) == ran
