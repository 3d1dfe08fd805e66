"""The calls of `lab.explore` that show what a page shows, to copy into a cell of a notebook."""

from __future__ import annotations

from attestlab_dashboards.state import PageState


def write_explore_call(path: str, state: PageState) -> str:
    """Write the call that shows the page at `path` in a cell, such as `lab.explore("risk", window="7d")`."""
    addressed = state.list_changed([*state.list_addressed_names()])
    settings = "".join(f", {name}={_write_value(getattr(state, name), state.write(name))}" for name in addressed)
    return f'lab.explore("{path}"{settings})'


def write_rows_call(path: str, state: PageState, pane: str) -> str:
    """Write the call that reads the rows of a pane as a data frame."""
    return f'{write_explore_call(path, state)}.rows("{pane}").df()'


def _write_value(value: object, text: str) -> str:
    return repr(value) if isinstance(value, bool | int | float) else _quote(text)


def _quote(text: str) -> str:
    """Write a text as Python, in double quotes where that needs no escape.

    >>> print(_quote("7d"), _quote('a "b"'))
    "7d" 'a "b"'
    """
    return f'"{text}"' if repr(text) == f"'{text}'" and '"' not in text else repr(text)
