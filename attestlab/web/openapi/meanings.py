"""The meanings of fields: each is the docstring under the declaration of its field.

    score: float
    \"\"\"The score. Format: 0-100. Source: SPEC Risk signal.\"\"\"

`Format` is omitted where the type of the field is another object, `Source` where it is that of the class. Nothing reads
the docstrings before OpenAPI or the data dictionary needs them: pydantic's `use_attribute_docstrings` would search the
source of every class at each start of a process.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from pydantic import BaseModel

from attestlab.core.shapes import find_source

_PARTS = re.compile(r"(?P<text>.+?)(?:\. Format: (?P<format>.+?))?(?:\. Source: (?P<source>.+?))?\.")


@dataclass(frozen=True)
class Meaning:
    """What a field means, in which form its value is, and which document specifies it.

    >>> Meaning.parse("The score. Format: 0-100. Source: SPEC Risk signal.").description
    'The score. Format: 0-100.'
    """

    text: str
    format: str | None
    source: str | None

    @classmethod
    def parse(cls, docstring: str) -> Meaning:
        """Parse the docstring of a field.

        Raises:
            ValueError: it does not end with a full stop.
        """
        found = _PARTS.fullmatch(" ".join(docstring.split()))
        if found is None:
            raise ValueError(f"The meaning {docstring!r} does not end with a full stop.")
        return cls(**found.groupdict())

    @property
    def description(self) -> str:
        """The meaning and the format as sentences."""
        return f"{self.text}." if self.format is None else f"{self.text}. Format: {self.format}."


def find_meaning(model: type[BaseModel], field: str) -> Meaning | None:
    """Find the meaning of a field at the model, or at the first of its bases that gives it one."""
    for base in model.__mro__:
        docstring = _read_docstrings(base.__module__).get((base.__name__, field))
        if docstring is not None:
            meaning = Meaning.parse(docstring)
            return Meaning(meaning.text, meaning.format, meaning.source or find_source(base))
    return None


def list_wire_fields(model: type[BaseModel]) -> Mapping[str, str]:
    """List the fields of a model by the names that they have in JSON."""
    return {field.serialization_alias or field.alias or name: name for name, field in model.model_fields.items()}


@cache
def _read_docstrings(module: str) -> Mapping[tuple[str, str], str]:
    """Read the docstrings of a module's fields, by class and field."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):  # a module without a source, such as a session of Python
        return {}
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return {(each.name, field): docstring for each in classes for field, docstring in _list_docstrings(each)}


def _list_docstrings(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for declaration, after in pairwise(node.body):
        match declaration, after:
            case ast.AnnAssign(target=ast.Name(id=field)), ast.Expr(value=ast.Constant(value=str(docstring))):
                yield field, docstring
