"""Writes what a view shows as a script that runs without it, and asserts the numbers that were seen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab_dashboards.pages import AnyPane

_SUMMED: Final = 3  # columns of whole numbers
_DEMO: Final = re.compile(r"demo, seed (\d+)")


class ScriptPart(NamedTuple):
    """A pane with its code, and its query where the code is one."""

    pane: AnyPane
    code: str | None
    sql: str | None


def write_script(lab: Lab, parts: Iterable[ScriptPart], *, place: str, call: str) -> str:
    """Write the script of panes, in their order; what two of them ask is asked once.

    Args:
        lab: the facade, which is asked for the numbers.
        parts: the panes that the caller may see.
        place: the name of the lab's service.
        call: the call that shows the same view.

    Raises:
        AttestLabError: the service refused, or failed.
    """
    written = [_write_opening(place), f"# The numbers of {call}"]
    names: dict[str, str] = {}
    for part in parts:
        if part.code is None:
            continue
        known = names.setdefault(part.code, part.pane.key)
        again = f"{_write_title(part.pane)}\n{part.pane.key} = {known}"
        written.append(again if known != part.pane.key else _write_part(lab, part.pane, part.code, part.sql))
    return "\n\n".join(written) + "\n"


def _write_part(lab: Lab, pane: AnyPane, code: str, sql: str | None) -> str:
    checks = [] if sql is None else _write_checks(pane.key, lab.sql(sql))
    return "\n".join([_write_title(pane), assign_last(code, pane.key), *checks])


def _write_title(pane: AnyPane) -> str:
    return f"# {pane.question or pane.key.capitalize()}"


def assign_last(code: str, name: str) -> str:
    """Assign the value of the last expression of a snippet to a name.

    >>> print(assign_last("import math\\nmath.sqrt(9)", "root"))
    import math
    root = math.sqrt(9)
    """
    last = ast.parse(code).body[-1]
    if not isinstance(last, ast.Expr):
        return code
    lines = code.splitlines()
    lines[last.lineno - 1] = f"{name} = {lines[last.lineno - 1]}"
    return "\n".join(lines)


def _write_opening(place: str) -> str:
    """Write how to open the lab, unless the notebook has one."""
    return f'import os\n\nimport attestlab\n\nlab = globals().get("lab") or {write_door(place)}'


def write_door(place: str) -> str:
    """Write the call that opens the lab of a place, with its key from the environment.

    >>> write_door("demo, seed 7"), write_door("data")
    ('attestlab.demo(seed=7)', "attestlab.open('data')")
    """
    demo = _DEMO.fullmatch(place)
    if demo is not None:
        return f"attestlab.demo(seed={demo[1]})"
    if place.startswith(("http://", "https://")):
        return f'attestlab.connect({place!r}, os.environ.get("ATTESTLAB_API_KEY"))'
    return f"attestlab.open({place!r})"


def _write_checks(name: str, rows: Rows) -> Iterator[str]:
    """Write the assertions of the number of rows, and of the sums of their first whole numbers."""
    frame = rows.df()
    yield f"assert len({name}) == {len(frame)}"
    whole = [column for column in frame.columns if str(frame[column].dtype).lower().startswith("int")]
    for column in whole[:_SUMMED]:
        yield f"assert {name}[{column!r}].sum() == {frame[column].sum()}"
