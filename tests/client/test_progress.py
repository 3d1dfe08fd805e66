"""Long work shows a bar to a person, nothing to a program, and stops cleanly on an interrupt."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from types import SimpleNamespace

import pytest
from IPython.core.interactiveshell import InteractiveShell

from attestlab.client import progress
from attestlab.client.progress import show_progress
from support.notebook_shell import open_shell


class TerminalOutput(io.StringIO):
    """A stderr that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@contextmanager
def terminal() -> Iterator[TerminalOutput]:
    """A terminal, whatever pytest captures."""
    with pytest.MonkeyPatch.context() as monkeypatch, redirect_stderr(TerminalOutput()) as output:
        monkeypatch.setenv("TERM", "xterm")
        yield output


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, str]]]:
    """What the cells of a notebook show, one after the other."""
    shown: list[dict[str, str]] = []
    with open_shell() as shell:
        shell.display_pub.publish = lambda data, **more: shown.append(data)
        shell.kernel = SimpleNamespace(_allow_stdin=True)
        monkeypatch.setattr(progress, "DELAY_S", 0.0)
        monkeypatch.setattr(progress, "REDRAW_INTERVAL_S", 0.0)
        yield shown


def work(total: int | None = 1_200) -> None:
    with show_progress("Minting", total) as bar:
        bar.advance(300)
        bar.advance(900)


def test_a_terminal_shows_a_bar_and_erases_it() -> None:
    with terminal() as output:
        work()

    written = output.getvalue()
    assert "Minting" in written
    assert "1,200 of 1,200" in re.sub(r"\x1b\[[0-9;]*m", "", written)
    assert written.endswith("\x1b[1A\x1b[2K")  # up, and the line is gone


def test_a_program_sees_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    work()

    assert capfd.readouterr() == ("", "")


def test_another_thread_shows_nothing() -> None:
    with terminal() as output:
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()

    assert output.getvalue() == ""


def test_what_a_program_prints_during_progress_stays_on_its_stream(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal(), show_progress("Minting", 10):
        print("a result")

    assert capsys.readouterr().out == "a result\n"


def test_a_notebook_shows_a_bar_that_leaves_nothing(cells: list[dict[str, str]]) -> None:
    work()

    assert [each["text/plain"] for each in cells][-2:] == ["Minting: 1,200 of 1,200", ""]
    assert "width:160px" in cells[-2]["text/html"]
    assert list(cells[-1]) == ["text/plain"]


def test_a_notebook_shows_work_whose_share_is_unknown(cells: list[dict[str, str]]) -> None:
    with show_progress("Simulating"):
        while not cells:
            threading.Event().wait(0.01)

    assert [each["text/plain"] for each in cells] == ["Simulating", ""]


def test_a_notebook_that_a_program_executes_shows_nothing(cells: list[dict[str, str]]) -> None:
    InteractiveShell.instance().kernel._allow_stdin = False  # as nbclient and nbval send cells
    work()

    assert cells == []


def test_short_work_shows_nothing_in_a_notebook(cells: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY_S", 60.0)
    work()

    assert cells == []


def test_an_interrupt_ends_the_bar_and_names_what_is_done() -> None:
    with terminal() as output, pytest.raises(KeyboardInterrupt) as caught, show_progress("Minting", 1_200) as bar:
        bar.advance(300)
        raise KeyboardInterrupt

    assert caught.value.__notes__ == ["Minting: 300 of 1,200 were done before; what was under way may be, too."]
    assert output.getvalue().endswith("\x1b[1A\x1b[2K")


def test_an_interrupt_erases_the_bar_of_a_notebook(cells: list[dict[str, str]]) -> None:
    with pytest.raises(KeyboardInterrupt), show_progress("Minting", 1_200) as bar:
        bar.advance(300)
        raise KeyboardInterrupt

    assert [each["text/plain"] for each in cells[-2:]] == ["Minting: 300 of 1,200", ""]
