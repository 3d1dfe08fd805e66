"""`attestlab blog import`: a Markdown file with a header, the pictures beside it, and what is wrong with one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from attestlab.blog.post_import import ImportedPost, import_post
from attestlab.blog.shapes import BlogPostPatch
from attestlab.cli.commands import app
from attestlab.core.errors import ValidationFailed
from attestlab.installation import Installation
from support.blog import draw_png

HEADER = "---\ntitle: Why a log?\ncategory: engineering\n---\n"


def write(folder: Path, text: str) -> Path:
    file = folder / "post.md"
    file.write_text(text, encoding="utf-8")
    return file


def imported(lab: Installation, file: Path, *, publish: bool = False) -> ImportedPost:
    return import_post(lab.blog, file, publish=publish, caller=lab.operator_caller())


def count_rows(lab: Installation) -> int:
    return len(lab.blog.page())


def test_a_file_becomes_a_draft_with_its_header(lab: Installation, tmp_path: Path) -> None:
    named = ('title: "Why: a log"', "category: security", "slug: why", "excerpt: In short", 'tags: [a, "b c"]', "")
    header = "\r\n".join(["---", *named, "---"])
    post = imported(lab, write(tmp_path, f"{header}\r\n\r\nFirst.\r\n\r\n---\r\n\r\nLast.\r\n"))

    assert post.is_new
    row = post.row
    assert (row.title, row.category, row.slug, row.excerpt) == ("Why: a log", "security", "why", "In short")
    assert (json.loads(row.tags), row.content, row.status) == (["a", "b c"], "First.\n\n---\n\nLast.", "draft")


def test_the_second_import_updates_the_post_that_has_or_had_the_slug(lab: Installation, tmp_path: Path) -> None:
    first = imported(lab, write(tmp_path, f"{HEADER}One."), publish=True)
    again = imported(lab, write(tmp_path, f"{HEADER}Two."))
    lab.blog.update(first.row.id, BlogPostPatch(slug="renamed"), caller=lab.operator_caller())
    third = imported(lab, write(tmp_path, f"{HEADER}Three."), publish=True)

    assert [post.is_new for post in (first, again, third)] == [True, False, False]
    assert (again.row.id, again.row.status, again.row.content) == (first.row.id, "published", "Two.")
    assert (third.row.id, third.row.slug, third.row.content) == (first.row.id, "renamed", "Three.")
    assert count_rows(lab) == 1


def test_pictures_of_the_folder_are_uploaded(lab: Installation, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name, colour in {"cover.png": "red", "a b.png": "green", "in/c.png": "blue"}.items():
        (tmp_path / name).write_bytes(draw_png(colour=colour))
    text = "![one](<a b.png>) ![two][c] ![far](https://a.example/p.png)\n\n[c]: in/c.png\n"
    post = imported(lab, write(tmp_path, HEADER.replace("---\n", "---\ncover: cover.png\n", 1) + text))

    row = post.row
    assert post.pictures == 3
    named = re.findall("/blog/media/([0-9a-f]{64})", f"{row.cover_image_url} {row.content}")
    stored = [lab.blog.get_medium(sha256).content for sha256 in named]
    assert stored == [draw_png(colour="red"), draw_png(colour="green"), draw_png(colour="blue")]
    assert "https://a.example/p.png" in row.content


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Only a text", "post.md, line 1: A post begins with a line ---"),
        ("---\ntitle: A\n", "line 1: The header does not end"),
        (HEADER.replace("title:", "title"), "line 2: 'title Why a log?' is not `name: value`"),
        (HEADER.replace("title:", "headline:"), "line 2: 'headline' is no name of the header. The names are title"),
        (HEADER.replace("category", "title"), "line 3: title was on line 2 already"),
        (HEADER.replace("title: Why a log?\n", ""), "line 3: The header has no title. Write one, such as title: Why"),
        (HEADER.replace("engineering", ""), "line 3: The header has no category"),
        (HEADER.replace("engineering", "sport"), "post.md, line 3: "),
        (HEADER.replace("---\n", "---\nslug: Ö\n", 1), "line 2: Send 1 to 96 characters a-z"),
        (HEADER.replace("---\n", "---\ntags: a,b,c,d,e,f,g,h,i,j,k\n", 1), "line 2: "),
        (
            HEADER.replace("---\n", "---\ncover: http://a.example/p.png\n", 1),
            "line 2: A cover is an absolute https URL",
        ),
        (HEADER.replace("---\n", "---\ncover: no.png\n", 1), "line 2: There is no picture 'no.png' in the folder"),
        (f"{HEADER}![](../outside.png)", "post.md: There is no picture '../outside.png' in the folder"),
        (f"{HEADER}![](post.md)", "post.md: post.md: A picture is a PNG, JPEG or WebP"),
        (f"{HEADER}" + "x" * 524_289, "post.md: The content has 524,289 bytes"),
    ],
)
def test_a_file_that_is_no_post_names_the_line_and_stores_nothing(
    lab: Installation, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "outside.png").write_bytes(draw_png(colour="red"))
    with pytest.raises(ValidationFailed) as refused:
        imported(lab, write(tmp_path / "folder", text))

    assert message in refused.value.message
    assert count_rows(lab) == 0


def run(lab: Installation, file: Path, *options: str) -> Result:
    where = ["--data", str(lab.settings.data), "--database-url", str(lab.settings.database_url)]
    return CliRunner().invoke(app, ["blog", "import", str(file), *where, *options])


def test_the_command_prints_what_it_did(lab: Installation, tmp_path: Path) -> None:
    file = write(tmp_path, HEADER)
    done = run(lab, file, "--publish", "--json")
    assert done.exit_code == 0, done.stderr
    first = json.loads(done.stdout)
    second = run(lab, file).stdout
    missing = run(lab, tmp_path / "none.md")

    assert (first["result"], first["slug"], first["status"]) == ("created", "why-a-log", "published")
    assert "updated" in second
    assert first["id"] in second
    assert (missing.exit_code, "Check the path." in missing.stderr) == (2, True)
