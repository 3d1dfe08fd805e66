"""`attestlab views`, `annotate` and `annotations`: what they write, list and remove, through both doors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from attestlab.cli.views import DEFAULT_HOUR
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


@pytest.fixture
def view(door: Options, owner: Options) -> Iterator[str]:
    """The id of a view of the owner, which is deleted after the test."""
    saved = json.loads(run_command("views", "save", "Log of a day", "/dash/log", *owner, *door, "--json").stdout)
    yield saved["id"]
    run_command("views", "delete", saved["id"], *owner, *door)


def read_schedule(view: str, *person: str) -> Any:
    listed = json.loads(run_command("views", "list", *person, "--json").stdout)["items"]
    return next(each["schedule"] for each in listed if each["id"] == view)


def test_a_view_is_scheduled_and_unscheduled(door: Options, owner: Options, view: str, running: ServerProcess) -> None:
    words = ("--every", "week", "--to", running.made["owner_email"], "--at", "6")
    table = run_command("views", "schedule", view, *words, *owner, *door)
    weekly = read_schedule(view, *owner, *door)
    daily = json.loads(run_command("views", "schedule", view, "--every", "DAY", *owner, *door, "--json").stdout)
    ended = run_command("views", "unschedule", view, *owner, *door)

    assert table.returncode == 0, table.stderr
    assert re.search(r"^sent +every Monday at 06:00 UTC$", table.stdout, re.M)
    assert re.search(r"^recipients +1$", table.stdout, re.M)
    assert (weekly["weekday"], weekly["hour"], len(weekly["recipients"])) == (0, 6, 1)
    assert (daily["schedule"]["weekday"], daily["schedule"]["hour"]) == (None, DEFAULT_HOUR)
    assert daily["schedule"]["recipients"] == weekly["recipients"], "by default the person who signed in"
    assert (ended.returncode, read_schedule(view, *owner, *door)) == (0, None)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--every", "month"), "'month' is no period. Give one of day, week, monday"),
        (("--every", "day", "--at", "24"), "'24' is no whole number from 0 to 23"),
        (("--every", "friday", "--to", "unknown@people.example"), "No person 'unknown@people.example' is known"),
    ],
    ids=["period", "hour", "person"],
)
def test_a_schedule_that_cannot_be_is_refused(
    door: Options, owner: Options, view: str, words: tuple[str, ...], why: str
) -> None:
    refused = run_command("views", "schedule", view, *words, *owner, *door)

    assert refused.returncode == 2
    assert why in " ".join(refused.stderr.split())
    assert read_schedule(view, *owner, *door) is None


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
