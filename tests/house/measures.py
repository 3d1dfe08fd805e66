"""Measures of the code's language and structure, read from the source: what `make house` prints and the tests bound."""

from __future__ import annotations

import ast
import gc
import io
import json
import re
import tokenize
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import grimp

ROOT = Path(__file__).parents[2]
PACKAGES = {"attestlab": ROOT / "attestlab", "attestlab_dashboards": ROOT / "dashboards" / "attestlab_dashboards"}
MODULES = sorted(path for package in PACKAGES.values() for path in package.rglob("*.py"))
FOLDERS = ("attestlab", "benchmarks", "dashboards", "notebooks", "tests")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PAGES = sorted(
    path
    for folder in ("attestlab/portal/templates", "attestlab/portal/assets", "dashboards/attestlab_dashboards/assets")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".html", ".css", ".js") and ".min." not in path.name
)
TEST_LISTS = sorted(path for kind in ("*.toml", "*.yaml") for path in (ROOT / "tests").glob(f"**/{kind}"))
COMMANDS = (ROOT / "Makefile", ROOT / "pyproject.toml")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

PRIVATE_WORDS = (
    "whoever",
    "nobody",
    "everybody",
    "somebody",
    "anew",
    "likewise",
    "be it",
    "for ever",
    "goes on",
    "go on",
    "told",
    "so many",
    "meanwhile",
    "of its own",
    "hands over",
    "to and fro",
)
_PRIVATE = re.compile(r"\b(" + "|".join(PRIVATE_WORDS).replace(" ", r"\s+") + r")\b", re.IGNORECASE)  # also over lines
_PRIVATE_IN_NAMES = {"whoever", "nobody", "everybody", "somebody", "anew", "likewise", "told", "meanwhile", "beside"}
_BOUND = re.compile(r"^_?(MOST|LONGEST|FEWEST|SHORTEST|LARGEST|SLOWEST|DEEPEST|WIDEST)(_|$)|_(AT_MOST|EVERY_S|EVERY)$")
_WORD = re.compile(r"[A-Za-z_]{4,}")
_IRREGULAR = {
    *(
        "told",
        "shown",
        "kept",
        "found",
        "held",
        "left",
        "said",
        "seen",
        "sent",
        "built",
        "gone",
        "done",
        "taken",
    ),
    *(
        "given",
        "known",
        "made",
        "met",
        "spent",
        "lost",
        "won",
        "begun",
        "drawn",
        "worn",
        "born",
        "torn",
        "meant",
        "dealt",
    ),
    *("felt", "spelt", "spoken", "written", "woken", "broken", "hidden", "bound", "brought", "caught", "read_back"),
}
_REGULAR = re.compile(r"^[a-z]{2,}(?<!e)ed$")
_NOUNS = {"feed", "seed", "need", "speed", "embed", "shed", "bed", "red", "exceed", "proceed", "succeed"}
MAX_DOCUMENT_LINE = 100


class Place(NamedTuple):
    """Where a finding is, and what was found there."""

    path: str
    line: int
    found: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.found}"


def place(path: Path, line: int, found: str) -> Place:
    """Return a place whose path is relative to the root of the tree."""
    return Place(str(path.relative_to(ROOT)), line, found)


@cache
def source(path: Path) -> str:
    """Read a file once."""
    return path.read_text()


