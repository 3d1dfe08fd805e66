"""How the address of the policy simulator writes drafts, rules, thresholds, segments and the facts of a decision."""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Final
from urllib.parse import parse_qsl

from attestlab.policy.language.attributes import PATH, PATH_LENGTH
from attestlab_dashboards.parameters import Value, matching, read_uuid

MAX_ADDRESS_CHARS: Final = 2_000  # of a draft in the address; a longer one is kept in the window
MAX_DRAFT_CHARS: Final = 60_000
MAX_SEGMENTS: Final = 3  # what a simulation counts flips by
MAX_CONTEXT_VALUES: Final = 40
NEW_POLICY: Final = "new"
KEPT_HERE: Final = "in-the-window"  # stands in an address for a draft that is too long for it
_MAX_VALUE_CHARS: Final = 200
_OPS: Final = ("lt", "lte", "gt", "gte")

read_rule: Final = matching(r"[^\x00-\x1f\x7f|]{1,64}")
"""Read the id of a rule; it raises ValueError where it is none."""


class Draft(Value[str]):
    """The text of a draft, which may be longer than an address."""

    def _validate_value(self, value: str, allow_None: bool) -> None:  # noqa: N803  # param's name
        if len(value) > MAX_DRAFT_CHARS + 1:  # with the newline that ends it
            raise ValueError(f"The draft has {len(value):,} characters; at most {MAX_DRAFT_CHARS:,} are accepted.")


def encode_draft(text: str) -> str:
    """Encode the text of a draft for an address: deflated, as base64url.

    >>> decode_draft(encode_draft('name = "é"'))
    'name = "é"'
    """
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=") if text else ""


def decode_draft(text: str) -> str:
    """Decode the draft of an address.

    Raises:
        ValueError: it is none, or is longer than an address may have.
    """
    unpacker = zlib.decompressobj()
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        draft = unpacker.decompress(packed, 4 * MAX_ADDRESS_CHARS + 1).decode()
    except (binascii.Error, zlib.error) as error:
        raise ValueError("The draft is not deflated text as base64url.") from error
    if not unpacker.eof or not 0 < len(draft) <= MAX_ADDRESS_CHARS:
        raise ValueError(f"A draft in an address has 1 to {MAX_ADDRESS_CHARS:,} characters.")
    return draft


def read_path(text: str) -> str:
    """Read the path of an attribute.

    Raises:
        ValueError: it is none.
    """
    if len(text) > PATH_LENGTH or not PATH.fullmatch(text):
        raise ValueError(f"{text!r} is not the path of an attribute.")
    return text


def write_draft(text: str) -> str:
    """Write a draft for an address, or the word that stands for one that is too long."""
    return KEPT_HERE if len(text) > MAX_ADDRESS_CHARS else encode_draft(text)


def read_policy(text: str) -> str:
    """Read the id of a policy, or the word for a new one.

    Raises:
        ValueError: it is neither.
    """
    return text if text == NEW_POLICY else read_uuid(text)


def read_threshold(text: str) -> str:
    """Read a threshold, such as `old-key|key.age_days|gt`.

    Raises:
        ValueError: it is none.
    """
    rule, attribute, op = text.split("|")
    if op not in _OPS:
        raise ValueError(f"{op!r} compares with no threshold; one of {', '.join(_OPS)} does.")
    return f"{read_rule(rule)}|{read_path(attribute)}|{op}"


def read_segments(text: str) -> tuple[str, ...]:
    """Read the attributes that flips are counted by, with commas between; `-` means none.

    Raises:
        ValueError: one is no path, or there are too many.
    """
    paths = () if text == "-" else tuple(dict.fromkeys(map(read_path, text.split(","))))
    if len(paths) > MAX_SEGMENTS:
        raise ValueError(f"Flips are counted by at most {MAX_SEGMENTS} attributes.")
    return paths


def read_context(text: str) -> tuple[tuple[str, str], ...]:
    """Read values by the path of their attribute, in the notation of a query string.

    Raises:
        ValueError: a path or value is not acceptable, or there are too many.
    """
    pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True, max_num_fields=MAX_CONTEXT_VALUES)
    values = {read_path(path): value for path, value in pairs}
    if len(values) != len(pairs) or any(len(value) > _MAX_VALUE_CHARS for value in values.values()):
        raise ValueError(f"Each attribute has one value of at most {_MAX_VALUE_CHARS} characters.")
    return tuple(sorted(values.items()))
