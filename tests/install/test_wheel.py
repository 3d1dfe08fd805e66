"""The built wheel in a clean environment: it verifies offline, is a client, has its data, and names what it lacks."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from attestlab.core.extras import list_packages
from attestlab.core.version import VERSION
from support.clean_environment import ROOT, CleanEnvironment, installed_bytes

MAX_PLAIN_BYTES = 40_000_000
CLIENT = """
import json, sys, attestlab
url, key, issuer = sys.argv[1:]
with attestlab.connect(url, key) as lab:
    minted = lab.mint(b"a file", issuer=issuer, schema="degree",
                      claims={"student_name": "Ada", "institution": "London"})
    minted.bundle().save("bundle.json")
    print(json.dumps({
        "online": lab.verify(minted.id, file=b"a file").verdict,
        "altered": lab.verify(minted.id, file=b"another").verdict,
        "offline": lab.verify("bundle.json", file=b"a file").verdict,
        "entry": lab.log.proof(minted.log_index).tree_size > minted.log_index,
        "vkey": str(lab.log.vkey().vkey),
    }))
"""
MISSING = """
import sys, attestlab
with attestlab.connect(sys.argv[1], sys.argv[2]) as lab:
    for attempt in ("attestlab.open('.')", "attestlab.demo()", "lab.attestations.df()", "lab.log.rel()"):
        try:
            eval(attempt)
        except ImportError as error:
            assert isinstance(error, attestlab.AttestLabError)
            print(error)
"""


@pytest.fixture(scope="module")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> CleanEnvironment:
    """The plain install."""
    return CleanEnvironment(tmp_path_factory.mktemp("plain") / "venv", wheel)


def test_wheel_has_every_file_of_the_package_and_the_license(wheel: Path) -> None:
    source = {
        str(path.relative_to(folder))
        for folder, package in ((ROOT, "attestlab"), (ROOT / "dashboards", "attestlab_dashboards"))
        for path in (folder / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        license_text = archive.read(f"attestlab-{VERSION}.dist-info/licenses/LICENSE")

    source |= {f"attestlab/notebooks/{file.name}" for file in (ROOT / "notebooks").glob("*.ipynb")}
    assert source - names == set()
    assert {name for name in names - source if ".dist-info/" not in name} == set()
    assert license_text == (ROOT / "LICENSE").read_bytes()


def test_plain_install_is_small_and_complete(plain: CleanEnvironment) -> None:
    assert plain.check() == "No broken requirements found."
    assert installed_bytes(plain.distributions) < MAX_PLAIN_BYTES


def test_plain_install_has_the_command(plain: CleanEnvironment) -> None:
    done = plain.run("attestlab", "--version")

    assert (done.returncode, done.stdout, done.stderr) == (0, f"attestlab {VERSION}\n", "")
    assert plain.run("attestlab", "--help").returncode == 0


def test_plain_install_is_a_client_and_verifies_offline(plain: CleanEnvironment, service: tuple[str, str, str]) -> None:
    done = plain.run("python", "-c", CLIENT, *service)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (plain.folder / "trust.txt").write_text(f"log {found.pop('vkey')}\nquorum none\n")
    (plain.folder / "document").write_bytes(b"a file")
    words = ("verify", "bundle.json", "--file", "document", "--trust", "trust.txt")

    assert found == {"online": "VALID", "altered": "ALTERED", "offline": "VALID", "entry": True}
    assert plain.run("attestlab", *words).stdout.startswith("VALID")


def test_a_damaged_install_does_not_judge_a_bundle(plain: CleanEnvironment) -> None:
    with plain.without("cryptography"):
        done = plain.run("attestlab", "verify", "bundle.json", "--trust", "trust.txt")

    said = "attestlab: The package cryptography is not installed. Install it: pip install attestlab\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", said)


def test_commands_of_the_plain_install_work_with_a_service(
    plain: CleanEnvironment, service: tuple[str, str, str]
) -> None:
    url, key, issuer = service
    (plain.folder / "diploma.pdf").write_bytes(b"any file will do")
    (plain.folder / "mint.toml").write_bytes((ROOT / "data/policies/minting-by-verified-issuers.toml").read_bytes())
    claims = ("--claim", "student_name=Ada", "--claim", "institution=London")
    commands = [
        ("mint", "diploma.pdf", "--issuer", issuer, "--schema", "degree", *claims, "--url", url, "--json"),
        ("policy", "simulate", "mint.toml", "--url", url, "--json"),
    ]

    for command in commands:
        done = plain.run("attestlab", *command, ATTESTLAB_API_KEY=key)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (("init", "--data", "lab"), "server"),
        (("serve", "--data", ".", "--port", "0"), "server"),
        (("demo", "--port", "0"), "server"),
        (("openapi",), "server"),
        (("notebooks", "lab"), "notebook"),
        (("log", "fsck", "--data", "."), "server"),
        (("keyring", "rewrap", "--data", "."), "server"),
        (("mint", "x", "--issuer", "x", "--schema", "x", "--data", "."), "server"),
        (("witness", "serve", "--data", ".", "--log", "x"), "server"),
        (("policy", "check", "sound.toml"), "prove"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else None,
)
def test_a_command_names_the_extra_that_it_needs(plain: CleanEnvironment, command: tuple[str, ...], extra: str) -> None:
    (plain.folder / "sound.toml").write_bytes((ROOT / "data/policies/minting-by-verified-issuers.toml").read_bytes())

    failed = plain.run("attestlab", *command)

    missing = set(list_packages(extra)) - {canonicalize_name(each.name) for each in plain.distributions}
    assert (failed.returncode, failed.stdout, failed.stderr.count("\n")) == (2, "", 1), failed.stderr
    assert failed.stderr.endswith(f": pip install 'attestlab[{extra}]'\n")
    assert missing == {each for each in list_packages(extra) if re.search(rf"\b{each}(,| and| is| are)", failed.stderr)}
    assert not (plain.folder / "lab").exists()


def test_python_names_the_extra_that_it_needs(plain: CleanEnvironment, service: tuple[str, str, str]) -> None:
    done = plain.run("python", "-c", MISSING, *service[:2])

    assert done.returncode == 0, done.stderr
    named = [line.rpartition("pip install ")[2] for line in done.stdout.splitlines()]
    assert named == ["'attestlab[server]'"] * 2 + ["'attestlab[lake]'"] * 2
