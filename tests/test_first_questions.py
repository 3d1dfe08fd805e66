"""The first questions of the trade, asked of both demos, which are one world: each has an answer."""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta

import pytest

import attestlab
from attestlab import Lab
from attestlab.demos.people import PASSWORD
from attestlab.protections.platform_issuer import NAME as PLATFORM_ISSUER
from support.dashboards.demo_server import OWNER, copy_demo
from support.demo_caches import use_demo_caches
from support.documentation import ROOT, read_blocks

AGE_LIMIT = timedelta(days=365)
FORMS = ("attestlab demo", "attestlab.demo()")
PAGE = ROOT / "docs/questions.md"
# The first block opens the lab; each of the others is the answer to one question.
ANSWERS = {number: block.text.strip() for number, block in enumerate(read_blocks(PAGE)) if number}
OTHER_TOOLS: dict[str, dict[str, object]] = tomllib.loads((ROOT / "benchmarks/first_questions.toml").read_text())


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Lab]]:
    """Both demos, and the owner's lab of each."""
    folder = tmp_path_factory.mktemp("asked") / "lab"
    copy_demo(folder)
    password = json.loads((folder / "demo.json").read_text())["people_password"]
    with ExitStack() as stack, use_demo_caches():
        labs = [stack.enter_context(attestlab.open(folder)), stack.enter_context(attestlab.demo())]
        owners = [lab.as_(OWNER, password=each) for lab, each in zip(labs, (password, PASSWORD), strict=True)]
        yield dict(zip((*FORMS, *map("owner of {}".format, FORMS)), (*labs, *owners), strict=True))


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def lab(opened: dict[str, Lab], form: str) -> Lab:
    return opened[form]


@pytest.fixture
def ann(opened: dict[str, Lab], form: str) -> Lab:
    return opened[f"owner of {form}"]


@pytest.mark.parametrize("name", ["attestations", "decisions", "issuers", "policies", "raw_events", "verifications"])
def test_both_demos_have_the_same_size(opened: dict[str, Lab], name: str) -> None:
    counts = [list(opened[form].sql(f"select count(*) as n from {name}")) for form in FORMS]

    assert counts[0] == counts[1] != [{"n": 0}]


def test_failed_verifications_have_causes_and_issuers(lab: Lab) -> None:
    failed = lab.sql(
        "select date_trunc('month', verified_at) as month, verdict, issuers.name, sum(count) as n"
        " from verifications join issuers on issuers.id = issuer_id where not valid group by all"
    ).df()

    assert set(failed["verdict"]) == {"ALTERED", "EXPIRED", "INVALID", "REVOKED", "SUPERSEDED"}
    assert set(failed["name"]) == {issuer.name for issuer in lab.issuers} - {PLATFORM_ISSUER}
    assert failed["month"].nunique() > 6


def test_the_failures_of_one_issuer_rise(lab: Lab) -> None:
    spans = lab.sql(
        "select issuers.name, (verified_at >= $middle)::int as span, sum(count) as n"
        " from verifications join issuers on issuers.id = issuer_id"
        " where not valid and verified_at >= $start group by all",
        {"start": lab.now() - timedelta(days=56), "middle": lab.now() - timedelta(days=28)},
    ).df()
    before, after = (spans[spans["span"] == span].set_index("name")["n"] for span in (0, 1))

    rising = [name for name in after.index if after[name] > max(10, 2 * before.get(name, 0))]
    assert rising == ["Orchard Press"]


def test_the_last_day_has_raw_events_that_a_mapping_knows_and_others(lab: Lab) -> None:
    since = lab.now() - timedelta(days=1)
    newest = lab.sql("select distinct event_type as type from raw_events where occurred_at >= ?", [since])

    assert {row["type"] for row in newest} == {
        "attestation.deepfake_suspect",
        "document.reused",
        "verification.failed",
    }


def test_signals_name_attestations_and_documents_that_exist(lab: Lab) -> None:
    of_attestations = lab.sql(
        "select schema_id, verdict, count(*) as n from signals"
        " join attestations on signals.entity_type = 'attestation' and attestations.id = signals.entity_id"
        " join verifications on verifications.attestation_id = attestations.id where not valid group by all"
    ).df()
    of_documents = lab.sql(
        "select signals.source, count(*) as n from signals"
        " join attestations on signals.entity_type = 'document' and attestations.document_hash = signals.entity_id"
        " join raw_events on raw_events.id = signals.event_id group by all"
    ).df()

    assert of_attestations["schema_id"].nunique() > 5
    assert set(of_documents["source"]) == {"attestation", "document"}


