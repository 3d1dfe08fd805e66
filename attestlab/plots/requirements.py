"""What charts require of their arguments: each error names the argument, its value and what is acceptable."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

import pandas as pd
from pydantic import BaseModel

from attestlab.core.errors import ValidationFailed
from attestlab.core.suggestions import find_nearest

MAX_SHOWN = 60  # characters of a value in a message


def require_frame(value: object, *, name: str) -> pd.DataFrame:
    """Require a pandas frame of numbers.

    Raises:
        ValidationFailed: it is something else, or a column has no numbers.
    """
    if not isinstance(value, pd.DataFrame):
        raise ValidationFailed(
            f"{name} is a {type(value).__name__}. Pass a pandas frame: a row for each place of the chart, a column of "
            "numbers for each series."
        )
    texts = [str(column) for column in value.columns if not pd.api.types.is_numeric_dtype(value[column])]
    if texts:
        raise ValidationFailed(
            f"The column {texts[0]!r} of {name} has no numbers. Draw counts: {name}.groupby(...).size().unstack()."
        )
    return value


def require_steps(value: object, numbers: str, *, name: str) -> pd.DataFrame:
    """Require a pandas frame of times `at`, a text `series` and a column of numbers.

    Raises:
        ValidationFailed: it is something else, a column is missing, or `at` has no times.
    """
    frame = require_columns(value, {"at", "series", numbers}, name=name)
    require_frame(frame[[numbers]], name=name)
    try:
        return frame.assign(at=pd.to_datetime(frame["at"], utc=True, format="mixed"))
    except (TypeError, ValueError, OverflowError):
        raise ValidationFailed(
            f"The column 'at' of {name} has no times. Pass what date_trunc('day', occurred_at) as at gives."
        ) from None


def require_columns(value: object, columns: Collection[str], *, name: str) -> pd.DataFrame:
    """Require a pandas frame that has these columns, or no rows.

    Raises:
        ValidationFailed: it is something else, or lacks one.
    """
    if not isinstance(value, pd.DataFrame):
        return require_frame(value, name=name)
    missing = sorted(set(columns) - set(value.columns))
    if missing and len(value):
        raise ValidationFailed(f"{name} has no column {missing[0]!r}. It needs {', '.join(sorted(columns))}.")
    return value.reindex(columns=[*value.columns, *missing])


def require_names(value: object, *, name: str) -> tuple[object, ...]:
    """Require names of rows or series.

    Raises:
        ValidationFailed: it is something else.
    """
    if isinstance(value, str) or not isinstance(value, Collection):
        raise ValidationFailed(f"{name} is a {type(value).__name__}. Pass a list of names, such as ['critical'].")
    return tuple(value)


def require_window(value: object, *, name: str) -> tuple[datetime, datetime] | None:
    """Require None, or the first time of a chart and its end.

    Raises:
        ValidationFailed: it is something else, or ends before it begins.
    """
    match value:
        case None:
            return None
        case (datetime() as first, datetime() as end) if isinstance(value, tuple):
            window = (_to_utc(first), _to_utc(end))
            if window[0] < window[1]:
                return window
    raise ValidationFailed(f"{name} is no window. Pass two times, the first and the end: (since, until).")


def require_angle(value: object, *, name: str) -> float:
    """Require degrees from -360 to 360.

    Raises:
        ValidationFailed: it is something else.
    """
    if not isinstance(value, int | float) or not -360 <= value <= 360:
        raise ValidationFailed(f"{name} is no angle. Pass degrees from -360 to 360, such as 90.")
    return value


def _to_utc(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def require_words(value: object, *, name: str) -> pd.DataFrame:
    """Require a pandas frame of words.

    Raises:
        ValidationFailed: it is something else.
    """
    if not isinstance(value, pd.DataFrame):
        raise ValidationFailed(f"{name} is a {type(value).__name__}. Pass a pandas frame with a word in each cell.")
    return value


def require_series(value: object, *, name: str) -> pd.Series:
    """Require a pandas series of numbers, by name.

    Raises:
        ValidationFailed: it is something else.
    """
    if not isinstance(value, pd.Series) or not pd.api.types.is_numeric_dtype(value):
        raise ValidationFailed(
            f"{name} is a {type(value).__name__}. Pass a pandas series of numbers, such as frame.groupby(...).size()."
        )
    return value


def require_answer(value: object, kind: type[BaseModel], *, name: str, made_by: str) -> None:
    """Require an answer of a lab, which `made_by` returns.

    Raises:
        ValidationFailed: it is something else.
    """
    if not isinstance(value, kind):
        raise ValidationFailed(f"{name} is a {type(value).__name__}. Pass what {made_by} returns.")


def require_factors(value: object) -> Sequence[Mapping[str, object]]:
    """Require the factors of a score, as an answer or the details of a signal have them.

    Raises:
        ValidationFailed: it is something else.
    """
    if isinstance(value, str | Mapping) or not isinstance(value, Sequence):
        raise ValidationFailed(f"factors is a {type(value).__name__}. Pass a list, such as login.factors.")
    found = [each.model_dump() if isinstance(each, BaseModel) else each for each in value]
    if not all(isinstance(each, Mapping) and {"name", "contribution"} <= each.keys() for each in found):
        raise ValidationFailed("A factor has no `name` and `contribution`. Pass those of a score: login.factors.")
    return found


def require_choice(value: object, choices: Collection[str], *, name: str) -> str:
    """Require one of some words.

    Raises:
        ValidationFailed: it is another one; the message names all, and the one that was probably meant.
    """
    if isinstance(value, str) and value in choices:
        return value
    is_text = isinstance(value, str)
    shown = repr(str(value)[:MAX_SHOWN]) if is_text else f"a {type(value).__name__}"
    nearest = find_nearest(str(value), choices) if is_text else None
    meant = f" Did you mean {nearest!r}?" if nearest else ""
    raise ValidationFailed(f"{name} is {shown}.{meant} Choose one of: {', '.join(choices)}.")
