"""A real IPython shell in the process of a test, without history and without guesses of Jedi."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config


@contextmanager
def open_shell() -> Iterator[InteractiveShell]:
    """Open the shell that `get_ipython` finds."""
    config = Config()
    config.HistoryManager.enabled = False
    config.IPCompleter.use_jedi = False
    shell = InteractiveShell.instance(config=config)
    try:
        yield shell
    finally:
        shell.restore_sys_module_state()
        InteractiveShell.clear_instance()


def complete(shell: InteractiveShell, text: str) -> list[str]:
    """The whole line after each completion that a Tab offers at its end."""
    with provisionalcompleter():
        return sorted({text[: each.start] + each.text for each in shell.Completer.completions(text, len(text))})
