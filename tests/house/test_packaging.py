"""What installs the project agrees: extras and the errors that name them, the lock, and the file for conda."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from attestlab.core.extras import INCLUDED, PACKAGES, PLAIN

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = {name: [Requirement(wanted) for wanted in listed] for name, listed in PROJECT["optional-dependencies"].items()}
SOURCES = (ROOT / "attestlab", ROOT / "dashboards" / "attestlab_dashboards")
FOR_PEOPLE = ("server", "lake", "prove", "postgres", "stripe", "biscuit", "notebook", "dash", "demo")


def packages_of(extra: str) -> set[str]:
    """The packages that an extra names itself."""
    return {canonicalize_name(each.name) for each in EXTRAS[extra]} - {"attestlab"}


def modules_of(package: str) -> set[str]:
    """The modules that a package installs."""
    return {file.parts[0].removesuffix(".py") for file in distribution(package).files or ()}


@pytest.mark.parametrize("extra", FOR_PEOPLE)
def test_what_names_missing_packages_agrees_with_an_extra(extra: str) -> None:
    """A door names all packages of an extra that are missing, by the table in `core/extras.py`."""
    included = {name for each in EXTRAS[extra] if each.name == "attestlab" for name in each.extras}

    assert set(PACKAGES[extra]) == packages_of(extra)
    assert set(INCLUDED.get(extra, ())) == included
    assert [name for name, module in PACKAGES[extra].items() if module not in modules_of(name)] == []


def test_what_names_missing_packages_agrees_with_a_plain_install() -> None:
    assert set(PLAIN) == {canonicalize_name(Requirement(wanted).name) for wanted in PROJECT["dependencies"]}
    assert [name for name, module in PLAIN.items() if module not in modules_of(name)] == []


def test_every_import_is_of_a_named_package() -> None:
    """Also those in the middle of a function, which fail only when it is called."""
    plain = set().union(*(modules_of(Requirement(wanted).name) for wanted in PROJECT["dependencies"]))
    extra = {module for packages in PACKAGES.values() for module in packages.values()}
    imported = {module for folder in SOURCES for file in folder.rglob("*.py") for module in imported_by(file)}

    # IPython calls what imports it; pydantic pins its core, and brings the types that Python 3.11 lacks; only type
    # checkers have _typeshed, whose types no module imports when it runs.
    ours = {"attestlab", "attestlab_dashboards", "IPython", "pydantic_core", "typing_extensions", "_typeshed"}
    assert imported - plain - extra - ours - sys.stdlib_module_names == set()


def imported_by(file: Path) -> set[str]:
    """The packages that a module imports anywhere."""
    found = list(ast.walk(ast.parse(file.read_text())))
    names = [alias.name for node in found if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in found if isinstance(node, ast.ImportFrom) and node.level == 0]
    return {name.partition(".")[0] for name in names}


def test_the_table_has_the_extras_for_people_alone() -> None:
    assert set(PACKAGES) == set(FOR_PEOPLE) == set(EXTRAS) - {"bench", "dev"}


def test_plain_install_has_none_of_what_an_extra_brings() -> None:
    plain = {canonicalize_name(Requirement(wanted).name) for wanted in PROJECT["dependencies"]}

    assert plain & set().union(*(packages_of(extra) for extra in EXTRAS if extra != "dev")) == set()


def test_all_extras_are_there_and_development_has_everything() -> None:
    assert {"server", "lake", "prove", "notebook", "dash", "postgres", "stripe", "biscuit"} <= set(EXTRAS)
    [everything] = (each.extras for each in EXTRAS["dev"] if each.name == "attestlab")
    assert everything == set(EXTRAS) - {"dev"}


def test_metadata_names_license_and_versions() -> None:
    versions = {name.rpartition(" ")[2] for name in PROJECT["classifiers"] if "Python :: 3." in name}

    assert (PROJECT["license"], PROJECT["license-files"]) == ("Apache-2.0", ["LICENSE"])
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    assert PROJECT["authors"]
    assert {"Homepage", "Documentation", "Changelog"} <= set(PROJECT["urls"])
    assert all(SpecifierSet(PROJECT["requires-python"]).contains(version) for version in versions)


def test_environment_for_conda_is_in_step() -> None:
    """It installs the lock for the versions of Python that the project supports, and promises nothing else."""
    text = (ROOT / "environment.yml").read_text()
    environment = yaml.safe_load(text)
    python, pip, packages = environment["dependencies"]
    supported = SpecifierSet(python.removeprefix("python "))
    classified = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if "Python :: 3." in name]
    locked = set(re.findall(r"^([a-z0-9._-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    promised = re.search(r"They include (.*)\.\n", text)

    # Measured: 23.2.1 wants a version of an extra that a locked package requires, 23.3 takes the locked one.
    assert (environment["name"], pip, packages) == (PROJECT["name"], "pip >=23.3", {"pip": ["-r requirements.lock"]})
    assert [minor for minor in range(30) if supported.contains(f"3.{minor}")] == [
        int(version.removeprefix("3.")) for version in classified
    ]
    assert SpecifierSet(PROJECT["requires-python"]).contains(f"{classified[0]}.0")
    assert promised is not None
    assert set(promised[1].split(", ")) <= locked
