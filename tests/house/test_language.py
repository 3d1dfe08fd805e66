"""The language of the house: names and words of the field, bounds by their prefix, documents that wrap."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from house import measures, structure, words

# How many places each measure may find. `Any` remains where a library, a pickle or a verb found by name loses the type,
# and where the dashboards handle pages of any state.
REMAINING: dict[Callable[[], Iterable[object]], int] = {
    measures.bare_participles: 0,
    measures.private_words: 0,
    measures.private_bounds: 0,
    measures.long_document_lines: 0,
    measures.private_attributes: 1,  # `_h11_state` of httpcore: it alone knows of bytes after a response (webhooks)
    measures.any_lines: 93,
    structure.class_names_with_two_meanings: 0,
    structure.renamed_imports: 0,
    words.third_person_docstrings: 0,
    words.long_commit_subjects: 0,
    structure.tables_declared_twice: 0,
    structure.small_modules_of_one_neighbour: 0,
    structure.late_imports_without_a_reason: 0,
}


@pytest.mark.parametrize("measure", REMAINING, ids=lambda measure: measure.__name__)
def test_a_measure_of_the_language_does_not_grow(measure: Callable[[], Iterable[object]]) -> None:
    found = list(map(str, measure()))

    assert len(found) <= REMAINING[measure], found[:20]


def test_a_stranger_reads_the_first_documents_in_twenty_minutes() -> None:
    counts = words.count_first_read()

    assert sum(counts.values()) <= words.MAX_FIRST_READ_WORDS, f"move a section to docs/architecture/: {counts}"


def test_modules_do_not_import_each_other_in_circles() -> None:
    assert measures.import_circles() == []


def test_a_circle_may_hide_in_late_imports_and_in_those_for_type_checkers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "circles"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "late.py").write_text("def f():\n    import circles.typed\n")
    (package / "typed.py").write_text(
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import circles.late\n"
    )
    (package / "above.py").write_text("import circles.late\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert measures.import_circles("circles") == ["circles.late", "circles.typed"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("shown", True), ("opened", True), ("verify_signature", False), ("feed", False), ("is_shown", False)],
)
def test_a_bare_participle_is_recognised(name: str, expected: bool) -> None:
    assert measures.is_participle(name) is expected


@pytest.mark.parametrize(
    ("word", "imperative"),
    [("Returns", "Return"), ("Verifies", "Verify"), ("Fetches", "Fetch"), ("Passes", "Pass"), ("Always", None)],
)
def test_the_imperative_of_a_verb(word: str, imperative: str | None) -> None:
    assert words.to_imperative(word) == imperative
