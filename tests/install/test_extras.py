"""The wheel with each of its extras in a clean environment: its modules load, and its doors do what is promised."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path

import pytest

from support import patient_http
from support.clean_environment import ROOT, CleanEnvironment
from support.demo_caches import use_demo_caches

Install = Callable[[str], CleanEnvironment]
LOAD_ALL = """
import importlib, json, pkgutil
found = set()
for root in ("attestlab", "attestlab_dashboards"):
    package = importlib.import_module(root)
    for each in pkgutil.walk_packages(package.__path__, root + ".", onerror=lambda name: None):
        if each.name.endswith(("__main__", "migrations.env")):  # programs
            continue
        try:
            importlib.import_module(each.name)
        except ImportError as error:
            found.add((error.__cause__ or error).name)
print(json.dumps(sorted(found)))
"""
# What is missing where only its user looks: IPython calls one module, an address of PostgreSQL leads to another.
# The states of dashboards are declared with param, which comes with panel.
LACKS = {
    "server": ["IPython", "bokeh", "holoviews", "panel", "param", "psycopg"],
    "postgres": ["IPython", "bokeh", "holoviews", "panel", "param"],
    "dash": ["IPython", "holoviews", "psycopg"],
    "notebook": ["psycopg"],
}
ROWS = """
import sys, attestlab
with attestlab.connect(sys.argv[1], sys.argv[2]) as lab:
    print(lab.log.rel().count("*").fetchall()[0][0] == len(lab.log))
    try:
        lab.log.df()
    except attestlab.AttestLabError as error:
        print(error.message)
"""
OPEN = """
import attestlab
with attestlab.open("lab") as lab:
    print(len(lab.log) == lab.log.head().tree_size)
with attestlab.demo(history=False) as lab:
    print(len(lab.issuers))
"""
EXECUTE = "from nbclient.cli import main; main()"  # as `jupyter execute`


@pytest.fixture(scope="module")
def install(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Install:
    """Install the wheel with an extra, once a module."""
    made: dict[str, CleanEnvironment] = {}

    def install_once(extra: str) -> CleanEnvironment:
        if extra not in made:
            made[extra] = CleanEnvironment(tmp_path_factory.mktemp(extra) / "venv", wheel, extra)
        return made[extra]

    return install_once


@pytest.mark.soak
@pytest.mark.parametrize("extra", LACKS)
def test_an_extra_has_what_the_modules_import(install: Install, extra: str) -> None:
    environment = install(extra)

    assert environment.check() == "No broken requirements found."
    done = environment.run("python", "-c", LOAD_ALL)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == LACKS[extra]


@pytest.mark.soak
def test_a_client_with_the_lake_reads_rows_and_names_what_frames_need(
    install: Install, service: tuple[str, str, str]
) -> None:
    done = install("lake").run("python", "-c", ROWS, *service[:2])

    assert done.returncode == 0, done.stderr
    read, missing = done.stdout.splitlines()
    assert read == "True"
    assert " pandas" in missing
    assert missing.endswith(": pip install 'attestlab[notebook]'")


@pytest.mark.soak
def test_a_client_that_proves_needs_no_server(install: Install) -> None:
    environment = install("prove")

    done = environment.run("attestlab", "policy", "check", str(ROOT / "data/policies/minting-by-verified-issuers.toml"))

    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("can be activated\n")


@pytest.mark.soak
def test_server_of_the_wheel_has_its_pages_and_its_description(
    install: Install, tmp_path: Path, service: tuple[str, str, str]
) -> None:
    environment = install("server")

    described = environment.run("attestlab", "openapi")
    made = environment.run("attestlab", "init", "--data", str(tmp_path / "lab"), "--json")
    checked = environment.run("attestlab", "log", "fsck", "--data", str(tmp_path / "lab"))

    assert described.stdout == patient_http.get(f"{service[0]}/openapi.json").text + "\n"
    assert made.returncode == 0, made.stderr
    assert (checked.returncode, checked.stderr) == (0, "clean\n")


@pytest.mark.soak
def test_a_lab_opens_in_process_with_the_server(install: Install, tmp_path: Path) -> None:
    environment = install("server")
    environment.run("attestlab", "init", "--data", "lab")

    done = environment.run("python", "-c", OPEN, XDG_CACHE_HOME=str(tmp_path))

    assert (done.returncode, done.stdout.split()) == (0, ["True", "8"]), done.stderr


@pytest.mark.soak
@pytest.mark.parametrize(("extra", "has_dashboards"), [("server", False), ("demo", True)])
def test_the_demo_starts_from_the_wheel(install: Install, tmp_path: Path, extra: str, has_dashboards: bool) -> None:
    environment = install(extra)

    with (
        use_demo_caches(),
        environment.start("attestlab", "demo", "--port", "0", "--data", str(tmp_path / "demo")) as demo,
    ):
        assert demo.stdout is not None
        shown = "".join(takewhile(lambda line: line != "Stop with Ctrl-C.\n", demo.stdout))
        url = re.findall(r"AttestLab demo at (\S+)", shown)[0]
        page = patient_http.get(f"{url}/dash/risk")
        os.killpg(demo.pid, signal.SIGINT)  # Ctrl-C of a terminal
        _, talk = demo.communicate()

    other = [line for line in talk.splitlines() if not line.startswith("Building the demo world: ")]
    assert (demo.returncode, other) == (0, []), "such as leaks that nanobind reports"
    assert ("signs in with one click" in shown) is has_dashboards
    assert ("not installed: pip install 'attestlab[dash]'" in shown) is not has_dashboards
    assert (page.status_code, "pip install 'attestlab[dash]'" in page.text) == (
        (302, False) if has_dashboards else (503, True)
    )


@pytest.mark.soak
def test_the_notebooks_of_the_wheel_run_where_they_were_copied(install: Install) -> None:
    environment = install("notebook")
    with use_demo_caches():
        environment.run("attestlab", "notebooks", "books")
        done = environment.run("python", "-c", EXECUTE, "--inplace", "books/00_tour.ipynb")
    book = json.loads((environment.folder / "books" / "00_tour.ipynb").read_text())
    again = environment.run("attestlab", "notebooks", "books")

    assert done.returncode == 0, done.stderr
    outputs = [output for cell in book["cells"] for output in cell.get("outputs", ())]
    assert outputs
    assert [output for output in outputs if output["output_type"] == "error"] == []
    assert (again.returncode, again.stdout) == (2, "")
    assert "00_tour.ipynb" in again.stderr
