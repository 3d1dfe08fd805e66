"""`attestlab search`: finds what a text begins or is a part of, through both doors."""

from __future__ import annotations

import json

import pytest

from support.fork_server import run_command
from support.server_process import ServerProcess

Options = tuple[str, ...]


@pytest.fixture(params=["over HTTP", "in process"])
def door(request: pytest.FixtureRequest, running: ServerProcess) -> Options:
    if request.param == "over HTTP":
        return "--url", running.url, "--api-key", running.made["api_key"]
    return "--data", str(running.data), "--database-url", running.database_url


def test_words_find_a_page_as_a_table_and_as_json(door: Options) -> None:
    table = run_command("search", "keys,", "requests", "--type", "page", *door)
    found = run_command("search", "keys, requests", "--json", *door)

    assert (table.returncode, table.stdout.splitlines()[0].split()) == (0, ["type", "id", "title", "subtitle", "url"])
    assert "/dash/issuers" in table.stdout
    assert [(each["type"], each["id"]) for each in json.loads(found.stdout)["items"]] == [("page", "issuers")]


def test_what_nothing_has_is_said_with_status_1(door: Options) -> None:
    done = run_command("search", "no", "such", "thing", *door)

    assert (done.returncode, done.stdout) == (1, "")
    assert "Nothing that you may read has 'no such thing'." in done.stderr


def test_more_than_the_limit_is_said(door: Options) -> None:
    done = run_command("search", "and", "--type", "page", "--limit", "1", *door)
    found = run_command("search", "and", "--type", "page", "--limit", "1", "--json", *door)

    assert (done.returncode, "There is more than 1. Raise --limit" in done.stderr) == (0, True)
    assert json.loads(found.stdout)["truncated"] is True


@pytest.mark.parametrize(
    ("words", "problem"), [((" ",), "The text is empty"), (("a", "--type", "b"), "There is no type")]
)
def test_what_cannot_be_searched_is_refused(door: Options, words: Options, problem: str) -> None:
    done = run_command("search", *words, *door)

    assert (done.returncode, problem in done.stderr) == (2, True), done.stderr
