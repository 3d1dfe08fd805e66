"""`python -m house`, which is `make house`: print each measure of the source, and the places where one is missed."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from house import measures

SHOWN = 20
"""Places printed of each measure."""


def main() -> int:
    """Print the measures; return 1 if one of those that must be zero is not."""
    zeros: dict[str, Iterable[object]] = {
        "bare participles": measures.bare_participles(),
        "class names with two meanings": measures.class_names_with_two_meanings(),
        "private words": measures.private_words(),
        "private names of bounds": measures.private_bounds(),
        "long lines in documents": measures.long_document_lines(),
        "modules in import circles": measures.import_circles(),
        "private attributes of libraries": measures.private_attributes(),
    }
    counts = {name: report(name, list(places)) for name, places in zeros.items()}
    print(f"lines with Any: {len(list(measures.any_lines()))}")
    lines, path = measures.longest_module()
    print(f"longest module: {lines} lines ({path})")
    print(f"median function: {measures.function_median()} lines")
    return int(any(counts.values()))


def report(name: str, places: list[object]) -> int:
    """Print how many places were found, and the first of them."""
    print(f"{name}: {len(places)}")
    for found in places[:SHOWN]:
        print(f"  {found}")
    return len(places)


if __name__ == "__main__":
    sys.exit(main())
