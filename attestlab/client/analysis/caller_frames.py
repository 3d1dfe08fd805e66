"""Frames of the caller, which a query joins, a replay reads or signals are: pandas, Polars and Arrow, as Arrow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from attestlab.client import arguments
from attestlab.core.encoding import quote
from attestlab.core.errors import ValidationFailed
from attestlab.core.extras import naming_extras

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_REASON_CHARACTERS = 200  # of what Arrow says about a frame
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_frames(frames: Mapping[str, object]) -> dict[str, pa.Table]:
    """Read frames by the names that a query uses.

    Raises:
        ValidationFailed: a name is no identifier, or a value is no frame.
    """
    return {name: _read_frame(name, frame) for name, frame in frames.items()}


def open_frame(frame: object, *, name: str) -> pa.RecordBatchReader:
    """Open a frame of pandas, Polars or Arrow, or rows of a lab, as batches of Arrow; `name` is what messages call it.

    Raises:
        ValidationFailed: it is no frame, or a column has values of several types.
    """
    if not hasattr(frame, "__arrow_c_stream__"):
        raise _refuse(name, arguments.show(frame))
    with naming_extras():
        import pyarrow as pa
    try:
        return pa.RecordBatchReader.from_stream(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:_MAX_REASON_CHARACTERS]
        raise _refuse(name, f"not readable as a table ({reason})") from None


def _read_frame(name: str, frame: object) -> pa.Table:
    if not _IDENTIFIER.fullmatch(name):
        raise ValidationFailed(f"{quote(name)} is no name for a frame. Use letters, digits and `_`, such as `mine`.")
    return open_frame(frame, name=name).read_all()


def _refuse(name: str, what: str) -> ValidationFailed:
    remedy = "Pass a data frame of pandas or Polars with one type in each column, or an Arrow table."
    return ValidationFailed(f"{quote(name)} is {what}. {remedy}")
