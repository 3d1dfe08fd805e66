"""The access table: what each route requires of its caller, for `docs/access.md` and the tests.

`python -m attestlab.cli.access_table docs/access.md` regenerates the table.
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


def render_table(routes: Iterable[Route]) -> str:
    """Render one Markdown line for each route, ordered by path."""
    listed = sorted(routes, key=lambda route: (route.path, route.method))
    return _HEAD + "".join(f"| `{route.method} {route.path}` | {_render_requirement(route)} |\n" for route in listed)


def _render_requirement(route: Route) -> str:
    needs = route.needs
    if needs is None:
        return "nothing | all | yes"
    return (
        f"{needs.describe()} | {', '.join(_allowed_roles(needs)) or '-'} | {'yes' if _allows_consumers(needs) else '-'}"
    )


def _allowed_roles(needs: Requirement) -> list[Role]:
    """Return the roles that may call a route."""
    if needs.realm == "consumer":
        return []
    allowed = needs.roles or needs.people_roles or tuple(Role)
    roles = [role for role in Role if role in allowed]
    return [role for role in roles if needs.scope is None or Scope(needs.scope) in SCOPES_OF_ROLES[role]]


def _allows_consumers(needs: Requirement) -> bool:
    if needs.roles or needs.tenant_only or needs.realm not in (None, "consumer"):
        return False
    return needs.scope is None or needs.scope in CONSUMER_SCOPES


def replace_table(page: str, routes: Iterable[Route]) -> str:
    """Return the page with its table regenerated."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{render_table(routes)}\n{END}{after}"


def main() -> None:
    """Regenerate the table in the page that the first argument names."""
    page = Path(sys.argv[1])
    page.write_text(replace_table(page.read_text(encoding="utf-8"), all_routes()), encoding="utf-8")


if __name__ == "__main__":
    main()
