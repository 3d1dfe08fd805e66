"""`attestlab views`, `annotate` and `annotations`: what they write, list and remove, through both doors."""

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


@pytest.fixture
def owner(running: ServerProcess) -> Options:
    return "--email", running.made["owner_email"], "--password", running.made["owner_password"]


def test_a_view_is_saved_listed_and_deleted(door: Options, owner: Options) -> None:
    address = "https://attest.example/dash/risk?window=7d&source=login"
    saved = json.loads(run_command("views", "save", "Logins of a week", address, *owner, *door, "--json").stdout)
    table = run_command("views", "list", "--page", "risk", *owner, *door)
    deleted = run_command("views", "delete", saved["id"], *owner, *door)
    left = json.loads(run_command("views", "list", *owner, *door, "--json").stdout)["items"]

    assert (saved["page"], saved["query"], saved["shared"]) == ("risk", "window=7d&source=login", False)
    assert table.stdout.splitlines()[0].split() == ["id", "name", "page", "shared", "url"]
    assert "Logins of a week" in table.stdout
    assert (deleted.returncode, saved["id"] in [view["id"] for view in left]) == (0, False)


def test_views_need_a_person(door: Options) -> None:
    refused = run_command("views", "list", *door)

    assert (refused.returncode, refused.stdout) == (2, "")
    assert "Give --email ADDRESS" in refused.stderr


def test_an_address_of_no_page_is_refused(door: Options, owner: Options) -> None:
    refused = run_command("views", "save", "Nowhere", "/dash/nowhere?days=3", *owner, *door)

    assert refused.returncode == 2
    assert "'/dash/nowhere?days=3' is no page of the dashboards. Name one of risk, policy" in refused.stderr


def test_an_annotation_is_written_listed_and_removed(door: Options) -> None:
    words = ("annotate", "2026-10-05", "Campaign of a partner", "--until", "2026-10-12")
    written = json.loads(run_command(*words, *door, "--json").stdout)
    within = run_command("annotations", "list", "--from", "2026-10-06", "--to", "2026-10-07", *door)
    after = run_command("annotations", "list", "--from", "2026-10-13", *door)
    removed = run_command("annotations", "remove", written["id"], *door)

    assert written["text"] == "Campaign of a partner"
    assert written["at"].startswith("2026-10-05T00:00:00")
    assert written["id"] in within.stdout
    assert written["id"] not in after.stdout
    assert removed.returncode == 0
    assert written["id"] not in run_command("annotations", "list", *door).stdout


def test_an_end_before_the_beginning_is_refused(door: Options) -> None:
    refused = run_command("annotate", "2026-10-05", "Backwards", "--until", "2026-10-04", *door)

    assert refused.returncode == 2
    assert "is not after" in refused.stderr