@cache
def tree(path: Path) -> ast.Module:
    """Parse a module once."""
    with paused_collector():
        return ast.parse(source(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """List the nodes of a module once; to walk its tree takes longer than to parse it."""
    return tuple(ast.walk(tree(path)))


@contextmanager
def paused_collector() -> Iterator[None]:
    """Collect no garbage: among a million nodes that all stay, it would take twice as long as parsing."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def forget_trees() -> None:
    """Free what was parsed: each later collection of all garbage would take a second longer."""
    nodes.cache_clear()
    tree.cache_clear()


def python_files() -> list[Path]:
    """List the Python files of the project."""
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def bare_participles() -> Iterator[Place]:
    """Find functions of the packages whose whole name is one past participle, which names neither verb nor object.

    Route handlers are left out: their names are the operation ids that clients of the API know. So are boolean
    properties: a participle is the usual name of a state, as in `response.allowed`.
    """
    for path in MODULES:
        for node in nodes(path):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if _is_handler(node) or _is_boolean_property(node):
                continue
            if is_participle(node.name.strip("_")):
                yield place(path, node.lineno, node.name)


def _is_handler(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(decorator).startswith("routes.") for decorator in node.decorator_list)


def _is_boolean_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
    is_bool = node.returns is not None and ast.unparse(node.returns) == "bool"
    return is_bool and not decorators.isdisjoint({"property", "cached_property"})


def is_participle(word: str) -> bool:
    """Tell whether a name is one past participle."""
    return word in _IRREGULAR or (bool(_REGULAR.match(word)) and word not in _NOUNS)


def private_words() -> Iterator[Place]:
    """Find words of the house's former dialect in comments, texts, names, documents, pages, notebooks and lists."""
    for path in python_files():
        if path == Path(__file__):
            continue
        if _PRIVATE.search(source(path)):  # splitting a thousand files into tokens takes ten seconds
            yield from _words_in_texts(path)
        if any(word in source(path) for word in _PRIVATE_IN_NAMES):  # parsing them all takes five
            yield from _words_in_names(path)
    for path in (*DOCUMENTS, *PAGES, *TEST_LISTS, *COMMANDS):
        yield from _words_in(path, 1, source(path))
    for path in NOTEBOOKS:
        cells = json.loads(source(path))["cells"]
        yield from (found for cell in cells for found in _words_in(path, 1, "".join(cell["source"])))


def _words_in_texts(path: Path) -> Iterator[Place]:
    for token in tokenize.generate_tokens(io.StringIO(source(path)).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield from _words_in(path, token.start[0], token.string)


def _words_in(path: Path, line: int, text: str) -> Iterator[Place]:
    for match in _PRIVATE.finditer(text):
        yield place(path, line + text.count("\n", 0, match.start()), match[0])


def _words_in_names(path: Path) -> Iterator[Place]:
    for node in nodes(path):
        name = _name_defined_by(node)
        if name and _PRIVATE_IN_NAMES.intersection(name.split("_")):
            yield place(path, getattr(node, "lineno", 0), name)


def _name_defined_by(node: ast.AST) -> str | None:
    """Return the name of a function, class, argument or variable where the node defines it."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
            return name
    return None


def private_bounds() -> Iterator[Place]:
    """Find constants that name a bound or an interval otherwise than MAX_, MIN_, _TTL, _TIMEOUT_S or _INTERVAL_S."""
    for path in python_files():
        if not any(map(_BOUND.search, _WORD.findall(source(path)))):
            continue
        for node in nodes(path):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and _BOUND.search(node.id):
                yield place(path, node.lineno, node.id)


def long_document_lines() -> Iterator[Place]:
    """Find lines of documents over 100 characters, except rows of tables, code, and links that cannot be broken."""
    for path in DOCUMENTS:
        is_code = False
        for number, line in enumerate(source(path).splitlines(), 1):
            is_code ^= line.lstrip().startswith("```")
            if len(line) > MAX_DOCUMENT_LINE and not is_code and not line.startswith("|") and " " in line.strip()[:80]:
                yield place(path, number, f"{len(line)} characters")


def any_lines() -> Iterator[Place]:
    """Find lines of the packages on which `Any` is a type; imports of it are not counted."""
    for path in MODULES:
        lines = {node.lineno for node in nodes(path) if isinstance(node, ast.Name) and node.id == "Any"}
        yield from (place(path, line, "Any") for line in sorted(lines))


def longest_module() -> tuple[int, str]:
    """Return the number of lines of the longest module, and its path."""
    return max((source(path).count("\n"), str(path.relative_to(ROOT))) for path in MODULES)


def function_median() -> int:
    """Return the median number of lines of a function."""
    lengths = sorted(
        (node.end_lineno or 0) - node.lineno + 1
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return lengths[len(lengths) // 2]


def import_circles(*packages: str) -> list[str]:
    """Find the modules that import each other in a circle; late imports and those for type checkers count, too."""
    graph = grimp.build_graph(*(packages or PACKAGES), cache_dir=None)
    upstream = {module: graph.find_upstream_modules(module) for module in graph.modules}  # without the module itself
    return sorted(
        module
        for module in graph.modules
        if any(module in upstream[imported] for imported in graph.find_modules_directly_imported_by(module))
    )


def private_attributes() -> Iterator[Place]:
    """Find private attributes that no module of the packages defines, so that they belong to a library."""
    ours = {name for path in MODULES for name in _defined(path)}
    for path in MODULES:
        for node in nodes(path):
            if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in ours:
                yield place(path, node.lineno, node.attr)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in _DOCUMENTED


# Documented as public in spite of their names: of named tuples, of `os`, SQLAlchemy's rows, and Panel's components.
_DOCUMENTED = {"_make", "_replace", "_asdict", "_fields", "_exit", "_mapping", "_send_msg"}


def _defined(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
        elif isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == "__slots__" for t in node.targets
        ):
            yield from (item.value for item in ast.walk(node.value) if isinstance(item, ast.Constant))
