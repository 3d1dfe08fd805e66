"""`python -m house`, which is `make house`: print each measure of the source, and the places where one is missed."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterable, Iterator

from house import measures, structure, words
from house.everyday_changes import read_changes

SHOWN = 20
"""Places printed of each measure; `--all` prints every one."""
PLACES: dict[str, Callable[[], Iterable[object]]] = {
    "bare participles": measures.bare_participles,
    "class names with two meanings": structure.class_names_with_two_meanings,
    "classes imported under another name": structure.renamed_imports,
    "private words": measures.private_words,
    "private names of bounds": measures.private_bounds,
    "docstrings in the third person": words.third_person_docstrings,
    "commit subjects over 72 characters": words.long_commit_subjects,
    "long lines in documents": measures.long_document_lines,
    "modules in import circles": measures.import_circles,
    "late imports": structure.late_imports,
    "type-only imports": structure.type_only_imports,
    "private attributes of libraries": measures.private_attributes,
    "declarations of an attestation's fields": structure.declarations_of_attestations,
    "functions that return a wire model": structure.wire_functions,
}


def main() -> int:
    """Print the places, then the figures."""
    shown = None if "--all" in sys.argv[1:] else SHOWN
    for name, find in PLACES.items():
        report(name, list(find()), shown)
    for name, value in list_figures():
        print(f"{name}: {value}")
    return 0


def report(name: str, places: list[object], shown: int | None) -> None:
    """Print how many places were found, and the first of them."""
    print(f"{name}: {len(places)}")
    for found in places[:shown]:
        print(f"  {found}")


def list_figures() -> Iterator[tuple[str, object]]:
    """Yield what is measured by a number: fields, dashboards, modules, words."""
    yield "records that repeat a table", structure.record_classes()
    yield "renderers of rows that are declared", structure.row_renderers()
    yield from _list_dashboards()
    yield from _list_modules()
    for word, count in words.count_private_words().most_common():
        yield f"  {word!r}", count
    yield from _list_documents()
    yield from list_changes()


def _list_dashboards() -> Iterator[tuple[str, object]]:
    states = structure.dashboard_states()
    yield "states of dashboards", f"{len(states)} modules, {sum(states.values())} lines"
    yield "parameters declared with param", structure.declared_parameters()
    yield "panes that are a module", structure.pane_modules()


def _list_modules() -> Iterator[tuple[str, object]]:
    sizes = structure.module_sizes()
    small = sum(size < structure.SMALL_MODULE_LINES for size in sizes)
    yield "modules", f"{len(sizes)}, {sum(sizes)} lines, {small} under {structure.SMALL_MODULE_LINES} lines"
    yield "lines a module", f"mean {statistics.mean(sizes):.0f}, median {statistics.median(sizes):.0f}"
    lines, path = measures.longest_module()
    yield "longest module", f"{lines} lines ({path})"
    yield "median function", f"{measures.function_median()} lines"
    yield "lines with Any", len(list(measures.any_lines()))


def _list_documents() -> Iterator[tuple[str, object]]:
    counts = words.count_first_read()
    total = sum(counts.values())
    each = ", ".join(f"{name} {count}" for name, count in counts.items())
    yield "words read first", f"{total} ({each}), {total / words.WORDS_PER_MINUTE:.0f} minutes"


def list_changes() -> Iterator[tuple[str, object]]:
    """Yield how many files each everyday change touches, the generated ones included."""
    for change in read_changes():
        required = len(change.required_files)
        tests = sum(file.startswith("tests/") for file in change.files)
        yield f"files of {change.row}", f"{required + tests} ({required} without tests)"


if __name__ == "__main__":
    sys.exit(main())
