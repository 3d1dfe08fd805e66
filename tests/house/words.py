"""Measures of words: the mood of docstrings, the subjects of commits, and how long the documents take to read."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

from house.measures import MODULES, ROOT, Place, nodes, place, source

WORDS_PER_MINUTE = 220
FIRST_READ = ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")
MAX_FIRST_READ_WORDS = 20 * WORDS_PER_MINUTE
SUBJECTS_SINCE = "dbb87681"
"""The last commit before subjects were measured."""
MAX_SUBJECT = 72

_NOT_VERBS = frozenset(
    {
        *("Always", "Bytes", "Across", "As", "Is", "Has", "Does", "This", "Its", "Less", "Thus", "Whereas", "Unless"),
        *(
            "Signals",
            "Links",
            "Was",
            "Us",
            "Yes",
            "Class",
            "Status",
            "Process",
            "Press",
            "Access",
            "Address",
            "Pass",
            "Guess",
            "Plus",
        ),
    }
)
"""First words of docstrings that end in s and are no verb in the third person, or are nouns as well."""


class ThirdPerson(NamedTuple):
    """A docstring whose first word is a verb in the third person, and its imperative."""

    place: Place
    verb: str
    imperative: str

    def __str__(self) -> str:
        return f"{self.place}: write {self.imperative!r}"


def third_person_docstrings() -> Iterator[ThirdPerson]:
    """Find functions of the packages whose docstring begins with a verb in the third person.

    Properties are left out, because they are nouns.
    """
    for node_place, word in _first_words():
        if imperative := to_imperative(word):
            yield ThirdPerson(node_place, word, imperative)


def _first_words() -> Iterator[tuple[Place, str]]:
    for path in MODULES:
        for node in nodes(path):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or _is_property(node):
                continue
            if match := re.match(r"[A-Z][a-z]+\b", ast.get_docstring(node) or ""):
                yield place(path, node.body[0].lineno, match[0]), match[0]


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def to_imperative(word: str) -> str | None:
    """Return the imperative of a verb in the third person, or none for another word.

    >>> [to_imperative(word) for word in ("Returns", "Verifies", "Passes", "Fetches", "Return", "Always")]
    ['Return', 'Verify', 'Pass', 'Fetch', None, None]
    """
    if word in _NOT_VERBS or not word.endswith("s") or word.endswith("ss"):
        return None
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "oes")) else word[:-1]


def long_commit_subjects() -> Iterator[str]:
    """Find commits since `SUBJECTS_SINCE` whose subject has over 72 characters; none where there is no history."""
    for line in _list_subjects():
        commit, _, subject = line.partition(" ")
        if len(subject) > MAX_SUBJECT:
            yield f"{commit}: {len(subject)} characters: {subject}"


def _list_subjects() -> list[str]:
    git = shutil.which("git")
    if git is None:
        return []
    command = [git, "log", "--no-merges", "--format=%h %s", f"{SUBJECTS_SINCE}..HEAD"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def count_first_read() -> dict[str, int]:
    """Count the words of each document that a stranger reads first."""
    return {name: len(source(ROOT / name).split()) for name in FIRST_READ}
