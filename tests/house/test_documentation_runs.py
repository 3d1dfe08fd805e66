"""Every fenced block of README and docs runs, but for the few that say why they cannot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.databases import temporary_postgres_database
from support.demo_caches import use_demo_caches
from support.documentation import (
    PAGES,
    ROOT,
    SHELLS,
    Block,
    DocumentationRun,
    open_documented_world,
    read_blocks,
    require_error,
    require_shown_output,
    runnable_blocks,
    starts_empty,
)
from support.exports import mint_attestation
from support.in_process_server import make_client
from support.issuers import register_issuer

# pycon: docstrings', which `make check` runs; js: tests/webhooks/test_documented_receivers.py;
# nginx: tests/web/test_nginx.py
LANGUAGES = {*SHELLS, "console", "js", "json", "nginx", "pycon", "python", "toml"}
NOT_RUN = {
    ("README.md", "make lab"),
    ("docs/dashboards.md", "sofia = lab.as_"),
    ("docs/delegation.md", "import { readFileSync }"),
    ("docs/log.md", "example.com/attestlab"),
    ("docs/log.md", "witness w1"),
    ("docs/operations.md", "attestlab serve --data DIR --database-url"),
    ("docs/operations.md", "pip install attestlab"),
    ("docs/python.md", "# a cell"),
    ("docs/verification.md", "log example.com/attestlab"),
    ("docs/webhooks.md", "export ATTESTLAB_API_KEY"),
}
FOLLOWED = [page for page in PAGES if starts_empty(page)]
SHOWN_ELSEWHERE = {"README.md"}  # its console block shows the world of the pages, not its own installation
# The contract names EdDSA, which RFC 9864 has since split in two; joserfc warns each time.
pytestmark = pytest.mark.filterwarnings("ignore:EdDSA is deprecated via RFC 9864")


def pages_with(*languages: str) -> list[object]:
    """The pages with a block of these languages that runs in the world of the pages."""
    elsewhere = SHOWN_ELSEWHERE if languages == ("console",) else set()
    pages = [page for page in PAGES if page not in FOLLOWED or page.name in elsewhere]
    return [pytest.param(page, id=page.name) for page in pages if runnable_blocks(page, *languages)]


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory, postgres_url: str) -> Iterator[DocumentationRun]:
    """The one world of all pages, with the policy that docs/policies.md shows."""
    with (
        use_demo_caches(),
        temporary_postgres_database(postgres_url) as database_url,
        open_documented_world(tmp_path_factory.mktemp("documented"), database_url) as made,
    ):
        for page in PAGES:
            for block in runnable_blocks(page, "toml"):
                made.create_policy(block)
        yield made


def test_every_code_block_runs_or_states_why_not() -> None:
    """A block that cannot run is preceded by `<!-- not run: reason -->` and listed in `NOT_RUN`."""
    blocks = [block for page in PAGES for block in read_blocks(page)]
    fences = sum(len(re.findall(r"^ *```", page.read_text(), re.MULTILINE)) for page in PAGES)

    assert fences == 2 * len(blocks), "a fence that is not closed, or closed at another indentation"
    assert [block.place for block in blocks if block.reason is None and block.language not in LANGUAGES] == []
    excused = [block for block in blocks if block.reason is not None]
    assert len(excused) == len(NOT_RUN)
    assert [block.place for block in excused if not _is_listed(block)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_sets_or_explains_the_variables_of_its_commands(page: Path) -> None:
    """The tests' shell has `URL` and others ready; that of a reader has what the page or its words give it."""
    commands = "".join(block.text for block in runnable_blocks(page, *SHELLS))
    words = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    used = set(re.findall(r"\$\{?([A-Z_]{2,})", commands)) - {"PATH", "PWD"}
    made = set(re.findall(r"\b([A-Z_]{2,})=", commands))

    assert [name for name in sorted(used - made) if f"`{name}`" not in words] == []


