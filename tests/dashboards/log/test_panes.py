"""The panes: their numbers are those of the verbs, and no text of a stranger becomes markup."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any
from xml.etree import ElementTree

import pytest

import attestlab
from attestlab import Lab
from attestlab.core.errors import AttestLabError, NotFound
from attestlab.log.fsck_record import FsckSummary
from attestlab.log.merkle.hashing import node_hash
from attestlab_dashboards.log.comparison import load_change
from attestlab_dashboards.log.evidence import load_evidence
from attestlab_dashboards.log.heads import KeptHead
from attestlab_dashboards.log.page import PAGE
from attestlab_dashboards.log.panes import drawer, growth
from attestlab_dashboards.log.panes.change import export_change
from attestlab_dashboards.log.panes.drawer import dump_bytes, load_drawer
from attestlab_dashboards.log.panes.entries import load_entries, select_entries
from attestlab_dashboards.log.panes.growth import load_growth, select_growth
from attestlab_dashboards.log.panes.path import export_path
from attestlab_dashboards.log.panes.steps import export_steps
from attestlab_dashboards.log.state import ENTRY_TYPES, Flip, LogState
from attestlab_dashboards.pages import Facts, Pane
from attestlab_dashboards.widgets import SHORT_PAGE_ROWS
from support.log_inspector import mint

SHELL_EVENTS = {"retry", "reset"}
PAYLOAD = '"><img src=x onerror=alert(1)>'
FACTS = Facts("Ann", "ann@demo.example", "Demo", "", "demo", frozenset(), frozenset())
STATES = [
    LogState(),
    *(LogState(flip=flip) for flip in Flip if flip),
    LogState(find="0"),
    LogState(find="no such thing"),
    LogState(find="Northfield University", entry=30, type="key.status"),
    LogState(kept=KeptHead(20, "ab" * 32)),
    LogState(kept=KeptHead(9_999, "ab" * 32), page=99),
]


def draw(lab: Lab, pane: Pane[LogState, Any], state: LogState) -> str:
    return str(pane.draw(pane.load(lab, state), state))


def pane_of(key: str) -> Pane[LogState, Any]:
    return next(pane for pane in PAGE.panes if pane.key == key)


def read_text(markup: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", markup).split())


@pytest.mark.parametrize("state", STATES, ids=[str(number) for number in range(len(STATES))])
def test_every_pane_draws_every_state_with_events_and_ids_that_exist(demo_lab: Lab, state: LogState) -> None:
    drawn = [draw(demo_lab, pane, state) for pane in PAGE.panes]
    markup = "".join(drawn)

    optional = [pane.key in ("drawer", "primary") for pane in PAGE.panes]
    assert all(each or may_be_empty for each, may_be_empty in zip(drawn, optional, strict=True))
    assert set(re.findall(r'data-(?:ev|hash|drop|read)="(\w+)"', markup)) <= set(PAGE.events) | SHELL_EVENTS
    assert set(re.findall(r'data-act="(\w+)"', markup)) <= set(PAGE.actions)
    ids = re.findall(r' id="([^"]+)"', markup)
    assert len(ids) == len(set(ids))
    for svg in re.findall(r"<svg class=\"lg-draw.*?</svg>", markup, re.DOTALL):
        ElementTree.fromstring(svg)


def test_what_a_pane_reads_are_fields_of_the_state() -> None:
    for pane in PAGE.panes:
        assert set(pane.reads) <= {*LogState.param}


@pytest.mark.parametrize("name", ["find", "trust", "bundle", "answer"])
def test_no_text_of_the_address_becomes_markup(demo_lab: Lab, name: str) -> None:
    state = LogState(**{name: PAYLOAD})
    for pane in PAGE.panes:
        try:
            assert "<img" not in draw(demo_lab, pane, state)
        except (AttestLabError, ValueError):
            continue


def test_no_text_of_an_issuer_or_a_claim_becomes_markup(own_lab: Lab) -> None:
    issuer = own_lab.issuers.create(f"A{PAYLOAD}", "payload.example", kid="payload-1")
    own_lab.mint(issuer=issuer, schema="degree", claims={"student_name": PAYLOAD})

    for state in (LogState(), LogState(flip=Flip.CLAIM), LogState(entry=len(own_lab.log) - 1)):
        markup = "".join(draw(own_lab, pane, state) for pane in PAGE.panes)
        assert "<img" not in markup
        assert "&lt;img" in markup


def test_the_tiles_say_what_the_head_says(demo_lab: Lab) -> None:
    head = demo_lab.log.head()
    shown = draw(demo_lab, pane_of("kpis"), LogState())

    assert f">{head.tree_size:,}<" in shown
    assert head.root_hash in shown
    assert "no one else cosigned this head" in shown


def test_the_tile_of_the_last_check_says_when_over_what_and_with_which_result(own_lab: Lab) -> None:
    tiles, installation = pane_of("kpis"), own_lab._door.installation  # type: ignore[attr-defined]
    size, now = len(own_lab.log), own_lab.now()
    never = read_text(draw(own_lab, tiles, LogState()))
    sound = FsckSummary(installation.log_id, now - timedelta(hours=3), tree_size=size - 1, problems=0)
    shown = []
    for summary in (sound, replace(sound, problems=1), replace(sound, problems=1_204)):
        installation.fsck_record.write(summary)
        shown.append(read_text(draw(own_lab, tiles, LogState())))

    assert "Last fsck never the service knows of no check" in never
    assert f"Last fsck 3 h ago clean, {size - 1} of {size} entries" in shown[0]
    assert [
        f"{problems} , {size - 1} of {size}" in text
        for problems, text in zip(("1 problem", "1,204 problems"), shown[1:], strict=True)
    ] == [True, True]


def test_ages_count_from_the_time_of_the_service(demo_lab: Lab) -> None:
    opened = load_drawer(demo_lab, LogState(entry=0))
    assert opened is not None
    times = (opened.now, load_entries(demo_lab, LogState()).now, load_change(demo_lab, LogState()).now)

    assert {each.date() for each in times} == {demo_lab.now().date()}


def test_a_search_says_as_what_it_was_recognised(demo_lab: Lab) -> None:
    newest, steps = demo_lab.attestations[0], pane_of("steps")
    assert callable(steps.reading)
    words = {
        "": "Entry ",
        str(newest.log_index): "Found by log index. Entry ",
        str(newest.id): "Found by attestation id. Entry ",
        demo_lab.log.entry(newest.log_index).leaf_hash: "Found by leaf hash. Entry ",
        newest.kid: "Found by key, its newest entry. Entry ",
        "Northfield University": "Found by issuer, its newest entry. Entry ",
        "nothing like it": "Search an attestation, a hash, a key or an issuer",
    }
    for find, word in words.items():
        state = LogState(find=find)
        assert steps.reading(steps.load(demo_lab, state), state).startswith(word), find


@pytest.mark.parametrize("state", [LogState(find="0" * 64), LogState(find="0" * 64, file="0" * 64)])
def test_the_answer_begins_with_a_document_that_was_never_attested(demo_lab: Lab, state: LogState) -> None:
    drawn = draw(demo_lab, pane_of("answer"), state)

    assert read_text(drawn).startswith("Not attested: this document No issuer has attested this document")
    assert f'data-file="{"0" * 64}"' in drawn
    assert 'class="pill good"' not in str(PAGE.chips(state, FACTS))


def test_the_answer_names_growth_entry_and_validity(own_lab: Lab) -> None:
    head = own_lab.log.head()
    state = LogState(kept=KeptHead(head.tree_size, head.root_hash[7:]))
    mint(own_lab, 4)
    answer = read_text(draw(own_lab, pane_of("answer"), state))

    assert "It grew by 4 entries since" in answer
    assert "nothing older was changed" in answer
    assert (
        f"Entry {own_lab.attestations[0].log_index:,} , a degree by Northfield University, is in it and valid" in answer
    )


def test_the_table_has_the_rows_of_the_log_page_by_page(demo_lab: Lab) -> None:
    size = len(demo_lab.log)
    pages = [load_entries(demo_lab, LogState(page=page)) for page in range(1, size // SHORT_PAGE_ROWS + 2)]
    rows = [row for page in pages for row in page.rows]

    assert [row.index for row in rows] == list(range(size - 1, -1, -1))
    assert {page.total for page in pages} == {size}
    for row, entry in zip(reversed(rows), demo_lab.log, strict=True):
        assert (row.type, f"sha256:{row.leaf_hash}") == (entry.type, entry.leaf_hash)


@pytest.mark.parametrize("kind", ENTRY_TYPES)
def test_a_filter_shows_what_it_counts(demo_lab: Lab, kind: str) -> None:
    page = load_entries(demo_lab, LogState(type=kind))

    assert page.total == dict(page.types).get(kind, 0)
    assert {row.type for row in page.rows} <= {kind}
    assert len(select_entries(demo_lab, LogState(type=kind))) == page.total
    if not page.total:
        assert "Show all entries" in draw(demo_lab, pane_of("entries"), LogState(type=kind))


def test_the_entries_of_an_issuer_are_those_that_name_it(demo_lab: Lab) -> None:
    issuer = demo_lab.issuers["Delta Clinics"]
    page = load_entries(demo_lab, LogState(issuer=str(issuer.id)))

    assert page.total == sum(n for key, _, n in page.issuers if key == str(issuer.id)) > 0
    assert {row.issuer for row in page.rows} == {"Delta Clinics"}


def test_the_growth_ends_at_the_size_of_the_log(demo_lab: Lab) -> None:
    days = load_growth(demo_lab, LogState()).days

    assert days[-1].size == len(demo_lab.log)
    assert sum(each.added for each in days) == len(demo_lab.log)
    assert [each.size for each in days] == sorted(each.size for each in days)


def test_the_drawer_has_the_exact_bytes_and_the_key_then_and_now(own_lab: Lab) -> None:
    mint(own_lab, 1)
    minted = own_lab.attestations[0]
    own_lab.issuers["Northfield University"].rotate_key()
    state = LogState(entry=minted.log_index)
    opened = load_drawer(own_lab, state)
    assert opened is not None

    then, now = opened.key_status(before=minted.log_index), opened.key_status()

    assert (then and then.status, now and now.status) == ("active", "rotated")
    assert opened.signature == minted.signature
    markup = draw(own_lab, pane_of("drawer"), state)
    assert 'role="dialog"' in markup
    assert opened.entry.leaf_hash[7:] in markup
    assert "7b 22 61 6c 67 22" in markup  # {"alg"


def test_a_long_timeline_says_what_it_leaves_out_and_knows_the_key(
    own_lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawer, "MAX_CHANGES", 1)
    mint(own_lab, 1)
    own_lab.issuers["Northfield University"].rotate_key()
    state = LogState(entry=own_lab.attestations[0].log_index)
    opened = load_drawer(own_lab, state)
    assert opened is not None

    status = opened.key_status()

    assert (status and status.status, len(opened.history) > 1) == ("rotated", True)
    assert f"The newest 1 of {len(opened.history)}." in draw(own_lab, pane_of("drawer"), state)


def test_the_growth_is_exported_with_all_its_days(demo_lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    days = load_growth(demo_lab, LogState()).days
    monkeypatch.setattr(growth, "GROWTH_POINTS", 0)

    assert load_growth(demo_lab, LogState()).days == ()
    assert len(select_growth(demo_lab, LogState())) == len(days) > 0


def test_the_timeline_of_a_withdrawn_attestation_has_both_of_its_entries(own_lab: Lab) -> None:
    mint(own_lab, 1)
    minted = own_lab.attestations[0]
    end = minted.revoke("a test").log_index
    opened = load_drawer(own_lab, LogState(entry=end))
    assert opened is not None

    own = [each for each in opened.history if each.type.startswith("attestation.")]

    assert [(each.index, each.status) for each in own] == [(minted.log_index, None), (end, "REVOKED")]


def test_an_entry_beyond_the_end_is_not_found(demo_lab: Lab) -> None:
    with pytest.raises(NotFound):
        load_drawer(demo_lab, LogState(entry=len(demo_lab.log)))
    assert load_drawer(demo_lab, LogState()) is None


def test_bytes_are_dumped_without_loss() -> None:
    raw = bytes(range(256))
    lines = dump_bytes(raw).split("\n")

    assert b"".join(bytes.fromhex(line[6:41]) for line in lines) == raw


@pytest.mark.parametrize("key", [pane.key for pane in PAGE.panes if pane.compose_python(LogState()) is not None])
@pytest.mark.parametrize("find", ["", "30", "id", "document", "northfield-1"])
def test_copied_python_runs_as_it_stands(demo_lab: Lab, key: str, find: str) -> None:
    head = demo_lab.log.head()
    kept = KeptHead(20, demo_lab.log.consistency(20).from_root[7:])
    attested = next(each for each in demo_lab.attestations if each.document_hash)
    names = {"id": str(attested.id), "document": str(attested.document_hash)}
    state = LogState(find=names.get(find, find), kept=kept if find else None)
    python = pane_of(key).compose_python(state)
    assert python is not None
    assert head.tree_size > 20

    exec(python, {"lab": demo_lab, "attestlab": attestlab})


@pytest.mark.parametrize("key", [pane.key for pane in PAGE.panes if pane.copy_sql is not None])
def test_copied_sql_gives_the_rows_of_the_export(demo_lab: Lab, key: str) -> None:
    state = LogState(type="key.status", issuer=str(demo_lab.issuers["Delta Clinics"].id))
    pane = pane_of(key)
    assert pane.copy_sql is not None
    assert pane.export is not None

    assert list(demo_lab.sql(pane.copy_sql(state))) == list(pane.export(demo_lab, state))


@pytest.mark.parametrize("find", ["", "document"])
def test_the_proofs_are_exported_as_they_are_drawn(demo_lab: Lab, find: str) -> None:
    attested = next(each for each in demo_lab.attestations if each.document_hash)
    state = LogState(find=str(attested.document_hash) if find else "")
    evidence = load_evidence(demo_lab, state)
    assert evidence.examination is not None
    assert evidence.path is not None

    steps, path = export_steps(demo_lab, state).df(), export_path(demo_lab, state).df()

    assert list(steps["state"]) == [each.state.value for each in evidence.examination.steps]
    assert len(steps) == 8
    assert list(path["hash"]) == [each.hash.hex() for each in evidence.path.siblings]
    assert path["node"].iloc[-1] == evidence.path.root.hex()


def test_the_exported_proof_covers_both_heads(demo_lab: Lab) -> None:
    head = demo_lab.log.head()
    frame = export_change(demo_lab, LogState(kept=KeptHead(20, demo_lab.log.consistency(20).from_root[7:]))).df()

    assert list(frame["first"]) == [0, *frame["end"][:-1]]
    assert frame["end"].iloc[-1] == head.tree_size
    assert frame.loc[frame["head"] == "older", "end"].max() == 20
    sizes = (frame["end"] - frame["first"]).tolist()
    assert fold([*zip(sizes, map(bytes.fromhex, frame["hash"]), strict=True)]) == (bytes.fromhex(head.root_hash[7:]))


def fold(blocks: list[tuple[int, bytes]]) -> bytes:
    """Compute the root of blocks that stand next to each other (RFC 6962, 2.1)."""
    if len(blocks) == 1:
        return blocks[0][1]
    half = 1 << ((sum(size for size, _ in blocks) - 1).bit_length() - 1)
    covered = [*itertools.accumulate(size for size, _ in blocks)]
    place = covered.index(half) + 1
    return node_hash(fold(blocks[:place]), fold(blocks[place:]))


def test_heads_without_a_proof_have_none_to_export(demo_lab: Lab) -> None:
    with pytest.raises(NotFound, match="continues that of 1000000"):
        export_change(demo_lab, LogState(kept=KeptHead(1_000_000, "00" * 32)))


def test_a_search_without_a_result_has_no_proof_to_export(demo_lab: Lab) -> None:
    for export in (export_steps, export_path):
        with pytest.raises(NotFound):
            export(demo_lab, LogState(find="nothing-1"))
