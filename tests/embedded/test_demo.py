"""`attestlab.demo`: built once, copied for each lab, private, and the same each time."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from multiprocessing import Barrier, Event, Value
from pathlib import Path

import pytest

from attestlab.core.crypto import keyring
from attestlab.core.errors import ValidationFailed
from attestlab.core.version import VERSION
from attestlab.demos.world import demo_world
from attestlab.embedded.demo import WORLD_END, demo
from attestlab.embedded.demo_cache import (
    MAX_WORLDS,
    PACKAGE,
    compute_fingerprint,
    copy_world,
    find_caches,
    list_sources,
)
from support.file_locks import is_waiting_for_file_lock
from support.in_process_server import wait_until
from support.timeouts import WAIT_TIMEOUT_S


@pytest.fixture(scope="module")
def caches_of_module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("caches")


@pytest.fixture
def caches(caches_of_module: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder of caches, the same for all tests of the module."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(caches_of_module))
    return caches_of_module


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, which a demo leaves as it was."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def worlds_in(caches: Path) -> list[Path]:
    return sorted(path for path in (caches / "attestlab").iterdir() if path.is_dir())


def test_two_labs_have_the_same_world_and_do_not_see_each_other(caches: Path, temporary: Path) -> None:
    with demo(history=False) as one, demo(history=False) as two:
        assert len([path for path in worlds_in(caches) if "-7-new-" in path.name]) == 1
        assert [each.to_dict() for each in one.attestations] == [each.to_dict() for each in two.attestations]
        one.attestations[0].revoke("a test")
        assert one.log.head().tree_size == two.log.head().tree_size + 1
        assert two.attestations[0].status.value == "VALID"


def test_the_clock_of_a_demo_starts_where_its_world_ends(caches: Path, temporary: Path) -> None:
    with demo(history=False) as lab:
        minted = lab.mint(issuer="Northfield University", schema="degree", claims={"student_name": "A"})
        assert lab.attestations[1].created_at == WORLD_END

    assert 0 <= (minted.created_at - WORLD_END).total_seconds() < 60


def test_another_seed_is_another_world_with_another_log(caches: Path, temporary: Path) -> None:
    with demo(7, history=False) as one, demo(8, history=False) as two:
        assert one.log.vkey().vkey != two.log.vkey().vkey
        assert len({path.name.split("-")[2] for path in worlds_in(caches)}) == 2
        assert repr(two) == "Lab(demo, seed 8)"


def test_the_cache_is_private(caches: Path, temporary: Path) -> None:
    with demo(history=False):
        pass

    assert (caches / "attestlab").stat().st_mode & 0o777 == 0o700


def fill(folder: Path) -> None:
    folder.mkdir()
    (folder / "records").write_text("a world")


def test_a_cache_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    root = tmp_path / "attestlab"
    root.mkdir(mode=0o755)
    copy_world("7", tmp_path / "copy", fill, caches=tmp_path)

    assert (tmp_path / "copy" / "records").exists()
    assert list(root.iterdir()) == []


def test_a_cache_that_cannot_be_made_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    copy_world("7", tmp_path / "copy", fill, caches=tmp_path / "file")

    assert (tmp_path / "copy" / "records").exists()


def test_a_build_that_fails_leaves_nothing_and_is_repeated(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        fill(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_world("7", tmp_path / "copy", fail, caches=tmp_path)
    assert [path.suffix for path in (tmp_path / "attestlab").iterdir()] == [".lock"]

    copy_world("7", tmp_path / "copy", fill, caches=tmp_path)
    assert (tmp_path / "copy" / "records").exists()


def test_a_builder_that_is_killed_leaves_no_world(tmp_path: Path) -> None:
    def die(folder: Path) -> None:
        fill(folder)
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        copy_world("7", tmp_path / "one", die, caches=tmp_path)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    (draft,) = worlds_in(tmp_path)

    copy_world("7", tmp_path / "two", fill, caches=tmp_path)

    assert not draft.exists()
    assert (tmp_path / "two" / "records").exists()
    assert len(worlds_in(tmp_path)) == 1


def use_world(caches: Path, name: str, *, used_at: int) -> Path:
    """Copy a world of this name, as if at that time; returns the one of the cache."""
    copy_world(name, Path(tempfile.mkdtemp(dir=caches)) / "copy", fill, caches=caches)
    (world,) = (path for path in worlds_in(caches) if path.name.startswith(f"demo-{VERSION}-{name}-"))
    os.utime(world, (used_at, used_at))
    return world


def test_the_cache_keeps_the_worlds_that_were_used_last(tmp_path: Path) -> None:
    first, second, *_ = (use_world(tmp_path, f"w{number}", used_at=number) for number in range(MAX_WORLDS))
    draft = second.with_name(f"draft-{second.name}-x")
    draft.mkdir()
    use_world(tmp_path, "w0", used_at=MAX_WORLDS)

    newest = use_world(tmp_path, "new", used_at=MAX_WORLDS + 1)

    kept = worlds_in(tmp_path)
    assert not {second, draft} & {*kept}
    assert {first, newest} < {*kept}
    assert len([*newest.parent.glob("*.lock")]) == len(kept) == MAX_WORLDS


def test_a_world_that_is_copied_is_not_removed(tmp_path: Path) -> None:
    oldest, *_ = (use_world(tmp_path, f"w{number}", used_at=number) for number in range(MAX_WORLDS))
    with open(oldest.with_name(f"{oldest.name}.lock")) as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        use_world(tmp_path, "new", used_at=MAX_WORLDS)
        assert oldest.is_dir()

    use_world(tmp_path, "newer", used_at=MAX_WORLDS)
    assert not oldest.exists()


@pytest.mark.parametrize("name", ["risk/rules.py", "risk/new.py", "demos/history/signals.gz"])
def test_another_source_is_another_world(tmp_path: Path, name: str) -> None:
    (tmp_path / "demos/history").mkdir(parents=True)
    (tmp_path / "risk/__pycache__").mkdir(parents=True)
    (tmp_path / "risk/rules.py").write_text("1")
    before = compute_fingerprint(tmp_path)
    (tmp_path / "risk/__pycache__/rules.pyc").write_text("1")
    assert compute_fingerprint(tmp_path) == before

    (tmp_path / name).write_text("2")
    assert compute_fingerprint(tmp_path) != before


def test_another_key_is_another_world(monkeypatch: pytest.MonkeyPatch) -> None:
    before = compute_fingerprint()
    monkeypatch.setenv(keyring.ENVIRONMENT_NAME, "another")

    assert compute_fingerprint() != before


def test_the_sources_of_a_world_are_all_that_its_builder_loads() -> None:
    loaded = [module for name, module in [*sys.modules.items()] if name.partition(".")[0] == "attestlab"]
    files = {Path(module.__file__) for module in loaded if module.__file__}

    assert demo_world.__module__ in sys.modules
    assert files - {*list_sources(PACKAGE)} == set()


def test_two_processes_build_one_world_once(tmp_path: Path) -> None:
    """The first one builds until the others wait for it, or build as well."""
    built, all_at_once, others_came = Value("i", 0), Barrier(3), Event()

    def count(folder: Path) -> None:
        with built.get_lock():
            built.value += 1
        others_came.wait(WAIT_TIMEOUT_S)
        fill(folder)

    children = []
    for number in range(3):
        child = os.fork()
        if child == 0:
            all_at_once.wait()
            copy_world("7", tmp_path / f"copy{number}", count, caches=tmp_path)
            os._exit(0)
        children.append(child)
    wait_until(lambda: built.value + sum(map(is_waiting_for_file_lock, children)), 3)
    others_came.set()

    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert built.value == 1
    assert all((tmp_path / f"copy{number}" / "records").exists() for number in range(3))


def test_the_cache_is_where_the_desktop_puts_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/ann")

    assert find_caches() == Path("/home/ann/.cache")


def test_a_second_person_can_sign_in_and_approve(caches: Path, temporary: Path) -> None:
    with demo(history=False) as lab:
        ann, ben = (lab.as_(f"{name}@demo.example", password="only for the demo") for name in ("ann", "ben"))
        request = ann.issuers.request("SUSPEND_ISSUER", "Orchard Press", "a test")
        ben.issuers.approve(request)
        ann.issuers.execute(request)

        assert lab.issuers["Orchard Press"].status == "SUSPENDED"
        assert [each.status for each in ann.issuers.requests("Orchard Press")] == ["EXECUTED"]
        assert ben.issuers.requests(status="PENDING").df().empty
        assert lab.as_("rita@demo.example", password="only for the demo").me().roles == ["reviewer"]


TIMES = (
    "now()",
    "localtimestamp",
    "current_timestamp",
    "get_current_timestamp()",
    "transaction_timestamp()",
    "today()",
    "current_date",
)


@pytest.mark.parametrize("by_a_person", [False, True], ids=["in this process", "over HTTP"])
def test_the_time_in_sql_is_that_of_the_world(by_a_person: bool, caches: Path, temporary: Path) -> None:
    with demo(history=False) as lab:
        asker = lab.as_("ann@demo.example", password="only for the demo") if by_a_person else lab
        before = asker.now()
        (row,) = asker.sql(f"select {', '.join(f'{each}::timestamptz' for each in TIMES)} from issuers limit 1")
        of_one = next(iter(asker.attestations.sql("select max(now() - created_at) < interval 1 hour as new from this")))

    *times, today, date = row.values()
    assert all(WORLD_END <= before <= each < WORLD_END + timedelta(hours=1) for each in times)
    assert today == date == WORLD_END.replace(hour=0)
    assert of_one == {"new": True}


def test_the_time_of_a_lab_is_that_of_its_world(caches: Path, temporary: Path) -> None:
    """The machine's clock is later: `strict` once accepted rows of the world's future, which the service rejects."""
    tomorrow = WORLD_END + timedelta(days=1)
    signal = {"source": "s", "signal_type": "behavior", "score": 1, "entity_type": "user", "entity_id": "u"}
    with demo(history=False) as lab:
        assert WORLD_END <= lab.now() < WORLD_END + timedelta(hours=1)
        with pytest.raises(ValidationFailed, match=r"The first is row 2: .* is later than now, 2026-11-02"):
            lab.signals.add_many([signal, signal | {"occurred_at": tomorrow}], strict=True)
        assert lab.signals.add_many([signal | {"occurred_at": WORLD_END}], strict=True).accepted == 1
        login = {"subject_id": "ada", "outcome": "success", "ip": "192.0.2.7", "occurred_at": WORLD_END, "kind": ""}
        judged = lab.signals.judge_logins(
            [login, login | {"kind": "takeover"}, login | {"occurred_at": tomorrow}], labels="kind"
        )
        assert (judged.logins, [each.line for each in judged.rejected]) == (2, [3])