def _is_listed(block: Block) -> bool:
    page = str(block.page.relative_to(ROOT))
    return any(name == page and block.text.startswith(first) for name, first in NOT_RUN)


@pytest.mark.parametrize("page", pages_with(*SHELLS))
def test_the_commands_of_a_page_succeed(documented: DocumentationRun, page: Path) -> None:
    done = documented.type_shell(page)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", FOLLOWED, ids=lambda page: page.name)
def test_a_stranger_follows_a_page_to_the_letter_and_again(
    documented: DocumentationRun, tmp_path: Path, page: Path
) -> None:
    """From an empty folder, in order, twice; the second time loses nothing that the first one made."""
    first = documented.follow(page, tmp_path)
    made = [tmp_path / name for name in ("init.json", "server.json") if (tmp_path / name).exists()]
    secrets = [file.read_text() for file in made]

    second = documented.follow(page, tmp_path)

    assert [file.read_text() for file in made] == secrets
    if page.name == "quickstart.md":
        verdicts = [re.findall(r"^(?:VALID|ALTERED|exit 1)\b", shown, re.MULTILINE) for shown in (first, second)]
        assert verdicts == [["VALID", "VALID", "ALTERED", "exit 1"]] * 2
    if page.name == "production.md":  # the script prints how many attestations there are, through each door
        assert [re.findall(r"^VALID (\d+)$", shown, re.MULTILINE) for shown in (first, second)] == [
            ["1"] * 2,
            ["2"] * 2,
        ]


@pytest.mark.parametrize("page", pages_with("python"))
def test_the_python_of_a_page_runs(documented: DocumentationRun, page: Path) -> None:
    documented.run_python(page)


@pytest.mark.parametrize("page", pages_with("console"))
def test_a_command_prints_what_its_page_shows(documented: DocumentationRun, page: Path) -> None:
    for block in runnable_blocks(page, "console"):
        require_shown_output(block, documented)


@pytest.mark.parametrize("page", pages_with("json"))
def test_an_error_has_the_shape_that_its_page_shows(documented: DocumentationRun, page: Path) -> None:
    for block in runnable_blocks(page, "json"):
        require_error(block, documented)


def test_the_targets_of_make_that_the_readme_names_exist() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = re.findall(r"^make ([a-z]+)", (ROOT / "README.md").read_text(), re.MULTILINE)

    assert named
    assert set(named) <= set(targets)


def test_exports_page_code_verifies_each_export(documented: DocumentationRun) -> None:
    """Every URL in an export leads somewhere: the server names its own address."""
    reader = documented.run_python(ROOT / "docs" / "exports.md")
    with make_client(documented.url, key=documented.world.made.public()["api_key"]) as client:
        made = mint_attestation(client, register_issuer(client))
        sd_jwt, badge = (client.get(f"/v1/attestations/{made['id']}/{form}").text for form in ("sd-jwt", "open-badge"))

        assert reader["verify_sd_jwt"](sd_jwt)["claims"]["student_name"] == "Ada Lovelace"
        assert reader["verify_badge"](badge)["credentialSubject"]["achievement"]["name"] == "MSc"

        client.post(f"/v1/attestations/{made['id']}/revoke", json={"reason": "a test"})
    for verify, token in ((reader["verify_sd_jwt"], sd_jwt), (reader["verify_badge"], badge)):
        with pytest.raises(AssertionError):
            verify(token)


def test_code_of_exports_page_queries_trusted_addresses_only(
    documented: DocumentationRun,
) -> None:
    reader = documented.run_python(ROOT / "docs" / "exports.md")
    reader["TRUSTED"] = "https://attest.example.org/"
    with make_client(documented.url, key=documented.world.made.public()["api_key"]) as client:
        made = mint_attestation(client, register_issuer(client))
        token = client.get(f"/v1/attestations/{made['id']}/open-badge").text

    with pytest.raises(AssertionError):
        reader["verify_badge"](token)
