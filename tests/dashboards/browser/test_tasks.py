"""The questions of docs/dashboards.md, answered by clicks alone; each takes at most as many as its row says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from attestlab import Lab
from attestlab.demos.documents import diploma_pdf
from support.browser import needs_chromium
from support.dashboards.clicks import Finger, Mouse
from support.dashboards.demo_server import ADMIN, OWNER, DemoServer
from support.dashboards.windows import HAND, Windows, list_failed_panes

pytestmark = needs_chromium

DOCUMENT = Path(__file__).parents[3] / "docs" / "dashboards.md"
MAX_CLICKS = {
    found[1]: int(found[2]) for found in re.finditer(r"^\| (.+?\?) \| .+? \| (\d) \|$", DOCUMENT.read_text(), re.M)
}


@pytest.fixture(scope="module")
def lab(demo: DemoServer) -> Iterator[Lab]:
    """The facade, for what is right."""
    with demo.connect() as opened:
        yield opened


class Tasks:
    """Opens windows for tasks, and notes how many clicks each took."""

    def __init__(self, windows: Windows) -> None:
        self.windows = windows
        self.clicks: dict[str, int] = {}

    @contextmanager
    def begin(self, question: str, page: str, person: str = OWNER, *, by_hand: bool = False) -> Iterator[Mouse]:
        """Open the page that a task begins with; at its end it took few clicks, and no pane failed."""
        with self.windows.visit(f"/dash/{page}", person=person, **(HAND if by_hand else {})) as window:
            mouse = Finger(window) if by_hand else Mouse(window)
            yield mouse
            assert list_failed_panes(window) == []
        self.clicks[question] = self.clicks.get(question, 0) + mouse.clicks
        print(f"{self.clicks[question]} clicks: {question}")
        assert self.clicks[question] <= MAX_CLICKS[question]


@pytest.fixture
def tasks(windows: Windows) -> Tasks:
    return Tasks(windows)


def test_the_table_of_the_documentation_has_each_question() -> None:
    assert len(MAX_CLICKS) >= 15
    assert max(MAX_CLICKS.values()) <= 7


def test_who_caused_the_spike(tasks: Tasks) -> None:
    with tasks.begin("Who caused the latest spike?", "risk") as mouse:
        mouse.press("7 days")
        answer = mouse.read_pane("answer")
        named = mouse.page.locator("[data-pane=answer] button[data-ev=entity]").first
        name = mouse.read(named)
        mouse.click(named)
        drawer = mouse.read_pane("drawer")

    assert re.search(r"reached [\d,]+ on .+, [\d,]+ times the usual", answer), answer
    assert name in drawer
    escalated = re.search(r"([\d,]+) signals? (?:(?:are|is) about or )?names? it, ([\d,]+) of them escalated", drawer)
    assert escalated is not None, drawer
    assert int(escalated[2].replace(",", "")) >= 10


def test_which_issuers_failures_rose(tasks: Tasks, lab: Lab) -> None:
    with tasks.begin("Which issuer's failures rose?", "issuers") as mouse:
        mouse.press("Failed checks", "[data-pane=issuers]")
        first = mouse.page.locator("[data-pane=issuers] tr[data-row]").first
        issuer, words = str(first.get_attribute("data-row")), mouse.read(first)
        address = mouse.page.url

    assert address.endswith("?sort=-failures")
    failed = lab.sql(
        "SELECT sum(count)::BIGINT AS n FROM verifications WHERE NOT valid AND issuer_id = ? "
        "AND verified_at >= now() - INTERVAL 30 DAY",
        [issuer],
    )
    assert words.startswith(lab.issuers[issuer].name)
    assert re.search(rf" {next(iter(failed))['n']} \+[\d,]+ ", words), words


def test_what_a_rule_alone_would_have_denied_last_month_and_for_whom(tasks: Tasks) -> None:
    question = "What would this rule alone have denied last month, and for whom?"
    with tasks.begin(question, "policy") as mouse:
        mouse.press("30 days")
        row = mouse.page.locator("[data-pane=rules] tr[data-row='old-key']")
        hits, decisive = (mouse.read(row.locator("td").nth(place)) for place in (3, 4))
        mouse.click(row.locator("[data-ev=rule]"))
        drawer = mouse.read_pane("rule")

    denied = re.search(r"It alone denies ([\d,]+) verifications?", drawer)
    assert denied is not None, drawer
    assert 0 < int(denied[1].replace(",", "")) <= int(decisive.replace(",", ""))
    assert f"It matches {hits} verification" in drawer
    assert "BASIC" in drawer


def test_which_smallest_change_lets_one_through(tasks: Tasks) -> None:
    with tasks.begin("Which smallest change lets this one through?", "policy") as mouse:
        recorded = mouse.page.locator("[data-pane=decision] select[data-ev=load]")
        denied = recorded.locator("option", has_text="DENY").first.get_attribute("value")
        assert denied is not None
        mouse.choose(recorded, denied)
        before = mouse.read_pane("decision")
        mouse.press("Try this change", "[data-pane=decision]")
        after = mouse.read_pane("decision")

    assert re.search(r"DENY by", before)
    assert "Smallest change that would allow it:" in before
    assert re.search(r"ALLOW by", after)


def test_is_a_file_attested_and_still_valid(tasks: Tasks, tmp_path: Path) -> None:
    file, other = tmp_path / "diploma.pdf", tmp_path / "letter.txt"
    institution, master = "Northfield University", "Master of Science in Mathematics"
    file.write_bytes(diploma_pdf("Emmy Noether", master, date(2026, 6, 30), institution=institution))
    other.write_text("never attested")
    with tasks.begin("Is this file attested, and still valid?", "log") as mouse:
        mouse.choose_file("[data-pane=chips] input[type=file]", file)
        answer = mouse.read_pane("answer")

    assert f"a degree by {institution}, is in it and valid." in answer
    with tasks.windows.visit("/dash/log") as page:
        mouse = Mouse(page)
        mouse.choose_file("[data-pane=chips] input[type=file]", other)
        assert mouse.read_pane("answer").startswith("Not attested: letter.txt No issuer has attested")
        assert page.locator("[data-pane=chips] .pill.good").count() == 0


def test_did_the_log_change_since_i_last_looked(tasks: Tasks, lab: Lab) -> None:
    with tasks.begin("Did the log change since I last looked?", "log") as mouse:
        mouse.press("Keep the head of now in this link", "[data-pane=change]")
        unchanged = mouse.read_pane("answer")
        size = lab.log.head().tree_size
        claims = {"student_name": "Lise Meitner", "institution": "Northfield University"}
        lab.mint(issuer="Northfield University", schema="degree", claims=claims)
        mouse.press("Look again", "[data-pane=change]")
        answer = mouse.read_pane("answer")

    assert f"It has {size:,} entries" in unchanged
    assert "nothing was changed" in unchanged
    assert re.search(r"It grew by [1-9]\d* entr(y|ies) since .* and nothing older was changed\.", answer), answer


def test_which_keys_are_older_than_a_year_and_what_depends_on_them(tasks: Tasks, lab: Lab) -> None:
    question = "Which keys are older than a year, and what depends on them?"
    with tasks.begin(question, "issuers") as mouse:
        old = mouse.page.locator("[data-pane=keys] .is-lane:has(.pill.warn)")
        name, signed = mouse.read(old.first.locator(".is-name")), mouse.read(old.first.locator(".num"))
        number = old.count()
        mouse.click(old.first.locator(".is-key.accent"))
        loss = mouse.read_pane("loss")

    year_ago = datetime.now(UTC) - timedelta(days=365)
    keys = [key for issuer in lab.issuers.list() for key in issuer.keys if key.status == "active"]
    assert number == sum(key.created_at <= year_ago for key in keys) > 0
    assert f"of {name}, active; supposed to be lost" in loss
    counts = re.findall(r"([\d,]+) (?:logged before|logged since|had ended before)", loss)
    assert sum(int(each.replace(",", "")) for each in counts) == int(signed.replace(",", ""))


def test_suspend_an_issuer_knowing_the_consequences_and_see_who_approved(tasks: Tasks, lab: Lab) -> None:
    """Two people act, each in a window of their own; the clicks of both count."""
    question, reason = "How do I suspend an issuer, knowing the consequences?", "60 generated pictures"
    issuer = lab.issuers["Maker Guild"]
    valid = issuer.blast_radius().valid
    with tasks.begin(question, "issuers") as mouse:
        mouse.press(f"Suspend {issuer.name}", "[data-pane=issuers]")
        dialog = mouse.read("[role=dialog]")
        mouse.page.keyboard.type(reason)  # the dialog begins with the reason
        mouse.press("Ask for approval", "[role=dialog]")
    assert re.search(rf"\b{valid} attestations? (?:stay|stays) VALID and will be flagged", dialog), dialog
    assert lab.issuers[issuer.name].status == "ACTIVE"

    with tasks.begin(question, "issuers", person=ADMIN) as mouse:
        mouse.press("Approve", "[data-pane=requests]")
        assert reason in mouse.read("[role=dialog]")
        mouse.press("Approve, 1 of 1", "[role=dialog]")
        mouse.press("Execute", "[data-pane=requests]")
        mouse.press("Execute now", "[role=dialog]")
    assert lab.issuers[issuer.name].status == "SUSPENDED"

    with tasks.begin("Who approved this change?", "issuers") as mouse:
        trail = mouse.read_pane("trail")
    assert f"Ben Okafor approved the request to suspend {issuer.name} approval 1 of 1" in trail
    assert f"You asked to suspend {issuer.name} “{reason}”" in trail


def test_which_entitys_signals_rose(tasks: Tasks) -> None:
    with tasks.begin("Which entity's signals rose?", "risk") as mouse:
        mouse.press("Change", "[data-pane=who]")
        changes = mouse.page.locator("[data-pane=who] td:nth-child(5)").all_inner_texts()

    numbers = [int(each.replace(",", "")) for each in changes]
    assert len(numbers) == 10
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] > 0


def test_which_case_is_about_half_a_device_id_on_a_phone(tasks: Tasks, lab: Lab) -> None:
    device = lab.cases.groups("device")[0].key
    with tasks.begin("Which case is about this half of a device id, on a phone?", "risk", by_hand=True) as finger:
        finger.click("#al-search", redraws=False)
        finger.page.keyboard.type(device[: len(device) // 2 + 3])
        finger.click('#al-found [aria-label="Cases"] [role=option]', redraws=False)
        finger.page.wait_for_url(re.compile(r"/dash/risk\?entity="))
        finger.page.wait_for_selector("[data-pane=drawer] [role=dialog]")
        drawer = finger.read_pane("drawer")

    assert re.search(r"signals? ", drawer), drawer


def test_suspend_an_issuer_on_a_phone(tasks: Tasks, lab: Lab) -> None:
    question, name = "How do I suspend an issuer on a phone?", "Canton Archive"
    with tasks.begin(question, "issuers", by_hand=True) as finger:
        finger.press(name, "[data-pane=issuers]")
        finger.press("Suspend", "[data-pane=issuer]")
        finger.page.keyboard.type("seen on a phone")
        finger.press("Ask for approval", "[role=dialog][aria-modal=true]")
    with tasks.begin(question, "issuers", person=ADMIN, by_hand=True) as finger:
        request = finger.page.locator("[data-pane=requests] li", has_text=name)
        finger.click(request.get_by_role("button", name="Approve"))
        finger.press("Approve, 1 of 1", "[role=dialog]")
        finger.click(request.get_by_role("button", name="Execute"))
        finger.press("Execute now", "[role=dialog]")
    assert lab.issuers[name].status == "SUSPENDED"


def test_the_drawer_of_an_api_key_says_all_that_it_did(tasks: Tasks, lab: Lab) -> None:
    made = lab.issuers.create("Night School", "night.example.edu", jurisdiction="CH")
    lab.lists.add("deny", "user", "mallory", reason="seen in three rings")
    me = lab.me()
    with tasks.begin("What did this API key do?", "access") as mouse:
        mouse.click(f"[data-pane=keys] tr[data-row='key:{me.id}'] button.al-open")
        drawer = mouse.read_pane("who")
        counts = mouse.page.locator("[data-pane=who] .chip[data-ev=deed]").all_text_contents()
        link = mouse.page.locator("[data-pane=who] .ac-lines a", has_text=made.name).first.get_attribute("href")

    assert me.name in drawer
    assert f"Registered {made.name}" in drawer
    assert "Added an entry of a risk list" in drawer
    assert any(re.match(r"registered an issuer \d+ times?", count) for count in counts), counts
    assert link == f"issuers?issuer={made.id}"


def test_when_do_we_reach_a_limit(tasks: Tasks, lab: Lab) -> None:
    with tasks.begin("When do we reach a limit?", "usage") as mouse:
        answer = mouse.read(".answer")

    use = next(item for item in lab.billing.usage().items if item.resource == "verifications")
    assert f"of {use.limit:,} verifications" in answer
    assert re.search(r"on \d+ \w{3}(, within this period| 20\d\d|\.)", answer)


def test_what_would_another_plan_change_and_what_does_it_cost(tasks: Tasks, lab: Lab) -> None:
    with tasks.begin("What would another plan change, and what does it cost?", "usage") as mouse:
        mouse.press("FREE", "[data-pane=changes]")
        shown = mouse.read(".us-effects")

    preview = lab.billing.preview("FREE")
    assert f"{preview.due_now_minor / 100:.2f} USD due now" in shown
    assert shown.lower().count(" lower ") + shown.lower().count(" over ") == len(preview.effects)
