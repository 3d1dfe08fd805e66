"""The panes of the usage page answer what the verbs of billing answer, in words."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from attestlab.billing.rules import format_money
from attestlab.core.errors import PermissionDenied
from attestlab.orgs.rules import AddOn, Plan
from attestlab_dashboards.usage.page import PAGE
from attestlab_dashboards.usage.panes.invoices import export_invoices
from attestlab_dashboards.usage.state import UsageState
from attestlab_dashboards.usage.words import write_date
from support.dashboards.payers import PANES, OpenPayer, draw

WEEK = 7
GROWING = [300 + 5 * day for day in range(6 * WEEK)]  # 505 yesterday
ADDON = "One more unit of extra verifications"


def test_the_answer_says_what_is_used_and_when_the_limit_is_reached(open_payer: OpenPayer) -> None:
    payer = open_payer(verifications_per_day=560)
    payer.use(GROWING, today=40)
    day = payer.lab.now().date() + timedelta(days=(560 - 510) // 5 - 3)

    words = draw(payer.lab, "answer")

    assert words.startswith("Today 40 of 560 verifications are used (7 %).")
    assert f"a busy day reaches the limit on {write_date(day, payer.lab.now().date())}, within this period." in words
    preview = payer.lab.billing.preview(addons={"extra_verifications": 1})
    assert f"{ADDON} raises it to 10,560, for {format_money(preview.due_now_minor, 'USD')} now" in words


def test_the_answer_says_plainly_that_this_period_is_not_concerned(open_payer: OpenPayer) -> None:
    later, never = open_payer(verifications_per_day=800), open_payer(verifications_per_day=800)
    later.use(GROWING)
    never.use([300] * 6 * WEEK)

    assert "the limit is not reached within this period, which ends on 1 Dec, but on " in draw(later.lab, "answer")
    assert "not reached, neither within this period nor within a year" in draw(never.lab, "answer")
    assert "not within this period" in draw(never.lab, "forecast")


def test_a_limit_that_is_reached_today_says_when_the_count_begins_again(open_payer: OpenPayer) -> None:
    payer = open_payer(Plan.FREE)
    payer.use(GROWING, today=100)

    assert "The limit is reached; at 3 Nov 2026, 00:00 UTC the count begins again." in draw(payer.lab, "answer")
    assert "today verifications" in draw(payer.lab, "kpis")
    assert "Verifications a day full 100 100 100 % 0 today" in draw(payer.lab, "limits")


def test_a_new_tenant_has_too_few_days(open_payer: OpenPayer) -> None:
    payer = open_payer(Plan.FREE)

    assert "too few days" in draw(payer.lab, "answer")
    assert "Too few days to tell A line needs 3 full weeks of use, and there are 0 days." in draw(payer.lab, "forecast")
    assert "Nothing was used There are no verifications in this time: 5 Aug to 2 Nov 2026." in draw(payer.lab, "days")


def test_without_a_limit_none_is_reached(open_payer: OpenPayer) -> None:
    payer = open_payer(Plan.ENTERPRISE)
    payer.use(GROWING, today=3)

    assert draw(payer.lab, "answer") == "Today 3 verifications are used; there is no limit."
    assert "never no daily limit" in draw(payer.lab, "kpis")
    assert "so none is reached" in draw(payer.lab, "forecast")
    assert "without a limit" in draw(payer.lab, "days")


def test_each_limit_has_the_numbers_of_the_verb(open_payer: OpenPayer) -> None:
    payer = open_payer()
    payer.lab.issuers.create("Registrar", "registrar.example")

    words = draw(payer.lab, "limits")

    for item in payer.lab.billing.usage().items:
        assert item.limit is not None
        assert f"{item.used:,} {item.limit:,} {item.percent} % {item.remaining:,}" in words
    assert "Issuers 1 10 10 % 9 not forecast: past numbers are not recorded" in words


def test_days_over_a_threshold_are_marked_in_colour_and_words(open_payer: OpenPayer) -> None:
    payer = open_payer(verifications_per_day=100)
    payer.use([10, 79, 80, 99, 100, 120], today=5)
    pane, state = PANES["days"], UsageState()

    drawn = str(pane.draw(pane.load(payer.lab, state), state))

    assert [len(re.findall(f'"f-{tone}"', drawn)) for tone in ("c0", "amber", "red")] == [3, 2, 2]
    assert "Highest: 120 on 1 Nov, 120 % of the limit. 4 days reached 80 %." in draw(payer.lab, "days")
    assert "2 Nov: 5, 5.0 % of the limit, so far" in drawn


def test_the_meter_and_the_span_of_the_address_are_shown(open_payer: OpenPayer) -> None:
    payer = open_payer()
    payer.use([7] * 40, "attestations")

    words = draw(payer.lab, "days", meter="attestations", days=30)

    assert words.startswith(
        "Attestations of each UTC day, 4 Oct to 2 Nov 2026, against the 10,000 that a day allows now"
    )
    assert "limit 10,000" not in words  # it would be far above the chart
    pane = PANES["days"]
    assert pane.export is not None
    assert len(pane.export(payer.lab, UsageState(meter="attestations", days=30)).df()) == 30


@pytest.mark.parametrize(
    ("shown", "used"),
    [("yesterday", [40]), ("2026-10-30/2026-10-31", [38, 39]), ("2026-10-31/2027-02-01", [39, 40, 3])],
)
def test_an_own_range_shows_its_days_and_exports_them(open_payer: OpenPayer, shown: str, used: list[int]) -> None:
    payer = open_payer()
    payer.use(list(range(1, 41)), today=3)
    pane, state = PANES["days"], UsageState(range=shown)

    drawn = str(pane.draw(pane.load(payer.lab, state), state))

    assert pane.export is not None
    assert pane.export(payer.lab, state).df()["used"].tolist() == used
    assert [int(found) for found in re.findall(r'data-tip="\d+ \w+: (\d+),', drawn)] == used


def test_a_range_without_use_says_so_and_offers_the_way_back(open_payer: OpenPayer) -> None:
    payer = open_payer()
    payer.use([7])

    words = draw(payer.lab, "days", range="2025-01-01/2025-01-31")

    assert "Nothing was used There are no verifications in this time: 1 Jan to 31 Jan 2025. Reset" in words


def test_the_filters_that_are_set_have_dates_a_cross_and_one_reset(open_payer: OpenPayer) -> None:
    payer = open_payer()
    state = PAGE.events["range"](UsageState(days=30, meter="attestations"), "2026-11-02/2026-10-04")

    words = draw(payer.lab, "chips", meter="attestations", range=state.range)

    assert (state.days, state.range) == (90, "2026-10-04/2026-11-02")
    assert words.endswith("Use: attestations 4 Oct to 2 Nov 2026 Reset")
    assert draw(payer.lab, "chips", range="yesterday").endswith("Yesterday: 1 Nov 2026 Reset")
    assert "Reset" not in draw(payer.lab, "chips")
    assert "90 days: 5 Aug to 2 Nov 2026" in draw(payer.lab, "chips")
    assert PAGE.events["clear"](state, "all") == UsageState()
    assert PAGE.events["days"](state, "7").range == ""


def test_a_larger_plan_holds_now_and_a_smaller_one_from_the_next_period(open_payer: OpenPayer) -> None:
    payer = open_payer()
    for name in ("one", "two", "three"):
        payer.lab.issuers.create(name, f"{name}.example")

    words = draw(payer.lab, "changes")

    due = payer.lab.billing.preview("PROFESSIONAL").due_now_minor
    assert f"Professional now {format_money(due, 'USD')} 199.00 USD" in words
    assert re.search(r"Free 1 Dec 0\.00 USD 0\.00 USD \d+ lower over issuers", words)
    assert "Now Starter, 29.00 USD a month. A preview changes nothing" in words
    assert payer.lab.billing.subscription().pending_plan is None


def test_the_chosen_change_lists_what_it_alters(open_payer: OpenPayer) -> None:
    payer = open_payer()
    payer.use([150] * 20, today=2)
    payer.lab.billing.attach("extra_issuers", 2)

    plan = draw(payer.lab, "changes", offer="FREE")
    addon = draw(payer.lab, "changes", offer="extra_issuers")

    assert "What Free would alter Close It holds from 1 Dec on" in plan
    assert "verifications a day 2 used today, 150 on the busiest day of four weeks 1,000 to 100 too low" in plan
    assert "too low: verifications a day" in plan.split("What Free")[0]
    assert "issuers 0 used 20 to 25 higher" in addon
    assert "3 x Extra issuers 30.00 USD" in addon


def test_the_copied_python_asks_for_one_more_unit(open_payer: OpenPayer) -> None:
    payer = open_payer()
    payer.lab.billing.attach("webhook_pack", 2)
    snippet = PANES["changes"].compose_python(UsageState(offer="webhook_pack"))
    assert snippet is not None
    *before, last = snippet.splitlines()
    names = {"lab": payer.lab}
    exec("\n".join(before), names)

    frame = eval(last, names)

    assert frame[["resource", "limit_before", "limit_after"]].to_numpy().tolist() == [["webhook_endpoints", 13, 18]]


def test_who_may_not_preview_sees_no_costs(open_payer: OpenPayer) -> None:
    payer = open_payer()
    payer.use(GROWING, today=9)
    analyst = payer.sign_in("analyst")

    assert "Owners and admins see what a larger plan costs." in draw(analyst, "answer")
    assert "9 of 1,000" in draw(analyst, "kpis")
    assert PANES["changes"].scope == "billing:write"
    with pytest.raises(PermissionDenied):
        PANES["changes"].export(analyst, UsageState())  # type: ignore[misc]  # it has one


def test_invoices_are_those_of_the_verb(open_payer: OpenPayer) -> None:
    payer = open_payer(Plan.FREE)
    assert "No invoice An invoice is issued when something is charged" in draw(payer.lab, "invoices")

    payer.installation.billing.attach(AddOn.WEBHOOK_PACK.value, caller=payer.caller)

    words = draw(payer.lab, "invoices")
    (invoice,) = list(payer.lab.billing)
    assert f"{invoice.number} 2 Nov to 30 Nov 2 Nov open {format_money(invoice.amount_minor, 'USD')}" in words
    assert "Next, on 1 Dec: 1 x Webhook pack 10.00 USD" in words
    assert export_invoices(payer.lab, UsageState()).df()["number"].tolist() == [invoice.number]


def test_a_page_of_invoices_that_does_not_exist_says_so(open_payer: OpenPayer) -> None:
    assert "No invoice on this page" in draw(open_payer(Plan.FREE).lab, "invoices", page=7)


def test_an_agreed_limit_that_nothing_raises_is_the_operators(open_payer: OpenPayer) -> None:
    payer = open_payer(attestations_per_day=50)
    payer.use(list(range(1, 43)), "attestations", today=3)

    words = draw(payer.lab, "answer")

    assert words.startswith("Today 3 of 50 attestations are used (6 %).")
    assert words.endswith("No plan or add-on raises it; agree a higher limit with the operator.")
