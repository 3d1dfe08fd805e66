"""The table of docs/exports.md is the one in force (its code is run by tests/house/test_documentation_runs.py)."""

from __future__ import annotations

from pathlib import Path

from attestlab.exports.badges import BADGES

PAGE = (Path(__file__).parents[2] / "docs" / "exports.md").read_text()


def test_the_table_of_badges_is_the_one_in_force() -> None:
    rows = [
        f"| `{schema}` | {kind.achievement_type} | {_listed((kind.name,))} | {_listed(kind.criteria)} | "
        f"{_listed(kind.personal)} |"
        for schema, kind in BADGES.items()
    ]

    assert [row for row in rows if row not in PAGE] == []


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
