"""The density of scores: counts on a grid, and a small picture of 256 colours, for any number of signals."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Sequence
from math import sqrt
from typing import Final, NamedTuple

from PIL import Image

from attestlab.client.analysis.row_iterator import Row

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


_SHADES: Final = 127
_BLUE, _RED = (0x4C, 0x78, 0xDB), (0xD9, 0x53, 0x4F)  # --al-c0 and --al-red, which are the same in both modes
_FAINTEST: Final = 44  # of 255; a single signal must still be visible
_CLIPPED_SHARE: Final = 0.995  # cells above this quantile have the darkest shade
_PALETTE: Final = [0, 0, 0, *(_BLUE * _SHADES), *(_RED * _SHADES)]
_ALPHAS: Final = bytes([0, *[_FAINTEST + (255 - _FAINTEST) * shade // (_SHADES - 1) for shade in range(_SHADES)] * 2])


def encode_density(cells: Sequence[DensityCell], threshold: float) -> str:
    """Return a PNG as base64: blue, red where a score reaches the threshold, the darker the more signals."""
    pixels = bytearray(COLUMNS * ROWS)
    top = _find_top([cell.signals for cell in cells])
    for cell in cells:
        if 0 <= cell.column < COLUMNS:
            shade = min(_SHADES, 1 + round((_SHADES - 1) * sqrt(cell.signals / top)))
            pixels[(ROWS - 1 - cell.row) * COLUMNS + cell.column] = shade + (_SHADES if cell.top >= threshold else 0)
    image = Image.frombytes("P", (COLUMNS, ROWS), bytes(pixels))
    image.putpalette(_PALETTE)
    sink = io.BytesIO()
    image.save(sink, "PNG", transparency=_ALPHAS)
    return b64encode(sink.getvalue()).decode()


def _find_top(counts: Sequence[int]) -> int:
    return sorted(counts)[int(_CLIPPED_SHARE * (len(counts) - 1))] if counts else 1
