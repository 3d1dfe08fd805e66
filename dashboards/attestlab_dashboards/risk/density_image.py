"""The density of scores as a small picture of 256 colours: as many bytes for a million signals as for a thousand."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Sequence
from math import sqrt
from typing import Final

from PIL import Image

from attestlab_dashboards.risk.queries.density import COLUMNS, ROWS, DensityCell

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
