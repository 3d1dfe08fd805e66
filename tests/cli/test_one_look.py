"""All commands look alike: help with an example, `--json`, a folder from the environment, suggestions, completion."""

from __future__ import annotations

import os
import pty
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from attestlab.cli import commands
from attestlab.cli import verify as verify_command
from attestlab.core.version import VERSION
from support.fork_server import get_fork_server, run_command
from support.installations import install
from support.server_process import run_json_command

WITHOUT_RESULT = {"serve", "witness serve"}  # they print the address that is ready
IS_JSON = {"openapi"}
WITH_A_FOLDER_OF_ITS_OWN = {"demo"}


def leaves(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """The commands of the tree, each with the words that one types."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from leaves(command, (*words, name))
        else:
            yield " ".join((*words, name)), command


COMMANDS = dict(leaves(typer.main.get_command(commands.app)))
ID = "0193b5a0-7f3c-7abc-8def-0123456789ab"


@pytest.fixture(scope="module")
def made_lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "lab"
    run_json_command("init", "--data", str(folder), "--json")
    return folder


@pytest.mark.parametrize("words", COMMANDS)
def test_help_shows_an_example_before_the_options(words: str) -> None:
    shown = CliRunner().invoke(commands.app, [*words.split(), "--help"]).stdout

    assert 0 < shown.find(f"Example: attestlab {words}") < shown.find("Options:"), shown


@pytest.mark.parametrize("words", COMMANDS)
def test_help_names_the_exit_statuses_and_what_every_argument_is(words: str) -> None:
    shown = CliRunner().invoke(commands.app, [*words.split(), "--help"]).stdout

    assert 0 < shown.find("Exit status: ") < shown.find(f"Example: attestlab {words}"), shown
    assert [each.name for each in COMMANDS[words].params if not getattr(each, "help", None)] == []


WATCH = ("log", "watch", "http://127.0.0.1:1", "--vkey", "k", "--state", "s")
BAD_VALUES = {
    "too many": (("serve", "--data", ".", "--workers", "99"), "99", "from 1 to 64"),
    "no port": (("demo", "--port", "70000"), "70000", "from 0 to 65535"),
    "nan": ((*WATCH, "--interval", "nan"), "nan", "from 0.1 to 86400"),
    "inf": ((*WATCH, "--max-age", "inf"), "inf", "number of seconds from 0"),
    "too long": (("listen", "--forward", "x", "--url", "y", "--interval", "1e9"), "1e9", "from 0.1 to 86400"),
    "negative": (("verify", "b.json", "--as-of", "-1"), "-1", "whole number from 0"),
    "no number": (("verify", "b.json", "--as-of", "many"), "many", "whole number from 0"),
    "plan": (("tenant", "create", "N", "--plan", "GOLD", "--data", "{lab}"), "GOLD", "FREE, STARTER"),
    "limit": (("tenant", "plan", ID, "FREE", "--set", "issuers=many", "--data", "{lab}"), "issuers=many", "issuers=5"),
    "tenant": (("tenant", "plan", "mine", "FREE", "--data", "{lab}"), "mine", ID),
    "claim": (("mint", __file__, "--issuer", "i", "--schema", "s", "--claim", "bare"), "bare", "NAME=TEXT"),
    "claims": (("mint", __file__, "--issuer", "i", "--schema", "s", "--claims", "/none"), "/none", "Check the path"),
    "policy": (("policy", "check", "/none.toml"), "/none.toml", "no file"),
    "environment": (("serve", "--data", "{lab}", "--env", "dev"), "dev", "sandbox, production"),
    "folder": (("log", "vkey", "--data", "/none"), "/none", "attestlab init"),
}


@pytest.mark.parametrize("case", BAD_VALUES)
def test_a_bad_value_is_named_with_its_limit_or_remedy(case: str, made_lab: Path) -> None:
    words, value, remedy = BAD_VALUES[case]
    done = run_command(*(word.replace("{lab}", str(made_lab)) for word in words))
    errors = " ".join(done.stderr.split())

    assert (done.returncode, done.stdout) == (2, "")
    assert value in errors
    assert remedy in errors


@pytest.mark.parametrize("words", COMMANDS)
def test_every_result_can_be_json_and_every_folder_comes_from_the_environment(words: str) -> None:
    options = {name: each for each in COMMANDS[words].params for name in each.opts}

    assert ("--json" in options) is (words not in WITHOUT_RESULT | IS_JSON)
    if "--data" in options and words not in WITH_A_FOLDER_OF_ITS_OWN:
        assert options["--data"].envvar == "ATTESTLAB_DATA"


def test_option_wins_over_the_environment(tmp_path: Path) -> None:
    made = run_json_command("init", "--data", str(tmp_path / "lab"), "--json")
    by_variable = run_command("log", "vkey", ATTESTLAB_DATA=str(tmp_path / "lab"))
    by_option = run_command("log", "vkey", "--data", str(tmp_path / "none"), ATTESTLAB_DATA=str(tmp_path / "lab"))

    assert by_variable.stdout == f"{made['log_vkey']}\n"
    assert (by_option.returncode, by_option.stdout) == (2, "")


def test_version_is_one_line() -> None:
    done = run_command("--version")

    assert (done.returncode, done.stdout, done.stderr) == (0, f"attestlab {VERSION}\n", "")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["verfy"], "verify"),
        (["tenant", "crate"], "create"),
        (["log", "vkey", "--dtaa", "lab"], "--data"),
        (["verify", "bundle.json", "--trsut", "x"], "--trust"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else words,
)
def test_a_mistyped_word_gets_a_suggestion(typed: list[str], meant: str) -> None:
    done = run_command(*typed)

    assert (done.returncode, done.stdout) == (2, "")
    assert meant in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("typed", "completed"),
    [("attestlab wit", "witness"), ("attestlab log f", "fsck"), ("attestlab verify --pay", "--payload")],
)
def test_a_shell_completes_commands_and_options(typed: str, completed: str) -> None:
    asked = {"_ATTESTLAB_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}

    assert run_command(**asked).stdout.split() == [completed]


def test_both_parsers_of_verify_know_the_same_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """argparse runs what is well-formed, and typer explains the rest."""
    seen: list[dict[str, object]] = []
    monkeypatch.setattr(verify_command, "verify", lambda *given, **named: seen.append({"bundle": given, **named}) or 0)
    words = ["b.json", "--file", "f", "--payload", "p", "--trust", "t", "--policy", "1", "--policy", "2"]
    words += ["--as-of", "5", "--issuer", "i", "--json"]

    verify_command.command(words)
    CliRunner().invoke(commands.app, ["verify", *words], catch_exceptions=False)

    quick, slow = seen
    assert quick == {**slow, "bundle": slow["bundle"][0]}  # type: ignore[index]
    assert {name for each in COMMANDS["verify"].params for name in each.opts if name != "bundle"} == {
        word for word in words if word.startswith("--")
    }


@pytest.mark.parametrize(
    ("environment", "is_colored"),
    [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=["terminal", "NO_COLOR", "dumb"],
)
def test_colours_are_for_terminals_that_want_them(
    tmp_path: Path, environment: dict[str, str], is_colored: bool
) -> None:
    install(tmp_path / "data", f"sqlite:///{tmp_path / 'data' / 'records.db'}")
    (tmp_path / "data" / "head.guard").unlink()
    terminal, its_end = pty.openpty()
    with open(os.devnull) as nothing, TemporaryFile() as errors:
        streams = (nothing.fileno(), its_end, errors.fileno())
        variables = {"NO_COLOR": "", **environment}
        command = ("attestlab", "log", "fsck", "--data", str(tmp_path / "data"))
        get_fork_server().start_with(streams, *command, environment=variables).wait()
    os.close(its_end)
    shown = os.read(terminal, 10_000)
    os.close(terminal)

    assert b"head_guard" in shown
    assert (b"\x1b[31m" in shown) is is_colored


def test_a_witness_is_not_made_in_the_folder_of_an_installation(tmp_path: Path) -> None:
    run_json_command("init", "--data", str(tmp_path), "--json")

    refused = run_command("witness", "init", "--name", "w.example/1", ATTESTLAB_DATA=str(tmp_path))

    assert (refused.returncode, "holds an installation" in refused.stderr) == (2, True)
    assert not (tmp_path / "witness.db").exists()


def test_openapi_prints_what_a_server_answers(running: Any) -> None:
    with running.client() as client:
        answered = client.get("/openapi.json").text

    assert run_command("openapi").stdout == answered + "\n"
