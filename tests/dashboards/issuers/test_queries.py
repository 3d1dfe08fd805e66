"""What the page asks is what the facade's verbs answer: counts, standings, ages, losses and the audit chain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from attestlab import Lab
from attestlab_dashboards.issuers.events import EVENTS
from attestlab_dashboards.issuers.failures import find_days
from attestlab_dashboards.issuers.impact import load_impact
from attestlab_dashboards.issuers.overview import load_overview, write_overview_sql
from attestlab_dashboards.issuers.panes import issuers
from attestlab_dashboards.issuers.panes.drift import export_drift, load_drift, write_drift_sql
from attestlab_dashboards.issuers.panes.issuers import draw_table, export_listing, load_listing, write_listing_sql
from attestlab_dashboards.issuers.panes.keys import export_lanes, load_lanes, write_lanes_sql
from attestlab_dashboards.issuers.panes.loss import export_affected, load_loss, write_loss_sql
from attestlab_dashboards.issuers.panes.requests import export_open_requests, load_open_requests, write_requests_python
from attestlab_dashboards.issuers.panes.trail import TRAIL_ROWS, compose_trail, is_chained, load_trail, write_trail_sql
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.lake_query import write_python
from support.governance_story import LOST_AT, MINTS
from support.in_process_server import wait_until

ALL = IssuerState()


def count_attestations(lab: Lab, issuer: str) -> int:
    return lab.issuers.blast_radius(issuer).attestations


def test_the_overview_counts_issuers_and_their_attestations(ann: Lab) -> None:
    total = load_overview(ann, ALL).total
    statuses = Counter(issuer.status for issuer in ann.issuers)
    assert (total.active, total.suspended, total.revoked) == (7, 1, 0)
    assert statuses == {"ACTIVE": total.active, "SUSPENDED": total.suspended}
    assert total.attestations == len(ann.attestations)
    assert total.worse == sum(count_attestations(ann, name) for name in ("Orchard Press", "Maker Guild"))
    assert total.worse_issuers == 2
    assert total.riskier == 1


def test_the_matrix_adds_up_to_the_total(ann: Lab) -> None:
    found = load_overview(ann, ALL)
    assert sum(cell.mints for cell in found.cells) == found.total.mints == len(ann.attestations)
    assert sum(cell.issuers for cell in found.cells) == found.total.issuers == 8
    guild = next(cell for cell in found.cells if cell.risk_rating == "HIGH")
    assert (guild.trust_tier, guild.names, guild.mints) == ("BASIC", ("Maker Guild",), MINTS["Maker Guild"] + 2)


def test_a_filter_counts_only_what_it_leaves(ann: Lab) -> None:
    total = load_overview(ann, IssuerState(tier="BASIC", changed=True)).total
    assert (total.issuers, total.attestations) == (1, count_attestations(ann, "Maker Guild"))
    nothing = load_overview(ann, IssuerState(jurisdiction="BR")).total
    assert (nothing.issuers, nothing.attestations, nothing.oldest_key) == (0, 0, None)


def test_a_key_is_old_from_the_limit_on(own_service: Lab, move_clock: Callable[[int], None]) -> None:
    for days, old in ((364, 0), (366, len(own_service.issuers))):
        move_clock(days)
        assert load_overview(own_service, ALL).total.old_keys == old


def test_the_table_has_each_issuer_as_the_verbs_show_it(ann: Lab) -> None:
    page = load_listing(ann, ALL)
    assert page.issuers == len(page.rows) == 8
    for row in page.rows:
        issuer = ann.issuers[row.id]
        assert (row.name, row.domain, row.status) == (issuer.name, issuer.domain, issuer.status)
        assert (row.trust_tier, row.risk_rating) == (issuer.trust_tier, issuer.risk_rating)
        assert row.keys == sum(key.status == "active" for key in issuer.keys)
        assert row.mints == count_attestations(ann, issuer.name) == row.attestations
        newest = next(ann.attestations.list(issuer_id=issuer))
        assert row.last_mint == newest.created_at
    guild = next(row for row in page.rows if row.name == "Maker Guild")
    assert (guild.risk_then, guild.tier_then, guild.worse) == ("LOW", "BASIC", guild.attestations)


RANGES = ["30d", "7d", "yesterday", "2026-10-20/2026-11-01", "2000-01-01/2000-01-02"]


@pytest.mark.parametrize("name", RANGES)
def test_failed_verifications_are_those_of_the_range_and_of_as_long_a_time_before(ann: Lab, name: str) -> None:
    state = IssuerState(range=name)
    rows = ann.sql("SELECT issuer_id, valid, count, verified_at FROM verifications").df()
    rows, days = rows[~rows.valid.astype(bool)], find_days(state, ann.now())
    is_whole = name not in ("30d", "7d")
    end = days.end if is_whole else ann.now() + timedelta(seconds=1)
    start = days.start if is_whole else ann.now() - timedelta(days=int(name.removesuffix("d")))

    for row in load_listing(ann, state).rows:
        own = rows[rows.issuer_id == row.id]
        now = own[(own.verified_at >= start) & (own.verified_at < end)]["count"].sum()
        before = own[(own.verified_at >= start - (end - start)) & (own.verified_at < start)]["count"].sum()
        assert (row.failures, row.failures_before) == (now, before)


def wait_for_failures(lab: Lab, number: int) -> None:
    counted = "SELECT coalesce(sum(count), 0)::BIGINT AS n FROM verifications WHERE NOT valid"
    wait_until(lambda: next(iter(lab.sql(counted)))["n"], number)


def test_the_issuer_whose_failures_rose_most_is_first(own_service: Lab, move_clock: Callable[[int], None]) -> None:
    early, late = (own_service.issuers[name] for name in ("Northfield University", "Maker Guild"))
    revoked = [next(own_service.attestations.list(issuer_id=each)) for each in (early, late)]
    for each in revoked:
        each.revoke("a test")
    for _ in range(3):
        own_service.verify(revoked[0])
    wait_for_failures(own_service, 3)  # a verification is published a moment after its answer
    move_clock(31)
    for _ in range(4):
        own_service.verify(revoked[1])
    state = EVENTS["sort"](IssuerState(), "-failures")
    wait_for_failures(own_service, 7)

    rows = {row.name: row for row in load_listing(own_service, state).rows}

    assert next(iter(rows)) == late.name
    assert (rows[late.name].failures, rows[late.name].failures_before) == (4, 0)
    assert (rows[early.name].failures, rows[early.name].failures_before) == (0, 3)
    assert list(rows)[-1] == early.name
    assert '<span class="sub bad">+4</span>' in draw_table(load_listing(own_service, state), state)


@pytest.mark.parametrize("sort", ["name", "-mints", "risk", "-last", "-change", "-failures"])
def test_the_table_is_sorted_in_both_directions(ann: Lab, sort: str) -> None:
    rows = load_listing(ann, IssuerState(sort=sort)).rows
    values = {
        "name": lambda row: row.name.lower(),
        "mints": lambda row: row.mints,
        "risk": lambda row: ["LOW", "MEDIUM", "HIGH", "CRITICAL"].index(row.risk_rating),
        "last": lambda row: row.last_mint,
        "change": lambda row: row.worse,
        "failures": lambda row: row.failures - row.failures_before,
    }[sort.removeprefix("-")]
    found = [values(row) for row in rows]
    assert found == sorted(found, reverse=sort.startswith("-"))
    assert len(set(found)) > 1 or sort in ("-last", "-failures")  # the demo's clock stands


def test_a_page_behind_the_last_one_is_the_last_one(ann: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issuers, "SHORT_PAGE_ROWS", 3)
    pages = [load_listing(ann, IssuerState(page=number, sort="name")) for number in (1, 2, 3, 99)]
    assert [page.page for page in pages] == [1, 2, 3, 3]
    assert [len(page.rows) for page in pages] == [3, 3, 2, 2]
    assert pages[2].rows == pages[3].rows
    names = [row.name for page in pages[:3] for row in page.rows]
    assert names == sorted((issuer.name for issuer in ann.issuers), key=str.lower)


def test_the_drift_counts_attestations_of_another_standing(ann: Lab) -> None:
    rows = {(row.name, row.what): row for row in load_drift(ann, ALL).rows}
    assert set(rows) == {("Maker Guild", "risk"), ("Orchard Press", "status")}
    guild, press = rows["Maker Guild", "risk"], rows["Orchard Press", "status"]
    assert (guild.was, guild.is_now, guild.is_worse) == ("LOW", "HIGH", True)
    assert (press.was, press.is_now, press.is_worse) == ("ACTIVE", "SUSPENDED", True)
    for row in rows.values():
        assert row.attestations == count_attestations(ann, row.name)


def test_every_key_of_the_lanes_is_as_its_issuer_has_it(ann: Lab) -> None:
    lanes = load_lanes(ann, ALL)
    spans = {span.kid: span for lane in lanes.lanes for span in lane}
    keys = {key.kid: key for issuer in ann.issuers for key in issuer.keys}
    assert set(spans) == set(keys)
    assert lanes.all_lanes == len(lanes.lanes) == 8
    for kid, key in keys.items():
        span = spans[kid]
        assert (span.status, span.alg, span.began) == (key.status, key.alg, key.created_at)
        assert span.attestations == ann.issuers.blast_radius(span.name, kid).attestations
    assert spans["northfield-1"].ended == keys["northfield-1"].rotated_at
    assert spans["harbour-1"].lost == keys["harbour-1"].compromised_at is not None


@pytest.mark.parametrize("kid", ["harbour-1", "northfield-1"])
def test_a_lost_key_counts_as_verifications_then_answer(own_service: Lab, kid: str) -> None:
    issuer = own_service.issuers["Harbour Training" if kid == "harbour-1" else "Northfield University"]
    newest = next(own_service.attestations.list(issuer_id=issuer)).created_at
    state = IssuerState(key=f"{issuer.id}/{kid}", since=newest)
    supposed = load_loss(own_service, state)
    own_service.issuers.compromise_key(kid, "stolen", compromised_at=newest)
    verdicts = Counter(each.verify().verdict.value for each in own_service.attestations.list(issuer_id=issuer))
    reported = load_loss(own_service, IssuerState(key=state.key))
    assert supposed is not None
    assert reported is not None
    for loss in (supposed, reported):
        assert Counter({"VALID": loss.stay_valid, "INVALID": loss.turn_invalid}) == verdicts
    assert (supposed.is_reported, reported.is_reported) == (False, True)


def test_without_a_choice_the_lost_key_is_shown(ann: Lab) -> None:
    loss = load_loss(ann, ALL)
    assert loss is not None
    assert (loss.kid, loss.moment) == ("harbour-1", datetime.fromisoformat(LOST_AT))
    affected = export_affected(ann, ALL).df()
    assert len(affected) == loss.turn_invalid == MINTS["Harbour Training"] + 2


def test_verifications_since_the_loss_are_counted_once_each(own_service: Lab) -> None:
    issuer = own_service.issuers["Harbour Training"]
    one = next(own_service.attestations.list(issuer_id=issuer))
    counts = "SELECT attestation_id, count FROM verifications WHERE issuer_id = ?"  # a row may count several
    before = own_service.sql(counts, [str(issuer.id)]).df()["count"].sum()
    one.verify()
    one.verify()
    wait_until(lambda: int(own_service.sql(counts, [str(issuer.id)]).df()["count"].sum()), int(before) + 2)
    loss = load_loss(own_service, IssuerState(key=f"{issuer.id}/harbour-1", since=one.created_at))
    rows = own_service.sql(counts, [str(issuer.id)]).df()
    assert loss is not None
    assert loss.looked_at == rows["attestation_id"].nunique() < rows["count"].sum()


def test_every_line_of_the_trail_continues_the_chain(ann: Lab) -> None:
    page = load_trail(ann, ALL)
    assert all(line.is_chained for line in page.lines)
    shown = {line.integrity_hash for line in page.lines}
    assert shown <= {event.integrity_hash for event in ann.audit}
    pages = -(-page.all_lines // TRAIL_ROWS)
    last = load_trail(ann, IssuerState(trail_page=99))
    assert last.page == pages
    assert {line.action.partition(".")[0] for line in last.lines} <= {"issuer", "key"}


def test_a_changed_line_breaks_the_chain(ann: Lab) -> None:
    rows = compose_trail(ALL).read_rows(ann)
    assert all(map(is_chained, rows))
    at = datetime(2020, 1, 1, tzinfo=UTC)
    for changes in ({"actor_id": "another"}, {"hash_before": "00" * 32}, {"timestamp": at}):
        assert not is_chained({**rows[0], **changes})


def test_open_requests_have_the_names_of_their_issuers(ann: Lab, service: Lab) -> None:
    found = load_open_requests(ann, ALL)
    named = {found.names[str(request.target_issuer_id)]: request.status for request in found.requests}
    assert named == {"Ana's Workshop": "PENDING", "Canton Archive": "APPROVED"}
    assert not load_open_requests(service, ALL).are_visible  # no person


def test_the_impact_is_counted_before_anything_is_asked(ann: Lab) -> None:
    issuer = ann.issuers["Northfield University"]
    impact = load_impact(ann, IssuerState(ask="suspend", about=str(issuer.id)))
    radius = issuer.blast_radius()
    assert impact is not None
    assert (impact.attestations, impact.valid, impact.active_keys) == (radius.attestations, radius.valid, 1)
    one_key = load_impact(ann, IssuerState(ask="rotate", about=f"{issuer.id}/northfield-2"))
    assert one_key is not None
    assert one_key.valid == issuer.blast_radius("northfield-2").valid == 0
    assert load_impact(ann, ALL) is None


@pytest.mark.parametrize(
    "write",
    [
        write_listing_sql,
        write_overview_sql,
        write_drift_sql,
        write_lanes_sql,
        write_loss_sql,
        write_trail_sql,
    ],
)
def test_what_is_copied_runs_as_it_stands(ann: Lab, write: Callable[[IssuerState], str]) -> None:
    state = IssuerState(status="ACTIVE", changed=True, sort="risk")
    frame = eval(write_python(write(state)), {"lab": ann})
    assert len(frame.columns) >= 4


def test_an_export_has_the_rows_of_the_filters(ann: Lab) -> None:
    state = IssuerState(tier="ENTERPRISE", sort="name")
    frame = export_listing(ann, state).df()
    assert list(frame["name"]) == ["Canton Archive", "Northfield University"]
    assert len(export_drift(ann, ALL).df()) == 2
    assert len(export_lanes(ann, state).df()) == 3


def test_the_export_of_open_requests_has_those_that_wait(ann: Lab) -> None:
    frame = export_open_requests(ann, ALL).df()
    found = load_open_requests(ann, ALL).requests

    assert list(frame["id"]) == [str(each.id) for each in found]
    assert len(found) > 0
    exec(write_requests_python(ALL), {"lab": ann})
