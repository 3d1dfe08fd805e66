"""The parameters of the pages' addresses, for `docs/dashboards.md`.

`python -m attestlab_dashboards.address_table docs/dashboards.md` writes the table again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import param

from attestlab_dashboards.log.heads import MAX_INDEX
from attestlab_dashboards.page_list import PAGES
from attestlab_dashboards.parameters import AnyParameter

BEGIN, END = "<!-- the table begins; it is made from the declared states -->", "<!-- the table ends -->"
_HEAD = "| page | parameter | meaning | values |\n|---|---|---|---|\n"


def render_table() -> str:
    """Render one Markdown line for each parameter that an address of a page may carry."""
    return _HEAD + "".join(
        f"| {page.path} | `{name}` | {(parameter.doc or '').replace('|', '&#124;')} | {_describe_values(parameter)} |\n"
        for page in PAGES
        for name, parameter in page.state.list_addressed().items()
    )


def _describe_values(parameter: AnyParameter) -> str:
    """Describe the acceptable values of a parameter; a text has its form in the meaning."""
    match parameter:
        case param.Selector():
            return ", ".join(f"`{value}`" for value in _list_choices(parameter.default, parameter.objects))
        case param.Boolean():
            return "`1`"
        case param.Date():
            return "a UTC time such as `2026-11-02T12:00Z`"
        case param.Number(bounds=(int(least), int(most))):
            return f"{least} to {most:,}" if most < MAX_INDEX else f"{least} and more"
    return ""


def _list_choices(default: object, values: Iterable[object]) -> Iterable[object]:
    """List the default first; of an order both ways, only the ascending one."""
    others = [value for value in values if value and not str(value).startswith("-")]
    return dict.fromkeys([default, *others] if default else others)


def replace_table(page: str) -> str:
    """Return the page with its table written again."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{render_table()}\n{END}{after}"


def main() -> None:
    """Write the table again in the page that the first argument names."""
    page = Path(sys.argv[1])
    page.write_text(replace_table(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
