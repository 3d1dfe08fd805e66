"""Measures of the structure: names that mean two things, places that name a field, sizes of modules, hidden imports."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Container, Iterator
from pathlib import Path
from typing import cast

import grimp
from house.measures import MODULES, PACKAGES, ROOT, Place, nodes, place, source, tree

SMALL_MODULE_LINES = 60
USUAL_MODULE_LINES = 270
"""Up to which a module is read at once."""
ROLES = {
    *("rules", "events", "tables", "store", "service", "shapes", "results", "rendering", "routes", "integrity"),
    *("state", "page", "filters"),
}
ATTESTATION_FIELDS = frozenset(
    {
        *("attestation_id", "issuer_id", "kid", "schema", "schema_version", "title", "claims", "visibility"),
        *("content_hash", "content_type", "content_size", "effective_at", "expiry_at", "metadata", "external_id"),
        *("log_index", "signature", "payload", "custody", "revoked_at", "superseded_by_attestation_id", "created_at"),
    }
)
FIELDS_OF_A_DECLARATION = 6
"""Fields of an attestation from which on a class or call counts as one more place that lists them."""
_CAPITALISED = re.compile(r"^[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*$")
_WIRE_MODEL = re.compile(r"\b[A-Z]\w*Out\b")
_RESPOND_STEP = re.compile(r"\brespond=(\w+)")
DASHBOARDS = PACKAGES["attestlab_dashboards"]
RISK = PACKAGES["attestlab"] / "risk"


def class_names_with_two_meanings() -> Iterator[str]:
    """Find public names that two modules of the packages give to a class or a type alias."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for name in _type_names(tree(path)):
            homes[name].append(str(path.relative_to(ROOT)))
    yield from (f"{name}: {', '.join(paths)}" for name, paths in sorted(homes.items()) if len(paths) > 1)


def _type_names(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        match node:
            case ast.ClassDef(name=name) if not name.startswith("_"):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_alias(name, value):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind) if ast.unparse(kind) == "TypeAlias":
                yield name


def _is_alias(name: str, value: ast.expr) -> bool:
    """Tell whether an assignment names a type: `Rows = list[Row]`, and not a value or the same name elsewhere."""
    is_type = isinstance(value, ast.Subscript | ast.BinOp | ast.Name | ast.Attribute)
    is_same = isinstance(value, ast.Attribute) and value.attr == name
    return bool(_CAPITALISED.match(name)) and is_type and not is_same


def renamed_imports() -> Iterator[Place]:
    """Find classes of the packages that a module imports under another public name."""
    for path in MODULES:
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(tuple(PACKAGES)):
                for each in node.names:
                    if each.asname and each.asname != each.name and _CAPITALISED.match(each.name):
                        yield place(path, node.lineno, f"{each.name} as {each.asname}")


def declarations_of_attestations() -> Iterator[Place]:
    """Find classes that declare, and calls that copy by name, at least six fields of an attestation."""
    for path in MODULES:
        for node in nodes(path):
            if len(ATTESTATION_FIELDS & set(_fields_named_by(node))) >= FIELDS_OF_A_DECLARATION:
                kind = f"class {node.name}" if isinstance(node, ast.ClassDef) else "copy"
                yield place(path, getattr(node, "lineno", 0), kind)


def _fields_named_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ClassDef):
        declared = (each.target for each in node.body if isinstance(each, ast.AnnAssign))
        yield from (each.id for each in declared if isinstance(each, ast.Name))
    elif isinstance(node, ast.Call):
        yield from (each.arg for each in node.keywords if each.arg)


def late_imports() -> Iterator[Place]:
    """Find imports of the packages' own modules inside of a function, which no reader sees at the top of a module."""
    for path in MODULES:
        yield from (place(path, node.lineno, node.module or "") for node in _late_imports_of(path))


