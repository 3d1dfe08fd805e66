"""Files that a verb writes: whole, or as they were before. An error, a full disk or a kill leaves no part of one."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

from attestlab.client import arguments
from attestlab.core.encoding import quote
from attestlab.core.errors import ValidationFailed


@contextmanager
def replace_file(path: str | PathLike[str]) -> Iterator[Path]:
    """Yield the path of a draft, which takes the place of a file when the block ends without an error.

    The file keeps its permissions; a symbolic link leads to the new file.

    Raises:
        ValidationFailed: `path` is none of a file, or the draft cannot be written.
    """
    target = Path(os.path.realpath(arguments.read_path(path)))
    draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
    try:
        yield draft
        if target.exists():
            shutil.copymode(target, draft)
        draft.replace(target)
    except OSError as error:
        reason = error.strerror or str(error).rstrip(".")
        raise ValidationFailed(f"{quote(os.fspath(path))} cannot be written: {reason}.") from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def save_document(path: str | PathLike[str], members: Mapping[str, object]) -> Path:
    """Write an object as a JSON file, and return its path.

    Raises:
        ValidationFailed: it cannot be written.
    """
    with replace_file(path) as draft:
        draft.write_text(json.dumps(members))
    return arguments.read_path(path)
