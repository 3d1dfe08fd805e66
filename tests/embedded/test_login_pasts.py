"""`lab.signals.backfill_logins` and `judge_logins`: frames of logins, learnt to the end, or judged in this process."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from attestlab.client.collections import bulk_signals
from attestlab.client.lab import Lab
from attestlab.core.errors import ValidationFailed
from support.new_labs import open_new_lab

NOW = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with open_new_lab(tmp_path_factory.mktemp("lab")) as opened:
        yield opened


def make_login(subject: str, days_ago: float, **changes: Any) -> dict[str, Any]:
    at = NOW - timedelta(days=days_ago)
    login = {"subject_id": subject, "outcome": "success", "occurred_at": at, "ip": "192.0.2.1", "device_id": "pc"}
    return {**login, **changes}


def test_a_past_in_several_requests_and_any_order_is_learnt_when_it_returns(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_signals, "MAX_SIGNALS", 10)
    logins = random.Random(1).sample([make_login("ada", days) for days in range(1, 36)], 35)
    logins[4] = make_login("ada", 4_000)
    abroad = {"ip": "198.51.100.9", "country": "AU", "device_id": "stranger", "occurred_at": NOW}

    done = lab.signals.backfill_logins(logins)

    assert (done.accepted, [each.line for each in done.rejected], done.learnt) == (34, [5], 34)
    assert repr(done) == "LoginBackfill(34 accepted, 1 rejected, 34 learnt)"
    assert "34 of 35 logins were accepted" in done._repr_html_()
    scores = [lab.signals.evaluate_login(subject, "success", **abroad).score for subject in ("newcomer", "ada")]
    assert scores[0] == 10 < scores[1]
    again = lab.signals.backfill_logins(logins)
    assert (again.accepted, again.learnt) == (34, 34)


COLUMNS = {
    "subject_id": ["ben"] * 3,
    "outcome": ["success", "perhaps", "failure"],
    "occurred_at": ["2026-03-01 09:00:00", "2026-03-01 10:00:00", "2026-03-01 11:00:00"],
    "country": ["CH", "CH", None],
}


def write_csv(path: Path) -> Path:
    pd.DataFrame(COLUMNS).to_csv(path, index=False)
    return path


def write_parquet(path: Path) -> Path:
    parquet.write_table(pa.table(COLUMNS), path)
    return path


FORMS: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda folder: pd.DataFrame(COLUMNS).assign(occurred_at=lambda frame: pd.to_datetime(frame.occurred_at)),
    "arrow": lambda folder: pa.table(COLUMNS),
    "polars": lambda folder: pl.DataFrame(COLUMNS),
    "csv": lambda folder: write_csv(folder / "logins.csv"),
    "parquet": lambda folder: str(write_parquet(folder / "logins.parquet")),
}


def test_every_form_of_table_is_taken_and_each_login_counts_once(lab: Lab, tmp_path: Path) -> None:
    counts = set()
    for make in FORMS.values():
        done = lab.signals.backfill_logins(make(tmp_path), tz="Europe/Zurich")
        assert (done.accepted, [each.line for each in done.rejected]) == (2, [2])
        counts.add(done.learnt)

    assert len(counts) == 1


def test_strict_refuses_what_the_service_rejects_and_sends_nothing(lab: Lab) -> None:
    for changes in (
        {"outcome": "maybe"},
        {"ip": "somewhere"},
        {"country": "QQ"},
        {"occurred_at": NOW - timedelta(2_000)},
    ):
        with pytest.raises(
            ValidationFailed, match=r"1 of 2 rows are no logins, so none was sent\. The first is row 2: "
        ):
            lab.signals.backfill_logins([make_login("eve", 1), make_login("eve", 1, **changes)], strict=True)


def test_a_frame_without_the_columns_of_a_login_is_refused(lab: Lab) -> None:
    with pytest.raises(ValidationFailed, match=r"lacks subject_id, outcome, occurred_at and has user, which a login"):
        lab.signals.backfill_logins(pd.DataFrame({"user": ["ada"]}))


def make_labelled(kind: str = "takeover") -> list[dict[str, Any]]:
    """Some weeks of ten people, and a stranger who guesses for two hours."""
    people = [f"user-{number}" for number in range(10)]
    at_home = [
        make_login(subject, 30 - day, ip=f"192.0.2.{number}", device_id=f"pc-{number}", kind=None)
        for day in range(1, 29)
        for number, subject in enumerate(people)
    ]
    stranger = {"ip": "203.0.113.66", "device_id": "stranger", "country": "BR", "kind": kind, "outcome": "failure"}
    return [*at_home, *(make_login(people[n % 10], 1 - n / 500, **stranger) for n in range(40))]


def test_labelled_logins_are_judged_like_baselines(lab: Lab) -> None:
    judged = lab.signals.judge_logins(random.Random(2).sample(make_labelled(), 320), labels="kind")

    assert [each.detector for each in judged.detectors] == ["ours", "ladder", "address_failures", "likelihood_ratio"]
    ours = judged.detectors[0]
    assert (ours.area or 0) > 0.8
    assert (ours.area_low or 1) <= (ours.area or 0)
    kinds = {each.kind: each for each in judged.kinds}
    assert (kinds["takeover"].logins, kinds["takeover"].is_attack, kinds["no label"].share_at_60) == (40, True, 0.0)
    assert (kinds["no label"].area, kinds["takeover"].best_baseline) != (None, None)
    at = {each.threshold: each for each in judged.thresholds}
    assert all(each.attacks_found + each.attacks_missed == 40 for each in at.values())
    assert at[judged.best_threshold].cost == min(each.cost for each in at.values())
    assert repr(judged).startswith("LoginJudgement(320 logins, 40 of attacks, area ")
    assert "320 logins, 40 of attacks" in judged._repr_html_()
    assert list(judged.kinds.df()["kind"]) == ["no label", "takeover"]


def test_a_label_may_be_no_attack(lab: Lab) -> None:
    logins = [{**each, "kind": each["kind"] or "vpn"} for each in make_labelled()]

    judged = lab.signals.judge_logins(logins, "kind", innocent=["vpn"])

    assert (judged.attacks, {each.kind for each in judged.kinds}) == (40, {"vpn", "takeover"})
    with pytest.raises(ValidationFailed, match=r"labels 320 of 320 logins as attacks.*innocent="):
        lab.signals.judge_logins(logins, "kind")


def test_without_labels_the_outcomes_of_cases_are_the_truth(lab: Lab) -> None:
    logins = [{name: value for name, value in each.items() if name != "kind"} for each in make_labelled()]
    with pytest.raises(ValidationFailed, match="Resolve cases, or name a column"):
        lab.signals.judge_logins(logins)
    for number, outcome in ((-1, "fraud"), (-2, "inconclusive"), (-3, "legitimate")):
        login = logins[number]
        lab.signals.add("login", "ato", 95, "user", login["subject_id"], occurred_at=login["occurred_at"])
        lab.cases[0].resolve(outcome)

    judged = lab.signals.judge_logins(logins)

    assert (judged.truth, judged.logins, judged.attacks, judged.not_judged) == ("cases", 319, 1, 1)
    assert {each.kind: each.logins for each in judged.kinds} == {"no case": 317, "legitimate": 1, "fraud": 1}


def test_rows_that_are_no_logins_are_named_and_the_others_judged(lab: Lab) -> None:
    judged = lab.signals.judge_logins([*make_labelled(), make_login("ada", 1, ip="nowhere", kind=None)], "kind")

    assert [(each.line, each.message[:4]) for each in judged.rejected] == [(321, "/ip:")]