def late_imports_without_a_reason() -> Iterator[Place]:
    """Find late imports of own modules that say nowhere why they are late.

    The reason is a comment at the import or above it, at the first late import of the same module in the file, or a
    sentence with the word "late" in the docstring of its package.
    """
    for path in MODULES:
        late = _late_imports_of(path)
        if not late or "late" in (ast.get_docstring(tree(path.with_name("__init__.py"))) or "").split():
            continue
        lines = source(path).splitlines()
        explained = {name for node in late if _has_comment(lines, node) for name in _targets_of(node)}
        for node in late:
            if explained.isdisjoint(_targets_of(node)) and not _follows_explained_one(lines, late, node):
                yield place(path, node.lineno, ", ".join(_targets_of(node)))


def late_targets() -> Iterator[tuple[Place, str, frozenset[str]]]:
    """List each late import with the module that has it, and those that it loads."""
    for path in MODULES:
        for node in _late_imports_of(path):
            targets = frozenset(_targets_of(node))
            yield place(path, node.lineno, ", ".join(sorted(targets))), _module_name(path), targets


def _late_imports_of(path: Path) -> list[ast.ImportFrom]:
    found = {
        each.lineno: each
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for each in ast.walk(node)
        if isinstance(each, ast.ImportFrom) and (each.module or "").startswith(tuple(PACKAGES))
    }
    return [found[line] for line in sorted(found)]


def _targets_of(node: ast.ImportFrom) -> list[str]:
    names = (f"{node.module}.{each.name}" for each in node.names)
    return [name if _is_module(name) else str(node.module) for name in names]


def _is_module(name: str) -> bool:
    first, *rest = name.split(".")
    path = PACKAGES[first].joinpath(*rest)
    return path.is_dir() or path.with_suffix(".py").is_file()


def _has_comment(lines: list[str], node: ast.ImportFrom) -> bool:
    above, own = lines[node.lineno - 2].strip(), lines[node.lineno - 1 : node.end_lineno]
    return above.startswith("#") or any("  # " in line for line in own)


def _follows_explained_one(lines: list[str], late: list[ast.ImportFrom], node: ast.ImportFrom) -> bool:
    """Tell whether the imports right above, without a line between, begin with one that has a comment."""
    before = next((each for each in late if each.end_lineno == node.lineno - 1), None)
    return before is not None and (_has_comment(lines, before) or _follows_explained_one(lines, late, before))


def type_only_imports() -> Iterator[Place]:
    """Find imports of the packages' own modules that only a type checker executes."""
    for path in MODULES:
        for node in tree(path).body:
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                yield from (place(path, line, name) for line, name in _own_imports(node))


def _own_imports(node: ast.AST) -> Iterator[tuple[int, str]]:
    for each in ast.walk(node):
        if isinstance(each, ast.ImportFrom) and (each.module or "").startswith(tuple(PACKAGES)):
            yield each.lineno, each.module or ""


def module_sizes() -> list[int]:
    """List the number of lines of each module, in ascending order."""
    return sorted(source(path).count("\n") for path in MODULES)


def small_modules() -> list[Path]:
    """List the modules under 60 lines, but for migrations, and what Python wants in a file of its name."""
    return [
        path
        for path in MODULES
        if not path.name.startswith("__")
        and "migrations" not in path.parts
        and source(path).count("\n") < SMALL_MODULE_LINES
    ]


def small_modules_without_a_contract() -> list[Path]:
    """List the small modules that no contract places, are no pane, and are loaded with their importers.

    A contract places what has the name of a role, and each module of a folder whose contract is exhaustive.
    """
    late, placed = set(_list_late_modules()), _list_exhaustive_containers()
    return [
        path
        for path in small_modules()
        if path.stem not in ROLES
        and path.parent.name != "panes"
        and _module_name(path) not in late
        and _module_name(path).rpartition(".")[0] not in placed
    ]


def _list_exhaustive_containers() -> set[str]:
    contracts = tomllib.loads(source(ROOT / "pyproject.toml"))["tool"]["importlinter"]["contracts"]
    return {each for contract in contracts if contract.get("exhaustive") for each in contract["containers"]}


