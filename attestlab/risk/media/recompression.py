"""Traces of double JPEG quantisation in the histograms of DCT coefficients (Lukas and Fridrich, DFRWS 2003).

A JPEG that was saved, decoded and saved again with other tables has histograms with gaps or peaks at regular
distances. The picture, cut off its grid of blocks by a few pixels, estimates the histograms that it had before. Both
models, one quantisation and two, predict histograms from that estimate; the trace is how much better two explain the
observed ones, in bits for each coefficient that is not zero.

The trace says that a picture was saved twice on one grid. Each messenger and each editor does that.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple

from attestlab.risk.media.containers.pictures import strip_metadata

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MAX_DECODED_PIXELS = 25_000_000
MAX_DECODED_BYTES = 12_000_000  # decoding takes time by pixels and by bytes
MAX_DECODED_SCAN_PIXELS = 200_000_000  # pixels times scans: a progressive JPEG is decoded once for each scan
MAX_EXAMINED_SIDE = 768  # pixels; the middle of a larger picture is examined
MIN_EXAMINED_SIDE = 128
MIN_COEFFICIENTS = 400  # other than zero, of one frequency
MIN_FREQUENCIES = 3
TRACE_BITS = 0.1  # beyond it the picture counts as saved twice

_BLOCK = 8
_FREQUENCIES = ((0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (1, 2), (2, 1), (0, 3), (3, 0))
_SHIFTS = ((4, 4), (2, 5), (5, 2), (3, 6))  # off the grid of blocks, each an estimate of the first histogram
_MAX_COEFFICIENT = 32  # larger ones are rare
_DECODING_NOISE = 0.45  # standard deviation that rounding to pixels adds to a coefficient
_MAX_FIRST_STEP = 32


class RecompressionTrace(NamedTuple):
    """What the histograms show; `reason` names why nothing could be examined."""

    bits: float = 0.0
    frequencies: int = 0
    reason: str | None = None

    @property
    def is_found(self) -> bool:
        return self.frequencies >= MIN_FREQUENCIES and self.bits >= TRACE_BITS


def find_recompression(content: bytes, size: tuple[int, int], scans: int) -> RecompressionTrace:
    """Find the trace of an earlier JPEG compression in a JPEG, whose size and number of scans are known."""
    pixels = size[0] * size[1]
    if min(size) < MIN_EXAMINED_SIDE:
        return RecompressionTrace(reason=f"a side has under {MIN_EXAMINED_SIDE} pixels")
    is_long = len(content) > MAX_DECODED_BYTES or pixels * scans > MAX_DECODED_SCAN_PIXELS
    if is_long or pixels > MAX_DECODED_PIXELS:
        return RecompressionTrace(reason=f"over {MAX_DECODED_PIXELS:,} pixels, or they would take too long to decode")
    decoded = _decode_luminance(content)
    if decoded is None:
        return RecompressionTrace(reason="the picture cannot be decoded")
    return _measure_trace(*decoded)


def _decode_luminance(content: bytes) -> tuple[Floats, Floats] | None:
    """Decode the luminance around the middle, on the grid of blocks, and its quantisation table."""
    import numpy as np
    from PIL import Image, JpegImagePlugin

    try:
        with JpegImagePlugin.JpegImageFile(io.BytesIO(strip_metadata(content))) as image:
            if image.mode not in ("L", "RGB", "YCbCr"):
                return None
            table = np.array(image.quantization[0], dtype=float).reshape(_BLOCK, _BLOCK)
            image.draft("L", image.size)
            left, top = ((side - min(side, MAX_EXAMINED_SIDE)) // 2 // _BLOCK * _BLOCK for side in image.size)
            width, height = (min(side, MAX_EXAMINED_SIDE) for side in image.size)
            part = image.crop((left, top, left + width, top + height)).convert("L")
    except (OSError, SyntaxError, ValueError, KeyError, TypeError, IndexError, Image.DecompressionBombError):
        return None
    return np.asarray(part, dtype=float), table


def _measure_trace(luminance: Floats, table: Floats) -> RecompressionTrace:
    import numpy as np

    observed = _transform(luminance)
    estimated = np.concatenate([_transform(luminance[down:, right:]) for down, right in _SHIFTS])
    gains = []
    for row, column in _FREQUENCIES:
        step = table[row, column]
        found = np.rint(observed[:, row, column] / step)
        if _count(found).sum() >= MIN_COEFFICIENTS:
            gains.append(_measure_gain(found, estimated[:, row, column], step))
    return RecompressionTrace(float(np.median(gains)) if gains else 0.0, len(gains))


def _transform(luminance: Floats) -> Floats:
    """Transform each whole block with the DCT; returns an array of blocks."""
    import numpy as np

    rows, columns = (side // _BLOCK for side in luminance.shape)
    blocks = luminance[: rows * _BLOCK, : columns * _BLOCK].reshape(rows, _BLOCK, columns, _BLOCK).swapaxes(1, 2)
    angles = np.pi / (2 * _BLOCK) * np.outer(np.arange(_BLOCK), 2 * np.arange(_BLOCK) + 1)
    basis = np.cos(angles) * np.sqrt(2 / _BLOCK)
    basis[0] /= np.sqrt(2)
    transformed: Floats = basis @ (blocks.reshape(-1, _BLOCK, _BLOCK) - 128) @ basis.T
    return transformed


def _measure_gain(found: Floats, estimated: Floats, step: float) -> float:
    """Return by how many bits a coefficient the best first quantisation explains a histogram better than none."""
    import numpy as np

    observed = _count(found)
    single = _predict(np.rint(estimated / step))
    noise = np.random.default_rng(0).normal(0, _DECODING_NOISE, estimated.shape)  # the same in each scan
    gains = [0.0]
    for first in range(2, _MAX_FIRST_STEP + 1):
        if first != step:
            double = _predict(np.rint((np.rint(estimated / first) * first + noise) / step))
            gains.append(float(observed @ np.log2(double / single) / observed.sum()))
    return max(gains)


def _count(coefficients: Floats) -> Floats:
    """Count the sizes 1, 2, ... of coefficients; zeros are left out, because the estimate of their number is poor."""
    import numpy as np

    sizes = np.abs(coefficients)
    counts = np.bincount(sizes[sizes <= _MAX_COEFFICIENT].astype(int), minlength=_MAX_COEFFICIENT + 1)
    return counts[1:].astype(float)


def _predict(coefficients: Floats) -> Floats:
    """Return the expected shares of the sizes, none of them zero."""
    counts = _count(coefficients) + 1
    shares: Floats = counts / counts.sum()
    return shares
