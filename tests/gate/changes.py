"""What a landing changed: the test files that it touched, and the folders whose dear tests run with it.

A landing is what was committed since `origin/main`, or where that is not behind, in the six hours before the date of
HEAD (a clean clone knows no better); files that are not committed yet count too. A file that was only renamed, or in
which only imports changed and the names that they import, is not touched.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import zip_longest
from pathlib import Path

from gate.costs import FILE as COSTS

LANDING = timedelta(hours=6)
ROOT = Path(__file__).parents[2]
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the same in every repository


@dataclass(frozen=True)
class Changes:
    """The touched test files and the notebooks, and the folders of tests that belong to changed code."""

    test_files: frozenset[str]
    notebooks: frozenset[str]
    folders: frozenset[str]

    def concern(self, test: str) -> bool:
        """Whether a test lies in a changed folder, or is a changed notebook."""
        path = test.partition("::")[0]
        return path in self.notebooks or path in self.test_files or any(path.startswith(each) for each in self.folders)


def find_changes(root: Path = ROOT) -> Changes:
    """Ask git what the landing changed; outside of a repository, nothing."""
    base = _find_base(root)
    touched = [new for old, new in _list_changed(base, root) if is_touched(base, old, new, root)] if base else []
    return Changes(
        test_files=frozenset(path for path in touched if _is_test_file(path)),
        notebooks=frozenset(path for path in touched if path.startswith("notebooks/") and path.endswith(".ipynb")),
        folders=frozenset(folder for path in touched if (folder := _folder_of_tests(path, root))),
    )


def is_touched(base: str, old: str, new: str, root: Path) -> bool:
    """Whether more than imports changed between a file at the base and in the tree."""
    if not new.endswith(".py"):
        return True
    before = _git(root, "show", f"{base}:{old}") or ""
    return not is_same_code(before, (root / new).read_text())


def is_same_code(before: str, after: str) -> bool:
    """Whether two modules differ only in imports, in names that imports bind, in comments and layout.

    >>> is_same_code("from a import one\\nassert one()", "from b.c import two  # moved\\nassert two()")
    True
    >>> is_same_code("from a import one\\nassert one() == 1", "from a import one\\nassert one() == 2")
    False
    """
    try:
        old, new = ast.parse(before), ast.parse(after)
    except SyntaxError:
        return False
    names: dict[object, object] = {}
    imported_before, imported_after = _imported(old), _imported(new)
    for one, other in zip_longest(_walk(old), _walk(new)):
        is_imported = one in imported_before and other in imported_after
        if (names.setdefault(one, other) if is_imported else one) != other:
            return False
    return len(set(names.values())) == len(names)


def _walk(tree: ast.AST) -> Iterator[object]:
    """Yield the types of all nodes but imports, and their names and constants, in order."""
    for _, value in ast.iter_fields(tree):
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.Import | ast.ImportFrom):
                continue
            if isinstance(each, ast.AST):
                yield type(each)
                yield from _walk(each)
            else:
                yield each


def _imported(tree: ast.AST) -> set[object]:
    return {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def count_commits_since(commit: str, root: Path = ROOT) -> int:
    """Return how many commits of HEAD's first-parent line came after a commit; 0 where git does not know it."""
    return int(_git(root, "rev-list", "--count", "--first-parent", f"{commit}..HEAD") or 0)


def read_head(root: Path = ROOT) -> str:
    """Return the hash of HEAD; zeros outside of a repository."""
    return (_git(root, "rev-parse", "HEAD") or "0" * 40).strip()


def _find_base(root: Path) -> str | None:
    """Return the commit before the landing."""
    behind = _git(root, "rev-list", "--count", "origin/main..HEAD")
    if behind and int(behind) and _git(root, "merge-base", "--is-ancestor", "origin/main", "HEAD") is not None:
        return "origin/main"
    date = _git(root, "show", "--no-patch", "--format=%cI", "HEAD")
    if date is None:
        return None
    before = (datetime.fromisoformat(date.strip()) - LANDING).isoformat()
    return (_git(root, "rev-list", "-1", "--first-parent", f"--before={before}", "HEAD") or "").strip() or EMPTY_TREE


def _list_changed(base: str, root: Path) -> Iterator[tuple[str, str]]:
    """Yield the old and new path of each file that was changed, renamed or added, and still exists."""
    listed = _git(root, "diff", "--name-status", "--find-renames", "--diff-filter=AMR", base) or ""
    for line in listed.splitlines():
        _, *paths = line.split("\t")
        yield paths[0], paths[-1]
    for path in (_git(root, "ls-files", "--others", "--exclude-standard") or "").splitlines():
        yield path, path


def _is_test_file(path: str) -> bool:
    name = Path(path).name
    return path.startswith("tests/") and name.startswith("test_") and name.endswith(".py")


def _folder_of_tests(path: str, root: Path) -> str | None:
    """Return the folder of tests that is named as the folder of a changed file, such as `tests/log/`."""
    parts = Path(path).parts
    if path == str(COSTS.relative_to(ROOT)) or len(parts) < 2:
        return None
    name = {"attestlab": parts[1], "tests": parts[1], "dashboards": "dashboards"}.get(parts[0], "")
    return f"tests/{name}/" if name and any((root / "tests" / name).rglob("test_*.py")) else None


def _git(root: Path, *arguments: str) -> str | None:
    """Return what git prints, or None where it fails."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None