def small_modules_of_one_neighbour() -> Iterator[str]:
    """Find small modules that a single module imports, in the same folder, where both fit into one file.

    What has the name of a role, or stands below routes, needs a file, because contracts order the roles. So does what
    is loaded late, because a start would pay.
    """
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    for path in small_modules_without_a_contract():
        name = _module_name(path)
        importers = graph.find_modules_that_directly_import(name)
        if len(importers) != 1:
            continue
        (importer,) = importers
        is_neighbour = importer.rpartition(".")[0] == name.rpartition(".")[0]
        if is_neighbour and not importer.endswith("routes") and _fit_into_one(path, importer):
            yield f"{path.relative_to(ROOT)}: only {importer} imports it"


def _list_late_modules() -> Iterator[str]:
    """List the modules that a function imports, by their own names or from their package."""
    for path in MODULES:
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for each in ast.walk(node):
                    if isinstance(each, ast.ImportFrom) and each.module:
                        yield from (each.module, *(f"{each.module}.{name.name}" for name in each.names))


def _module_name(path: Path) -> str:
    package = next(each for each in PACKAGES.values() if each in path.parents)
    return ".".join(path.relative_to(package.parent).with_suffix("").parts)


def _fit_into_one(path: Path, importer: str) -> bool:
    other = path.with_name(importer.rpartition(".")[2] + ".py")
    return other.exists() and source(path).count("\n") + source(other).count("\n") <= USUAL_MODULE_LINES


def count_modules_of_risk() -> int:
    """Count the modules of risk, the largest capability, without the one-line modules of its packages."""
    return sum(RISK in path.parents and path.name != "__init__.py" for path in MODULES)


def dashboard_states() -> dict[Path, int]:
    """Return the lines of each module that holds the state of a dashboard's page."""
    return {path: source(path).count("\n") for path in sorted(DASHBOARDS.rglob("state.py"))}


def declared_parameters() -> int:
    """Count the parameters that the states of the dashboards declare."""
    states = (node for path in DASHBOARDS.rglob("*.py") for node in nodes(path) if _is_state(node))
    return sum(_is_parameter(member) for state in states for member in cast(ast.ClassDef, state).body)


def _is_state(node: ast.AST) -> bool:
    bases = [ast.unparse(base) for base in node.bases] if isinstance(node, ast.ClassDef) else []
    return not {"PageState", "param.Parameterized"}.isdisjoint(bases)


def _is_parameter(member: ast.stmt) -> bool:
    is_call = isinstance(member, ast.Assign | ast.AnnAssign) and isinstance(member.value, ast.Call)
    return is_call and "doc=" in ast.unparse(member)


def pane_modules() -> int:
    """Count the modules of the dashboards that are a pane."""
    return sum(1 for path in DASHBOARDS.rglob("panes/*.py") if path.name != "__init__.py")


def tables_declared_twice() -> Iterator[Place]:
    """Find SQLModel classes of tables that are written by hand: `model_of` derives them from their records."""
    for path in MODULES:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef) and any(each.arg == "table" for each in node.keywords):
                yield place(path, node.lineno, node.name)


def wire_functions() -> Iterator[Place]:
    """Find functions of the service that return a wire model, and are neither handlers nor verbs of the client.

    The step `respond` of a write is a part of its handler.
    """
    for path in MODULES:
        if PACKAGES["attestlab"] in path.parents and PACKAGES["attestlab"] / "client" not in path.parents:
            steps = set(_RESPOND_STEP.findall(source(path)))
            for node in nodes(path):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_renderer(node, steps):
                    yield place(path, node.lineno, node.name)


def _is_renderer(node: ast.FunctionDef | ast.AsyncFunctionDef, steps_of_handlers: Container[str]) -> bool:
    is_handler = any(ast.unparse(each).startswith("routes.") for each in node.decorator_list)
    returned = "" if node.returns is None else ast.unparse(node.returns)
    return not is_handler and node.name not in steps_of_handlers and bool(_WIRE_MODEL.search(returned))


def row_renderers() -> int:
    """Count the declared renderers, which copy a row to its wire model by name."""
    return sum(len(re.findall(r"= RowRenderer\(", source(path))) for path in MODULES)
