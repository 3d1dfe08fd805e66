"""The documentation as a program: its fenced blocks, and one small served world in which they run."""

from __future__ import annotations

import doctest
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

from attestlab.attestations.minting import MintRequest
from attestlab.attestations.results import Minted
from attestlab.client.lab import Lab
from attestlab.core.clock import SystemClock
from attestlab.core.strict_json import parse_json
from attestlab.demos.world import DemoWorld, demo_world
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.policy.analysis.analyzer import analyze
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.formats.toml import parse_toml
from attestlab.policy.language import policy_tests
from attestlab.policy.language.attributes import PLATFORM
from support import patient_http
from support.fork_server import write_command
from support.ports import hold_port
from support.server_process import ServerProcess

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SHELLS = ("bash", "sh")
SHELL_TIMEOUT_S = 240
PORTS = ("8080", "8081")  # of the servers that pages start; commands name them, too, so they are known ahead
INSTALLED_COMMAND_PAGE = "quickstart.md"  # runs the installed command; the other pages run one that starts faster
_FENCE = re.compile(
    r"^(?: *<!-- not run: (?P<reason>.*?) -->\n)?"
    r"(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_SERVE = re.compile(r"^(attestlab (?:witness )?serve [^#\n]*?) *(?:#.*)?$", re.MULTILINE)
# A page asks for a second terminal; here the server runs next to the script and ends with it.
_COPROCESS = (
    r"coproc SERVER { exec \1; }; "
    "read -r -u ${SERVER[0]} ready; echo $ready; trap 'kill $SERVER_PID; wait $SERVER_PID' EXIT"
)
_VARIABLE = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|(?<=log-)[0-9a-f]{8}|\d+")


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, the line of its fence, its language, and why it is not run (None if it is)."""

    page: Path
    line: int
    language: str
    text: str
    reason: str | None

    @property
    def place(self) -> str:
        """Page and line, for messages."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def read_blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order; a fence inside a list is taken without its indentation."""
    text = page.read_text()
    found = []
    for match in _FENCE.finditer(text):
        body = re.sub(rf"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
        line = text.count("\n", 0, match.start("language")) + 1
        found.append(Block(page, line, match["language"], body, match["reason"]))
    return found


def runnable_blocks(page: Path, *languages: str) -> list[Block]:
    """The blocks of a page in these languages that carry no reason not to run."""
    return [block for block in read_blocks(page) if block.language in languages and block.reason is None]


def starts_empty(page: Path) -> bool:
    """Whether a page makes its own installation, so that its reader begins in an empty folder."""
    return any("attestlab init" in block.text for block in runnable_blocks(page, *SHELLS))


@dataclass
class _DelayedClock:
    """Runs `behind` the machine's clock, so that a log founded now is old enough for a status list."""

    behind: timedelta

    def now(self) -> datetime:
        """The time, in UTC."""
        return SystemClock().now() - self.behind


@dataclass
class DocumentationRun:
    """The world of the pages: `folder` with the installation `lab` in it, served at `url`."""

    folder: Path
    world: DemoWorld
    url: str
    names: dict[str, Any]
    commands: Path  # a folder with an `attestlab` that starts fast
    database_url: str  # an empty PostgreSQL
    typed: dict[Path, subprocess.CompletedProcess[str]] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """What a page's shell finds: the address, a key, the log's key, an attestation, the command itself."""
        path = os.pathsep.join([str(self.commands), str(Path(sys.executable).parent), os.environ["PATH"]])
        made = self.world.made.public()
        return {
            **os.environ,
            **{
                "PATH": path,
                "DATABASE_URL": self.database_url,
                "URL": self.url,
                "KEY": made["api_key"],
                "VKEY": made["log_vkey"],
            },
            **{"ID": str(self.names["attestation_id"]), "TENANT_ID": str(self.names["tenant_id"])},
        }

    def type_shell(self, page: Path) -> subprocess.CompletedProcess[str]:
        """Type all that a page tells its reader to type, once, in one shell and on free ports.

        A page that makes an installation begins in an empty folder; another one in the folder of the world.
        """
        if page not in self.typed:
            self.typed[page] = self._type_shell(page)
        return self.typed[page]

    def _type_shell(self, page: Path) -> subprocess.CompletedProcess[str]:
        return self._type_in(Path(mkdtemp(dir=self.folder)) if starts_empty(page) else self.folder, page)

    def _type_in(self, folder: Path, page: Path, *, last: str = "") -> subprocess.CompletedProcess[str]:
        """Type the commands of a page and a last one, at which the server that they started still runs."""
        parts = [f"echo '{block.place}' >&2\n{block.text}" for block in runnable_blocks(page, *SHELLS)]
        script = _SERVE.sub(_COPROCESS, "".join(parts)) + last
        if page.name == INSTALLED_COMMAND_PAGE:
            script = f'PATH="${{PATH#*{os.pathsep}}}"\n{script}'
        with ExitStack() as held:
            ports = {port: str(held.enter_context(hold_port())) for port in PORTS}
            return self._shell(re.sub("|".join(PORTS), lambda found: ports[found[0]], script), folder)

    def follow(self, page: Path, folder: Path) -> str:
        """Follow a page to the letter in a folder, its commands and then its Python; returns their output."""
        blocks = runnable_blocks(page, "python")
        code = "".join(block.text for block in blocks if ">>> " not in block.text)
        done = self._type_in(folder, page, last=f"python - <<'END_OF_PYTHON'\n{code}\nEND_OF_PYTHON\n")
        assert done.returncode == 0, done.stderr
        with chdir(folder):
            for block in blocks:
                if ">>> " in block.text:
                    _require_examples(block, {})
        return done.stdout

    def type_command(self, command: str) -> subprocess.CompletedProcess[str]:
        """One command in the folder of the world."""
        return self._shell(command, self.folder)

    def _shell(self, script: str, folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SHELL_TIMEOUT_S,
            check=False,
        )

    def run_python(self, page: Path) -> dict[str, Any]:
        """Run a page's Python in the world of the pages, examples with `>>>` as doctests; returns what it defined."""
        names: dict[str, Any] = {**self.names, "TRUSTED": self.url}
        with chdir(self.folder):
            for block in runnable_blocks(page, "python"):
                if ">>> " in block.text:
                    _require_examples(block, names)
                else:
                    code = block.text.replace("https://log.example", self.url)
                    exec(compile("\n" * block.line + code, block.page, "exec"), names)  # our own page
        if isinstance(lab := names.get("lab"), Installation | Lab) and lab is not self.world.lab:
            lab.close()
        return names

    def create_policy(self, block: Block) -> None:
        """Create the policy of a TOML block as `policy_id`; it must pass its own tests and have no findings."""
        document = parse_toml(block.text)
        policy = bind(document, PLATFORM)
        assert document.tests, block.place
        assert policy_tests.find_failing(document, policy, PLATFORM) == [], block.place
        assert analyze(policy) == [], block.place
        self.names["policy_id"] = self.world.lab.policies.create(document, caller=self.world.caller).id


def _require_examples(block: Block, names: dict[str, Any]) -> None:
    parsed = doctest.DocTestParser().get_doctest(block.text, names, block.place, str(block.page), block.line)
    runner = doctest.DocTestRunner(verbose=False)
    report: list[str] = []
    result = runner.run(parsed, out=report.append, clear_globs=False)
    assert result.attempted, block.place
    assert not result.failed, "".join(report)


def require_shown_output(block: Block, documented: DocumentationRun) -> None:
    """Run each `$` line of a console block; what it prints is what the page shows, but for ids, sizes and `...`."""
    for part in block.text.split("$ ")[1:]:
        command, _, shown = part.partition("\n")
        printed = documented.type_command(command)
        expected = _without_variables(shown)
        kept = expected[: expected.index("  ...")] if "  ..." in expected else expected
        assert _without_variables(printed.stdout)[: len(kept)] == kept, (block.place, printed.stdout, printed.stderr)


def _without_variables(text: str) -> list[str]:
    return [_VARIABLE.sub("#", line) for line in text.splitlines()]


def require_error(block: Block, documented: DocumentationRun) -> None:
    """A JSON block that shows an error has the members of one that the server answers."""
    shown: Any = parse_json(block.text.encode())
    body = patient_http.post(f"{documented.url}/v1/verify", json={"attestation_id": "none"}).json()
    assert _shape(shown) == _shape(body), block.place


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shape(member) for name, member in value.items()}
    return [_shape(member) for member in value] if isinstance(value, list) else type(value)


@contextmanager
def open_documented_world(folder: Path, database_url: str) -> Iterator[DocumentationRun]:
    """The demo's world in `folder`/lab behind the real server, with the files that pages name next to it.

    `database_url` is an empty PostgreSQL for pages that want one.
    """
    clock = _DelayedClock(timedelta(minutes=10))
    world = demo_world(folder / "lab", clock=clock, history=False)
    try:
        minted = _mint_diploma(world, folder / "diploma.pdf")
        clock.behind = timedelta(0)
        _write_files(world, folder, minted.id)
        with ServerProcess(folder / "lab", world.lab.settings.records_url, world.made.public()) as server:
            (folder / "commands").mkdir()
            write_command(folder / "commands")
            names = _names(world, minted.id)
            yield DocumentationRun(folder, world, server.url, names, folder / "commands", database_url)
            server.stop()
    finally:
        world.lab.close()


def _mint_diploma(world: DemoWorld, file: Path) -> Minted:
    """Attest the file of the quickstart by its hash, as the quickstart does."""
    file.write_bytes(b"any file will do")
    issuer = world.issuers[0]
    claims = {"student_name": "Ada Lovelace", "institution": "University of London"}
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    request = MintRequest(
        issuer_id=issuer.issuer.id,
        kid=issuer.keys[0].kid,
        schema="degree",
        claims=claims,
        document_hash=digest,
    )
    return world.lab.attestations.mint(request, caller=world.caller)


def _write_files(world: DemoWorld, folder: Path, attestation_id: UUID) -> None:
    """Write the diploma's bundle, under a status list that covers it, a trust policy and a past to replay."""
    with world.lab.storage.write() as tx:
        world.lab.list_statuses(tx)
    (folder / "bundle.json").write_text(json.dumps(world.bundle(attestation_id)))
    for name in ("trust.txt", "pinned.policy"):
        (folder / name).write_text(f"log {world.made.public()['log_vkey']}\nquorum none\n")
    past = pa.table({"trust_tier": ["BASIC", "VERIFIED"], "key.age_days": [3.0, 400.0]})
    pq.write_table(past, folder / "contexts.parquet")


def _names(world: DemoWorld, attestation_id: UUID) -> dict[str, Any]:
    """What pages name without saying where it comes from."""
    other = world.lab.orgs.create_tenant("Another", plan=Plan.FREE)
    return {
        **{"lab": world.lab, "caller": world.caller, "vkey": world.made.public()["log_vkey"]},
        **{"attestation_id": attestation_id, "tenant_id": other.tenant_id},
    }
