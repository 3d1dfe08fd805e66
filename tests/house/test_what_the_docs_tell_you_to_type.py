"""The commands of README and quickstart do what the pages say."""

import doctest
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)
SERVE = re.compile(r"^(attestlab serve .*)$", re.MULTILINE)
# The page asks for a terminal of its own; here the server runs beside the script and ends with it.
BESIDE = (
    r"coproc SERVER { exec \1; }; "
    "read -r -u ${SERVER[0]} ready; echo $ready; trap 'kill $SERVER_PID; wait $SERVER_PID' EXIT"
)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _typed(page: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Everything that the page tells one to type, in one shell, on a free port."""
    script = SERVE.sub(BESIDE, "".join(BLOCK.findall(page.read_text()))).replace("8080", str(_free_port()))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_quickstart_leads_from_an_empty_folder_to_a_valid_and_an_altered_document(tmp_path: Path):
    """A newcomer who types it line by line sees what the page promises."""
    done = _typed(ROOT / "docs" / "quickstart.md", tmp_path)

    assert done.returncode == 0, done.stderr
    verdicts = re.findall(r"^(?:VALID|ALTERED|exit 1)\b", done.stdout, re.MULTILINE)
    assert verdicts == ["VALID", "VALID", "ALTERED", "exit 1"]


def test_the_six_lines_of_the_readme_say_what_they_say():
    """The first Python that a newcomer sees has its true output beneath it."""
    failed, tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False)

    assert (failed, tried) == (0, 6)


def test_a_command_in_the_readme_is_a_command():
    """What the README shows of the command line and of make is there to be typed."""
    readme = (ROOT / "README.md").read_text()
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    commands = re.findall(r"^(?:\$ )?attestlab ((?:log )?[a-z]+)", readme, re.MULTILINE)

    assert set(re.findall(r"^make ([a-z]+)", readme, re.MULTILINE)) <= set(targets)
    assert len(commands) >= 4
    for command in commands:
        subprocess.run(
            [Path(sys.executable).parent / "attestlab", *command.split(), "--help"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