def test_some_active_keys_are_over_the_age_limit_and_others_are_not(lab: Lab) -> None:
    active = [key for issuer in lab.issuers for key in issuer.keys if key.status == "active"]
    old = [key for key in active if lab.now() - key.created_at > AGE_LIMIT + timedelta(days=7)]

    assert 0 < len(old) < len(active)


def test_a_pending_request_needs_the_approval_of_another_person(ann: Lab) -> None:
    (waiting,) = ann.issuers.requests(status="PENDING")

    assert ann.me().roles == ["owner"]
    assert waiting.requested_by != ann.me().id
    assert ann.issuers.approve(waiting).status == "APPROVED"


def test_most_deliveries_were_accepted_some_after_a_retry_and_a_few_never(lab: Lab) -> None:
    ends = lab.sql(
        "select endpoint_id, delivery_id, max(number) as attempts, bool_or(success) as accepted,"
        " arg_max(error, number) as error from deliveries group by all"
    ).df()
    accepted, failed = ends[ends["accepted"]], ends[~ends["accepted"]]

    assert ends["endpoint_id"].nunique() == 2
    assert len(accepted) > 10 * len(failed)
    assert set(accepted["attempts"]) == {1, 2}
    assert set(failed["attempts"]) == {1, 8}
    assert set(failed["error"]) == {"No response within 5 seconds.", "The receiver answered with status 410."}


def test_no_delivery_waits_and_no_endpoint_is_active(lab: Lab) -> None:
    """A served demo must contact no host; one receiver asked for no more, Ben disabled the other one."""
    endpoints = list(lab.webhooks)

    assert {each.disabled_reason for each in endpoints} == {"gone", "requested"}
    assert {each.status for each in endpoints} == {"disabled"}
    assert {each.status for endpoint in endpoints for each in lab.webhooks.deliveries(endpoint)} == {
        "delivered",
        "failed",
    }


def test_challenges_were_passed_or_failed_or_are_pending(lab: Lab) -> None:
    results = lab.sql(
        "select coalesce(event_type, 'pending') as result, count(*) as n from challenges"
        " left join raw_events on data->>'decision_id' = challenges.id where challenge_required group by all"
    ).df()

    assert set(results["result"]) == {"challenge.passed", "challenge.failed", "pending"}


def test_no_challenge_is_required_of_who_is_on_the_allow_list(lab: Lab) -> None:
    (robot,) = lab.lists.list(list="allow")
    exempt = lab.sql("select distinct subject_id from challenges where not challenge_required")

    assert [row["subject_id"] for row in exempt] == [robot.entity_id]


def test_denied_addresses_have_signals(lab: Lab) -> None:
    denied = [each.entity_id for each in lab.lists.list(list="deny", entity_type="ip")]
    query = "select distinct details->>'ip' as ip from signals where details->>'ip' in (select unnest(?))"
    known = lab.sql(query, [denied])

    assert len(denied) > 1
    assert {row["ip"] for row in known} == set(denied)


def _count_keys(number: int, answer: str) -> list[str]:
    """The cells of the table of keys for one question."""
    others = OTHER_TOOLS.get(str(number), {})
    duckdb = str(others.get("duckdb", "")).strip()
    marimo = str(others.get("marimo", "")).strip() or duckdb
    keys = [len(text.strip()) for text in (answer, duckdb, str(others.get("datasette", "")), marimo)]
    return [str(number or "none") for number in (*keys, others.get("metabase"))]


def test_the_page_of_questions_counts_the_keys_of_every_answer() -> None:
    rows = [f"| {number} | {' | '.join(_count_keys(number, text))} |" for number, text in ANSWERS.items()]

    assert list(ANSWERS) == list(range(1, 15))
    assert [row for row in rows if row not in PAGE.read_text().splitlines()] == [], "correct the table"


def _answer(number: int, names: dict[str, object]) -> object:
    """Run an answer of the page as a cell does; returns the value of its last line."""
    *lines, last = ast.parse(ANSWERS[number]).body
    exec(compile(ast.Module(lines, []), str(PAGE), "exec"), names)
    return eval(ast.unparse(last), names)


def test_the_answers_of_the_page_are_what_it_says_of_them() -> None:
    with use_demo_caches(), attestlab.demo() as lab:
        names: dict[str, object] = {"lab": lab}
        failing, travels, precision, graph = (_answer(number, names) for number in (1, 7, 9, 12))

    assert tuple(failing.iloc[0]) == ("Orchard Press", 37, 8)  # type: ignore[attr-defined]
    assert len(travels) == 10  # type: ignore[arg-type]
    assert round(precision.value, 2) == 0.8  # type: ignore[attr-defined]
    assert (graph.nodes.df()["type"] == "user").sum() == 24  # type: ignore[attr-defined]
