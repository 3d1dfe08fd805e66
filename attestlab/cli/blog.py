"""Commands for the operator's blog."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attestlab.cli.output import Data, DatabaseUrl, JsonOption, open_installation, print_values, report_errors

blog = typer.Typer(no_args_is_help=True, help="The operator's blog.")


@blog.callback()
def _blog() -> None:
    """Keep `import` a subcommand, though it is the only one."""


@blog.command("import")
def blog_import(
    file: Annotated[Path, typer.Argument(metavar="FILE.md", help="Markdown with a header, see docs/blog.md.")],
    data: Data,
    publish: Annotated[
        bool, typer.Option("--publish", help="Publish the post; without it a new one is a draft.")
    ] = False,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Write a post from a Markdown file and the pictures beside it, or update the post that has its slug.

    Exit status: 0 created or updated, 2 the file is no post; nothing was stored.

    Example: attestlab blog import why-a-log.md --publish --data lab
    """
    with report_errors(), open_installation(data, database_url) as lab:
        from attestlab.blog.post_import import import_post

        imported = import_post(lab.blog, file, publish=publish, caller=lab.operator_caller())
        url = lab.blog.url(imported.row.slug)
    values = {
        "result": "created" if imported.is_new else "updated",
        "id": str(imported.row.id),
        "slug": imported.row.slug,
        "status": imported.row.status,
        "pictures": imported.pictures,
        "url": url,
    }
    print_values(values, as_json)
