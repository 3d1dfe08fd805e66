"""`python -m house`, which is `make house`: print each measure of the source, and the places where one is missed.

The measures of the plan of the house stand at the end, by its points, with what they were before and what was wanted.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping

from house import measures, structure, words
from house.everyday_changes import read_changes
from house.goals import POINTS

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
    "small modules that one neighbour alone imports": structure.small_modules_of_one_neighbour,
    "late imports": structure.late_imports,
    "late imports without a reason": structure.late_imports_without_a_reason,
    "type-only imports": structure.type_only_imports,
    "private attributes of libraries": measures.private_attributes,
    "tables that are declared twice": structure.tables_declared_twice,
    "declarations of an attestation's fields": structure.declarations_of_attestations,
    "functions that return a wire model": structure.wire_functions,
}


def main() -> int:
    """Print the places, then the figures, then those of the plan beside what they were."""
    shown = None if "--all" in sys.argv[1:] else SHOWN
    measured: dict[str, object] = {}
    for name, find in PLACES.items():
        places = list(find())
        measured[name] = len(places)
        report(name, places, shown)
    for name, value in list_figures():
        measured[name] = value
        print(f"{name}: {value}")
    print(*render_points(measured), sep="\n")
    return 0


def report(name: str, places: list[object], shown: int | None) -> None:
    """Print how many places were found, and the first of them."""
    print(f"{name}: {len(places)}")
    for found in places[:shown]:
        print(f"  {found}")


def render_points(measured: Mapping[str, object]) -> Iterator[str]:
    """Yield the lines of the plan: each measure as it was, as it is, and as it was wanted."""
    for point, goals in POINTS.items():
        yield point
        for name, goal in goals.items():
            yield f"  {name}: {measured[name]} (before {goal.before}, wanted {goal.wanted})"


def list_figures() -> Iterator[tuple[str, object]]:
    """Yield what is measured by a number: fields, dashboards, modules, words."""
    yield "renderers of rows that are declared", structure.row_renderers()
    yield from _list_dashboards()
    yield from _list_modules()
    yield from _list_documents()
    yield from list_changes()


def _list_dashboards() -> Iterator[tuple[str, object]]:
    states = structure.dashboard_states()
    yield "states of dashboards", f"{len(states)} modules, {sum(states.values())} lines"
    yield "parameters of declared states", structure.declared_parameters()
    yield "panes that are a module", structure.pane_modules()


def _list_modules() -> Iterator[tuple[str, object]]:
    sizes = structure.module_sizes()
    yield "modules", f"{len(sizes)}, {sum(sizes)} lines"
    yield "modules of risk", structure.count_modules_of_risk()
    small, free = structure.small_modules(), structure.small_modules_without_a_contract()
    yield "small modules", f"{len(small)} under {structure.SMALL_MODULE_LINES} lines, {len(free)} without a contract"
    yield "lines a module", f"mean {statistics.mean(sizes):.0f}, median {statistics.median(sizes):.0f}"
    lines, path = measures.longest_module()
    yield "longest module", f"{lines} lines ({path})"
    yield "median function", f"{measures.function_median()} lines"
    yield "lines with Any", len(list(measures.any_lines()))


def _list_documents() -> Iterator[tuple[str, object]]:
    counts = words.count_first_read()
    total = sum(counts.values())
    each = ", ".join(f"{name} {count}" for name, count in counts.items())
    yield "words read first", f"{total}, {total / words.WORDS_PER_MINUTE:.1f} minutes: {each}"


def list_changes() -> Iterator[tuple[str, object]]:
    """Yield how many files each everyday change touches, the generated ones included."""
    for change in read_changes():
        required = len(change.required_files)
        tests = sum(file.startswith("tests/") for file in change.files)
        yield f"files of {change.row}", f"{required + tests}, of which tests {tests}"


if __name__ == "__main__":
    sys.exit(main())
