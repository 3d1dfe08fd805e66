"""How many signals have which score at which time: a grid of counts, whatever their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from attestlab_dashboards.risk.queries.cells import Row

COLUMNS: Final = 240
ROWS: Final = 50


class DensityCell(NamedTuple):
    """The signals of one cell of the window, and their highest score; rows count from the score 0."""

    column: int
    row: int
    top: float
    signals: int


CELLS: Final = f"""
    SELECT list(x) AS xs, list(y) AS ys, list(top) AS tops, list(signals) AS counts FROM (
        SELECT (us - $window_start_us::BIGINT) * {COLUMNS} // ($window_end_us::BIGINT - $window_start_us::BIGINT) AS x,
            least(floor(score * {ROWS} / 100), {ROWS - 1})::BIGINT AS y, max(score) AS top, count(*) AS signals
        FROM {{table}} WHERE {{condition}} GROUP BY x, y ORDER BY x, y
    )
"""
"""One row with the whole grid; the table has `us`, the microseconds since 1970, and `score`."""


def read_density(row: Row) -> Sequence[DensityCell]:
    """Read the grid from its row."""
    columns = [row[name] for name in ("xs", "ys", "tops", "counts")]
    lists = [column for column in columns if isinstance(column, list)]
    return [DensityCell(*cell) for cell in zip(*lists, strict=True)]
