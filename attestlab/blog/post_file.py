"""A post as a Markdown file: a header of lines `name: value` between two lines `---`, then the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, NoReturn

from attestlab.core.encoding import quote
from attestlab.core.errors import ValidationFailed

NAMES: Final = ("title", "slug", "category", "excerpt", "tags", "cover")
_REQUIRED: Final = {"title": "Why a log?", "category": "engineering"}
_FENCE: Final = "---"
_FIELD_OF: Final = {"cover": "cover_image_url"}
_QUOTES: Final = ('"', "'")


class PostFile(NamedTuple):
    """A file: the values of its header, the line of each one, and its text."""

    name: str
    values: Mapping[str, str]
    lines: Mapping[str, int]
    content: str

    def fields(self) -> dict[str, object]:
        """Return the fields of the post, as `POST /v1/platform/blog/posts` takes them."""
        fields: dict[str, object] = {_FIELD_OF.get(name, name): value for name, value in self.values.items() if value}
        tags = self.values.get("tags", "").removeprefix("[").removesuffix("]").split(",")
        return {**fields, "tags": [tag for tag in map(_unquote, tags) if tag], "content": self.content}

    def refuse(self, error: ValidationFailed) -> NoReturn:
        """Raise an error again, with the line of the header that caused it.

        Raises:
            ValidationFailed: always.
        """
        lines = {f"/{_FIELD_OF.get(name, name)}": line for name, line in self.lines.items()}
        for fault in error.fields:
            pointer = "/" + fault.field.lstrip("/").partition("/")[0]
            refuse_line(self.name, lines.get(pointer), fault.message)
        raise ValidationFailed(f"{self.name}: {error.message}")


def parse_post_file(text: str, *, name: str) -> PostFile:
    """Parse a file; `name` is its name for messages.

    Raises:
        ValidationFailed: the header is malformed; the message names the line and what to write.

    >>> parse_post_file("---\\ntitle: Why?\\ncategory: product\\n---\\nBecause.", name="why.md").fields()
    {'title': 'Why?', 'category': 'product', 'tags': [], 'content': 'Because.'}
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    end = _find_end(lines, name)
    values: dict[str, str] = {}
    places: dict[str, int] = {}
    for number, line in enumerate(lines[1:end], start=2):
        if line.strip():
            key, value = _parse_line(line, number, name)
            if key in values:
                refuse_line(name, number, f"{key} was on line {places[key]} already. Remove one of them.")
            values[key], places[key] = value, number
    for key, example in _REQUIRED.items():
        if not values.get(key):
            refuse_line(name, places.get(key, end + 1), f"The header has no {key}. Write one, such as {key}: {example}")
    return PostFile(name, values, places, "\n".join(lines[end + 1 :]).strip("\n"))


def refuse_line(name: str, line: int | None, message: str) -> NoReturn:
    """Refuse a file.

    Raises:
        ValidationFailed: always.
    """
    raise ValidationFailed(f"{name}: {message}" if line is None else f"{name}, line {line}: {message}")


def _find_end(lines: Sequence[str], name: str) -> int:
    """Return the index of the line that ends the header."""
    if lines[0].rstrip() != _FENCE:
        refuse_line(
            name, 1, f"A post begins with a line {_FENCE}, lines such as title: Why a log?, and {_FENCE} again."
        )
    for index, line in enumerate(lines[1:], start=1):
        if line.rstrip() == _FENCE:
            return index
    refuse_line(name, 1, f"The header does not end. Write a line {_FENCE} before the text.")


def _parse_line(line: str, number: int, name: str) -> tuple[str, str]:
    key, colon, value = line.partition(":")
    key = key.strip()
    if not colon:
        refuse_line(name, number, f"{quote(line[:80])} is not `name: value`. The names are {', '.join(NAMES)}.")
    if key not in NAMES:
        refuse_line(name, number, f"{quote(key[:80])} is no name of the header. The names are {', '.join(NAMES)}.")
    return key, _unquote(value)


def _unquote(value: str) -> str:
    value = value.strip()
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in _QUOTES
    return value[1:-1] if is_quoted else value
