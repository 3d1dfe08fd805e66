"""The access table: what each route needs of its caller, as `docs/access.md` shows it and the tests hold it.

`python -m attestlab.cli.access_table docs/access.md` writes the table anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from attestlab.orgs.rules import CONSUMER_SCOPES, SCOPES_OF_ROLES, Role, Scope
from attestlab.server.app import all_routes
from attestlab.web.routing.authorization import Requirement
from attestlab.web.routing.routes import Route

BEGIN, END = "<!-- the table begins; it is made from the routes -->", "<!-- the table ends -->"
_HEAD = "| route | needs | people | consumers |\n|---|---|---|---|\n"


def table(routes: Iterable[Route]) -> str:
    """A line of markdown for each route, in the order of their paths."""
    listed = sorted(routes, key=lambda route: (route.path, route.method))
    return _HEAD + "".join(f"| `{route.method} {route.path}` | {_line(route)} |\n" for route in listed)


def _line(route: Route) -> str:
    needs = route.needs
    if needs is None:
        return "nothing | all | yes"
    return f"{needs.describe()} | {', '.join(_people(needs)) or '-'} | {'yes' if _for_consumers(needs) else '-'}"


def _people(needs: Requirement) -> list[Role]:
    """The roles with which one may call it."""
    if needs.realm == "consumer":
        return []
    roles = [role for role in Role if not needs.roles or role in needs.roles]
    return [role for role in roles if needs.scope is None or Scope(needs.scope) in SCOPES_OF_ROLES[role]]


def _for_consumers(needs: Requirement) -> bool:
    if needs.roles or needs.tenant_only or needs.realm not in (None, "consumer"):
        return False
    return needs.scope is None or needs.scope in CONSUMER_SCOPES


def with_table(page: str, routes: Iterable[Route]) -> str:
    """The page with its table made anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(routes)}\n{END}{after}"


def main() -> None:
    """Write the table into the page that is named."""
    page = Path(sys.argv[1])
    page.write_text(with_table(page.read_text(encoding="utf-8"), all_routes()), encoding="utf-8")


if __name__ == "__main__":
    main()
