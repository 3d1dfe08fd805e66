"""The times of log entries, verifications and deliveries have names that SQL reads without quotes."""

from __future__ import annotations

import httpx
import pytest
from lake.test_lake_over_http import read_json, record_everything

from attestlab.lake import views
from attestlab.lake.parts import column_names, list_parts
from support.lake import LakeScenario

TIMES = {"log_entries": "logged_at", "verifications": "verified_at", "deliveries": "attempted_at"}


@pytest.mark.both_engines
def test_both_names_have_the_time_in_parts_and_in_records(lake_scenario: LakeScenario) -> None:
    """The parts of an older version have `at` alone, as those of this one."""
    for number in range(16):
        lake_scenario.act(number)
    lab = lake_scenario.lab
    lab.lake.export()
    for number in range(16, 24):
        lake_scenario.act(number)
    lake = lab.lake(lake_scenario.owner.caller)
    (part, *_) = list_parts(lab.lake.folder / "log_entries")

    assert {"at", "logged_at"} & column_names(str(part.path)) == {"at"}
    for name in ("log_entries", "verifications"):
        frame = getattr(lake, name).df()
        assert list(frame[TIMES[name]]) == list(frame["at"]) != [], name
    with lake.connect("log_entries") as connection:
        query = 'select count(*) from log_entries where logged_at = "at"'
        assert connection.execute(query).fetchall() == [(len(lake.log_entries),)]


def test_a_period_selects_by_them_over_http(key: httpx.Client) -> None:
    record_everything(key)
    for name, column in TIMES.items():
        (bounds,) = read_json(key, f"select min({column}), max({column}), count(*) from {name}")["rows"]
        path = f"/v1/lake/datasets/{name}"
        rows = key.get(path, params={"columns": column} | ({"from": bounds[0]} if bounds[2] else {})).json()["rows"]

        assert len(rows) == bounds[2]
        assert rows == sorted(rows, reverse=True)


def test_no_other_column_needs_quotes(key: httpx.Client) -> None:
    listed = {item["name"]: item["columns"] for item in key.get("/v1/lake/datasets").json()["items"]}
    names = {name: [each["name"] for each in columns] for name, columns in listed.items()}

    assert set(names) == {view.name for view in views.ALL}
    for name, columns in names.items():
        plain = [column for column in columns if column != "at" and "." not in column]
        assert read_json(key, f"select {', '.join(plain)} from {name} limit 1"), name
