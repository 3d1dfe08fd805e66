"""The IPython extension `%load_ext attestlab`: `%%attest_sql`, `%verify`, and completion of `schema=` and `issuer=`.

Only IPython imports this module, when a person loads the extension.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Final, NamedTuple, cast

from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
    context_matcher,
)
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from attestlab.attestations.schemas.catalogue import CATALOGUE
from attestlab.client.arguments import File
from attestlab.client.collections.base import MAX_COMPLETIONS
from attestlab.client.handles.attestations import AttestationLike
from attestlab.client.lab import Lab
from attestlab.core.errors import AttestLabError

_VALUE: Final = re.compile(r"\b(schema|issuer)\s*=\s*([\"'])([^\"']*)$")
_SQL_USAGE: Final = "%%attest_sql [NAME] [--lab LAB]"
_VERIFY_USAGE: Final = "%verify WHAT [FILE] [--lab LAB]"


class MagicLine(NamedTuple):
    """The words after a magic's name, and the variable of the lab if the line names one."""

    words: list[str]
    lab: str | None


class LabMagics:
    """The magics of a lab, which is the variable `lab`, the one that `--lab` names, or the only one there is."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    def attest_sql(self, line: str, cell: str) -> object:
        """Run one SELECT over the data sets of a lab; `$name` is the value of your variable `name`.

        `%%attest_sql denied` assigns the data frame to `denied`; without a name it is shown. `--lab LAB` names the
        variable of the lab.
        """
        given = _read_line(line, _SQL_USAGE, at_most=1)
        lab = find_lab(self._shell, given.lab)
        try:
            frame = lab.sql(cell, self._read_parameters(cell)).df()
        except AttestLabError as error:
            raise UsageError(error.message) from None
        if not given.words:
            return frame
        self._shell.user_ns[given.words[0]] = frame
        return None

    def verify(self, line: str) -> object:
        """Verify an attestation or a bundle, with its document or without: `%verify attestation diploma.pdf`.

        Both are a variable, or a text: an id, the address of a page, a path. `--lab LAB` names the variable of the lab.
        """
        given = _read_line(line, _VERIFY_USAGE, at_least=1, at_most=2)
        lab = find_lab(self._shell, given.lab)
        what, file = [*map(self._read_value, given.words), None][:2]
        try:
            return lab.verify(cast("AttestationLike", what), file=cast("File | None", file))
        except AttestLabError as error:
            raise UsageError(error.message) from None

    def _read_value(self, text: str) -> object:
        """Return the value of a variable, or the text itself."""
        return self._shell.user_ns.get(text, text)

    def _read_parameters(self, query: str) -> dict[str, object] | None:
        names = _list_parameters(query)
        missing = [name for name in names if name not in self._shell.user_ns]
        if missing:
            raise UsageError(f"${missing[0]} has no value. Assign it first: {missing[0]} = ...")
        return {name: self._shell.user_ns[name] for name in names} or None


def register(shell: InteractiveShell) -> None:
    """Register the magics and the completions of this package with a shell; loading them again changes nothing."""
    magics = LabMagics(shell)
    shell.magics_manager.register_function(magics.attest_sql, "cell", "attest_sql")
    shell.magics_manager.register_function(magics.verify, "line", "verify")
    shell.Completer.custom_matchers = [
        each for each in shell.Completer.custom_matchers if getattr(each, "matcher_identifier", "") != "attestlab"
    ]

    @context_matcher(identifier="attestlab")  # type: ignore[untyped-decorator]  # IPython has no types for it
    def complete_names(context: CompletionContext) -> SimpleMatcherResult:
        return complete(shell, context.text_until_cursor)

    shell.Completer.custom_matchers.append(complete_names)


def complete(shell: InteractiveShell, text: str) -> SimpleMatcherResult:
    """Complete the text of `schema="` by the schemas, and that of `issuer="` by the issuers of the lab."""
    found = _VALUE.search(text.rpartition("\n")[2])
    if found is None:
        return SimpleMatcherResult(completions=[])
    argument, _, typed = found.groups()
    names = _list_issuers(shell) if argument == "issuer" else list(CATALOGUE)
    fitting = [name for name in names if name.casefold().startswith(typed.casefold())]
    return SimpleMatcherResult(
        completions=[SimpleCompletion(name, type=argument) for name in fitting[:MAX_COMPLETIONS]],
        matched_fragment=typed,
        suppress=True,
    )


def find_lab(shell: InteractiveShell, name: str | None = None) -> Lab:
    """Find the lab that a magic acts on.

    Raises:
        UsageError: there is none, or none of that name.
    """
    labs = {name: value for name, value in shell.user_ns.items() if isinstance(value, Lab) and not name.startswith("_")}
    if name is not None and name not in labs:
        raise UsageError(f"The variable {name!r} is not a lab. {_list_labs(labs)}")
    if name is None and "lab" not in labs and len({id(each) for each in labs.values()}) != 1:
        raise UsageError(f"Which lab? {_list_labs(labs)}")
    return labs[name or ("lab" if "lab" in labs else next(iter(labs)))]


def _read_line(line: str, usage: str, *, at_least: int = 0, at_most: int) -> MagicLine:
    lab = None
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{error}. Usage: {usage}") from None
    for flag in ("--lab", "-l"):
        if flag in words[:-1]:
            at = words.index(flag)
            lab, words = words[at + 1], words[:at] + words[at + 2 :]
    if not at_least <= len(words) <= at_most or any(word.startswith("-") for word in words):
        raise UsageError(f"Usage: {usage}")
    return MagicLine(words, lab)


def _list_labs(labs: Iterable[str]) -> str:
    found = ", ".join(sorted(labs))
    return f"Pass --lab with one of: {found}." if found else "Open one first: lab = attestlab.demo()"


def _list_issuers(shell: InteractiveShell) -> list[str]:
    """List the issuers of the lab; without a lab, or where it cannot be asked, there are none to offer."""
    try:
        return [issuer.name for issuer in find_lab(shell).issuers.list(limit=MAX_COMPLETIONS)]
    except (AttestLabError, UsageError):
        return []


def _list_parameters(query: str) -> list[str]:
    """List the named parameters of a query; a query that DuckDB cannot parse has none, and is refused later."""
    import duckdb

    try:
        statements = duckdb.extract_statements(query)
    except duckdb.Error:
        return []
    return sorted({name for statement in statements for name in statement.named_parameters if not name.isdecimal()})
